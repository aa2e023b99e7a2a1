"""A fleet in one process on a manual clock: links over a loopback broker, turned by hand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Self

from sync import outbox
from sync.clock import ManualClock
from sync.cloud_link import CloudLink, CloudOutlets, DeadLetter, Received
from sync.database import create_schema, open_database, transaction
from sync.device_link import DeviceLink, DeviceOutlets
from sync.loopback import NO_FAULTS, Faults, LoopbackBroker
from sync.messages import (
    Birth,
    ControlMessage,
    EpisodeUpload,
    Event,
    FileChunk,
    InboxMessage,
)
from sync.ports import FilePart, TransportEvent
from sync.vocabulary import (
    Action,
    Assignment,
    AssignmentId,
    Decision,
    DeviceId,
    Element,
    EndReason,
    Episode,
    EpisodeId,
    Observation,
    Step,
    Verdict,
    VerdictSource,
    finish,
    tap,
)

FLEET = "home"


def episode(number: int = 1, *, steps: int = 2, device: str = "phone-1") -> Episode:
    """A small episode whose texts depend on `number`."""
    seen = Observation(
        1080,
        2400,
        tuple(
            Element("android.widget.TextView", (0, row, 1080, row + 90), text=f"row {number} {row}")
            for row in range(3)
        ),
    )
    actions: list[Action] = [tap(0.5, 0.25, 1)] * (steps - 1) + [finish()]
    return Episode(
        id=EpisodeId(f"episode-{number}"),
        assignment=Assignment(AssignmentId(f"assignment-{number}"), template="wifi_on"),
        device_id=DeviceId(device),
        goal=f"do {number}",
        steps=tuple(
            Step(index, seen, action, decisions=(Decision("type", 0, -0.25, b"\x80"),))
            for index, action in enumerate(actions)
        ),
        end_reason=EndReason.FINISH,
    )


def upload(number: int = 1, *, steps: int = 2) -> EpisodeUpload:
    """An upload of `episode(number)` with its verdict."""
    played = episode(number, steps=steps)
    verdict = Verdict(played.id, "state", "1", VerdictSource.CODE, score=1.0)
    return EpisodeUpload(episode=played, verdicts=(verdict,))


def event(number: int) -> Event:
    """An event that says its number."""
    return Event(kind="something_happened", fields={"number": str(number)}, at_ms=number)


class MemoryFiles:
    """A FileSource over a dictionary."""

    def __init__(self, files: Mapping[str, bytes] | None = None) -> None:
        self.files = dict(files or {})

    def read(self, path: str, offset: int, length: int) -> FilePart | None:
        data = self.files.get(path)
        if data is None:
            return None
        return FilePart(data[offset : offset + length], len(data), str(hash(data)))


@dataclass
class Cloud:
    """The service's link and what it committed, each row once."""

    link: CloudLink
    events: deque[TransportEvent]
    received: list[Received] = field(default_factory=list)
    rows: dict[tuple[str, str, int], Received] = field(default_factory=dict)
    dead: list[DeadLetter] = field(default_factory=list)

    def turn(self) -> None:
        waiting = list(self.events)
        self.events.clear()
        self.link.take(waiting)
        self.link.pump()


@dataclass
class Device:
    """A device's link and what it handed on."""

    link: DeviceLink
    events: deque[TransportEvent]
    conn: object
    boot: str
    inbox: list[InboxMessage] = field(default_factory=list)
    chunks: list[FileChunk] = field(default_factory=list)
    connected: list[bool] = field(default_factory=list)

    def turn(self) -> None:
        waiting = list(self.events)
        self.events.clear()
        self.link.take(waiting)
        self.link.pump()

    def enqueue(self, *messages: Event | EpisodeUpload) -> list[int]:
        with transaction(self.conn):
            return [outbox.enqueue(self.conn, one, created_at_ms=1) for one in messages]


class World:
    """One broker, one cloud, any number of devices, one clock; closes their databases."""

    def __init__(self, folder: Path, *, faults: Faults = NO_FAULTS, seed: int = 0) -> None:
        self.clock = ManualClock()
        self.broker = LoopbackBroker(fleet=FLEET, faults=faults, random=Random(seed))
        self.devices: dict[str, Device] = {}
        self.files = MemoryFiles()
        self._folder = folder
        self._seed = seed
        self._boots = count(1)
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._opened.close()

    def cloud(
        self, ingest: Callable[[Sequence[Received]], Mapping[int, str]] | None = None
    ) -> Cloud:
        events: deque[TransportEvent] = deque()
        received: list[Received] = []
        rows: dict[tuple[str, str, int], Received] = {}
        dead: list[DeadLetter] = []

        def commit(batch: Sequence[Received]) -> Mapping[int, str]:
            refused = {} if ingest is None else ingest(batch)
            received.extend(batch)
            for index, one in enumerate(batch):
                if one.stream == "outbox" and index not in refused:
                    rows.setdefault((one.device_id, one.install_id, one.seq), one)
            return refused

        link = CloudLink(
            transport=self.broker.transport("cloud", service=True),
            sink=events.append,
            fleet=FLEET,
            shards=None,
            files=self.files,
            outlets=CloudOutlets(ingest=commit, dead_letter=dead.append, connected=lambda _: None),
            boot_id=f"cloud-boot-{next(self._boots)}",
            clock=self.clock,
            random=Random(self._seed),
        )
        return Cloud(link, events, received, rows, dead)

    def copy(self, name: str) -> Device:
        """Another device with a copy of this one's database, under its name."""
        with closing(open_database(self._folder / f"{name}.db")) as conn:
            conn.execute("VACUUM INTO ?", (str(self._folder / f"{name}-copy.db"),))
        return self.device(name, file=f"{name}-copy.db")

    def device(
        self,
        name: str = "phone-1",
        *,
        channel: str = "stable",
        file: str = "",
        control: Callable[[ControlMessage], None] = lambda _: None,
    ) -> Device:
        path = self._folder / (file or f"{name}.db")
        conn = self._opened.enter_context(closing(open_database(path)))
        with transaction(conn):
            create_schema(conn, install_id=f"install-{name}")
        events: deque[TransportEvent] = deque()
        inbox: list[InboxMessage] = []
        chunks: list[FileChunk] = []
        connected: list[bool] = []
        boot = f"boot-{next(self._boots)}"
        link = DeviceLink(
            transport=self.broker.transport(name),
            sink=events.append,
            conn=conn,
            fleet=FLEET,
            birth=Birth(device_id=DeviceId(name), channel=channel),
            boot_id=boot,
            outlets=DeviceOutlets(
                inbox=inbox.append,
                chunk=chunks.append,
                connected=connected.append,
                acknowledged=lambda: None,
                control=control,
            ),
            clock=self.clock,
            random=Random(self._seed),
        )
        device = Device(link, events, conn, boot, inbox, chunks, connected)
        self.devices[name] = device
        return device

    def settle(self, *parties: Cloud | Device, turns: int = 6) -> None:
        """Let messages go to and fro without letting time pass."""
        for _ in range(turns):
            for party in parties:
                party.turn()

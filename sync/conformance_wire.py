"""The kit's checks of our own sessions through a broker: rows, assignments, files, presence."""

from __future__ import annotations

import queue
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from sync import outbox, topics
from sync.conformance_bench import Bench, checks, expect
from sync.database import open_database, transaction
from sync.errors import RejectedError, TransientError
from sync.fetch import DirectoryFiles
from sync.messages import (
    AssignmentBatch,
    AssignmentsAccepted,
    Birth,
    ControlMessage,
    Event,
    Message,
    Offline,
    ReleaseAnnouncement,
    Stop,
)
from sync.mqtt import PahoTransport
from sync.ports import Connected
from sync.session import CloudSession, DeviceSession, Received, Repeated
from sync.vocabulary import Assignment, AssignmentId, DeviceId

_QUIET_S: Final = 1.0
_TRIES: Final = 10
_ROWS: Final = 40
_FILE_BYTES: Final = 200_000


@dataclass
class _Cloud:
    """A cloud that keeps what the kit's devices say, and takes nothing from others."""

    names: tuple[str, str]
    wait_s: float
    rows: dict[tuple[str, int], Message] = field(default_factory=dict)
    arrived: int = 0
    failures_left: int = 0
    heard: queue.SimpleQueue[Received] = field(default_factory=queue.SimpleQueue)

    def ingest(self, batch: Sequence[Received]) -> Mapping[int, str]:
        if any(one.device_id not in self.names for one in batch):
            raise TransientError("a device that is not the kit's: leave its rows alone")
        durable = [one for one in batch if one.stream == "outbox"]
        if durable and self.failures_left:
            self.failures_left -= 1
            raise TransientError("not now")
        for one in durable:
            self.arrived += 1
            if not isinstance(one.message, Repeated):
                self.rows.setdefault((one.install_id, one.seq), one.message)
        for one in batch:
            self.heard.put(one)
        return {}

    def next(self, wanted: type[Message], *, wait_s: float | None = None) -> Received | None:
        """The next message of a type, or None."""
        with suppress(queue.Empty):
            while True:
                got = self.heard.get(timeout=self.wait_s if wait_s is None else wait_s)
                if isinstance(got.message, wanted):
                    return got
        return None


class _Rig:
    """A cloud's session, and a folder for devices' databases and served files."""

    def __init__(self, bench: Bench, folder: Path, closing: ExitStack) -> None:
        self.bench = bench
        self.cloud = _Cloud(bench.names, bench.wait_s)
        self.served = folder / "served"
        self.served.mkdir()
        self._folder = folder
        self._closing = closing
        service = replace(bench.service, client_id=f"kit-cloud-{secrets.token_hex(4)}")
        self.session = CloudSession(
            transport=PahoTransport(service),
            fleet=bench.fleet,
            ingest=self.cloud.ingest,
            files=DirectoryFiles(self.served),
            shards=tuple({topics.shard_of(name) for name in bench.names}),
        )
        self.session.start()
        closing.callback(self.session.close)
        expect(self.session.wait_connected(bench.wait_s), "the cloud's session did not connect")

    def device(
        self,
        *,
        control: Callable[[ControlMessage], None] | None = None,
        heard: Callable[[], None] | None = None,
        channel: str = "kit",
    ) -> tuple[DeviceSession, PahoTransport]:
        """The first device, connected, and its transport."""
        address = replace(self.bench.device_address(), client_id=self.bench.names[0])
        transport = PahoTransport(address)
        session = DeviceSession(
            transport=transport,
            database=self._folder / "device.db",
            fleet=self.bench.fleet,
            birth=Birth(device_id=DeviceId(self.bench.names[0]), channel=channel),
            control=control,
            heard=heard,
        )
        session.start()
        self._closing.callback(session.close)
        expect(session.wait_connected(self.bench.wait_s), "the device's session did not connect")
        return session, transport

    def put(self, count: int) -> None:
        """Queue rows in the device's outbox."""
        conn = open_database(self._folder / "device.db")
        try:
            with transaction(conn):
                for number in range(count):
                    row = Event(kind="conformance_checked", fields={"number": str(number)})
                    outbox.enqueue(conn, row, created_at_ms=1)
        finally:
            conn.close()


@contextmanager
def _rig(bench: Bench, *retained: str) -> Iterator[_Rig]:
    """A rig; afterwards the presence and `retained` topics are as empty as before."""
    try:
        with tempfile.TemporaryDirectory() as folder, ExitStack() as closing:
            yield _Rig(bench, Path(folder), closing)
    finally:
        bench.forget(bench.topic(topics.PRESENCE), *retained)


@checks("OR-CON-1")
def nothing_waits_for_who_is_away(bench: Bench) -> str:
    """A device's connection that ended gets nothing of what was said meanwhile."""
    topic = bench.topic(topics.ASSIGNMENT)
    transport = PahoTransport(replace(bench.device_address(), client_id=bench.names[0]))
    filters = topics.device_filters(bench.fleet, bench.names[0])
    for said in (b"", b"while away"):
        if said:
            with bench.cloud() as cloud:
                cloud.publish(topic, said)
        events: queue.SimpleQueue[object] = queue.SimpleQueue()
        transport.connect(events.put)
        expect(_next(events, bench.wait_s) == Connected(), "the device did not connect")
        transport.subscribe(filters)
        expect(_next(events, _QUIET_S) is None, "a message was kept for it")
        transport.close()
    return ""


def _next(events: queue.SimpleQueue[object], wait_s: float) -> object | None:
    with suppress(queue.Empty):
        return events.get(timeout=wait_s)
    return None


@checks("OR-ACK-1")
def rows_arrive_through_broken_connections(bench: Bench) -> str:
    """Rows of a device whose link breaks again and again."""
    with _rig(bench) as rig:
        device, transport = rig.device()
        for _ in range(3):
            rig.put(_ROWS // 4)
            device.wake()
            transport.cut()
        rig.put(_ROWS - 3 * (_ROWS // 4))
        device.wake()
        expect(device.wait_drained(bench.wait_s), "rows were left in the outbox")
        numbers = len(rig.cloud.rows)
        expect(numbers == _ROWS, f"{numbers} of {_ROWS} rows are in the cloud")
        return f"{_ROWS} rows in {rig.cloud.arrived} messages"


@checks("OR-ACK-2")
def rows_are_answered_after_the_commit(bench: Bench) -> str:
    """A cloud that cannot commit at first."""
    with _rig(bench) as rig:
        device, _ = rig.device()
        rig.cloud.failures_left = 1
        rig.put(2)
        device.wake()
        expect(device.wait_drained(bench.wait_s), "rows were left in the outbox")
        expect(len(rig.cloud.rows) == 2, "rows are missing in the cloud")
        expect(rig.session.stats().counters.postponed, "the first try was not put off")
        expect(device.stats().counters.resent, "the rows were not sent again")
    return ""


@checks("OR-PRE-1")
def a_broken_connection_is_told_with_its_epoch(bench: Bench) -> str:
    """Birth, will, and the next birth."""
    with _rig(bench) as rig:
        _, transport = rig.device()
        born = rig.cloud.next(Birth)
        transport.cut()
        gone, again = rig.cloud.next(Offline), rig.cloud.next(Birth)
        expect(born is not None, "no birth arrived")
        expect(gone is not None, "no will arrived")
        expect(again is not None, "no second birth arrived")
        epochs = [
            one.message.epoch
            for one in (born, gone, again)
            if one is not None and isinstance(one.message, Birth | Offline)
        ]
    expect(epochs == [epochs[0], epochs[0], epochs[0] + 1], f"the epochs were {epochs}")
    return ""


@checks("OR-PRE-3")
def a_birth_is_answered(bench: Bench) -> str:
    """The cloud's first word to a device."""
    with _rig(bench) as rig:
        answered = threading.Event()
        rig.device(heard=answered.set)
        expect(answered.wait(bench.wait_s), "the birth was not answered")
    return ""


@checks("OR-ASG-2")
def an_assignment_that_comes_twice_is_played_once(bench: Bench) -> str:
    """One batch, sent twice."""
    batch = AssignmentBatch(assignments=(Assignment(AssignmentId(secrets.token_hex(8))),))
    with _rig(bench) as rig:
        device, _ = rig.device()
        accepted, again_s = 0, bench.wait_s / _TRIES
        for _ in range(_TRIES):  # the first can come before the device's subscription stands
            rig.session.send(bench.names[0], batch)
            accepted += rig.cloud.next(AssignmentsAccepted, wait_s=again_s) is not None
            if accepted == 2:
                break
        expect(accepted == 2, f"the assignment was accepted {accepted} times")
        expect(device.next_message(bench.wait_s) == batch, "the assignment was not handed on")
        expect(device.next_message(0.0) is None, "the assignment was handed on twice")
    return ""


@checks("OR-FIL-2")
def nothing_outside_the_folder_is_served(bench: Bench) -> str:
    """A path that leads out of the served folder."""
    with _rig(bench) as rig:
        device, _ = rig.device()
        try:
            list(device.fetch("../device.db", stall_timeout_s=bench.wait_s))
        except RejectedError as error:
            expect(error.reason == "missing", f"it was refused as {error.reason}")
            return ""
        expect(condition=False, otherwise="a file outside the served folder was read")
    return ""


@checks("OR-FIL-3")
def a_file_arrives_byte_for_byte(bench: Bench) -> str:
    """A file of several chunks."""
    data = secrets.token_bytes(_FILE_BYTES)
    with _rig(bench) as rig:
        device, _ = rig.device()
        (rig.served / "adapter.bin").write_bytes(data)
        came = b"".join(device.fetch("adapter.bin", stall_timeout_s=bench.wait_s))
        expect(came == data, "other bytes arrived")
    return f"{_FILE_BYTES} bytes"


@checks("OR-REL-3")
def a_late_device_hears_of_the_release(bench: Bench) -> str:
    """Announced first, connected later."""
    channel = f"kit-{secrets.token_hex(4)}"
    said = ReleaseAnnouncement(channel=channel, release_id="r1", version=1)
    with _rig(bench, topics.build(bench.fleet, topics.RELEASE, channel)) as rig:
        rig.session.announce(said)
        device, _ = rig.device(channel=channel)
        expect(device.next_message(bench.wait_s) == said, "the announcement did not arrive")
    return ""


@checks("OR-OWN-1")
def a_stop_waits_for_an_absent_device(bench: Bench) -> str:
    """Said first, connected later."""
    said: queue.SimpleQueue[ControlMessage] = queue.SimpleQueue()
    stop = Stop(control_id=secrets.token_hex(8))
    with _rig(bench, bench.topic(topics.CONTROL)) as rig:
        rig.session.send(bench.names[0], stop)
        rig.device(control=said.put)
        with suppress(queue.Empty):
            expect(said.get(timeout=bench.wait_s) == stop, "another command arrived")
            return ""
    expect(condition=False, otherwise="the stop did not arrive")
    return ""

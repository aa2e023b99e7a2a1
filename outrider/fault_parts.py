"""The processes of the fault bench: phones and a service, made of the parts that ship.

A phone is the real log, outbox and session; only its episodes are made beforehand, and given new
names. The service is the real session, ingest, store and dispatch; nothing decides what is learnt.
Each is a fork of a server process that has loaded everything, so killing one costs milliseconds.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Final

import msgspec
import structlog

from cloud_learner.batches import Planned
from cloud_learner.campaign import CampaignState, Move, Phase
from cloud_learner.campaign_store import CampaignStore
from cloud_learner.dispatch import share_out
from cloud_learner.ingest import Ingest
from cloud_learner.settings import CampaignSettings, DispatchSettings
from cloud_learner.store import Database, sqlite_url
from device_runtime.log_rescue import open_log
from device_runtime.trajectory_log import TrajectoryLog
from outrider.fault_disk import make_read_only
from outrider.interrupts import setter
from outrider.log_lines import log_to_stderr
from sync.clock import Clock, SystemClock
from sync.codec import decode_episode, encode_episode
from sync.database import transaction
from sync.errors import ProjectError
from sync.fetch import DirectoryFiles
from sync.messages import AssignmentBatch, Birth, Event
from sync.mqtt import MqttAddress, PahoTransport
from sync.outbox import enqueue
from sync.session import CloudSession, DeviceSession
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    DeviceId,
    Episode,
    EpisodeId,
    Purpose,
    Verdict,
    VerdictSource,
    new_uuid7,
)

FLEET: Final = "bench"
TEMPLATE: Final = "bench"
EVENT: Final = "bench_event"
EVENT_ID: Final = "id"
"""Field of such an event that names it."""
WITNESS: Final = "bench_events"
"""Table of a phone's own: which events it queued, in the transaction that queued them."""
PART_FAILED: Final = 3
ASSIGNMENTS: Final = 40
_PLAY_S: Final = 0.2
_TICK_S: Final = 0.2
_TELL_S: Final = 5.0
_TOO_LARGE_BYTES: Final = 4_500_000

_log = structlog.get_logger()


class OffClock:
    """The machine's clock with a wall that is `offset_ms` off."""

    def __init__(self, offset_ms: int) -> None:
        self._clock = SystemClock()
        self._offset_ms = offset_ms

    def wall_ms(self) -> int:
        """See Clock."""
        return self._clock.wall_ms() + self._offset_ms

    def monotonic_s(self) -> float:
        """See Clock."""
        return self._clock.monotonic_s()

    def sleep(self, duration_s: float) -> None:
        """See Clock."""
        self._clock.sleep(duration_s)


@dataclass(frozen=True, slots=True)
class PhoneOrder:
    """What a phone's process is told.

    Attributes:
        folder: its own; the database lies in it.
        pool: file of encoded uploads, whose episodes it plays.
        quiet: file that exists once it is to play nothing more of its own.
        read_only: its folder is on a disk that is mounted read-only.
        too_large: its first episode is one that can never be sent.
    """

    folder: Path
    device_id: str
    address: MqttAddress
    pool: Path
    quiet: Path
    seed: int
    clock_offset_ms: int = 0
    read_only: bool = False
    too_large: bool = False

    @property
    def database(self) -> Path:
        """The phone's log."""
        return self.folder / "phone.db"


@dataclass(frozen=True, slots=True)
class CloudOrder:
    """What the service's process is told.

    Attributes:
        folder: its own; the store lies in it.
        quiet: file that exists once it is to hand nothing out any more.
    """

    folder: Path
    address: MqttAddress
    quiet: Path

    @property
    def database_url(self) -> str:
        """The cloud's store."""
        return sqlite_url(self.database)

    @property
    def database(self) -> Path:
        """Its file."""
        return self.folder / "cloud.db"


def run_phone(order: PhoneOrder) -> None:
    """A phone's process, until SIGTERM."""
    with part(order.folder / "phone.log") as stop:
        try:
            if order.read_only:
                make_read_only(order.folder)
            end_with_parent()
            clock = OffClock(order.clock_offset_ms)
            log = open_log(order.database, clock=clock, new_id=new_uuid7)
            with closing(log):
                _play(order, log, clock, stop)
        except (ProjectError, sqlite3.Error, OSError, RuntimeError) as error:
            sys.stderr.write(f"error: {' '.join(str(error).split())}\n")
            sys.exit(PART_FAILED)


def _play(order: PhoneOrder, log: TrajectoryLog, clock: Clock, stop: threading.Event) -> None:
    session = DeviceSession(
        transport=PahoTransport(order.address),
        database=order.database,
        fleet=FLEET,
        birth=Birth(device_id=DeviceId(order.device_id)),
        clock=clock,
    )
    session.start()
    try:
        player = _Player(order, log, clock)
        while not stop.is_set():
            message = session.next_message(_PLAY_S)
            try:
                if isinstance(message, AssignmentBatch):
                    player.play_assigned(message.assignments)
                elif not order.quiet.exists():
                    player.play_own()
            except sqlite3.OperationalError as error:  # a full disk: play it another time
                _log.warning("episode_not_logged", error=str(error))
            session.wake()
    finally:
        session.close()


class _Player:
    """Makes episodes and events out of the pool, with names of their own."""

    def __init__(self, order: PhoneOrder, log: TrajectoryLog, clock: Clock) -> None:
        self._order = order
        self._log = log
        self._clock = clock
        self._random = Random(f"{order.seed}:{os.getpid()}")
        self._pool = read_pool(order.pool)
        self._too_large = order.too_large
        with transaction(log.connection):
            log.connection.execute(f"CREATE TABLE IF NOT EXISTS {WITNESS} (id TEXT PRIMARY KEY)")

    def play_assigned(self, assignments: tuple[Assignment, ...]) -> None:
        """Play what the cloud asked for."""
        for assignment in assignments:
            self._append(self._random.choice(self._pool), assignment)

    def play_own(self) -> None:
        """One episode of the phone's own, and now and then an event."""
        if self._too_large:
            self._too_large = False
            self._append_too_large()
        name = AssignmentId(f"own-{new_uuid7()}")
        own = Assignment(name, template=TEMPLATE, actor="random")
        self._append(self._random.choice(self._pool), own)
        if self._random.random() < 0.3:
            self._record_event()

    def _append(self, played: Episode, assignment: Assignment) -> None:
        episode = replace(
            played,
            id=EpisodeId(new_uuid7()),
            assignment=assignment,
            device_id=DeviceId(self._order.device_id),
            started_at_ms=self._clock.wall_ms(),
            ended_at_ms=self._clock.wall_ms(),
        )
        score = float(self._random.random() < 0.5)
        self._log.append(episode, [Verdict(episode.id, "state", "1", VerdictSource.CODE, score)])

    def _append_too_large(self) -> None:
        goal = self._random.randbytes(_TOO_LARGE_BYTES).hex()
        self._append(
            replace(self._pool[0], goal=goal),
            Assignment(AssignmentId(f"large-{new_uuid7()}"), template=TEMPLATE),
        )

    def _record_event(self) -> None:
        now_ms, name = self._clock.wall_ms(), new_uuid7()
        conn = self._log.connection
        with transaction(conn):
            event = Event(kind=EVENT, fields={EVENT_ID: name}, at_ms=now_ms)
            enqueue(conn, event, created_at_ms=now_ms)
            conn.execute(f"INSERT INTO {WITNESS} VALUES (?)", (name,))  # noqa: S608 - constant


def run_cloud(order: CloudOrder) -> None:
    """The service's process, until SIGTERM."""
    with part(order.folder / "cloud.log") as stop:
        end_with_parent()
        clock = SystemClock()
        try:
            database = Database(order.database_url)
        except ProjectError as error:
            sys.stderr.write(f"error: {error}\n")
            sys.exit(1)
        ingest = Ingest(database, clock=clock)
        session = CloudSession(
            transport=PahoTransport(order.address),
            fleet=FLEET,
            ingest=ingest.commit,
            files=DirectoryFiles(order.folder),
            dead_letter=ingest.bury,
            clock=clock,
        )
        session.start()
        try:
            _hand_out(order, CampaignStore(database, clock=clock), session, stop)
        finally:
            session.close()
            database.close()


def _hand_out(
    order: CloudOrder, store: CampaignStore, session: CloudSession, stop: threading.Event
) -> None:
    """Send assignments to whoever is there, again where no episode came of them."""
    settings = DispatchSettings(phone_capacity=4, deadline_s=4.0, silence_s=10.0)
    begun = False
    told_s = 0.0
    while not stop.wait(_TICK_S):
        if time.monotonic() - told_s >= _TELL_S:
            told_s = time.monotonic()
            _log.info("cloud_told", stats=session.stats())
        if order.quiet.exists():
            continue
        try:
            if not begun:
                store.begin(CampaignSettings())
                issue = Move(CampaignState(phase=Phase.WARM_UP), issue=tuple(_planned()))
                store.apply(issue, active_s=0.0, env_steps=0)
                begun = True
            store.expire(settings)
            shares = share_out(store.open_assignments(), store.players(settings), settings)
            for device_id, ids in shares.items():
                batch = AssignmentBatch(assignments=tuple(store.mark_sent(device_id, ids)))
                session.send(device_id, batch)
        except ProjectError as error:
            _log.warning("tick_postponed", error=str(error))


def _planned() -> Iterator[Planned]:
    for number in range(ASSIGNMENTS):
        assignment = Assignment(
            AssignmentId(f"given-{number:03d}"), template="", purpose=Purpose.TRAIN
        )
        yield Planned(assignment, "train", number, "", 0)


def write_pool(path: Path, episodes: Iterable[Episode]) -> None:
    """Keep episodes in a file, for phones to play."""
    path.write_bytes(msgspec.msgpack.encode([encode_episode(one) for one in episodes]))


def read_pool(path: Path) -> list[Episode]:
    """The episodes in a pool's file."""
    bodies = msgspec.msgpack.decode(path.read_bytes(), type=list[bytes])
    return [decode_episode(body) for body in bodies]


@contextmanager
def part(log_file: Path) -> Iterator[threading.Event]:
    """Send what this process says into a file; an event that SIGTERM sets while the block runs."""
    log_file.parent.mkdir(parents=True, exist_ok=True)
    said = os.open(log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number in (1, 2):
        os.dup2(said, number)
    os.close(said)
    log_to_stderr()
    stop = threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with setter(stop) as set_stop:
        signal.signal(signal.SIGTERM, lambda *_: set_stop())
        yield stop


def end_with_parent() -> None:
    """Let this process be killed when the bench that started it is gone, however that ended."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()

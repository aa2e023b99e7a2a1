"""A fleet for the cloud service: devices that play by rule over a real wire, and a learner."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import numpy as np
import pytest

from cloud_learner.learner_store import AdapterKind, LearnerStore
from cloud_learner.service import CloudService, Edges
from cloud_learner.settings import CampaignSettings, GateSettings, ServiceSettings
from cloud_learner.store import Database, sqlite_url
from cloud_learner.tables import METADATA
from device_runtime.trajectory_log import TrajectoryLog
from sync.adapter_file import pack
from sync.clock import SystemClock
from sync.loopback import LoopbackBroker
from sync.messages import AssignmentBatch, Birth, Event, ReleaseAnnouncement, Role
from sync.ports import Transport
from sync.repository import Repository
from sync.session import DeviceSession
from sync.vocabulary import (
    Assignment,
    DeviceId,
    EndReason,
    Episode,
    EpisodeId,
    Observation,
    Purpose,
    Step,
    TemplateInfo,
    Verdict,
    VerdictSource,
    finish,
    new_uuid7,
)
from tests.postgresql import PostgresServer


@pytest.fixture(scope="session")
def postgres_database(postgres_server: PostgresServer) -> Iterator[Database]:
    """The cloud's tables on PostgreSQL, for all tests one after the other."""
    opened = Database(postgres_server.empty())
    yield opened
    opened.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of database that there is; modules of long tests mark the second one slow."""
    return str(request.param)


@pytest.fixture
def database(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> Iterator[Database]:
    """A cloud database without rows, of each kind."""
    if kind == "sqlite":
        opened = Database(sqlite_url(tmp_path / "cloud.db"))
        yield opened
        opened.close()
        return
    shared: Database = request.getfixturevalue("postgres_database")
    tables = ", ".join(table.name for table in METADATA.sorted_tables)
    with shared.write() as connection:
        connection.exec_driver_sql(f"TRUNCATE {tables} RESTART IDENTITY CASCADE")
    yield shared


TEMPLATES = tuple(
    TemplateInfo(name=f"{app}_{i}", app=app, suite=app, step_budget=8, oracle_steps=3)
    for app, number in (("tickets", 3), ("settings", 1), ("clock", 1))
    for i in range(number)
)

QUICK = CampaignSettings(
    env_steps=120,
    minutes=5,
    reserve_minutes=0.5,
    old_demonstrations=1,
    evaluate_new=12,
    evaluate_old=6,
    in_flight_limit=12,
    settle_timeout_s=20.0,
    show_timeout_s=20.0,
    gate=GateSettings(per_template=4),
)


def made_episode(assignment: Assignment, device_id: str, *, release_id: str = "factory") -> Episode:
    """Two steps of an assignment."""
    seen = Observation(width_px=100, height_px=200)
    return Episode(
        id=EpisodeId(new_uuid7()),
        assignment=assignment,
        device_id=DeviceId(device_id),
        goal="do it",
        steps=(Step(0, seen, finish()), Step(1, seen, finish())),
        end_reason=EndReason.FINISH,
        release_id=release_id,
        suite_version="1",
    )


def made_verdict(episode: Episode, *, success: bool) -> Verdict:
    """What code says of an episode."""
    score = 1.0 if success else 0.0
    return Verdict(episode.id, "state", "1", VerdictSource.CODE, score, progress=score)


Plays = Callable[[Assignment, str], bool]
"""Whether the episode of an assignment succeeds under an installed release."""


@dataclass
class FakeDevice:
    """A device that plays each assignment at once, with a real log, outbox and session."""

    device_id: str
    role: Role
    data_dir: Path
    transport: Transport
    plays: Plays
    seats: int = 8
    release_id: str = "factory"
    channel: str = "canary"
    played: list[Assignment] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.failure: BaseException | None = None

    @property
    def database(self) -> Path:
        return self.data_dir / "phones" / self.device_id / "phone.db"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(15)
        if self.failure is not None:
            raise self.failure

    def birth(self) -> Birth:
        return Birth(
            device_id=DeviceId(self.device_id),
            role=self.role,
            seats=self.seats,
            templates=TEMPLATES,
            suite_version="1",
            release_id=self.release_id,
            channel=self.channel,
        )

    def _run(self) -> None:
        try:
            self._serve()
        except BaseException as error:  # noqa: BLE001 - raised again by whoever stops it
            self.failure = error

    def _serve(self) -> None:
        log = TrajectoryLog.open(self.database, clock=SystemClock(), new_id=new_uuid7)
        session = DeviceSession(
            transport=self.transport, database=self.database, fleet="home", birth=self.birth()
        )
        session.start()
        while not self._stop.is_set():
            message = session.next_message(0.02)
            match message:
                case AssignmentBatch(assignments=assignments):
                    for assignment in assignments:
                        self._play(log, assignment)
                case ReleaseAnnouncement(channel=channel, release_id=release_id):
                    if channel == self.channel:
                        self._install(log, session, release_id)
                case _:
                    continue
            session.wake()
        session.wait_drained(5.0)
        session.close()
        log.close()

    def _play(self, log: TrajectoryLog, assignment: Assignment) -> None:
        self.played.append(assignment)
        release_id = assignment.release_id or self.release_id
        episode = made_episode(assignment, self.device_id, release_id=release_id)
        success = self.plays(assignment, release_id)
        log.append(episode, [made_verdict(episode, success=success)])

    def _install(self, log: TrajectoryLog, session: DeviceSession, release_id: str) -> None:
        self.release_id = release_id
        fields = {"state": "trial", "release_id": release_id, "adapter_digest": ""}
        log.record(Event(kind="release_state_entered", fields=fields, at_ms=1))
        session.announce(self.birth())


def packed(seed: int) -> bytes:
    """A small adapter file."""
    values = np.random.default_rng(seed).normal(size=(4, 2)).astype(np.float32)
    return pack({"layer.A": values}, base_digest="b" * 64, policy_io_version="1")


class FakeLearner:
    """Follows the protocol of the learner: reads, reports, delivers; waits for its database."""

    def __init__(
        self, data_dir: Path, *, every: int = 20, reads_at_once: int = 64, database_url: str = ""
    ) -> None:
        cloud = data_dir / "cloud"
        self._database = Database(database_url or sqlite_url(cloud / "cloud.db"), migrate=False)
        self.store = LearnerStore(
            self._database,
            adapters_dir=cloud / "adapters",
            clock=SystemClock(),
            wait=threading.Event().wait,
        )
        self._every = every
        self._reads_at_once = reads_at_once
        self._row = 0
        self._trained = 0
        self._delivered = 0
        self.seen: list[str] = []

    def turn(self) -> None:
        """One look at the store and what follows from it."""
        phase = self.store.campaign().phase
        fresh = self.store.episodes_after(self._row, limit=self._reads_at_once)
        for one in fresh:
            self._row = one.row
            self.seen.append(one.episode.id)
            self._trained += one.episode.assignment.purpose is Purpose.TRAIN
        if phase == "warm_up" and not self._delivered:
            self._deliver(AdapterKind.WARM_UP)
        elif phase == "learn" and self._trained >= self._every * self._delivered:
            self._deliver(AdapterKind.UPDATE)
        settled = phase == "settle" and not fresh
        self.store.report(
            round_index=self._delivered,
            consumed_row=self._row,
            cpu_s=1.5,
            metrics={"loss": 0.1},
            settled=settled,
        )

    def close(self) -> None:
        self._database.close()

    def _deliver(self, kind: AdapterKind) -> None:
        self._delivered += 1
        self.store.deliver_adapter(
            packed(self._delivered),
            name=f"adapter-{self._delivered}",
            kind=kind,
            round_index=self._delivered,
            watermark=self._row,
            parent=f"adapter-{self._delivered - 1}" if self._delivered > 1 else "",
        )


@pytest.fixture(scope="module")
def loopback() -> LoopbackBroker:
    """A broker in this process."""
    return LoopbackBroker(fleet="home")


@dataclass
class Scene:
    """A service in a data folder."""

    data_dir: Path
    service: CloudService
    notices: list[object]
    port: int = 0


@pytest.fixture(scope="module")
def make_scene() -> Iterator[Callable[..., Scene]]:
    """`make_scene(data_dir, transport, campaign=…)`: a service in a folder, closed at the end."""
    scenes: list[Scene] = []

    def make(
        data_dir: Path,
        transport: Transport,
        *,
        campaign: CampaignSettings = QUICK,
        port: int = 0,
        tls: tuple[Path, Path] | None = None,
        database_url: str = "",
    ) -> Scene:
        clock = SystemClock()
        notices: list[object] = []
        certificate, key = map(str, tls or ("", ""))
        service = CloudService(
            ServiceSettings(
                data_dir=data_dir,
                database_url=database_url,
                campaign=campaign,
                tick_s=0.01,
                linger_s=0.1,
                port=port,
                tls_cert=certificate,
                tls_key=key,
            ),
            Edges(
                transport=transport,
                signer=Repository.create(data_dir / "tuf", data_dir / "keys", clock=clock),
                clock=clock,
                random=Random(1),
                new_id=new_uuid7,
            ),
            tell=notices.append,
        )
        scene = Scene(data_dir, service, notices)
        scenes.append(scene)
        return scene

    yield make
    for scene in scenes:
        scene.service.close()


@pytest.fixture(scope="module")
def make_device() -> Iterator[Callable[..., FakeDevice]]:
    """`make_device(data_dir, device_id, role, transport, plays, …)`: started, then stopped."""
    devices: list[FakeDevice] = []

    def make(
        data_dir: Path,
        device_id: str,
        role: Role,
        transport: Transport,
        plays: Plays,
        **more: object,
    ) -> FakeDevice:
        device = FakeDevice(device_id, role, data_dir, transport, plays, **more)
        device.start()
        devices.append(device)
        return device

    yield make
    for device in devices:
        device.stop()


@pytest.fixture(scope="module")
def make_learner() -> Iterator[Callable[..., FakeLearner]]:
    """`make_learner(data_dir, …)`: after the service, which makes the tables."""
    learners: list[FakeLearner] = []

    def make(data_dir: Path, **more: object) -> FakeLearner:
        learners.append(FakeLearner(data_dir, **more))
        return learners[-1]

    yield make
    for learner in learners:
        learner.close()


@pytest.fixture(scope="module")
def run_campaign() -> Callable[..., None]:
    """`run_campaign(scene, learner)`: until it is finished or a minute has passed."""

    def run(scene: Scene, learner: FakeLearner, *, timeout_s: float = 60.0) -> None:
        stop, learnt = threading.Event(), threading.Event()
        expired = threading.Timer(timeout_s, stop.set)

        def learn() -> None:
            while not learnt.wait(0.02):
                learner.turn()

        learning = threading.Thread(target=learn)
        expired.start()
        learning.start()
        try:
            scene.service.run(stop, until_finished=True)
        finally:
            expired.cancel()
            learnt.set()
            learning.join(10)

    return run

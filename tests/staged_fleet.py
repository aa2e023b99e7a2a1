"""A fleet for staged releases: phones that follow the signed channel, without a wire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import numpy as np
from sqlalchemy import select

from cloud_learner.ingest import Ingest
from cloud_learner.ingest_store import record_seen
from cloud_learner.staged_director import StagedDirector
from cloud_learner.staged_evidence_store import EvidenceStore
from cloud_learner.staged_phone_store import StagedPhones
from cloud_learner.staged_plan import Stage, StagedPlan
from cloud_learner.staged_release import Approve, StagedPhase
from cloud_learner.staged_store import StagedStore
from cloud_learner.store import Database, insert_all_new, sqlite_url
from cloud_learner.tables import EPISODES
from sync.adapter_file import adapter_digest, pack
from sync.clock import ManualClock, SystemClock
from sync.cohorts import CohortPhone, phone_of_birth
from sync.errors import LinkLostError
from sync.messages import Birth, EpisodeUpload, Event
from sync.repository import Repository
from sync.session import Received
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    DeviceId,
    EndReason,
    Episode,
    EpisodeId,
    Observation,
    Release,
    ReleaseId,
    Step,
    Verdict,
    VerdictSource,
    finish,
)

TEMPLATES = ("call", "alarm", "ticket")
HOUR_S = 3600.0
TWO_STAGES = StagedPlan(
    stages=(
        Stage(3000, margin=0.2, soak_s=HOUR_S, give_up_s=40 * HOUR_S, phones=3, tasks=60),
        Stage(10_000, margin=0.2, soak_s=HOUR_S, give_up_s=40 * HOUR_S, phones=3, tasks=60),
    ),
    seed="one",
    hold_out_bps=2000,
    answer_s=5 * HOUR_S,
)


class RecordedDownlink:
    """Remembers what was announced; can be cut."""

    def __init__(self) -> None:
        self.announced: list[tuple[str, str]] = []
        self.is_cut = False

    def send(self, device_id: str, message: object) -> None:
        raise AssertionError(f"nothing is sent to one phone, and this was: {device_id} {message}")

    def announce(self, announcement) -> None:
        if self.is_cut:
            raise LinkLostError("cut")
        self.announced.append((announcement.channel, announcement.release_id))


@dataclass
class FollowingPhone:
    """A phone that installs what the signed channel has for it, as the real one does."""

    cohort: CohortPhone
    release_id: str = "r1"
    version: int = 1
    fails: str = ""
    seq: int = 0
    history: list[str] = field(default_factory=lambda: ["r1"])


class StagedFleet:
    """Phones, a database, signed releases r1 (stable) and r2, and the director of their stages.

    Its database is the folder's own unless one is given.
    """

    def __init__(self, folder: Path, phones: int = 30, database: Database | None = None) -> None:
        self.folder = folder
        self.clock = ManualClock(SystemClock().wall_ms())
        self.database = database or Database(sqlite_url(folder / "cloud" / "cloud.db"))
        self.ingest = Ingest(self.database, clock=self.clock)
        self.downlink = RecordedDownlink()
        self.said: list[object] = []
        self._sent: list[Received] = []
        self._played: list[dict[str, object]] = []
        self.random = Random(7)
        self.success: Callable[[str], float] = lambda _release: 0.7
        self.decide_ms: Callable[[str], float] = lambda _release: 10.0
        self.gone: set[str] = set()
        self.phones = {f"p{i:03d}": self._phone(f"p{i:03d}") for i in range(phones)}
        repository = Repository.create(folder / "tuf", folder / "keys", clock=self.clock)
        repository.publish(*described("r1", 1), "stable")
        repository.publish(*described("r2", 2), "canary")
        self.start()
        for name in self.phones:
            self.receive(name, self._birth(name))
        self._play_first("p000")
        self.deliver()

    def start(self) -> None:
        """Begin as a new process would."""
        self.signer = Repository(self.folder / "tuf", self.folder / "keys", clock=self.clock)
        self.store = StagedStore(self.database, clock=self.clock)
        self.evidence = EvidenceStore(self.database, clock=self.clock)
        self.director = StagedDirector(
            self.store,
            StagedPhones(self.database, clock=self.clock),
            self.evidence,
            signer=self.signer,
            downlink=self.downlink,
            clock=self.clock,
            look_every_s=60.0,
            tell=self.said.append,
        )

    def stage(self, plan: StagedPlan = TWO_STAGES, release_id: str = "r2") -> None:
        """Draft and approve."""
        self.store.draft(release_id, replaces="r1", plan=plan, who="ann")
        self.store.tell(release_id, Approve("ann"))

    @property
    def phase(self) -> StagedPhase:
        return self.store.get("r2").state.phase

    def hour(self, episodes: int = 1, times: int = 1) -> None:
        """Let an hour pass: phones look at the channel and play; the director looks."""
        for _ in range(times):
            self.clock.advance(HOUR_S)
            pointer = self.signer.channel("stable")
            for name, phone in self.there():
                self._follow(name, phone, *pointer.for_phone(phone.cohort))
                for _episode in range(episodes):
                    self._play(name, phone)
            self.deliver()
            self.director.tick()

    def until(self, *phases: StagedPhase, hours: int = 60, episodes: int = 3) -> None:
        for _ in range(hours):
            if self.phase in phases:
                return
            self.hour(episodes)
        raise AssertionError(f"still {self.store.get('r2').state}")

    def there(self) -> list[tuple[str, FollowingPhone]]:
        """The phones that are heard of."""
        return [(name, phone) for name, phone in self.phones.items() if name not in self.gone]

    def may_have_it(self) -> set[str]:
        """The phones that the channel offers r2 to."""
        pointer = self.signer.channel("stable")
        return {
            name
            for name, phone in self.phones.items()
            if pointer.for_phone(phone.cohort)[0] == "r2"
        }

    def why(self, phase: StagedPhase) -> str:
        """Why r2 entered a phase."""
        entries = (logged.entry for logged in self.store.log("r2"))
        return next(one.reason for one in entries if one.now is phase)

    def offered(self) -> set[str]:
        """The phones that have, or had, r2."""
        return {name for name, phone in self.phones.items() if "r2" in phone.history}

    def deliver(self) -> None:
        """Ingest what was sent, and store the episodes that are like the one that came first."""
        sent, self._sent = self._sent, []
        assert self.ingest.commit(sent) == {}
        now_ms = self.clock.wall_ms()
        with self.database.write() as connection:
            record_seen(connection, [name for name, _ in self.there()], now_ms=now_ms)
            first = dict(connection.execute(select(EPISODES).limit(1)).mappings().first() or {})
            first.pop("row", None)
            played, self._played = self._played, []
            rows = [{**first, **row, "received_at_ms": now_ms} for row in played]
            insert_all_new(connection, EPISODES, rows)

    def receive(self, name: str, message: object) -> None:
        """Send a message; `deliver` brings it."""
        phone = self.phones[name]
        phone.seq += 1
        self._sent.append(
            Received(name, message, "i", "b", "outbox", phone.seq, 1, 0, 0, redelivered=False)
        )

    def _follow(self, name: str, phone: FollowingPhone, release_id: str, version: int) -> None:
        if version <= phone.version or release_id in phone.history:
            return
        if phone.fails and release_id == "r2":
            phone.history.append(release_id)
            self._event(name, "reverted", release_id, phone.fails)
            return
        phone.release_id, phone.version = release_id, version
        phone.history.append(release_id)
        self._event(name, "trial", release_id)

    def _event(self, name: str, state: str, release_id: str, reason: str = "") -> None:
        fields = {"state": state, "release_id": release_id, "reason": reason}
        self.receive(name, Event(kind="release_state_entered", fields=fields))

    def _play(self, name: str, phone: FollowingPhone) -> None:
        phone.seq += 1
        self._played.append(
            {
                "id": f"{name}-{phone.seq}",
                "device_id": name,
                "seq": phone.seq,
                "template": self.random.choice(TEMPLATES),
                "release_id": phone.release_id,
                "success": self.random.random() < self.success(phone.release_id),
                "decide_ms_p95": self.decide_ms(phone.release_id),
            }
        )

    def _play_first(self, name: str) -> None:
        """One episode that goes through ingest; those after it are stored as rows like its own."""
        episode = Episode(
            id=EpisodeId("first"),
            assignment=Assignment(id=AssignmentId("a"), template=TEMPLATES[0]),
            device_id=DeviceId(name),
            goal="",
            steps=(Step(0, Observation(1, 1), finish(), decide_ms=10.0),),
            end_reason=EndReason.FINISH,
            release_id="r1",
        )
        verdict = Verdict(episode.id, "v", "1", VerdictSource.CODE, 1.0)
        self.receive(name, EpisodeUpload(episode=episode, verdicts=(verdict,)))

    def _phone(self, name: str) -> FollowingPhone:
        return FollowingPhone(phone_of_birth(self._birth(name)))

    def _birth(self, name: str) -> Birth:
        return Birth(device_id=DeviceId(name), boot_id="b", epoch=1, release_id="r1")


def described(release_id: str, version: int) -> tuple[Release, bytes]:
    """A release with an adapter of its own."""
    values = np.full((4, 2), float(version), dtype=np.float32)
    data = pack({"layer.A": values}, base_digest="b" * 64, policy_io_version="1")
    release = Release(
        id=ReleaseId(release_id),
        version=version,
        base_digest="b" * 64,
        adapter_digest=adapter_digest(data),
        adapter_size_bytes=len(data),
        policy_io_version="1",
    )
    return release, data

"""One device process: hear, install, play, log, over and over until it is told to stop.

    session (own thread) ─► assignments, cancels, announcements ─► this loop
    release shelf (own thread) ─► verified adapters ─► loaded between steps
    seats ─► ended episodes ─► log and outbox, one transaction a turn ─► session

The loop plays while there is something to play and otherwise blocks on the inbox. Every wait has a
deadline, so a stop takes effect within one step. On a person's phone it ends the episode, which is
logged as stopped, and leaves the phone at home. Episodes that the end of a farm cuts off leave no
record: their assignments wait in the inbox and are played at the next start.
"""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol, assert_never

from device_runtime.assignments import AssignmentQueue
from device_runtime.errors import UnknownTaskError
from device_runtime.gate import Gate
from device_runtime.release_shelf import ReleaseShelf
from device_runtime.remote_settings import RemoteSettings
from device_runtime.screen_permit import ScreenPermit
from device_runtime.seats import Played
from device_runtime.settings import Settings
from device_runtime.trajectory_log import LogCounts, TrajectoryLog
from device_runtime.vitals import NO_SIGNS, Vitals, VitalSigns
from sync.clock import Clock
from sync.database import cannot_write
from sync.messages import (
    AssignmentBatch,
    Birth,
    Cancel,
    Health,
    InboxMessage,
    LiveMessage,
    ReleaseAnnouncement,
)
from sync.vocabulary import OWN_TEMPERATURE, Assignment, EndReason, ReleaseId

IDLE_WAIT_S: Final = 0.2
DRAIN_S: Final = 2.0
"""How long a stopping device waits for acknowledgements; the rest goes out at the next start."""

Report = Callable[..., None]
"""`report(event, **fields)`: something that whoever started the process may want to see."""


class Wire(Protocol):
    """The session, as far as the supervisor needs it."""

    def start(self) -> None:
        """Begin to work in the background."""
        ...

    def next_message(self, timeout_s: float) -> InboxMessage | None:
        """The next message for this device, or None after `timeout_s`."""
        ...

    def wake(self) -> None:
        """Say that rows were committed to the outbox."""
        ...

    def send(self, message: LiveMessage) -> None:
        """Publish a message that may be lost."""
        ...

    def announce(self, birth: Birth) -> None:
        """Say anew what this device is."""
        ...

    def wait_drained(self, timeout_s: float) -> bool:
        """Wait until the cloud has answered for every row."""
        ...

    def close(self) -> None:
        """Say goodbye and stop."""
        ...


class Table(Protocol):
    """Where episodes are played: seats in this process, or in others (see `seats`, `workers`)."""

    @property
    def free(self) -> int:
        """How many seats could start an episode now."""
        ...

    @property
    def busy(self) -> int:
        """How many episodes are being played."""
        ...

    @property
    def env_steps(self) -> int:
        """Steps that were played so far."""
        ...

    @property
    def releases_in_use(self) -> frozenset[ReleaseId]:
        """The releases that unfinished episodes began with."""
        ...

    def start(self, assignment: Assignment, *, release_id: ReleaseId) -> None:
        """Begin an assignment on a free seat.

        Raises: UnknownTaskError: it cannot be played here; a table that learns this later says so
            in `refused`.
        """
        ...

    def turn(self) -> list[Played]:
        """Play on, a moment long; the episodes that ended."""
        ...

    def refused(self) -> list[tuple[Assignment, UnknownTaskError]]:
        """Assignments that were begun and could not be played; each is told once."""
        ...

    def close(self) -> None:
        """Let go of the phones; unfinished episodes leave no record. Idempotent."""
        ...


@dataclass(frozen=True, slots=True)
class DeviceParts:
    """What a device process is made of; the supervisor closes all of it.

    Attributes:
        gate: whether the device may act; None where nobody stops it.
        rest: leaves a stopped phone that plays nothing at its home screen.
        remote: what is set from afar.
        signs: where battery, clock and the like are read.
        permit: whether pictures of screens may leave; None where none ever do.
    """

    log: TrajectoryLog
    queue: AssignmentQueue
    seats: Table
    shelf: ReleaseShelf
    wire: Wire
    birth: Birth
    remote: RemoteSettings
    gate: Gate | None = None
    rest: Callable[[], None] = lambda: None
    signs: VitalSigns = NO_SIGNS
    permit: ScreenPermit | None = None


class Supervisor:
    """Runs one device; used by one thread.

    Args:
        report: gets "installed", "assignment_rejected", "episode", "health", "stopped" and
            "started_again" events.
    """

    def __init__(
        self, parts: DeviceParts, settings: Settings, *, clock: Clock, report: Report
    ) -> None:
        self._log = parts.log
        self._queue = parts.queue
        self._seats = parts.seats
        self._shelf = parts.shelf
        self._wire = parts.wire
        self._birth = parts.birth
        self._remote = parts.remote
        self._gate = parts.gate
        self._rest = parts.rest
        self._vitals = Vitals(parts.signs, parts.log.connection, clock=clock)
        self._permit = parts.permit
        self._closed = ""
        self._unkept: list[Played] = []
        self._quotas = (0, 0)
        self._settings = settings
        self._clock = clock
        self._report = report
        self._deferred_since_s: dict[ReleaseId, float] = {}
        self._started_s = clock.monotonic_s()
        self._health_due_s = self._started_s
        self._episodes = 0
        self._env_errors = 0

    def run(
        self, stop: threading.Event, *, until_idle: bool = False, max_episodes: int | None = None
    ) -> LogCounts:
        """Play until `stop` is set; returns what is in the log then.

        Args:
            until_idle: end also when nothing waits and nothing is being played.
            max_episodes: end also after so many ended episodes.
        """
        try:
            self._shelf.start()
            self._wire.start()
            self._say_who_acts()
            while not stop.is_set():
                self._turn()
                is_idle = not self._seats.busy and not self._unkept and not len(self._queue)
                if until_idle and is_idle:
                    break
                if max_episodes is not None and self._episodes >= max_episodes:
                    break
            self._wind_down()
            return self._log.counts()
        finally:
            self._close()

    def _turn(self) -> None:
        self._hear()
        self._settle_releases()
        self._start_episodes()
        self._keep(self._seats.turn() if self._seats.busy else [])
        for assignment, error in self._seats.refused():
            self._reject(assignment, str(error.reason), str(error))
        self._say_health()
        if self._permit is not None:
            self._permit.refresh()

    def _hear(self) -> None:
        """Take every message that waits; where nothing can be played, wait for one."""
        message = self._wire.next_message(0.0 if self._seats.busy else IDLE_WAIT_S)
        while message is not None:
            self._take(message)
            message = self._wire.next_message(0.0)

    def _take(self, message: InboxMessage) -> None:
        match message:
            case AssignmentBatch():
                self._queue.offer(message.assignments)
            case Cancel():
                self._queue.cancel(message.assignment_ids)
            case ReleaseAnnouncement():
                self._shelf.look(within_s=message.spread_s)
            case _:
                assert_never(message)

    def _settle_releases(self) -> None:
        changed, unavailable = self._shelf.settle(self._seats.releases_in_use)
        if changed:
            self._say_who_acts()
        for missing in unavailable:
            self._reject_pinned(missing.release_id, missing.reason, missing.detail)
        now_s = self._clock.monotonic_s()
        for release_id, since_s in list(self._deferred_since_s.items()):
            if now_s - since_s > self._settings.pin_patience_s:
                self._reject_pinned(
                    release_id,
                    "unknown_release",
                    f"{release_id} did not arrive within {self._settings.pin_patience_s:.0f} s",
                )

    def _say_who_acts(self) -> None:
        installed = self._shelf.installed
        self._birth = replace(self._birth, release_id=installed.release_id)
        self._wire.announce(self._birth)
        self._report("installed", device_id=self._birth.device_id, **installed.facts())

    def _may_act(self) -> bool:
        """Whether the gate is open; says so when that changes."""
        closed = (self._gate.closed() if self._gate is not None else None) or ""
        if closed != self._closed:
            self._closed = closed
            self._health_due_s = self._clock.monotonic_s()
            kind = "stopped" if closed else "started_again"
            self._report(kind, device_id=self._birth.device_id, reason=closed)
            if closed and not self._seats.busy:
                self._rest()
        return not closed

    def _start_episodes(self) -> None:
        if self._unkept or not self._may_act():
            return
        while self._seats.free:
            assignment = self._queue.take(ready=self._is_ready)
            if assignment is None:
                return
            release_id = ReleaseId(assignment.release_id) or self._shelf.current
            if assignment.temperature == OWN_TEMPERATURE:
                own = self._remote.number("temperature")
                assignment = replace(assignment, temperature=own)
            try:
                self._seats.start(assignment, release_id=release_id)
            except UnknownTaskError as error:
                self._reject(assignment, str(error.reason), str(error))

    def _is_ready(self, assignment: Assignment) -> bool:
        """Whether the release that `assignment` pins can act now; others always can."""
        release_id = ReleaseId(assignment.release_id)
        if not release_id or assignment.actor != "release":
            return True
        if self._shelf.is_ready(release_id):
            self._deferred_since_s.pop(release_id, None)
            return True
        self._deferred_since_s.setdefault(release_id, self._clock.monotonic_s())
        return False

    def _reject_pinned(self, release_id: ReleaseId, reason: str, detail: str) -> None:
        self._deferred_since_s.pop(release_id, None)
        while assignment := self._queue.take(ready=lambda item: item.release_id == release_id):
            self._reject(assignment, reason, detail)

    def _reject(self, assignment: Assignment, reason: str, detail: str) -> None:
        self._queue.reject(assignment, reason=reason, detail=detail)
        self._wire.wake()
        self._report(
            "assignment_rejected", assignment_id=assignment.id, reason=reason, detail=detail
        )

    def _keep(self, just_ended: list[Played]) -> None:
        """Store what ended, and what a full or read-only disk did not take before.

        Until it takes them, nothing new is begun: what waits is at most what all seats play.
        """
        ended = [*self._unkept, *just_ended]
        if not ended:
            return
        try:
            self._log.append_many(
                ((played.episode, played.verdicts) for played in ended),
                screens={played.episode.id: played.screens for played in ended},
            )
        except sqlite3.OperationalError as error:
            if not cannot_write(error):
                raise
            if not self._unkept:
                self._report("storage_refused", episodes=len(ended), detail=str(error))
            self._unkept = ended
            return
        if self._unkept:
            self._report("storage_available", episodes=len(ended))
        self._unkept = []
        self._wire.wake()
        for played in ended:
            episode, verdict = played.episode, played.verdict
            env_error = episode.end_reason is EndReason.ENV_ERROR
            self._episodes += 1
            self._env_errors += env_error
            if not env_error:
                self._shelf.episode_ended(ReleaseId(episode.release_id))
            self._report(
                "episode",
                episode_id=episode.id,
                template=episode.assignment.template,
                purpose=episode.assignment.purpose,
                actor=episode.assignment.actor,
                release_id=episode.release_id,
                end_reason=episode.end_reason,
                steps=len(episode.steps),
                score=None if verdict is None else verdict.score,
            )

    def _say_health(self) -> None:
        now_s = self._clock.monotonic_s()
        if now_s < self._health_due_s:
            return
        self._health_due_s = now_s + self._remote.number("health_every_s")
        self._keep_quota()
        depth, parked = self._log.outbox_counts()
        health = Health(
            at_ms=self._clock.wall_ms(),
            uptime_s=now_s - self._started_s,
            release_id=self._shelf.current,
            episodes=self._episodes,
            env_errors=self._env_errors,
            outbox_depth=depth,
            outbox_parked=parked,
            free_disk_bytes=shutil.disk_usage(self._settings.phone_dir).free,
            stopped=self._closed or ("storage" if self._unkept else ""),
            drops=self._log.drops(),
        )
        self._wire.send(self._vitals.complete(health))
        self._report(
            "health",
            episodes=self._episodes,
            env_steps=self._seats.env_steps,
            env_errors=self._env_errors,
            outbox_depth=depth,
            waiting=len(self._queue),
        )

    def _keep_quota(self) -> None:
        """Let outbox and log hold as much as was set from afar."""
        outbox_bytes, log_bytes = quotas = (
            round(self._remote.number("outbox_quota_mb") * 1_000_000),
            round(self._remote.number("log_quota_mb") * 1_000_000),
        )
        if quotas != self._quotas and self._log.set_quotas(
            outbox_bytes=outbox_bytes, log_bytes=log_bytes
        ):
            self._quotas = quotas

    def _wind_down(self) -> None:
        """Stop to play, and give what was played a moment to be acknowledged.

        An owner's phone ends what it plays in one more turn, as stopped: playing it again at the
        next start could send twice what was sent once.
        """
        if self._seats.busy and self._gate is not None and self._gate.closed():
            self._keep(self._seats.turn())
        self._keep([])
        if self._unkept:  # their assignments are still open: they are played again
            self._report("episodes_lost", episodes=len(self._unkept), reason="storage")
        self._seats.close()
        self._shelf.close()
        self._wire.wait_drained(DRAIN_S)

    def _close(self) -> None:
        """Let go of every part, whatever happened. Idempotent."""
        self._seats.close()
        self._shelf.close()
        self._wire.close()
        self._log.close()

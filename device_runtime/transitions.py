"""The states of an update on a phone, and what is told of each change between them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from device_runtime.shadow import ShadowFigures
from sync.clock import Clock
from sync.database import open_database, transaction
from sync.messages import Event
from sync.outbox import enqueue
from sync.vocabulary import Release

EVENT_KIND = "release_state_entered"
"""Kind of the event that tells the cloud of a transition."""


class InstallState(StrEnum):
    """Where an update is."""

    IDLE = "idle"
    ANNOUNCED = "announced"
    DOWNLOADING = "downloading"
    VERIFIED = "verified"
    STAGED = "staged"
    SHADOW = "shadow"
    TRIAL = "trial"
    COMMITTED = "committed"
    REVERTED = "reverted"


_PASSING = frozenset(
    {InstallState.ANNOUNCED, InstallState.DOWNLOADING, InstallState.VERIFIED, InstallState.STAGED}
)


@dataclass(frozen=True, slots=True)
class Transition:
    """One step of an update.

    Attributes:
        state: the state that was entered; `IDLE` with a reason means refused.
        release_id, version: as claimed before "verified", as signed from then on.
        reason: code of `sync.releases.Reason`; empty where nothing went wrong.
        detail: one line for a person.
        figures: what shadow scoring found, told with the state that it led to.
    """

    state: InstallState
    release_id: str = ""
    version: int = 0
    adapter_digest: str = ""
    reason: str = ""
    detail: str = ""
    at_ms: int = 0
    figures: ShadowFigures | None = None

    def fields(self) -> dict[str, str]:
        """The transition as text by name."""
        return {
            "state": self.state.value,
            "release_id": self.release_id,
            "version": str(self.version),
            "adapter_digest": self.adapter_digest,
            "reason": self.reason,
            "detail": self.detail,
        } | ({} if self.figures is None else self.figures.fields())

    def event(self) -> Event:
        """The transition as the message that the outbox carries to the cloud."""
        return Event(kind=EVENT_KIND, fields=self.fields(), at_ms=self.at_ms)


class TransitionReporter:
    """Tells of each state that is entered, where somebody listens."""

    def __init__(self, report: Callable[[Transition], None] | None, clock: Clock) -> None:
        self._report = report
        self._clock = clock

    def __call__(
        self,
        state: InstallState,
        release: Release | None = None,
        *,
        reason: str = "",
        detail: str = "",
        figures: ShadowFigures | None = None,
    ) -> None:
        """Tell that `state` was entered."""
        if self._report is None:
            return
        self._report(
            Transition(
                state=state,
                release_id="" if release is None else release.id,
                version=0 if release is None else release.version,
                adapter_digest="" if release is None else release.adapter_digest,
                reason=str(reason),
                detail=detail,
                at_ms=self._clock.wall_ms(),
                figures=figures,
            )
        )


class TransitionOutbox:
    """Puts transitions into the device's outbox, each durably before the update goes on.

    States that an update only passes through leave with the state that it comes to, or with the
    session's next look at its outbox, so an update is told in one message or two. One caller at a
    time.

    Args:
        database: the device's SQLite file.
        wake: tells the session that rows are to leave now.
    """

    def __init__(self, database: Path, *, clock: Clock, wake: Callable[[], None]) -> None:
        self._database = database
        self._clock = clock
        self._wake = wake
        self._conn: sqlite3.Connection | None = None

    def __call__(self, transition: Transition) -> None:
        """Queue one transition."""
        if self._conn is None:
            self._conn = open_database(self._database)
        with transaction(self._conn):
            enqueue(self._conn, transition.event(), created_at_ms=self._clock.wall_ms())
        if transition.state not in _PASSING:
            self._conn.close()
            self._conn = None
            self._wake()

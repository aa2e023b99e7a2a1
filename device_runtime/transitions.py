"""The states of an update on a phone, and what is told of each change between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from device_runtime.shadow import ShadowFigures
from sync.clock import Clock
from sync.messages import Event
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

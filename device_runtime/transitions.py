"""The states of an update on a phone, and what is told of each change between them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sync.messages import Event

EVENT_KIND = "release_state_entered"
"""Kind of the event that tells the cloud of a transition."""


class InstallState(StrEnum):
    """Where an update is."""

    IDLE = "idle"
    ANNOUNCED = "announced"
    DOWNLOADING = "downloading"
    VERIFIED = "verified"
    STAGED = "staged"
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
    """

    state: InstallState
    release_id: str = ""
    version: int = 0
    adapter_digest: str = ""
    reason: str = ""
    detail: str = ""
    at_ms: int = 0

    def fields(self) -> dict[str, str]:
        """The transition as text by name."""
        return {
            "state": self.state.value,
            "release_id": self.release_id,
            "version": str(self.version),
            "adapter_digest": self.adapter_digest,
            "reason": self.reason,
            "detail": self.detail,
        }

    def event(self) -> Event:
        """The transition as the message that the outbox carries to the cloud."""
        return Event(kind=EVENT_KIND, fields=self.fields(), at_ms=self.at_ms)

"""What the cloud answers each device: which rows it has, which it will never take, and how fast.

batch committed ─► Acknowledger.settle ─► one Acknowledgement per sender
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sync.admission import Admission, AdmissionLimits, Grant
from sync.clock import Clock
from sync.messages import Acknowledgement
from sync.settled import SenderKey, SettledRows

BOOT_CHARACTERS: Final = 8
"""How much of a boot's name an acknowledgement says: enough to tell two devices apart."""
BUSY: Final = "busy"
"""Reason code of rows that were put off because the database could not take them."""


@dataclass(slots=True)
class Outcome:
    """What became of one sender's rows in a batch."""

    committed: list[int] = field(default_factory=list)
    rejected: list[tuple[int, str]] = field(default_factory=list)
    postponed: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of an outbox, as it stands in a batch."""

    sender: SenderKey
    seq: int


class Acknowledger:
    """Keeps what is committed and how the cloud keeps up; used by one thread.

    Args:
        queued: how many messages wait to be looked at.
        credit: most rows that a device may have outstanding.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        credit: int,
        queued: Callable[[], int],
        limits: AdmissionLimits | None = None,
    ) -> None:
        self.admission = Admission(clock, limits or AdmissionLimits())
        self.ceiling = credit
        self._clock = clock
        self._queued = queued
        self._settled = SettledRows()

    def heard(self, sender: SenderKey, oldest: int) -> None:
        """A device sent a row; its lowest open one is `oldest` (0: it does not say)."""
        self.admission.heard(sender.device_id)
        self._settled.heard(sender, oldest)

    def has(self, sender: SenderKey, seq: int) -> bool:
        """Whether a row is known to be committed: what comes of it again need not be read."""
        return self._settled.has(sender, seq)

    def settle(
        self, rows: Mapping[int, Row], refused: Mapping[int, str], *, messages: int, took_s: float
    ) -> dict[SenderKey, Outcome]:
        """A batch of `messages` was committed; what became of the rows in it (by place)."""
        self.admission.committed(messages, took_s=took_s)
        outcomes: dict[SenderKey, Outcome] = {}
        for place, row in rows.items():
            outcome = outcomes.setdefault(row.sender, Outcome())
            if place in refused:
                outcome.rejected.append((row.seq, refused[place]))
            else:
                outcome.committed.append(row.seq)
        for sender, outcome in outcomes.items():
            self._settled.committed(sender, outcome.committed)
        return outcomes

    def put_off(self, rows: Sequence[Row]) -> dict[SenderKey, Outcome]:
        """A batch could not be committed now."""
        self.admission.failed()
        outcomes: dict[SenderKey, Outcome] = {}
        for row in rows:
            outcomes.setdefault(row.sender, Outcome()).postponed.append((row.seq, BUSY))
        return outcomes

    def grant(self) -> Grant:
        """What each device may do now."""
        return self.admission.grant(self._queued(), ceiling=self.ceiling)

    def acknowledgement(
        self, sender: SenderKey, outcome: Outcome, *, server_epoch: str, contended: bool
    ) -> Acknowledgement:
        """What to tell one sender."""
        grant = self.grant()
        return Acknowledgement(
            install_id=sender.install_id,
            boot=sender.boot_id[-BOOT_CHARACTERS:],
            sequences=tuple(outcome.committed),
            rejected=tuple(outcome.rejected),
            postponed=tuple(outcome.postponed),
            cumulative=self._settled.cumulative(sender),
            selective=self._settled.selective(sender),
            credit=grant.credit,
            credit_bytes=grant.credit_bytes,
            backoff_ms=grant.backoff_ms,
            server_epoch=server_epoch,
            server_at_ms=self._clock.wall_ms(),
            contended=contended,
        )

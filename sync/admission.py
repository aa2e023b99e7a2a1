"""How much the devices may send now, worked out from how the cloud keeps up.

What the whole fleet may have outstanding is shared among the devices that are sending. It grows
with every commit that was quick and is halved by one that was slow, as a network's senders do it,
and is never more than a moment's work at the rate of large batches: what waits longer than a device
waits for an answer is sent again for nothing. (Small batches say little of the rate.) A queue that
grows all the same, or a database that fails, pauses the devices for about as long as it takes to
catch up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sync.clock import Clock


@dataclass(frozen=True, slots=True)
class AdmissionLimits:
    """What the cloud takes on.

    Attributes:
        credit: most rows that one device may have outstanding.
        fleet_bytes: most bytes that all devices together may have outstanding.
        fleet_rows: most rows that all devices together may have outstanding.
        ahead_s: most work that may be outstanding, in seconds.
        batch_s: most work that is committed together, in seconds: nobody's answer waits for longer.
        slow_s: a commit that takes this long was too much.
        queue_limit: messages that may wait here before the devices are told to pause.
        longest_pause_s: most that a device is told to wait at a time.
    """

    credit: int = 64
    fleet_bytes: int = 32 << 20
    fleet_rows: int = 4_096
    ahead_s: float = 1.0
    batch_s: float = 0.25
    slow_s: float = 2.0
    queue_limit: int = 1_024
    longest_pause_s: float = 30.0


@dataclass(frozen=True, slots=True)
class Grant:
    """What each device may do from now on; see Acknowledgement."""

    credit: int
    credit_bytes: int
    backoff_ms: int


_LEAST_BYTES: Final = 64 << 10
_MOST_BYTES: Final = 1 << 20
_ACTIVE_S: Final = 10.0
_FIRST_PAUSE_S: Final = 1.0
_GROWTH: Final = 64
_LEAST_ROWS: Final = 16
_LARGE_BATCH: Final = 16
_SMOOTHING: Final = 0.2
_UNKNOWN_RATE: Final = 64.0
"""Messages a second that are assumed until some were committed."""


class Admission:
    """Watches one cloud session's commits; used by its thread."""

    def __init__(self, clock: Clock, limits: AdmissionLimits) -> None:
        self._clock = clock
        self._limits = limits
        self._rate = _UNKNOWN_RATE
        self._rows = limits.fleet_rows // 4
        self._failures = 0
        self._sending: dict[str, float] = {}

    def committed(self, messages: int, *, took_s: float) -> None:
        """A batch was committed."""
        self._failures = 0
        is_slow = took_s >= self._limits.slow_s
        rows = self._rows // 2 if is_slow else self._rows + _GROWTH
        self._rows = min(max(rows, _LEAST_ROWS), self._limits.fleet_rows)
        if messages >= _LARGE_BATCH:
            self._rate += _SMOOTHING * (messages / max(took_s, 1e-6) - self._rate)

    def failed(self) -> None:
        """A batch could not be committed now."""
        self._failures += 1
        self._rows = max(self._rows // 2, _LEAST_ROWS)

    def batch(self) -> int:
        """How many messages to commit together at most."""
        return max(int(self._rate * self._limits.batch_s), _LARGE_BATCH)

    def heard(self, device_id: str) -> None:
        """A device is there and sends, or is about to."""
        self._sending.pop(device_id, None)
        self._sending[device_id] = self._clock.monotonic_s()

    def grant(self, queued: int, *, ceiling: int) -> Grant:
        """What each device may do with `queued` messages waiting here, and at most `ceiling` rows.

        A ceiling of 0 holds all uploads back.
        """
        limits = self._limits
        sending = self._count_sending()
        rows = min(self._rows, max(round(self._rate * limits.ahead_s), _LEAST_ROWS))
        share = rows // sending
        return Grant(
            credit=min(max(share, 1), limits.credit, ceiling),
            credit_bytes=min(max(limits.fleet_bytes // sending, _LEAST_BYTES), _MOST_BYTES),
            backoff_ms=round(1000 * min(self._pause_s(queued), limits.longest_pause_s)),
        )

    def _pause_s(self, queued: int) -> float:
        if self._failures:
            return float(_FIRST_PAUSE_S * 2 ** min(self._failures - 1, 16))
        surplus = queued - self._limits.queue_limit
        return surplus / max(self._rate, 1.0) if surplus > 0 else 0.0

    def _count_sending(self) -> int:
        """Devices that sent something lately, at least one; they stand in order of their last."""
        horizon_s = self._clock.monotonic_s() - _ACTIVE_S
        for device_id, last_s in list(self._sending.items()):
            if last_s >= horizon_s:
                break
            del self._sending[device_id]
        return max(1, len(self._sending))

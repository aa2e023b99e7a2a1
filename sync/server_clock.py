"""The cloud's time on a device whose own clock may be wrong by any amount.

What the cloud said last, plus what has passed on the monotonic clock since: nobody can set that, so
a device clock that is off by a year, or that jumps, changes no judgement of what has expired. The
last time heard is a floor that survives a restart; time only moves forward.

The offset is the median over the quickest answers: an answer's time is known to half of its round
trip only (Cristian 1989, Probabilistic clock synchronization, section 3).
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from statistics import median_low
from typing import Final

from sync.clock import Clock

MOST_SAMPLES: Final = 32
_QUICK: Final = 1.5
"""Answers that took at most so many times the quickest one's round trip are believed."""
_SLACK_MS: Final = 5.0


@dataclass(frozen=True, slots=True)
class _Sample:
    """One answer of the cloud.

    Attributes:
        round_trip_ms: from the question to the answer.
        against_wall_ms, against_monotonic_ms: the cloud's clock, at the middle of the round trip,
            minus the device's.
    """

    round_trip_ms: float
    against_wall_ms: float
    against_monotonic_ms: float


class ServerClock:
    """A `Clock` whose `wall_ms` is the cloud's time as far as it is known. Thread-safe.

    Before the cloud was heard in this process it is the floor plus what has passed; on a device
    that never heard of the cloud it is the device's own clock.

    Args:
        floor_ms: the last time that the cloud said to an earlier process; 0 for none.
    """

    def __init__(self, clock: Clock, *, floor_ms: int = 0) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._samples: deque[_Sample] = deque(maxlen=MOST_SAMPLES)
        self._floor_ms = floor_ms
        self._floor_at_s = clock.monotonic_s()
        self._latest_ms = 0

    def wall_ms(self) -> int:
        """The cloud's time, Unix milliseconds; once it was heard, never less than it was."""
        with self._lock:
            if not self._floor_ms:
                return self._clock.wall_ms()
            self._latest_ms = max(self._latest_ms, self._known_ms())
            return self._latest_ms

    def monotonic_s(self) -> float:
        """See Clock."""
        return self._clock.monotonic_s()

    def sleep(self, duration_s: float) -> None:
        """See Clock."""
        self._clock.sleep(duration_s)

    def heard(self, server_ms: int, *, asked_s: float | None = None) -> None:
        """The cloud said its time, over its authenticated connection.

        Args:
            asked_s: when that was asked for, on the monotonic clock; None where nobody asked, so
                that it is a floor only.
        """
        if server_ms <= 0:
            return
        with self._lock:
            now_s = self._clock.monotonic_s()
            if server_ms > self._floor_now_ms(now_s):
                self._floor_ms, self._floor_at_s = server_ms, now_s
            if asked_s is not None:
                round_trip_ms = max(0.0, (now_s - asked_s) * 1000)
                middle_ms = server_ms + round_trip_ms / 2
                self._samples.append(
                    _Sample(
                        round_trip_ms,
                        middle_ms - self._clock.wall_ms(),
                        middle_ms - now_s * 1000,
                    )
                )

    @property
    def offset_ms(self) -> int | None:
        """The cloud's clock minus the device's; None before it was measured."""
        with self._lock:
            quick = self._quick()
            return round(median_low(one.against_wall_ms for one in quick)) if quick else None

    @property
    def floor_ms(self) -> int:
        """What the cloud's time is at least; 0 where it was never heard."""
        with self._lock:
            return self._floor_now_ms(self._clock.monotonic_s()) if self._floor_ms else 0

    def _known_ms(self) -> int:
        now_s = self._clock.monotonic_s()
        floor_ms = self._floor_now_ms(now_s)
        if quick := self._quick():
            measured_ms = median_low(one.against_monotonic_ms for one in quick) + now_s * 1000
            return max(round(measured_ms), floor_ms)
        return floor_ms

    def _floor_now_ms(self, now_s: float) -> int:
        return self._floor_ms + round((now_s - self._floor_at_s) * 1000) if self._floor_ms else 0

    def _quick(self) -> list[_Sample]:
        if not self._samples:
            return []
        limit_ms = min(one.round_trip_ms for one in self._samples) * _QUICK + _SLACK_MS
        return [one for one in self._samples if one.round_trip_ms <= limit_ms]

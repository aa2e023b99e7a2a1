"""Time as a value that is passed in, so that tests and clones decide what time it is."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where time comes from."""

    def wall_ms(self) -> int:
        """Milliseconds since the Unix epoch; may jump."""
        ...

    def monotonic_s(self) -> float:
        """Seconds since an arbitrary moment; never goes back."""
        ...

    def sleep(self, duration_s: float) -> None:
        """Block for `duration_s` seconds."""
        ...


class SystemClock:
    """The machine's own clock."""

    def wall_ms(self) -> int:
        """Milliseconds since the Unix epoch."""
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        """Seconds on the machine's monotonic clock."""
        return time.monotonic()

    def sleep(self, duration_s: float) -> None:
        """Block for `duration_s` seconds."""
        time.sleep(max(0.0, duration_s))


class ManualClock:
    """A clock that moves only when told to; its `sleep` returns at once and moves it."""

    def __init__(self, start_ms: int = 1_700_000_000_000) -> None:
        self._start_ms = start_ms
        self._elapsed_s = 0.0

    def wall_ms(self) -> int:
        """Start plus what was advanced."""
        return self._start_ms + round(self._elapsed_s * 1000)

    def monotonic_s(self) -> float:
        """Seconds that were advanced."""
        return self._elapsed_s

    def sleep(self, duration_s: float) -> None:
        """Advance by `duration_s` without blocking."""
        self.advance(duration_s)

    def advance(self, duration_s: float) -> None:
        """Move forward by `duration_s` seconds."""
        if duration_s < 0:
            raise ValueError(f"time only moves forward, got {duration_s}")
        self._elapsed_s += duration_s

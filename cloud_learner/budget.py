"""How much computing a training may cost, counted over all processes that had a part in it."""

from __future__ import annotations

import time
from collections.abc import Callable


class Budget:
    """CPU seconds and minutes that a training may take; 0 for as many as it needs.

    Args:
        cpu_s: of this process and those before it.
        minutes: by the clock, while a process was at it.
        cpu_clock, wall_clock: seconds from any start.
    """

    def __init__(
        self,
        *,
        cpu_s: float = 0.0,
        minutes: float = 0.0,
        cpu_clock: Callable[[], float] = time.process_time,
        wall_clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cpu_s, self._minutes = cpu_s, minutes
        self._cpu_clock, self._wall_clock = cpu_clock, wall_clock
        self._cpu_begun, self._wall_begun = cpu_clock(), wall_clock()

    @property
    def cpu_s(self) -> float:
        """CPU seconds so far."""
        return self._cpu_clock() - self._cpu_begun

    @property
    def wall_s(self) -> float:
        """Seconds by the clock so far."""
        return self._wall_clock() - self._wall_begun

    @property
    def spent(self) -> float:
        """Share that is used up, of whichever is used up more; 0 where nothing is limited."""
        cpu = self.cpu_s / self._cpu_s if self._cpu_s else 0.0
        return max(cpu, self.wall_s / (60.0 * self._minutes) if self._minutes else 0.0)

    def add(self, *, cpu_s: float, wall_s: float) -> None:
        """Count what earlier processes took."""
        self._cpu_begun -= cpu_s
        self._wall_begun -= wall_s

"""What a device says of its health beside its counts: power, heat, what waits, clock, double.

Conditions cost a command on the phone, so they are read once a minute at most; what cannot be read
is left out.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from device_runtime.conditions import Conditions, ReadsConditions
from device_runtime.errors import PhoneFaultError, PhoneLostError
from device_runtime.gate import Gate
from sync.clock import Clock
from sync.messages import Health
from sync.outbox import waits_since_ms
from sync.server_clock import ServerClock

CONDITIONS_EVERY_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class VitalSigns:
    """Where a device's vital facts are read; each may be missing.

    Attributes:
        server_clock: the cloud's time.
        read_conditions: battery and heat.
        gate: knows the last stop or start.
        contended: whether another process connects under the device's name.
    """

    server_clock: ServerClock | None = None
    read_conditions: ReadsConditions | None = None
    gate: Gate | None = None
    contended: Callable[[], bool] = lambda: False


NO_SIGNS: Final = VitalSigns()


class Vitals:
    """Completes health messages; used by one thread.

    Args:
        connection: the device's database, whose outbox is looked at.
    """

    def __init__(self, signs: VitalSigns, connection: sqlite3.Connection, *, clock: Clock) -> None:
        self._signs = signs
        self._connection = connection
        self._clock = clock
        self._conditions = Conditions()
        self._due_s = float("-inf")

    def complete(self, health: Health) -> Health:
        """`health` with everything that is known of the device now."""
        signs = self._signs
        self._look()
        battery = self._conditions.battery_percent
        return replace(
            health,
            battery_percent=None if battery is None else round(battery),
            temperature_c=self._conditions.temperature_c,
            oldest_unsent_s=self._oldest_s(),
            clock_offset_ms=None if signs.server_clock is None else signs.server_clock.offset_ms,
            control_id="" if signs.gate is None else signs.gate.switch.heard_control,
            contended=signs.contended(),
        )

    def _look(self) -> None:
        now_s = self._clock.monotonic_s()
        if self._signs.read_conditions is None or now_s < self._due_s:
            return
        self._due_s = now_s + CONDITIONS_EVERY_S
        try:
            self._conditions = self._signs.read_conditions()
        except (PhoneLostError, PhoneFaultError):
            self._conditions = Conditions()

    def _oldest_s(self) -> float | None:
        """Age of the lowest row that waits, by the clock that stamped it; None where none does."""
        oldest_ms = waits_since_ms(self._connection)
        if oldest_ms is None:
            return None
        return max(0.0, (self._clock.wall_ms() - oldest_ms) / 1000)

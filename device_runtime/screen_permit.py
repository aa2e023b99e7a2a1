"""Whether pictures of a device's screens may be taken and leave it, right now.

The device's own setting decides; from afar it can be switched off, never on. On top, the phone's
power and network must be as its owner wants them. What cannot be read counts as not met.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final

from device_runtime.conditions import Conditions, ReadsConditions
from device_runtime.errors import PhoneFaultError, PhoneLostError
from sync.clock import Clock

READ_EVERY_S: Final = 60.0


class ScreensWhen(StrEnum):
    """What must be true of a phone while pictures of its screens are sent."""

    ALWAYS = "always"
    CHARGING = "charging"
    WIFI = "wifi"
    CHARGING_OR_WIFI = "charging_or_wifi"
    CHARGING_AND_WIFI = "charging_and_wifi"

    def holds(self, conditions: Conditions) -> bool:
        """Whether it is true of a phone in these conditions."""
        charging, wifi = conditions.charging is True, conditions.wifi is True
        match self:
            case ScreensWhen.ALWAYS:
                return True
            case ScreensWhen.CHARGING:
                return charging
            case ScreensWhen.WIFI:
                return wifi
            case ScreensWhen.CHARGING_OR_WIFI:
                return charging or wifi
            case ScreensWhen.CHARGING_AND_WIFI:
                return charging and wifi


class ScreenPermit:
    """One device's permit. `refresh` may block; the rest is quick and may come from any thread.

    Args:
        is_on: what the setting says now, the one from afar included.
        read_conditions: asks the phone.
    """

    def __init__(
        self,
        when: ScreensWhen,
        *,
        is_on: Callable[[], bool],
        read_conditions: ReadsConditions,
        clock: Clock,
    ) -> None:
        self._when = when
        self._is_on = is_on
        self._read = read_conditions
        self._clock = clock
        self._holds = when is ScreensWhen.ALWAYS
        self._due_s = float("-inf")

    def may_take(self) -> bool:
        """Whether pictures may be taken and kept for sending."""
        return self._is_on()

    def may_send(self) -> bool:
        """Whether pictures may leave the device."""
        return self._is_on() and self._holds

    def refresh(self) -> None:
        """Read the phone's conditions where that is due; called by the thread that plays."""
        now_s = self._clock.monotonic_s()
        if self._when is ScreensWhen.ALWAYS or now_s < self._due_s or not self._is_on():
            return
        self._due_s = now_s + READ_EVERY_S
        try:
            self._holds = self._when.holds(self._read())
        except (PhoneLostError, PhoneFaultError):
            self._holds = False

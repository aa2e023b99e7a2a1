"""Whether and how fast an agent may act on an owned phone now, whatever the action is.

The gate joins what does not depend on the screen: the owner's stop, the phone's conditions and the
pace. Clones have no gate.
"""

from __future__ import annotations

from typing import Final

from device_runtime.conditions import MAINS, Conditions, ReadsConditions, unmet
from device_runtime.errors import PhoneFaultError, PhoneLostError
from device_runtime.guard_rules import GuardRules
from device_runtime.stop import StopSwitch
from sync.clock import Clock

CONDITIONS_EVERY_S: Final = 30.0
MINUTE_S: Final = 60.0
_LOOK_EVERY_S: Final = 0.2
_OWN_TOUCH_S: Final = 2.0
"""The phone counts the agent's own touches as its owner's: one as recent as the agent's last is."""


class Gate:
    """Opens and closes for one phone; used by the thread that plays.

    Args:
        read_conditions: asks the phone; a clone is always fine.
    """

    def __init__(
        self,
        rules: GuardRules,
        switch: StopSwitch,
        *,
        clock: Clock,
        read_conditions: ReadsConditions = lambda: MAINS,
    ) -> None:
        self.switch = switch
        self._rules = rules
        self._clock = clock
        self._read = read_conditions
        self._unmet: str | None = None
        self._due_s = float("-inf")
        self._last_act_s = float("-inf")

    def closed(self) -> str | None:
        """Why the agent may not act now, in one line; None where it may."""
        return self.switch.reason() or self._unmet_now()

    def wait_turn(self) -> str | None:
        """Wait until one more action keeps the pace; a reason where the gate closed meanwhile.

        A stop ends the wait.
        """
        while (pause_s := self._pause_s()) > 0:
            self._clock.sleep(min(pause_s, _LOOK_EVERY_S))
            if reason := self.switch.reason():
                return reason
        self._last_act_s = self._clock.monotonic_s()
        return self.closed()

    def _pause_s(self) -> float:
        """Seconds until the next action is due: the pace is even, so nothing waits for long."""
        most = self._rules.actions_a_minute
        return self._last_act_s + MINUTE_S / most - self._clock.monotonic_s() if most else 0.0

    def _unmet_now(self) -> str | None:
        if self._clock.monotonic_s() >= self._due_s:
            self._due_s = self._clock.monotonic_s() + CONDITIONS_EVERY_S
            self._unmet = unmet(self._conditions(), self._rules.conditions)
        return self._unmet

    def _conditions(self) -> Conditions:
        """What the phone says; what it does not say, and a phone that is lost, is unknown."""
        try:
            found = self._read()
        except (PhoneLostError, PhoneFaultError):
            return Conditions()
        since_s = self._clock.monotonic_s() - self._last_act_s
        if found.idle_s is not None and since_s <= found.idle_s + _OWN_TOUCH_S:
            return Conditions(
                found.battery_percent,
                found.temperature_c,
                found.charging,
                found.wifi,
                idle_s=float("inf"),
            )
        return found

"""The owner of one phone as its process sees it: the switch, the desk, and what MQTT brings."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from device_runtime.owner import Desk, DeskRules
from device_runtime.stop import StopSwitch
from sync.clock import Clock
from sync.messages import ControlMessage, LiveMessage, OwnerAnswer, Start, Stop


class PhoneOwner:
    """Hears the owner at any time, from the wire's thread, also while the phone is busy.

    Args:
        new_id: makes the ids of questions.
    """

    def __init__(
        self,
        switch: StopSwitch,
        rules: DeskRules,
        *,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self.switch = switch
        self._send: Callable[[LiveMessage], None] = lambda _: None
        self.desk = Desk(rules, switch=switch, send=self._say, clock=clock, new_id=new_id)

    def attach(self, send: Callable[[LiveMessage], None]) -> None:
        """Say from now on how a message is published."""
        self._send = send

    def control(self, message: ControlMessage) -> None:
        """Obey the owner at once."""
        match message:
            case Stop():
                self.switch.stop(message.reason, message_id=message.control_id)
            case Start():
                self.switch.start(until_ms=message.until_ms, message_id=message.control_id)
            case OwnerAnswer():
                self.desk.take(message)
            case _:
                assert_never(message)

    def _say(self, message: LiveMessage) -> None:
        self._send(message)

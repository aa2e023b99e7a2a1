"""What keeps the phone that is played on from harm, as one value that an episode carries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from device_runtime.errors import PhoneFaultError, PhoneLostError
from device_runtime.gate import Gate
from device_runtime.guard_rules import PERMISSIVE, GuardRules
from device_runtime.ports import Phone
from device_runtime.redaction import CLONE_REDACTION
from device_runtime.secret_patterns import RedactionRules
from sync.vocabulary import Action, Key, press

_log = structlog.get_logger()


def _no_owner(question: str, action: Action) -> bool:
    """Nobody is there to say yes."""
    del question, action
    return False


@dataclass(frozen=True, slots=True)
class Safety:
    """What keeps the phone that is played on from harm; the defaults are a clone's.

    A clone belongs to nobody and its people are made up: everything is allowed, and only passwords
    and codes become slots, so that its texts stay what its tasks are about. A person's phone gets
    `owned_rules`, `OWNED_REDACTION`, somebody to ask, and a gate.

    Attributes:
        ask_owner: asks for one action; True means yes, and silence is a no.
        gate: the owner's stop, the phone's conditions and the pace; None for a clone.
    """

    guard_rules: GuardRules = PERMISSIVE
    redaction_rules: RedactionRules = CLONE_REDACTION
    ask_owner: Callable[[str, Action], bool] = field(default=_no_owner)
    gate: Gate | None = None


STOPPED = "stopped: "
"""Begins the `end_detail` of episodes that ended for no fault of the policy's: unjudged."""


def leave_home(phone: Phone) -> None:
    """Leave a stopped phone at its home screen; one that is lost or stuck stays where it is."""
    try:
        phone.act(press(Key.HOME))
    except (PhoneLostError, PhoneFaultError) as error:
        _log.warning("phone_not_left_at_home", reason=str(error))

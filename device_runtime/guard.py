"""What the agent may do on a phone that somebody owns: pure rules, asked before every action.

A clone has no owner, so `PERMISSIVE` lets everything pass there; `OWNED` is what a person's phone
starts with. A rule that cannot be decided denies.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sync.vocabulary import Action, ActionKind, Element, Key, Observation, SlotRef

_WORD = re.compile(r"[a-z]+")
_TOUCHES = frozenset({ActionKind.TAP, ActionKind.LONG_PRESS, ActionKind.DOUBLE_TAP})
_HARMLESS = frozenset({ActionKind.WAIT, ActionKind.FINISH, ActionKind.ANSWER, ActionKind.ASK_USER})
_WAYS_OUT = frozenset({Key.BACK, Key.HOME})


@dataclass(frozen=True, slots=True)
class GuardRules:
    """What is allowed.

    Attributes:
        stopped: nothing is allowed any more.
        allowed_packages: apps that may be used; empty means every app.
        forbidden_packages: apps that may not be used, even where allowed above.
        consequential_words: lower-case words; touching an element labelled with one needs a yes.
        types_passwords: whether literal text may go into a password field (a slot always may).
    """

    stopped: bool = False
    allowed_packages: frozenset[str] = frozenset()
    forbidden_packages: frozenset[str] = frozenset()
    consequential_words: frozenset[str] = frozenset()
    types_passwords: bool = False


PERMISSIVE = GuardRules(types_passwords=True)
"""Rules of a clone: nobody is harmed."""

OWNED = GuardRules(
    consequential_words=frozenset(
        {"send", "buy", "pay", "purchase", "order", "delete", "remove", "erase", "uninstall"}
    )
)
"""Rules that an owner's phone starts with."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """The action may be carried out."""


@dataclass(frozen=True, slots=True)
class Denied:
    """The action must not be carried out; the episode ends."""

    reason: str


@dataclass(frozen=True, slots=True)
class AskOwner:
    """The action may be carried out only after a yes from the owner."""

    question: str


Ruling = Allowed | Denied | AskOwner
ALLOWED = Allowed()


def decide(action: Action, observation: Observation, rules: GuardRules) -> Ruling:
    """Whether `action` may be carried out on the screen that `observation` shows."""
    if rules is PERMISSIVE or action.kind in _HARMLESS:
        return ALLOWED
    if rules.stopped:
        return Denied("the phone was stopped by its owner")
    return _about_app(action, observation, rules) or _about_content(action, observation, rules)


def _about_app(action: Action, observation: Observation, rules: GuardRules) -> Denied | None:
    if action.kind is ActionKind.KEY and action.key in _WAYS_OUT:
        return None
    if action.kind is ActionKind.OPEN_APP:
        if action.app in rules.forbidden_packages:
            return Denied(f"{action.app} may not be opened")
        return None
    package = observation.package
    if package in rules.forbidden_packages:
        return Denied(f"{package} may not be used")
    if rules.allowed_packages and package not in rules.allowed_packages:
        return Denied(f"{package or 'an unknown app'} is not among the allowed apps")
    return None


def _about_content(action: Action, observation: Observation, rules: GuardRules) -> Ruling:
    if action.kind is ActionKind.TYPE and not rules.types_passwords:
        secret = any(item.focused and item.password for item in observation.elements)
        if secret and not isinstance(action.text, SlotRef):
            return Denied("only a slot may be typed into a password field")
    if action.kind in _TOUCHES and rules.consequential_words:
        for element in _touched(action, observation):
            if rules.consequential_words.intersection(_WORD.findall(element.label.lower())):
                return AskOwner(f"May I touch “{element.label}”?")
    return ALLOWED


def _touched(action: Action, observation: Observation) -> list[Element]:
    """Every element under the touch: the index of an action is a hint, the position is a fact."""
    x_px = (action.x or 0.0) * observation.width_px
    y_px = (action.y or 0.0) * observation.height_px
    return [
        element
        for element in observation.elements
        if element.bounds[0] <= x_px < element.bounds[2]
        and element.bounds[1] <= y_px < element.bounds[3]
    ]

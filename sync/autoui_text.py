"""Actions as AutoUI writes them (Android in the Wild's seven action types), both ways.

    Action Plan: [DUAL_POINT]; Action Decision: "action_type": "DUAL_POINT",
    "touch_point": "[y, x]", "lift_point": "[y, x]", "typed_text": ""       (one line)

Points are fractions of the screen, y first, to four decimals; "[-1.0, -1.0]" where there is none.
A tap touches and lifts at one point; a scroll is one of four canonical swipes.

Canonical forms: an action comes back as `canonical(action)` says, without what the language has no
words for (element, duration; typing always replaces what the field holds). Long press, double tap,
recents, menu, open_app, wait, answer and ask_user cannot be said at all.

The typed text is the last field and reaches to the last quotation mark, so that commas and
quotation marks inside it survive; a line feed does not.

Source: Zhang and Zhang 2023, You Only Look at Screens (arXiv 2309.11436); the distance below which
two points are a tap is Android in the Wild's, 0.04.
"""

from __future__ import annotations

import math
import re
from typing import Final

from sync.action_words import inexpressible, malformed, text_in
from sync.byte_grammar import Fragment, any_of, literal, many, one_of, optional, sequence
from sync.vocabulary import (
    Action,
    ActionKind,
    Direction,
    FinishStatus,
    Key,
    finish,
    press,
    scroll,
    tap,
    type_text,
)

LANGUAGE: Final = "AutoUI text"
TAP_DISTANCE: Final = 0.04
"""Touch and lift nearer to each other than this share of the screen are a tap."""

DUAL_POINT: Final = "DUAL_POINT"
_NOWHERE: Final = "-1.0, -1.0"
_MOST_PLANNED: Final = 4

_SWIPES: Final = {  # touch (y, x), lift (y, x)
    Direction.DOWN: ((0.8, 0.5), (0.2, 0.5)),
    Direction.UP: ((0.2, 0.5), (0.8, 0.5)),
    Direction.RIGHT: ((0.5, 0.8), (0.5, 0.2)),
    Direction.LEFT: ((0.5, 0.2), (0.5, 0.8)),
}
_KEYS: Final = {Key.BACK: "PRESS_BACK", Key.HOME: "PRESS_HOME", Key.ENTER: "PRESS_ENTER"}
_STATUSES: Final = {
    FinishStatus.COMPLETE: "STATUS_TASK_COMPLETE",
    FinishStatus.INFEASIBLE: "STATUS_TASK_IMPOSSIBLE",
}
_PLAIN: Final = {
    **{name: press(key) for key, name in _KEYS.items()},
    **{name: finish(status) for status, name in _STATUSES.items()},
}
TYPES: Final = (DUAL_POINT, "TYPE", *_PLAIN)
"""The action types, as a plan may name them."""

_WRITTEN: Final = re.compile(
    r'\s*(?:Action Plan: ?\[(?P<plan>[A-Z_, ]*)\] ?; ?)?Action Decision: ?"action_type": ?'
    r'"(?P<type>[A-Z_]+)", ?"touch_point": ?"\[(?P<touch>[^"\]]*)\]", ?"lift_point": ?'
    r'"\[(?P<lift>[^"\]]*)\]", ?"typed_text": ?"(?P<text>[^\n]*)"\s*'
)


def autoui_text(action: Action) -> str:
    """`action` in AutoUI's words; its plan names the action itself.

    Raises: RejectedError: there are no words for it ("inexpressible").
    """
    name, touch, lift, typed = _parts(action)
    return (
        f'Action Plan: [{name}]; Action Decision: "action_type": "{name}", '
        f'"touch_point": "[{touch}]", "lift_point": "[{lift}]", "typed_text": "{typed}"'
    )


def autoui_action(text: str) -> Action:
    """The action that a text in AutoUI's words means; its plan is not looked at.

    Raises: RejectedError: it is no such text ("malformed").
    """
    read = _WRITTEN.fullmatch(text)
    if read is None:
        raise malformed(text, LANGUAGE)
    name = read["type"]
    if name in _PLAIN:
        return _PLAIN[name]
    if name == "TYPE":
        return type_text(read["text"])
    touch, lift = _point(read["touch"]), _point(read["lift"])
    if name != DUAL_POINT or touch is None or lift is None:
        raise malformed(text, LANGUAGE)
    return _touched(touch, lift)


def canonical(action: Action) -> Action:
    """What `action` is once it was said in AutoUI's words.

    Raises: RejectedError: there are no words for it ("inexpressible").
    """
    return autoui_action(autoui_text(action))


def autoui_grammar() -> Fragment:
    """The texts that `autoui_action` reads, as AutoUI's own checkpoints write them."""
    kind = one_of(*map(literal, TYPES))
    following = optional(sequence(literal(","), kind))
    plan = sequence(kind, *[following] * (_MOST_PLANNED - 1))
    digit = any_of(b"0123456789")
    digits = sequence(digit, *[optional(digit)] * 3)
    fraction = one_of(sequence(literal("0."), digits), literal("1.0"))
    point = sequence(fraction, literal(", "), fraction)
    nowhere = literal(_NOWHERE)
    text = many(any_of(bytes(byte for byte in range(32, 256) if byte != 127)))
    return sequence(
        literal("Action Plan: ["),
        plan,
        literal(']; Action Decision: "action_type": "'),
        one_of(
            _decision(literal(DUAL_POINT), point, Fragment(1)),
            _decision(literal("TYPE"), nowhere, text),
            _decision(one_of(*map(literal, _PLAIN)), nowhere, Fragment(1)),
        ),
        literal('"'),
    )


def _decision(kind: Fragment, point: Fragment, text: Fragment) -> Fragment:
    return sequence(
        kind,
        literal('", "touch_point": "['),
        point,
        literal(']", "lift_point": "['),
        point,
        literal(']", "typed_text": "'),
        text,
    )


def _parts(action: Action) -> tuple[str, str, str, str]:
    """Action type, touch point, lift point and typed text."""
    match action:
        case Action(kind=ActionKind.TAP, x=float(x), y=float(y)):
            point = _written_point(y, x)
            return DUAL_POINT, point, point, ""
        case Action(kind=ActionKind.SCROLL, direction=Direction() as direction):
            touch, lift = _SWIPES[direction]
            return DUAL_POINT, _written_point(*touch), _written_point(*lift), ""
        case Action(kind=ActionKind.SWIPE | ActionKind.DRAG) if _is_swipe(action):
            touch_point = _written_point(action.y or 0.0, action.x or 0.0)
            return DUAL_POINT, touch_point, _written_point(action.y2 or 0.0, action.x2 or 0.0), ""
        case Action(kind=ActionKind.TYPE) if "\n" not in text_in(action):
            return "TYPE", _NOWHERE, _NOWHERE, text_in(action)
        case Action(kind=ActionKind.KEY, key=Key() as key) if key in _KEYS:
            return _KEYS[key], _NOWHERE, _NOWHERE, ""
        case Action(kind=ActionKind.FINISH, status=FinishStatus() as status):
            return _STATUSES[status], _NOWHERE, _NOWHERE, ""
        case _:
            raise inexpressible(action, LANGUAGE)


def _is_swipe(action: Action) -> bool:
    """Whether the ends of a swipe are far enough apart not to be read as a tap."""
    ends = (action.y2 or 0.0, action.x2 or 0.0)
    return math.dist((action.y or 0.0, action.x or 0.0), ends) >= TAP_DISTANCE


def _written_point(y: float, x: float) -> str:
    return f"{round(float(y), 4)}, {round(float(x), 4)}"


def _point(text: str) -> tuple[float, float] | None:
    """(y, x) of a point on the screen."""
    parts = text.split(",")
    try:
        numbers = tuple(map(float, parts))
    except ValueError:
        return None
    if len(numbers) != 2 or not all(0.0 <= number <= 1.0 for number in numbers):
        return None
    return numbers


def _touched(touch: tuple[float, float], lift: tuple[float, float]) -> Action:
    if math.dist(touch, lift) < TAP_DISTANCE:
        return tap(touch[1], touch[0])
    for direction, ends in _SWIPES.items():
        if (touch, lift) == ends:
            return scroll(direction)
    return Action(ActionKind.SWIPE, x=touch[1], y=touch[0], x2=lift[1], y2=lift[0])

"""Actions as gymnasium passes them: a space's sample in, an action of the agent out, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, cast

import numpy as np
from gymnasium import spaces

from apps_mock.unicode_text import UnicodeText
from sync.vocabulary import (
    Action,
    ActionKind,
    Direction,
    FinishStatus,
    Key,
    Observation,
    tap_element,
)

MAX_ELEMENTS = 128
"""Elements of a screen that an action can point to."""

_KINDS = tuple(ActionKind)
_DIRECTIONS, _KEYS, _STATUSES = tuple(Direction), tuple(Key), tuple(FinishStatus)
_FIELDS = ("kind", "element", "point", "direction", "key", "status", "text")

Taken = dict[str, Any]  # Any: what each space holds


def action_space() -> spaces.Dict:
    """An action's fields; which of them count depends on "kind" (see `action_of`)."""
    return spaces.Dict(
        {
            "kind": spaces.Discrete(len(_KINDS)),
            "element": spaces.Discrete(MAX_ELEMENTS + 1),
            "point": spaces.Box(0.0, 1.0, (4,), np.float32),
            "direction": spaces.Discrete(len(_DIRECTIONS)),
            "key": spaces.Discrete(len(_KEYS)),
            "status": spaces.Discrete(len(_STATUSES)),
            "text": UnicodeText(256),
        }
    )


def action_of(taken: Taken, seen: Observation) -> Action:
    """The action that a sample of `action_space` stands for.

    Fields: "kind" (place in `ActionKind`), "element" (1 + place in the observation; 0, or one that
    is not there, takes the point), "point" (x, y, x2, y2 as fractions of the screen), "direction",
    "key", "status" (places in their enums), "text" (what to type, answer, ask, or the app's name).

    Raises: ValueError: it is no such sample; the text names the field and what may be in it.
    """
    taken = _checked(taken)
    kind: ActionKind = taken["kind"]
    x, y, x2, y2 = taken["point"]
    element = taken["element"] - 1
    pointed = element if 0 <= element < len(seen.elements) else None
    match kind:
        case ActionKind.TAP | ActionKind.LONG_PRESS | ActionKind.DOUBLE_TAP:
            if pointed is not None:
                return tap_element(seen, pointed, kind)
            return Action(kind, x=x, y=y)
        case ActionKind.SWIPE | ActionKind.DRAG:
            return Action(kind, x=x, y=y, x2=x2, y2=y2)
        case ActionKind.SCROLL:
            return Action(kind, direction=taken["direction"], element=pointed)
        case ActionKind.TYPE:
            return Action(kind, text=taken["text"], clear=True)
        case ActionKind.KEY:
            return Action(kind, key=taken["key"])
        case ActionKind.OPEN_APP:
            return Action(kind, app=taken["text"])
        case ActionKind.WAIT:
            return Action(kind, duration_ms=1000)
        case ActionKind.FINISH:
            return Action(kind, status=taken["status"])
        case _:
            return Action(kind, text=taken["text"])


def taken_of(action: Action) -> Taken:
    """The sample of `action_space` that stands for an action: the other way round."""
    points = (action.x, action.y, action.x2, action.y2)
    text = action.app if action.kind is ActionKind.OPEN_APP else action.text
    return {
        "kind": _KINDS.index(action.kind),
        "element": 0 if action.element is None else action.element + 1,
        "point": np.array([value or 0.0 for value in points], np.float32),
        "direction": _DIRECTIONS.index(action.direction) if action.direction else 0,
        "key": _KEYS.index(action.key) if action.key else 0,
        "status": _STATUSES.index(action.status) if action.status else 0,
        "text": cast("str", text or ""),
    }


def _checked(taken: Any) -> Taken:  # Any: whatever somebody passes to `step`
    """The action with plain values in its fields.

    Raises: ValueError: it is no sample of `action_space`.
    """
    if not isinstance(taken, Mapping):
        raise ValueError(  # noqa: TRY004 - one class of error for all that is no action
            f"an action is a dict with the fields {', '.join(_FIELDS)}, not {taken!r}; "
            "env.action_space.sample() is one"
        )
    missing = [name for name in _FIELDS if name not in taken]
    if missing:
        raise ValueError(
            f"the action lacks {', '.join(missing)}: it has all of {', '.join(_FIELDS)}, also "
            "those that its kind does not read"
        )
    if not isinstance(taken["text"], str):
        raise ValueError(  # noqa: TRY004 - as above
            f"the action's text is {taken['text']!r}: give a str"
        )
    return {
        "kind": _member(taken, "kind", _KINDS),
        "element": _number(taken, "element", MAX_ELEMENTS, "0, or 1 + place of an element"),
        "point": _point(taken["point"]),
        "direction": _member(taken, "direction", _DIRECTIONS),
        "key": _member(taken, "key", _KEYS),
        "status": _member(taken, "status", _STATUSES),
        "text": taken["text"],
    }


def _member(taken: Mapping[str, Any], name: str, members: Sequence[StrEnum]) -> StrEnum:
    meant = ", ".join(f"{place} {member.value}" for place, member in enumerate(members))
    return members[_number(taken, name, len(members) - 1, meant)]


def _number(taken: Mapping[str, Any], name: str, most: int, meant: str) -> int:
    value = taken[name]
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or not 0 <= value <= most:
        raise ValueError(
            f"the action's {name} is {value!r}: give a whole number 0..{most} ({meant})"
        )
    return int(value)


def _point(value: Any) -> tuple[float, ...]:  # Any: whatever somebody passes
    try:
        numbers = tuple(float(part) for part in value)
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) != 4 or not all(math.isfinite(part) and 0 <= part <= 1 for part in numbers):
        raise ValueError(
            f"the action's point is {value!r}: give x, y, x2, y2, each 0..1 of the screen"
        )
    return numbers

"""Actions as a person types them at a prompt: `tap:540,300`, or the fields of an action as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from enum import StrEnum
from typing import Any, Final, TypeVar

from sync.vocabulary import (
    Action,
    ActionKind,
    Direction,
    FinishStatus,
    Key,
    Observation,
    SlotRef,
    tap_element,
)

_PLACES: Final = ("x", "y", "x2", "y2")
_ENUMS: Final = {"direction": Direction, "key": Key, "status": FinishStatus}
_FIELDS: Final = frozenset(one.name for one in fields(Action))
_POINTED: Final = frozenset({"tap", "long_press", "double_tap"})
_DRAWN: Final = frozenset({"swipe", "drag"})
_WORD_FIELDS: Final = {
    "type": "text",
    "answer": "text",
    "ask_user": "text",
    "key": "key",
    "open_app": "app",
    "scroll": "direction",
    "finish": "status",
}

_Named = TypeVar("_Named", bound=StrEnum)


def read_action(text: str, observation: Observation) -> Action:
    """The action that `text` means on a screen.

    Raises: ValueError: it means none; the text says what to write.
    """
    if text.lstrip().startswith("{"):
        return _of_fields(_json(text), observation)
    kind, _, rest = text.partition(":")
    if kind in _POINTED and rest.startswith("#"):
        return _of_fields({"kind": kind, "element": _whole(rest[1:])}, observation)
    if kind in _POINTED | _DRAWN:
        return _of_fields({"kind": kind, **_places(kind, rest)}, observation)
    if kind in _WORD_FIELDS and rest:
        return _of_fields({"kind": kind, _WORD_FIELDS[kind]: rest}, observation)
    if rest and kind in set(ActionKind):
        raise ValueError(f"nothing stands behind {kind}: write {kind}")
    return _of_fields({"kind": kind}, observation)


def _json(text: str) -> dict[str, Any]:  # Any: values of JSON, checked below
    try:
        found = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"no JSON ({error})") from error
    if not isinstance(found, dict):
        example = '{"kind": "tap", "x": 540, "y": 300}'
        raise ValueError(f"write an object such as {example}")  # noqa: TRY004 - of JSON, not a type
    return found


def _places(kind: str, rest: str) -> dict[str, float]:
    parts, names = rest.split(","), _PLACES[: 4 if kind in _DRAWN else 2]
    if len(parts) != len(names) or not all(part.strip() for part in parts):
        usual = f"{kind}:{','.join(names).upper()}"
        raise ValueError(f"write {usual}{f' or {kind}:#INDEX' if kind in _POINTED else ''}")
    return dict(zip(names, map(_number, parts), strict=True))


def _number(given: object) -> float:
    """A number as JSON or a prompt gives it; infinite ones are none."""
    try:
        number = float(given) if isinstance(given, str | int | float) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if isinstance(given, bool) or not math.isfinite(number):
        raise ValueError(f"{given!r} is no number")
    return number


def _whole(given: object) -> int:
    number = _number(given)
    if not number.is_integer():
        raise ValueError(f"{given!r} is no whole number")
    return int(number)


def _of_fields(given: dict[str, Any], observation: Observation) -> Action:
    if unknown := set(given) - _FIELDS:
        raise ValueError(f"an action has no {', '.join(sorted(unknown))}")
    kind = _named("action", ActionKind, given.get("kind", ""))
    values = {
        name: _value(name, value, observation)
        for name, value in given.items()
        if value is not None and name != "kind"
    }
    element = values.get("element")
    if element is not None and not 0 <= element < len(observation.elements):
        count = len(observation.elements)
        raise ValueError(f"the screen has no element {element}: it has {count}, counted from 0")
    if element is not None and kind.value in _POINTED and "x" not in values:
        return tap_element(observation, element, kind)
    return Action(kind, **values)


def _value(name: str, value: Any, observation: Observation) -> Any:  # Any: see _json
    """The value of an action's field.

    Raises: ValueError: it cannot be that of this field.
    """
    if name in _PLACES:
        return _share(name, _number(value), observation)
    if name in _ENUMS:
        return _named(name, _ENUMS[name], value)
    if name in {"element", "duration_ms"}:
        return _whole(value)
    if name == "text" and isinstance(value, dict):
        return SlotRef(str(value.get("slot", "")))
    wanted = bool if name == "clear" else str
    if not isinstance(value, wanted):
        kind = "true or false" if wanted is bool else "a text"
        raise ValueError(f"{name} is {kind}, not {value!r}")  # noqa: TRY004 - of JSON, not a type
    return value


def _share(name: str, place: float, observation: Observation) -> float:
    """The share of the screen that a place is: numbers up to 1 are shares already."""
    is_across = name.startswith("x")
    extent = observation.width_px if is_across else observation.height_px
    if not 0 <= place <= max(extent, 1):
        what = "wide" if is_across else "high"
        raise ValueError(
            f"{name} {place:g} lies outside the screen, which is {extent} pixels {what}; "
            "write 0 to 1 for a share of it, else pixels"
        )
    return place if place <= 1.0 else place / extent


def _named(what: str, names: type[_Named], given: object) -> _Named:
    """The member of that name."""
    member = next((one for one in names if one.value == given), None)
    if member is None:
        raise ValueError(f"no {what} is called {given!r}; there are {', '.join(names)}")
    return member

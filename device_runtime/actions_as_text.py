"""Actions as a person types them at a prompt: `tap:540,300`, or the fields of an action as JSON."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, Final

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


def read_action(text: str, observation: Observation) -> Action:
    """The action that `text` means on a screen.

    Raises: ValueError: it means none; the text says what to write.
    """
    if text.lstrip().startswith("{"):
        return _of_fields(_json(text), observation)
    kind, _, rest = text.partition(":")
    if kind in _POINTED and rest.startswith("#"):
        return _of_fields({"kind": kind, "element": _number(rest[1:])}, observation)
    if kind in _POINTED | _DRAWN:
        return _of_fields({"kind": kind, **_places(kind, rest)}, observation)
    if kind in _WORD_FIELDS and rest:
        return _of_fields({"kind": kind, _WORD_FIELDS[kind]: rest}, observation)
    return _of_fields({"kind": kind}, observation)


def _json(text: str) -> dict[str, Any]:  # Any: values of JSON, checked below
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON ({error})") from error
    if not isinstance(found, dict):
        example = '{"kind": "tap", "x": 540, "y": 300}'
        raise ValueError(f"write an object such as {example}")  # noqa: TRY004 - of JSON, not a type
    return found


def _places(kind: str, rest: str) -> dict[str, float]:
    numbers = [_number(part) for part in rest.split(",")]
    names = _PLACES[: 4 if kind in _DRAWN else 2]
    if len(numbers) != len(names):
        raise ValueError(f"write {kind}:{','.join(names).upper()}")
    return dict(zip(names, numbers, strict=True))


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is no number") from error


def _of_fields(given: dict[str, Any], observation: Observation) -> Action:
    if unknown := set(given) - _FIELDS:
        raise ValueError(f"an action has no {', '.join(sorted(unknown))}")
    kinds = ", ".join(kind.value for kind in ActionKind)
    try:
        kind = ActionKind(given.get("kind", ""))
    except ValueError as error:
        raise ValueError(f"no action is called {given.get('kind')!r}; there are {kinds}") from error
    values = {name: _value(name, value, observation) for name, value in given.items()}
    values["kind"] = kind
    element = values.get("element")
    if element is not None and not 0 <= element < len(observation.elements):
        count = len(observation.elements)
        raise ValueError(f"the screen has no element {element}: it has {count}, counted from 0")
    if element is not None and kind.value in _POINTED and "x" not in given:
        return tap_element(observation, element, kind)
    return Action(**values)


def _value(name: str, value: Any, observation: Observation) -> Any:  # Any: see _json
    if name in _PLACES:
        extent = observation.width_px if name.startswith("x") else observation.height_px
        share = float(value)
        return share if share <= 1.0 else min(share / extent, 1.0 if share <= extent else share)
    if name in _ENUMS:
        return _ENUMS[name](value)
    if name == "element":
        return int(value)
    if name == "text" and isinstance(value, dict):
        return SlotRef(str(value.get("slot", "")))
    return value

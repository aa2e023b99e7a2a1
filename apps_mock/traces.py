"""Traces: a list of actions played on a clone, with exact hashes of what was there before each.

Equal seeds and actions give equal traces, in whatever process. Actions are written as the wire
writes them, {"kind": "tap", "x": 0.5, "y": 0.1}, or short:

| short form                                                     | what it does                   |
|----------------------------------------------------------------|--------------------------------|
| {"tap": [x, y]}, {"long_press": [x, y]}, {"double_tap": [x, y]} | a touch there                  |
| {"tap": "Save"}, {"long_press": "Save"}                        | the element with that label    |
| {"swipe": [x1, y1, x2, y2]}, {"drag": [x1, y1, x2, y2]}        | a finger from there to there   |
| {"scroll": "down"}, {"key": "back"}, {"open_app": "Clock"}     | directions, keys, apps         |
| {"type": "text"}, {"answer": "text"}, {"wait": 1000}           | texts, milliseconds            |
| {"finish": "complete"}                                         | or "infeasible"                |

Places are fractions (0..1) of the screen, or pixels where a number is larger than 1.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import msgspec

from apps_mock.errors import ActionsFileError
from apps_mock.phone import MockPhone
from sync.vocabulary import (
    Action,
    ActionKind,
    Direction,
    FinishStatus,
    Key,
    Observation,
    tap_element,
)

_ENDS: Final = frozenset({ActionKind.FINISH, ActionKind.ANSWER})


@dataclass(frozen=True, slots=True)
class TraceStep:
    """What was there, and what was done then; hashes are SHA-256 (hex).

    Attributes:
        state: exact hash of the phone's state.
        tree: of the view hierarchy as XML.
        screenshot: of the PNG.
        action: what was done; None after the last action.
        valid: whether it could be carried out.
    """

    index: int
    state: str
    tree: str
    screenshot: str
    action: Action | None = None
    valid: bool = True


def read_actions(text: str) -> list[object]:
    """The entries of a JSON list, or of JSON lines.

    Raises: ActionsFileError: the text is neither, or holds no action.
    """
    entries = _listed(text) if text.lstrip().startswith("[") else _lines_of(text)
    if not entries:
        raise ActionsFileError(f"there are no actions; write some, such as {_EXAMPLE}")
    return entries


def _listed(text: str) -> list[object]:
    try:
        entries: list[object] = json.loads(text)
    except ValueError as error:
        raise ActionsFileError(f"the JSON list of actions is broken: {error}; repair it") from error
    return entries


def _lines_of(text: str) -> list[object]:
    entries: list[object] = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            entries += [json.loads(line)] if line.strip() else []
        except ValueError as error:
            raise ActionsFileError(
                f"line {number} is no JSON ({error}): actions are a JSON list, or one JSON object "
                "a line"
            ) from error
    return entries


def played(phone: MockPhone, entries: Sequence[object]) -> Iterator[TraceStep]:
    """Play actions on the task that is loaded; yields a step before each and one at the end.

    Raises: ActionsFileError: an entry is no action, or names an element that does not show.
    """
    for index, entry in enumerate(entries):
        before = _hashes(phone)
        action = action_of(entry, phone.observe(), index)
        valid = action.kind in _ENDS or phone.act(action).valid
        yield TraceStep(index, *before, action, valid)
        if action.kind in _ENDS:
            return
    yield TraceStep(len(entries), *_hashes(phone))


def _hashes(phone: MockPhone) -> tuple[str, str, str]:
    return phone.state_hash(), _sha256(phone.tree_xml()), _sha256(phone.screenshot())


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def action_of(entry: object, seen: Observation, index: int = 0) -> Action:
    """The action that an entry of a trace's file stands for.

    Raises: ActionsFileError: it stands for none, or names an element that does not show.
    """
    if not isinstance(entry, Mapping) or not entry:
        raise ActionsFileError(f"action {index} is {entry!r}: write an object such as {_EXAMPLE}")
    try:
        if "kind" in entry:
            return _whole(dict(entry))
        return _short(dict(entry), seen)
    except ValueError as error:  # msgspec's ValidationError is one
        written = json.dumps(entry, ensure_ascii=False)
        raise ActionsFileError(f"action {index}, {written}: {error}") from error


_EXAMPLE: Final = '{"tap": [0.5, 0.1]}'
_TOUCHES: Final = frozenset({ActionKind.TAP, ActionKind.LONG_PRESS, ActionKind.DOUBLE_TAP})
_LINES: Final = frozenset({ActionKind.SWIPE, ActionKind.DRAG})
_FIELDS: Final = {
    ActionKind.SCROLL: "direction",
    ActionKind.KEY: "key",
    ActionKind.OPEN_APP: "app",
    ActionKind.TYPE: "text",
    ActionKind.ANSWER: "text",
    ActionKind.ASK_USER: "text",
    ActionKind.WAIT: "duration_ms",
    ActionKind.FINISH: "status",
}
"""Which field of an action the value of a short form is."""

_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "direction": tuple(Direction),
    "key": tuple(Key),
    "status": tuple(FinishStatus),
}
_NAMES: Final = tuple(entry.name for entry in fields(Action))
_MOST_LABELS: Final = 40


def _whole(written: dict[str, Any]) -> Action:  # Any: what JSON may hold
    """An action as the wire writes it."""
    kind = _kind(written["kind"])
    unknown = [name for name in written if name not in _NAMES]
    if unknown:
        raise ValueError(f"actions have no {', '.join(unknown)}; they have {', '.join(_NAMES)}")
    for name, known in _CHOICES.items():
        if written.get(name) is not None and written[name] not in known:
            raise ValueError(f"there is no {name} {written[name]!r}; there are {', '.join(known)}")
    return msgspec.convert({**written, "kind": kind.value}, Action)


def _kind(name: Any) -> ActionKind:  # Any: as above
    if name not in tuple(ActionKind):
        raise ValueError(f"there is no action {name!r}; there are {', '.join(ActionKind)}")
    return ActionKind(name)


def _short(written: dict[str, Any], seen: Observation) -> Action:  # Any: as above
    if len(written) != 1:
        raise ValueError(f'a short form has one key, as {_EXAMPLE} has; others have a "kind"')
    [(name, value)] = written.items()
    kind = _kind(name)
    if kind in _TOUCHES and isinstance(value, str):
        return tap_element(seen, _labelled(value, seen), kind)
    if kind in _TOUCHES | _LINES:
        return _whole({"kind": kind.value, **_places(kind, value, seen)})
    extra = {"clear": True} if kind is ActionKind.TYPE else {}
    return _whole({"kind": kind.value, _FIELDS[kind]: value, **extra})


def _places(kind: ActionKind, value: Any, seen: Observation) -> dict[str, float]:  # Any: as above
    """Fractions of the screen from fractions and pixels."""
    names = ("x", "y", "x2", "y2")[: 4 if kind in _LINES else 2]
    if not isinstance(value, list) or len(value) != len(names) or not all(map(_is_number, value)):
        label = "" if kind in _LINES else ", or the label of an element"
        raise ValueError(f"a {kind} takes [{', '.join(names)}] in numbers{label}")
    extents = (seen.width_px, seen.height_px) * 2
    for part, extent in zip(value, extents, strict=False):
        if not 0 <= part <= extent:
            raise ValueError(
                f"{part} is off the screen, which has {seen.width_px} x {seen.height_px} pixels; "
                "numbers up to 1 are fractions of it, larger ones pixels"
            )
    return {
        name: float(part) / extent if part > 1 else float(part)
        for name, part, extent in zip(names, value, extents, strict=False)
    }


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _labelled(label: str, seen: Observation) -> int:
    for index, element in enumerate(seen.elements):
        if label in {element.text, element.description}:
            return index
    there = dict.fromkeys(element.label for element in seen.elements if element.label)
    shown = ", ".join(repr(name) for name in [*there][:_MOST_LABELS]) or "none"
    raise ValueError(f"no element is called {label!r} on this screen; there are {shown}")

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
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from apps_mock.errors import ActionsFileError
from apps_mock.phone import MockPhone
from sync.vocabulary import Action, ActionKind, Observation, tap_element

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

    Raises: ActionsFileError: the text is neither.
    """
    try:
        if text.lstrip().startswith("["):
            entries: list[object] = json.loads(text)
            return entries
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise ActionsFileError(f"actions are a JSON list or one JSON object a line: {error}") from (
            error
        )


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
        if "kind" not in entry and len(entry) == 1:
            [(name, value)] = entry.items()
            return _short(ActionKind(name), value, seen)
        return msgspec.convert(dict(entry), Action)
    except (ValueError, TypeError) as error:  # msgspec's ValidationError is a ValueError
        raise ActionsFileError(f"action {index} is no action ({error}): {_EXAMPLE} is one") from (
            error
        )


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


def _short(kind: ActionKind, value: Any, seen: Observation) -> Action:  # Any: what JSON may hold
    if kind in _TOUCHES and isinstance(value, str):
        return tap_element(seen, _labelled(value, seen), kind)
    if kind in _TOUCHES | _LINES:
        names = ("x", "y", "x2", "y2")[: 4 if kind in _LINES else 2]
        extents = (seen.width_px, seen.height_px) * 2
        if not isinstance(value, list) or len(value) != len(names):
            raise ValueError(f"a {kind} needs {len(names)} numbers, or the label of an element")
        places = {
            name: float(part) / extent if part > 1 else float(part)
            for name, part, extent in zip(names, value, extents, strict=False)
        }
        return msgspec.convert({"kind": kind.value, **places}, Action)
    extra = {"clear": True} if kind is ActionKind.TYPE else {}
    return msgspec.convert({"kind": kind.value, _FIELDS[kind]: value, **extra}, Action)


def _labelled(label: str, seen: Observation) -> int:
    for index, element in enumerate(seen.elements):
        if label in {element.text, element.description}:
            return index
    raise ValueError(f"no element is called {label!r} on this screen")

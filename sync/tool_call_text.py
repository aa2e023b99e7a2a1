"""Actions as Qwen-VL agents call them (the tool `mobile_use` in MAI-UI's words), both ways.

    <tool_call>
    {"name": "mobile_use", "arguments": {"action": "click", "coordinate": [500, 250]}}
    </tool_call>

Coordinates are x, y from 0 to 999, whatever the screen's size. A swipe is named by where the finger
goes, our scroll by what it shows, so "up" and DOWN are the same.

Canonical forms: an action comes back as `canonical(action)` says: points on that grid of 1000 by
1000, without what the language has no words for (element, duration, the key "recents"; typing
always replaces what the field holds; a free swipe is a drag). Two synonyms are read and never
written: "AWAKE" for "open", "INFO" for "ask_user". What stands before the call (a thinking part) is
not looked at.

Source: the published prompt of MAI-UI (Tongyi-MAI, github.com/Tongyi-MAI/MAI-UI).
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from sync.action_words import inexpressible, malformed, text_in
from sync.byte_grammar import Fragment, any_of, literal, many, one_of, optional, sequence
from sync.vocabulary import (
    Action,
    ActionKind,
    Direction,
    FinishStatus,
    Key,
    answer,
    ask_user,
    finish,
    open_app,
    press,
    scroll,
    type_text,
    wait,
)

LANGUAGE: Final = "mobile_use tool calls"
GRID: Final = 999
"""Coordinate of the right and of the lower edge of the screen."""

_BEGIN: Final = '<tool_call>\n{"name": "mobile_use", "arguments": '
_END: Final = "}\n</tool_call>"
_CALL: Final = re.compile(r"<tool_call>\s*(?P<call>\{.*\})\s*</tool_call>\s*", re.DOTALL)

_TOUCHES: Final = {
    ActionKind.TAP: "click",
    ActionKind.LONG_PRESS: "long_press",
    ActionKind.DOUBLE_TAP: "double_click",
}
_SWIPES: Final = {
    Direction.DOWN: "up",
    Direction.UP: "down",
    Direction.RIGHT: "left",
    Direction.LEFT: "right",
}
_BUTTONS: Final = {key: key.value for key in (Key.BACK, Key.HOME, Key.MENU, Key.ENTER)}
_STATUSES: Final = {FinishStatus.COMPLETE: "success", FinishStatus.INFEASIBLE: "fail"}
_TOUCH_KINDS: Final = {name: kind for kind, name in _TOUCHES.items()}
_DIRECTIONS: Final = {name: direction for direction, name in _SWIPES.items()}
_KEYS: Final = {name: key for key, name in _BUTTONS.items()}
_CLAIMS: Final = {name: status for status, name in _STATUSES.items()}
_TEXTS: Final = {
    "type": type_text,
    "answer": answer,
    "ask_user": ask_user,
    "INFO": ask_user,
    "open": open_app,
    "AWAKE": open_app,
}


def tool_call_text(action: Action) -> str:
    """`action` as a tool call.

    Raises: RejectedError: there are no words for it ("inexpressible").
    """
    arguments = json.dumps(_arguments(action), ensure_ascii=False)
    return f"{_BEGIN}{arguments}{_END}"


def tool_call_action(text: str) -> Action:
    """The action that the tool call in `text` means.

    Raises: RejectedError: there is no such call ("malformed").
    """
    found = _CALL.search(text)
    if found is None:
        raise malformed(text, LANGUAGE)
    try:
        call = json.loads(found["call"])
        action = _action(call["arguments"]) if call["name"] == "mobile_use" else None
    except (ValueError, KeyError, TypeError) as error:
        raise malformed(text, LANGUAGE) from error
    if action is None:
        raise malformed(text, LANGUAGE)
    return action


def canonical(action: Action) -> Action:
    """What `action` is once it was said as a tool call.

    Raises: RejectedError: there are no words for it ("inexpressible").
    """
    return tool_call_action(tool_call_text(action))


def tool_call_grammar() -> Fragment:
    """The texts that `tool_call_text` writes, and any others of the same form."""
    digit = any_of(b"0123456789")
    number = one_of(
        digit, sequence(any_of(b"123456789"), digit), sequence(any_of(b"123456789"), digit, digit)
    )
    point = sequence(literal("["), number, literal(", "), number, literal("]"))
    plain = any_of(bytes(byte for byte in range(32, 256) if byte not in b'"\\\x7f'))
    escaped = sequence(literal("\\"), any_of(b'"\\/nt'))
    text = many(one_of(plain, escaped))

    def call(names: Fragment, *rest: Fragment) -> Fragment:
        return sequence(literal('{"action": "'), names, literal('"'), *rest, literal("}"))

    def of(words: Any) -> Fragment:  # Any: a view of the values of any of the tables above
        return one_of(*map(literal, words))

    at = sequence(literal(', "coordinate": '), point)
    quoted = sequence(literal(', "text": "'), text, literal('"'))
    calls = one_of(
        call(of(_TOUCHES.values()), at),
        call(
            literal("swipe"),
            sequence(literal(', "direction": "'), of(_SWIPES.values()), literal('"')),
            optional(at),
        ),
        call(
            literal("drag"),
            sequence(literal(', "start_coordinate": '), point),
            sequence(literal(', "end_coordinate": '), point),
        ),
        call(of(("type", "answer", "ask_user", "open")), quoted),
        call(
            literal("system_button"),
            sequence(literal(', "button": "'), of(_BUTTONS.values()), literal('"')),
        ),
        call(literal("wait")),
        call(
            literal("terminate"),
            sequence(literal(', "status": "'), of(_STATUSES.values()), literal('"')),
        ),
    )
    return sequence(literal(_BEGIN), calls, literal(_END))


def _arguments(action: Action) -> dict[str, Any]:  # Any: JSON
    match action:
        case Action(kind=kind) if kind in _TOUCHES:
            return {"action": _TOUCHES[kind], "coordinate": _written(action.x, action.y)}
        case Action(kind=ActionKind.SCROLL, direction=Direction() as direction):
            return {"action": "swipe", "direction": _SWIPES[direction]}
        case Action(kind=ActionKind.SWIPE | ActionKind.DRAG):
            return {
                "action": "drag",
                "start_coordinate": _written(action.x, action.y),
                "end_coordinate": _written(action.x2, action.y2),
            }
        case Action(kind=ActionKind.KEY, key=Key() as key) if key in _BUTTONS:
            return {"action": "system_button", "button": _BUTTONS[key]}
        case Action(kind=ActionKind.FINISH, status=FinishStatus() as status):
            return {"action": "terminate", "status": _STATUSES[status]}
        case _:
            return _worded(action)


def _worded(action: Action) -> dict[str, Any]:  # Any: JSON
    match action.kind:
        case ActionKind.TYPE | ActionKind.ANSWER | ActionKind.ASK_USER as kind:
            return {"action": kind.value, "text": text_in(action)}
        case ActionKind.OPEN_APP:
            return {"action": "open", "text": action.app}
        case ActionKind.WAIT:
            return {"action": "wait"}
        case _:
            raise inexpressible(action, LANGUAGE)


def _action(arguments: dict[str, Any]) -> Action | None:  # Any: JSON
    """The action; None, or KeyError and TypeError, where it is none."""
    name = arguments["action"]
    if name in _TOUCH_KINDS:
        x, y = _read(arguments["coordinate"])
        return Action(_TOUCH_KINDS[name], x=x, y=y)
    if name in _TEXTS:
        text = arguments["text"]
        return _TEXTS[name](text) if isinstance(text, str) else None
    match name:
        case "swipe":
            return scroll(_DIRECTIONS[arguments["direction"]])
        case "drag":
            (x, y), (x2, y2) = (_read(arguments[f"{end}_coordinate"]) for end in ("start", "end"))
            return Action(ActionKind.DRAG, x=x, y=y, x2=x2, y2=y2)
        case "system_button":
            return press(_KEYS[arguments["button"]])
        case "terminate":
            return finish(_CLAIMS[arguments["status"]])
        case "wait":
            return wait()
        case _:
            return None


def _written(x: float | None, y: float | None) -> list[int]:
    return [round((x or 0.0) * GRID), round((y or 0.0) * GRID)]


def _read(point: Any) -> tuple[float, float]:  # Any: JSON
    """The fractions of a point; ValueError where it is none on the screen."""
    x, y = point
    if not all(type(one) in {int, float} and 0 <= one <= GRID for one in (x, y)):
        raise ValueError(f"a point is two numbers in 0..{GRID}, got {point}")
    return x / GRID, y / GRID

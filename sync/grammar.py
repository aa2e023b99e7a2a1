"""The structured actions that layout_t5 can emit: an action type, then what it points to.

| type                         | then                                              |
|------------------------------|---------------------------------------------------|
| tap, long_press              | pointer to an element                             |
| type_goal, answer_goal       | pointers to the first and the last goal word      |
| type_element, answer_element | pointer to an element, first and last word in it  |
| type_memory, answer_memory   | pointer to a memory slot, first and last word     |
| answer_number                | a number, 0 to 11 (how many there are)            |
| all others                   | nothing                                           |

Swipe, drag, double_tap, open_app and ask_user are not in this grammar: other policies may use them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from sync.vocabulary import Action, ActionKind, FinishStatus, Key

Head = Literal["type", "pointer", "word"]

ACTION_TYPES: tuple[str, ...] = (
    "tap",
    "long_press",
    "type_goal",
    "type_element",
    "type_memory",
    "scroll_down",
    "scroll_up",
    "scroll_left",
    "scroll_right",
    "back",
    "home",
    "enter",
    "recents",
    "wait",
    "answer_goal",
    "answer_element",
    "answer_memory",
    "answer_number",
    "finish_complete",
    "finish_infeasible",
    "other",
)
"""Choices of the type head; "other", never chosen, stands for foreign actions in histories."""

MAX_WORDS = 12
"""Words of one element or memory slot that a span can address; and numbers to answer with."""

MAX_SPAN = 8
"""Longest span of words, in words."""

MAX_DECISIONS = 4
"""Longest action in decisions: type, pointer, first word, last word."""


@lru_cache(maxsize=len(ACTION_TYPES))
def heads_of(action_type: str) -> tuple[Head, ...]:
    """The heads that decide an action of this type, in order."""
    if action_type in {"tap", "long_press"}:
        return ("type", "pointer")
    if action_type in {"type_goal", "answer_goal"}:
        return ("type", "pointer", "pointer")
    if action_type == "answer_number":
        return ("type", "word")
    if action_type.startswith(("type_", "answer_")):
        return ("type", "pointer", "word", "word")
    return ("type",)


def type_name(action: Action) -> str:
    """The action type that `action` has in a history; texts count as taken from the goal."""
    match action.kind:
        case ActionKind.TAP | ActionKind.LONG_PRESS:
            return action.kind.value
        case ActionKind.SCROLL:
            return f"scroll_{action.direction}"
        case ActionKind.KEY if action.key is not None and action.key is not Key.MENU:
            return action.key.value
        case ActionKind.TYPE | ActionKind.ANSWER:
            return f"{action.kind.value}_goal"
        case ActionKind.WAIT:
            return "wait"
        case ActionKind.FINISH:
            return f"finish_{(action.status or FinishStatus.COMPLETE).value}"
        case _:
            return "other"

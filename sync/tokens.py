"""What the policy reads of a screen, a goal and a history: one token for each thing.

Every token has a text (looked up in the base's `TextTable`), small categories (`ID_COLUMNS`) and
yes/no facts (`BIT_COLUMNS`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from sync.grammar import ACTION_TYPES
from sync.screen_text import match_bin, pairs_beside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sync.history import History, HistoryEntry
    from sync.screen_text import Goal, Item
    from sync.vocabulary import Observation

BOX_BINS = 32
MAX_STEP_BIN = 15

KIND_STATE, KIND_HISTORY, KIND_GOAL, KIND_ELEMENT, KIND_MEMORY = 1, 2, 3, 4, 5

ID_SIZES: dict[str, int] = {
    "kind": 6,
    "class": 14,
    "left": BOX_BINS + 2,
    "top": BOX_BINS + 2,
    "right": BOX_BINS + 2,
    "bottom": BOX_BINS + 2,
    "match": 7,
    "row_match": 7,
    "coverage": 6,
    "row_coverage": 6,
    "position": 34,
    "action": len(ACTION_TYPES) + 1,
    "step": MAX_STEP_BIN + 2,
    "remaining": MAX_STEP_BIN + 2,
}
"""Number of values of each categorical column; 0 means "does not apply"."""

ID_COLUMNS = tuple(ID_SIZES)
BIT_COLUMNS = (
    "clickable",
    "checkable",
    "checked",
    "editable",
    "scrollable",
    "focused",
    "selected",
    "disabled",
    "keyboard",
    "changed",
    "invalid",
    "typed_before",
    "tapped_before",
    "in_field",
    "stop_word",
    "on_screen",
)
"""Yes/no facts of a token."""

_CLASSES = (
    "button",
    "edittext",
    "textview",
    "switch",
    "checkbox",
    "radiobutton",
    "imageview",
    "imagebutton",
    "recyclerview",
    "layout",
    "tab",
    "seekbar",
)


class Tokens:
    """Tokens under construction: the rows of all tokens, one behind the other."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.ids: list[int] = []
        self.bits = bytearray()

    def add(self, text: str, ids: Sequence[int], bits: bytes = bytes(len(BIT_COLUMNS))) -> None:
        """One token: `ids` by `ID_COLUMNS`, `bits` by `BIT_COLUMNS`, each 0 or 1."""
        self.texts.append(text)
        self.ids += ids
        self.bits += bits


def _ids(
    kind: int,
    *,
    match: int = 0,
    position: int = 0,
    action: int = 0,
    step: int = 0,
    remaining: int = 0,
) -> tuple[int, ...]:
    """The categories of a token without a place, in the order of `ID_COLUMNS`."""
    return (kind, 0, 0, 0, 0, 0, match, 0, 0, 0, position, action, step, remaining)


def _bits(**facts: bool) -> bytes:
    """The named facts, in the order of `BIT_COLUMNS`."""
    return bytes([facts.get(name, False) for name in BIT_COLUMNS])


def add_state(
    tokens: Tokens, observation: Observation, step_index: int, step_budget: int, *, scrollable: bool
) -> None:
    """The state: which app, how far the episode is, and what holds of the whole screen."""
    focused = any(element.focused and element.editable for element in observation.elements)
    tokens.add(
        observation.package.rpartition(".")[2],
        _ids(
            KIND_STATE,
            step=min(step_index, MAX_STEP_BIN) + 1,
            remaining=min(max(step_budget - step_index, 0), MAX_STEP_BIN) + 1,
        ),
        _bits(keyboard=observation.keyboard_shown, scrollable=scrollable, focused=focused),
    )


def add_history(tokens: Tokens, entries: Sequence[HistoryEntry]) -> None:
    """The latest actions, oldest first."""
    for position, entry in enumerate(entries, start=1):
        tokens.add(
            entry.label,
            _ids(KIND_HISTORY, position=position, action=entry.type_id + 1),
            _HISTORY_BITS[entry.screen_changed, entry.valid],
        )


_HISTORY_BITS = {
    (changed, valid): _bits(changed=changed, invalid=not valid)
    for changed in (False, True)
    for valid in (False, True)
}


def add_goal(
    tokens: Tokens, goal: Goal, words: tuple[str, ...], items: tuple[Item, ...], history: History
) -> None:
    """The goal's words, and whether they stand on the screen."""
    on_screen: set[str] = set()
    whole_labels: set[str] = set()
    in_fields: set[str] = set()
    for item in items:
        on_screen.update(item.words)
        whole_labels.add(" ".join(item.words))
        if item.editable:
            in_fields.update(item.words)
    for position, (word, stem) in enumerate(zip(words, goal.stems, strict=True), start=1):
        facts = (
            stem in history.typed,
            stem in history.tapped,
            stem in in_fields,
            stem in goal.stop_words,
            stem in on_screen,
        )
        match = 2 if stem in whole_labels else 1
        tokens.add(
            word, _ids(KIND_GOAL, match=match, position=position), _NOT_OF_WORDS + bytes(facts)
        )


_NOT_OF_WORDS = bytes(BIT_COLUMNS.index("typed_before"))


def add_items(
    tokens: Tokens,
    observation: Observation,
    items: tuple[Item, ...],
    goal: Goal,
    history: History,
) -> None:
    """The elements: what and where they are, and how they match the goal, alone and by rows."""
    matches = [match_bin(item.label, goal) for item in items]
    row_matches = [0] * len(items)
    row_words = [words for _, words in matches]
    for one, other in pairs_beside(items):
        row_matches[one] = max(row_matches[one], matches[other][0])
        row_matches[other] = max(row_matches[other], matches[one][0])
        row_words[one] = row_words[one] | matches[other][1]
        row_words[other] = row_words[other] | matches[one][1]
    width, height = observation.width_px, observation.height_px
    for item, (match, words), row_match, beside in zip(
        items, matches, row_matches, row_words, strict=True
    ):
        left, top, right, bottom = item.bounds
        ids = (
            KIND_ELEMENT,
            _class_id(item.class_name),
            _bin(left, width),
            _bin(top, height),
            _bin(right, width),
            _bin(bottom, height),
            match,
            row_match,
            min(len(words), 4) + 1,
            min(len(beside), 4) + 1,
            0,
            0,
            0,
            0,
        )
        tokens.add(item.label, ids, _item_bits(item, history))


def add_memory(tokens: Tokens, memory: Sequence[str], goal: Goal) -> None:
    """The memory slots."""
    for position, text in enumerate(memory, start=1):
        tokens.add(text, _ids(KIND_MEMORY, match=match_bin(text, goal)[0], position=position))


def _item_bits(item: Item, history: History) -> bytes:
    """The facts of an element, in the order of `BIT_COLUMNS`."""
    words, worded = item.words, bool(item.words)
    return bytes(
        (
            item.clickable,
            item.checkable,
            item.checked,
            item.editable,
            item.scrollable,
            item.focused,
            item.selected,
            not item.enabled,
            0,
            0,
            0,
            worded and history.typed.issuperset(words),
            worded and history.tapped.issuperset(words),
            0,
            0,
            0,
        )
    )


@lru_cache(maxsize=16384)
def _bin(value_px: int, extent_px: int) -> int:
    """1 .. BOX_BINS + 1; 0 is kept for tokens without a place."""
    return 1 + min(max(value_px * BOX_BINS // max(extent_px, 1), 0), BOX_BINS)


@lru_cache(maxsize=1024)
def _class_id(class_name: str) -> int:
    """1 .. 13: the widget class by the end of its name; 13 for all others."""
    name = class_name.rpartition(".")[2].casefold()
    for index, known in enumerate(_CLASSES):
        if name.endswith(known):
            return index + 1
    return len(_CLASSES) + 1

"""What the policy reads of a screen, a goal and a history: one token for each thing.

Every token has a text (looked up in the base's `TextTable`), small categories (`ID_COLUMNS`) and
yes/no facts (`BIT_COLUMNS`).
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from struct import Struct
from typing import TYPE_CHECKING

from sync.grammar import ACTION_TYPES
from sync.screen_text import Item, match_bin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sync.history import History, HistoryEntry
    from sync.screen_text import Goal, Screen, Shown
    from sync.vocabulary import Observation, Rect

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
    """Tokens under construction: texts, and the packed rows of categories and facts."""

    __slots__ = ("bits", "ids", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.ids: list[bytes] = []
        self.bits: list[bytes] = []

    def add(self, text: str, ids: bytes, bits: bytes) -> None:
        """One token: `ids` as int16 by `ID_COLUMNS`, `bits` by `BIT_COLUMNS`, each 0 or 1."""
        self.texts.append(text)
        self.ids.append(ids)
        self.bits.append(bits)


_pack_ids = Struct(f"={len(ID_COLUMNS)}h").pack
_NO_BITS = bytes(len(BIT_COLUMNS))


@lru_cache(maxsize=2048)
def _ids(
    kind: int,
    *,
    match: int = 0,
    position: int = 0,
    action: int = 0,
    step: int = 0,
    remaining: int = 0,
) -> bytes:
    """The categories of a token without a place, in the order of `ID_COLUMNS`."""
    return _pack_ids(kind, 0, 0, 0, 0, 0, match, 0, 0, 0, position, action, step, remaining)


@lru_cache(maxsize=64)
def _bits(*facts: str) -> bytes:
    """The row in which the facts with these names hold, and no other."""
    return bytes([name in facts for name in BIT_COLUMNS])


def add_state(
    tokens: Tokens, observation: Observation, screen: Screen, step_index: int, step_budget: int
) -> None:
    """The state: which app, how far the episode is, and what holds of the whole screen."""
    tokens.add(
        observation.package.rpartition(".")[2],
        _ids(
            KIND_STATE,
            step=min(step_index, MAX_STEP_BIN) + 1,
            remaining=min(max(step_budget - step_index, 0), MAX_STEP_BIN) + 1,
        ),
        _bits(
            "keyboard" if observation.keyboard_shown else "",
            "scrollable" if screen.scrollable else "",
            "focused" if screen.field_focused else "",
        ),
    )


def add_history(tokens: Tokens, entries: Sequence[HistoryEntry]) -> None:
    """The latest actions, oldest first."""
    for position, entry in enumerate(entries, start=1):
        tokens.add(
            entry.label,
            _ids(KIND_HISTORY, position=position, action=entry.type_id + 1),
            _bits("changed" if entry.screen_changed else "", "" if entry.valid else "invalid"),
        )


def add_goal(
    tokens: Tokens, goal: Goal, words: Sequence[str], shown: Shown, history: History
) -> None:
    """The goal's words, and whether they stand on the screen."""
    typed, tapped, labels = history.typed, history.tapped, shown.labels
    on_screen, in_fields, stop_words = shown.words, shown.field_words, goal.stop_words
    tokens.texts += words
    tokens.ids += [_GOAL_IDS[stem in labels][position] for position, stem in enumerate(goal.stems)]
    tokens.bits += [
        _WORD_BITS[
            stem in typed, stem in tapped, stem in in_fields, stem in stop_words, stem in on_screen
        ]
        for stem in goal.stems
    ]


_GOAL_IDS = {
    is_label: [
        _ids(KIND_GOAL, match=1 + is_label, position=position)
        for position in range(1, ID_SIZES["position"])
    ]
    for is_label in (False, True)
}
"""By whether the word is a whole label, and by its place in the goal."""

_WORD_BITS = {
    facts: bytes(BIT_COLUMNS.index("typed_before")) + bytes(facts)
    for facts in product((False, True), repeat=5)
}
"""By the facts of a goal's word, from "typed_before" to "on_screen"."""


def add_items(
    tokens: Tokens, observation: Observation, shown: Shown, goal: Goal, history: History
) -> None:
    """The elements: what and where they are, and how they match the goal, alone and by rows."""
    items = shown.items
    labels = [item.label for item in items]
    known = goal.matches
    matches = [known.get(label) or match_bin(label, goal) for label in labels]
    row_matches = [0] * len(matches)
    row_words = [words for _, words in matches]
    for one, other in shown.pairs:
        match, words = matches[one]
        other_match, other_words = matches[other]
        row_matches[one] = max(row_matches[one], other_match)
        row_matches[other] = max(row_matches[other], match)
        if other_words:
            row_words[one] = row_words[one] | other_words
        if words:
            row_words[other] = row_words[other] | words
    width, height = observation.width_px, observation.height_px
    tokens.texts += labels
    tokens.ids += [
        _place(item.class_name, item.bounds, width, height)
        + _matched(match, row_match, len(words), len(beside))
        for item, (match, words), row_match, beside in zip(
            items, matches, row_matches, row_words, strict=True
        )
    ]
    typed, tapped = history.typed, history.tapped
    tokens.bits += [
        _item_bits(item[_FLAGS])
        + _PAST_BITS[typed.issuperset(item.words), tapped.issuperset(item.words)]
        if item.words
        else _item_bits(item[_FLAGS]) + _NO_PAST
        for item in items
    ]


_FLAGS = slice(Item._fields.index("clickable"), Item._fields.index("enabled") + 1)


@lru_cache(maxsize=512)
def _item_bits(flags: tuple[bool, ...]) -> bytes:
    """The facts from "clickable" to "invalid", of the flags of an item in its own order."""
    clickable, _, *others, enabled = flags
    return bytes((clickable, *others, not enabled, 0, 0, 0))


_PAST_BITS = {facts: bytes((*facts, 0, 0, 0)) for facts in product((False, True), repeat=2)}
"""By whether an item's words were typed and tapped before: the facts behind "invalid"."""

_NO_PAST = _PAST_BITS[False, False]


@lru_cache(maxsize=16384)
def _place(class_name: str, bounds: Rect, width_px: int, height_px: int) -> bytes:
    """What and where an element is: the categories from "kind" to "bottom"."""
    left, top, right, bottom = bounds
    return _pack_place(
        KIND_ELEMENT,
        _class_id(class_name),
        _bin(left, width_px),
        _bin(top, height_px),
        _bin(right, width_px),
        _bin(bottom, height_px),
    )


@lru_cache(maxsize=2048)
def _matched(match: int, row_match: int, words: int, row_words: int) -> bytes:
    """How an element matches the goal: the categories behind "bottom"."""
    return _pack_matched(match, row_match, min(words, 4) + 1, min(row_words, 4) + 1, 0, 0, 0, 0)


_PLACES = ID_COLUMNS.index("bottom") + 1
_pack_place = Struct(f"={_PLACES}h").pack
_pack_matched = Struct(f"={len(ID_COLUMNS) - _PLACES}h").pack


def add_memory(tokens: Tokens, memory: Sequence[str], goal: Goal) -> None:
    """The memory slots."""
    for position, text in enumerate(memory, start=1):
        match = match_bin(text, goal)[0]
        tokens.add(text, _ids(KIND_MEMORY, match=match, position=position), _NO_BITS)


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

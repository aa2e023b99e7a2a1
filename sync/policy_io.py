"""What the policy sees: an observation, a goal and the history, turned into tokens.

Used by phone, learner and exporter alike, so that training and use cannot drift apart. Every token
has a text (looked up in the base's `TextTable`), small categories (`ids`) and yes/no facts
(`bits`). Tokens, in this order: the state, the latest actions, the goal's words, the elements,
the memory slots.

Before encoding, a clickable container without a label takes the labels of the plain texts inside
it, as people see a row. What the grammar allows on this screen is part of the encoding (`type_mask`
and the items), so masks are the same where actions are chosen and where they are learnt.

Notation: L tokens, C categories, K bits.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sync.grammar import ACTION_TYPES, MAX_WORDS, type_name
from sync.screen_text import Goal, Item, items_of, match_bin, rows_of
from sync.text_table import stems_of
from sync.vocabulary import Action, ActionKind, Episode, Observation, SlotRef

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

POLICY_IO_VERSION = "layout_t5/1"
"""Changes whenever the same observation would be encoded, or an action decoded, differently."""

MAX_GOAL_WORDS = 32
MAX_ITEMS = 40
MAX_HISTORY = 4
MAX_MEMORY = 4
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


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One earlier action as the policy remembers it."""

    type_id: int
    label: str
    screen_changed: bool
    valid: bool


@dataclass(frozen=True, slots=True)
class History:
    """What earlier steps leave behind: a pure fold, so that it can always be computed again.

    Attributes:
        entries: the latest actions, oldest first.
        memory: texts of the elements acted on lately; the policy can type or answer from them.
        typed, tapped: stems of words that were typed, and that stood on what was tapped.
    """

    entries: tuple[HistoryEntry, ...] = ()
    memory: tuple[str, ...] = ()
    typed: frozenset[str] = frozenset()
    tapped: frozenset[str] = frozenset()


EMPTY_HISTORY = History()


def fold(
    history: History,
    observation: Observation,
    action: Action,
    *,
    valid: bool,
    screen_changed: bool,
) -> History:
    """The history after `action` was tried on `observation`.

    Args:
        valid: whether the action could be carried out.
        screen_changed: whether the next observation differs from this one.
    """
    label = _label_of(observation, action)
    entry = HistoryEntry(ACTION_TYPES.index(type_name(action)), label, screen_changed, valid)
    typed, tapped, memory = history.typed, history.tapped, history.memory
    if action.kind is ActionKind.TYPE and valid:
        typed = typed | frozenset(stems_of(label))
    elif action.kind in _TOUCHES and label:
        tapped = tapped | frozenset(stems_of(label))
        memory = (*(text for text in memory if text != label), label)[-MAX_MEMORY:]
    return History((*history.entries, entry)[-MAX_HISTORY:], memory, typed, tapped)


_TOUCHES = {ActionKind.TAP, ActionKind.LONG_PRESS, ActionKind.DOUBLE_TAP}


def _label_of(observation: Observation, action: Action) -> str:
    if action.text is not None:
        return action.text.slot if isinstance(action.text, SlotRef) else action.text
    if action.element is None or action.element >= len(observation.elements):
        return action.app or ""
    for item in items_of(observation):
        if action.element == item.element or action.element in item.absorbed:
            return item.label
    return observation.elements[action.element].label


@dataclass(frozen=True, slots=True)
class EncodedInput:
    """One observation as tokens.

    Attributes:
        texts: L strings, to be looked up in the base's text table.
        ids: int16 [L, C], categories by `ID_COLUMNS`.
        bits: uint8 [L, K], facts by `BIT_COLUMNS`.
        goal_start, goal_count: which tokens are goal words.
        item_start, items: which tokens are elements, and what they are.
        memory_start, memory: which tokens are memory slots, and their texts.
        goal_words: the goal's words as they are written.
        type_mask: bool [len(ACTION_TYPES)], action types that are possible here.
    """

    texts: tuple[str, ...]
    ids: npt.NDArray[np.int16]
    bits: npt.NDArray[np.uint8]
    goal_start: int
    goal_words: tuple[str, ...]
    item_start: int
    items: tuple[Item, ...]
    memory_start: int
    memory: tuple[str, ...]
    type_mask: npt.NDArray[np.bool_]
    digest: str = field(default="", compare=False)

    @property
    def length(self) -> int:
        """Number of tokens L."""
        return len(self.texts)


def encode(
    observation: Observation,
    goal: str,
    history: History = EMPTY_HISTORY,
    *,
    step_index: int = 0,
    step_budget: int = 15,
) -> EncodedInput:
    """The tokens of `observation` for a policy that pursues `goal`.

    Args:
        step_index: steps already taken in this episode.
        step_budget: steps after which the episode is truncated.
    """
    words = tuple(goal.split()[:MAX_GOAL_WORDS])
    target = Goal.of(words)
    items = _prune(items_of(observation), target)
    rows = _Rows()
    _add_state(rows, observation, step_index, step_budget)
    for position, entry in enumerate(history.entries):
        _add_history(rows, entry, position)
    goal_start = len(rows.texts)
    _add_goal(rows, target, words, items, history)
    item_start = len(rows.texts)
    _add_items(rows, observation, items, target, history)
    memory_start = len(rows.texts)
    for position, text in enumerate(history.memory):
        rows.add(text, kind=KIND_MEMORY, position=position + 1, match=match_bin(text, target)[0])
    return _finish(
        rows,
        goal_start=goal_start,
        goal_words=words,
        item_start=item_start,
        items=items,
        memory_start=memory_start,
        memory=history.memory,
        type_mask=_type_mask(observation, items, words, history.memory),
    )


class _Rows:
    """Tokens under construction."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.ids: list[list[int]] = []
        self.bits: list[list[int]] = []

    def add(self, text: str, bits: Sequence[str] = (), **ids: int) -> None:
        row = [0] * len(ID_COLUMNS)
        for name, value in ids.items():
            row[_ID_INDEX[name]] = value
        facts = [0] * len(BIT_COLUMNS)
        for name in bits:
            facts[_BIT_INDEX[name]] = 1
        self.texts.append(text)
        self.ids.append(row)
        self.bits.append(facts)


_ID_INDEX = {name: index for index, name in enumerate(ID_COLUMNS)}
_BIT_INDEX = {name: index for index, name in enumerate(BIT_COLUMNS)}


def _add_state(rows: _Rows, observation: Observation, step_index: int, step_budget: int) -> None:
    bits = ["keyboard"] if observation.keyboard_shown else []
    if any(element.scrollable for element in observation.elements):
        bits.append("scrollable")
    if any(element.editable and element.focused for element in observation.elements):
        bits.append("focused")
    rows.add(
        observation.package.rpartition(".")[2],
        bits,
        kind=KIND_STATE,
        step=min(step_index, MAX_STEP_BIN) + 1,
        remaining=min(max(step_budget - step_index, 0), MAX_STEP_BIN) + 1,
    )


def _add_history(rows: _Rows, entry: HistoryEntry, position: int) -> None:
    bits = [name for name, on in (("changed", entry.screen_changed),) if on]
    if not entry.valid:
        bits.append("invalid")
    rows.add(entry.label, bits, kind=KIND_HISTORY, action=entry.type_id + 1, position=position + 1)


def _add_goal(
    rows: _Rows, goal: Goal, words: tuple[str, ...], items: tuple[Item, ...], history: History
) -> None:
    on_screen: set[str] = set()
    whole_labels: set[str] = set()
    in_fields: set[str] = set()
    for item in items:
        on_screen.update(item.words)
        whole_labels.add(" ".join(item.words))
        if item.editable:
            in_fields.update(item.words)
    for position, word in enumerate(words):
        stem = goal.stems[position]
        facts = (
            ("stop_word", stem in goal.stop_words),
            ("on_screen", stem in on_screen),
            ("in_field", stem in in_fields),
            ("typed_before", stem in history.typed),
            ("tapped_before", stem in history.tapped),
        )
        rows.add(
            word,
            [name for name, on in facts if on],
            kind=KIND_GOAL,
            position=position + 1,
            match=2 if stem in whole_labels else 1,
        )


def _add_items(
    rows: _Rows,
    observation: Observation,
    items: tuple[Item, ...],
    goal: Goal,
    history: History,
) -> None:
    matches = [match_bin(item.label, goal) for item in items]
    beside = rows_of(items)
    width, height = observation.width_px, observation.height_px
    for index, item in enumerate(items):
        row_match, row_words = 0, matches[index][1]
        for other in beside[index]:
            row_match = max(row_match, matches[other][0])
            row_words = row_words | matches[other][1]
        left, top, right, bottom = item.bounds
        rows.texts.append(item.label)
        rows.ids.append(
            [
                KIND_ELEMENT,
                _class_id(item.class_name),
                _bin(left, width),
                _bin(top, height),
                _bin(right, width),
                _bin(bottom, height),
                matches[index][0],
                row_match,
                min(len(matches[index][1]), 4) + 1,
                min(len(row_words), 4) + 1,
                0,
                0,
                0,
                0,
            ]
        )
        rows.bits.append(_item_bits(item, history))


def _item_bits(item: Item, history: History) -> list[int]:
    """The facts of an element, in the order of `BIT_COLUMNS`."""
    worded = bool(item.words)
    return [
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
        worded and history.typed.issuperset(item.words),
        worded and history.tapped.issuperset(item.words),
        0,
        0,
        0,
    ]


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


def _prune(items: tuple[Item, ...], goal: Goal) -> tuple[Item, ...]:
    """At most `MAX_ITEMS` items, the most useful ones, still in reading order."""
    useful = [item for item in items if item.label or item.clickable or item.editable]
    if len(useful) <= MAX_ITEMS:
        return tuple(useful)

    def usefulness(position: int) -> tuple[int, int, int]:
        item = useful[position]
        acts = item.editable or item.clickable or item.checkable
        return (-match_bin(item.label, goal)[0], -int(acts), position)

    kept = sorted(sorted(range(len(useful)), key=usefulness)[:MAX_ITEMS])
    return tuple(useful[position] for position in kept)


def _type_mask(
    observation: Observation,
    items: tuple[Item, ...],
    words: tuple[str, ...],
    memory: tuple[str, ...],
) -> npt.NDArray[np.bool_]:
    field_focused = any(item.editable and item.focused for item in items)
    scrollable = any(element.scrollable for element in observation.elements)
    has_text = any(item.label for item in items)
    has_memory = any(text.split() for text in memory)
    possible = {
        "tap": any(item.touchable for item in items) or bool(items),
        "long_press": any(item.long_clickable for item in items),
        "type_goal": field_focused and bool(words),
        "type_element": field_focused and has_text,
        "type_memory": field_focused and has_memory,
        "answer_goal": bool(words),
        "answer_element": has_text,
        "answer_memory": has_memory,
        "enter": field_focused or observation.keyboard_shown,
        **dict.fromkeys(("scroll_down", "scroll_up", "scroll_left", "scroll_right"), scrollable),
    }
    return np.array(
        [name != "other" and possible.get(name, True) for name in ACTION_TYPES], dtype=np.bool_
    )


def _finish(
    rows: _Rows,
    *,
    goal_start: int,
    goal_words: tuple[str, ...],
    item_start: int,
    items: tuple[Item, ...],
    memory_start: int,
    memory: tuple[str, ...],
    type_mask: npt.NDArray[np.bool_],
) -> EncodedInput:
    ids = np.array(rows.ids, dtype=np.int16)
    bits = np.array(rows.bits, dtype=np.uint8)
    content = hashlib.sha256(POLICY_IO_VERSION.encode())
    content.update("\x1f".join(rows.texts).encode("utf-8", "surrogatepass"))
    content.update(ids.tobytes())
    content.update(bits.tobytes())
    content.update(type_mask.tobytes())
    return EncodedInput(
        texts=tuple(rows.texts),
        ids=ids,
        bits=bits,
        goal_start=goal_start,
        goal_words=goal_words,
        item_start=item_start,
        items=items,
        memory_start=memory_start,
        memory=memory,
        type_mask=type_mask,
        digest=content.hexdigest(),
    )


def span_words(text: str) -> tuple[str, ...]:
    """The words of an element's or a slot's text that a span can address, as they are written."""
    return tuple(text.split()[:MAX_WORDS])


def same_screen(before: Observation, after: Observation) -> bool:
    """Whether nothing that a policy can see has changed."""
    return (
        before.elements == after.elements
        and before.package == after.package
        and before.activity == after.activity
        and before.keyboard_shown == after.keyboard_shown
        and before.rotation == after.rotation
    )


def encode_episode(episode: Episode) -> Iterator[EncodedInput]:
    """The encoded input of each step, as the phone saw it while it played `episode`."""
    history = EMPTY_HISTORY
    for step, following in pairwise((*episode.steps, None)):
        assert step is not None
        yield encode(
            step.observation,
            episode.goal,
            history,
            step_index=step.index,
            step_budget=episode.assignment.step_budget,
        )
        if following is not None:
            history = fold(
                history,
                step.observation,
                step.action,
                valid=step.valid,
                screen_changed=not same_screen(step.observation, following.observation),
            )

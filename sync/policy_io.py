"""What the policy sees: an observation, a goal and the history, turned into tokens.

Used by phone, learner and exporter alike, so that training and use cannot drift apart. Every token
has a text (looked up in the base's `TextTable`), small categories (`ids`) and yes/no facts
(`bits`). Tokens, in this order: the state, the latest actions, the goal's words, the elements,
the memory slots (what was touched lately, then what other apps showed when they were left).

Before encoding, a clickable container without a label takes the labels of the plain texts inside
it, as people see a row. What the grammar allows on this screen is part of the encoding (`type_mask`
and the items), so masks are the same where actions are chosen and where they are learnt.

Notation: L tokens, C categories, K bits.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sync.grammar import ACTION_TYPES, MAX_WORDS
from sync.history import EMPTY_HISTORY, History, fold, same_screen
from sync.screen_text import Goal, Item, Shown, match_bin, screen_of
from sync.tokens import (
    BIT_COLUMNS,
    ID_COLUMNS,
    Tokens,
    add_goal,
    add_history,
    add_items,
    add_memory,
    add_state,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from sync.vocabulary import Episode, Observation

POLICY_IO_VERSION = "layout_t5/2"
"""Changes whenever the same observation would be encoded, or an action decoded, differently."""

MAX_GOAL_WORDS = 32
MAX_ITEMS = 64
MAX_NOTES = 10
"""Memory slots for texts that other apps showed."""


@dataclass(frozen=True, slots=True)
class EncodedInput:
    """One observation as tokens.

    Attributes:
        texts: L strings, to be looked up in the base's text table.
        ids: int16 [L, C], categories by `ID_COLUMNS`; like all arrays here not to be written to.
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
    screen = screen_of(observation)
    shown = _prune(screen.useful, target)
    tokens = Tokens()
    add_state(tokens, observation, screen, step_index, step_budget)
    add_history(tokens, history.entries)
    goal_start = len(tokens.texts)
    add_goal(tokens, target, words, shown, history)
    item_start = len(tokens.texts)
    add_items(tokens, observation, shown, target, history)
    memory_start = len(tokens.texts)
    memory = (*history.memory, *_notes(history, observation.package, target))
    add_memory(tokens, memory, target)
    text_bytes = "\x1f".join(tokens.texts).encode("utf-8", "surrogatepass")
    id_bytes, bit_bytes = b"".join(tokens.ids), b"".join(tokens.bits)
    type_mask = _type_mask(
        shown,
        scrollable=screen.scrollable,
        keyboard=observation.keyboard_shown,
        has_words=bool(words),
        has_memory=any(map(str.split, memory)),
    )
    content = _EMPTY_CONTENT.copy()
    content.update(b"".join((text_bytes, id_bytes, bit_bytes, type_mask.tobytes())))
    return EncodedInput(
        texts=tuple(tokens.texts),
        ids=np.frombuffer(id_bytes, dtype=np.int16).reshape(-1, len(ID_COLUMNS)),
        bits=np.frombuffer(bit_bytes, dtype=np.uint8).reshape(-1, len(BIT_COLUMNS)),
        goal_start=goal_start,
        goal_words=words,
        item_start=item_start,
        items=shown.items,
        memory_start=memory_start,
        memory=memory,
        type_mask=type_mask,
        digest=content.hexdigest(),
    )


_EMPTY_CONTENT = hashlib.sha256(POLICY_IO_VERSION.encode())


def _prune(useful: Shown, goal: Goal) -> Shown:
    """At most `MAX_ITEMS` items, the most useful ones, still in reading order.

    A few fields come first, the focused one before all: without it nothing can be typed. Then what
    the goal names, then what can be acted on, and of that the rows of a long list last: a button
    below them is there only once. What says nothing is as useful as what says something unrelated.
    """
    items = useful.items
    if len(items) <= MAX_ITEMS:
        return useful
    fields = [position for position, item in enumerate(items) if item.editable]
    fields.sort(key=lambda position: not items[position].focused)
    first = frozenset(fields[:_FIRST_FIELDS])
    alike = Counter(map(_kind, items))

    def uselessness(position: int) -> tuple[bool, int, bool, bool, int]:
        item = items[position]
        return (
            position not in first,
            -max(match_bin(item.label, goal)[0], _UNRELATED_MATCH),
            not item.touchable,
            alike[_kind(item)] > _LONG_LIST,
            position,
        )

    kept = sorted(sorted(range(len(items)), key=uselessness)[:MAX_ITEMS])
    return Shown.of(tuple([items[position] for position in kept]))


def _kind(item: Item) -> tuple[str, int, int]:
    """Rows of one list are alike in this: class, left and right edge, px."""
    return item.class_name, item.bounds[0], item.bounds[2]


_FIRST_FIELDS = 8
_LONG_LIST = 16
"""Items alike, from which on each is one row of many."""


def _notes(history: History, package: str, goal: Goal) -> tuple[str, ...]:
    """What other apps showed when they were left: figures and what the goal names first."""
    known = set(history.memory)
    texts = [
        text
        for name, shown in reversed(history.screens)
        if name != package
        for text in shown
        if text not in known
    ]
    if len(texts) <= MAX_NOTES:
        return tuple(dict.fromkeys(texts))

    def usefulness(position: int) -> tuple[bool, int]:
        text = texts[position]
        tells = any(map(str.isdigit, text)) or match_bin(text, goal)[0] > _UNRELATED_MATCH
        return (not tells, position)

    kept = sorted(sorted(range(len(texts)), key=usefulness)[:MAX_NOTES])
    return tuple(dict.fromkeys([texts[position] for position in kept]))


_UNRELATED_MATCH = 1


def _type_mask(
    shown: Shown,
    *,
    scrollable: bool,
    keyboard: bool,
    has_words: bool,
    has_memory: bool,
) -> npt.NDArray[np.bool_]:
    """What is possible on this screen: bool [len(ACTION_TYPES)], not to be written to."""
    return _type_masks(
        bool(shown.items),
        shown.has_long,
        shown.has_text,
        has_words,
        has_memory,
        shown.has_focused_field,
        shown.has_focused_field or keyboard,
        scrollable,
    )


@lru_cache(maxsize=256)
def _type_masks(*facts: bool) -> npt.NDArray[np.bool_]:
    """One mask for all screens with these facts, in the order of `_type_mask`."""
    has_items, has_long, has_text, has_words, has_memory, focused, enterable, scrollable = facts
    possible = {
        "tap": has_items,
        "long_press": has_long,
        "type_goal": focused and has_words,
        "type_element": focused and has_text,
        "type_memory": focused and has_memory,
        "answer_goal": has_words,
        "answer_element": has_text,
        "answer_memory": has_memory,
        "enter": enterable,
        **dict.fromkeys(("scroll_down", "scroll_up", "scroll_left", "scroll_right"), scrollable),
    }
    mask = np.array(
        [name != "other" and possible.get(name, True) for name in ACTION_TYPES], dtype=np.bool_
    )
    mask.setflags(write=False)
    return mask


def span_words(text: str) -> tuple[str, ...]:
    """The words of an element's or a slot's text that a span can address, as they are written."""
    return tuple(text.split()[:MAX_WORDS])


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

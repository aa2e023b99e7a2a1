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
from array import array
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from sync.grammar import ACTION_TYPES, MAX_WORDS
from sync.history import EMPTY_HISTORY, History, fold, same_screen
from sync.screen_text import Goal, Item, items_of, match_bin
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

POLICY_IO_VERSION = "layout_t5/1"
"""Changes whenever the same observation would be encoded, or an action decoded, differently."""

MAX_GOAL_WORDS = 32
MAX_ITEMS = 40

_SCROLLABLE, _LONG_CLICKABLE, _LABEL = map(attrgetter, ("scrollable", "long_clickable", "label"))


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
    scrollable = any(map(_SCROLLABLE, observation.elements))
    tokens = Tokens()
    add_state(tokens, observation, step_index, step_budget, scrollable=scrollable)
    add_history(tokens, history.entries)
    goal_start = len(tokens.texts)
    add_goal(tokens, target, words, items, history)
    item_start = len(tokens.texts)
    add_items(tokens, observation, items, target, history)
    memory_start = len(tokens.texts)
    add_memory(tokens, history.memory, target)
    return _finish(
        tokens,
        goal_start=goal_start,
        goal_words=words,
        item_start=item_start,
        items=items,
        memory_start=memory_start,
        memory=history.memory,
        type_mask=_type_mask(
            items,
            scrollable=scrollable,
            keyboard=observation.keyboard_shown,
            has_words=bool(words),
            has_memory=any(map(str.split, history.memory)),
        ),
    )


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
    items: tuple[Item, ...],
    *,
    scrollable: bool,
    keyboard: bool,
    has_words: bool,
    has_memory: bool,
) -> npt.NDArray[np.bool_]:
    """What is possible on this screen: bool [len(ACTION_TYPES)]."""
    field_focused = any(item.focused and item.editable for item in items)
    return _type_masks(
        has_items=bool(items),
        has_long=any(map(_LONG_CLICKABLE, items)),
        has_text=any(map(_LABEL, items)),
        has_words=has_words,
        has_memory=has_memory,
        field_focused=field_focused,
        enterable=field_focused or keyboard,
        scrollable=scrollable,
    ).copy()


@lru_cache(maxsize=256)
def _type_masks(
    *,
    has_items: bool,
    has_long: bool,
    has_text: bool,
    has_words: bool,
    has_memory: bool,
    field_focused: bool,
    enterable: bool,
    scrollable: bool,
) -> npt.NDArray[np.bool_]:
    possible = {
        "tap": has_items,
        "long_press": has_long,
        "type_goal": field_focused and has_words,
        "type_element": field_focused and has_text,
        "type_memory": field_focused and has_memory,
        "answer_goal": has_words,
        "answer_element": has_text,
        "answer_memory": has_memory,
        "enter": enterable,
        **dict.fromkeys(("scroll_down", "scroll_up", "scroll_left", "scroll_right"), scrollable),
    }
    return np.array(
        [name != "other" and possible.get(name, True) for name in ACTION_TYPES], dtype=np.bool_
    )


def _finish(
    tokens: Tokens,
    *,
    goal_start: int,
    goal_words: tuple[str, ...],
    item_start: int,
    items: tuple[Item, ...],
    memory_start: int,
    memory: tuple[str, ...],
    type_mask: npt.NDArray[np.bool_],
) -> EncodedInput:
    ids = np.frombuffer(array("h", tokens.ids), dtype=np.int16).reshape(-1, len(ID_COLUMNS))
    bits = np.frombuffer(tokens.bits, dtype=np.uint8).reshape(-1, len(BIT_COLUMNS))
    content = hashlib.sha256(POLICY_IO_VERSION.encode())
    content.update("\x1f".join(tokens.texts).encode("utf-8", "surrogatepass"))
    content.update(ids.tobytes())
    content.update(bits.tobytes())
    content.update(type_mask.tobytes())
    return EncodedInput(
        texts=tuple(tokens.texts),
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

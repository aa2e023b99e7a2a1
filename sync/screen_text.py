"""Texts on a screen as people read them: rows with their labels, and how they match a goal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sync.text_table import stems_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sync.vocabulary import Element, Observation, Rect

STOP_WORDS = frozenset(
    stems_of(
        "a an and as at be by for from in into is it its me my of on or please so that the then "
        "this to up use with you your"
    )
)
"""Words that match everywhere and therefore say nothing."""


class Item(NamedTuple):
    """An element as the policy sees it: a row has swallowed the plain texts inside it.

    Attributes:
        element: index into the observation's elements.
        absorbed: indices of the elements whose labels it took.
        words: stems of the label's words.
    """

    element: int
    absorbed: tuple[int, ...]
    class_name: str
    label: str
    words: tuple[str, ...]
    bounds: Rect
    clickable: bool
    long_clickable: bool
    checkable: bool
    checked: bool
    editable: bool
    scrollable: bool
    focused: bool
    selected: bool
    enabled: bool

    @property
    def touchable(self) -> bool:
        """Whether a tap on it should do something."""
        return self.clickable or self.checkable or self.editable or self.long_clickable


def pairs_beside(items: Sequence[Item]) -> list[tuple[int, int]]:
    """All pairs of items that lie beside each other: at least half of the lower of the two."""
    spans = [(item.bounds[1], item.bounds[3], index) for index, item in enumerate(items)]
    spans.sort()
    pairs = []
    for position, (top, bottom, one) in enumerate(spans):
        for start, end, other in spans[position + 1 :]:
            shared = min(bottom, end) - start
            if start >= bottom:
                break
            if shared > 0 and 2 * shared >= min(bottom - top, end - start):
                pairs.append((one, other))
    return pairs


def items_of(observation: Observation) -> tuple[Item, ...]:
    """The items of a screen, in reading order; rows without a label take those of their texts."""
    elements = observation.elements
    known = _RECENT.get(id(elements))
    if known is None:
        known = (elements, _merged(elements))
        if len(_RECENT) >= _RECENT_SIZE:
            _RECENT.clear()
        _RECENT[id(elements)] = known
    return known[1]


_RECENT_SIZE = 4096
_RECENT: dict[int, tuple[tuple[Element, ...], tuple[Item, ...]]] = {}
"""Screens seen lately by identity: hashing a screen costs more than merging it, and holding on to
the elements keeps the identity unique."""


def _merged(elements: tuple[Element, ...]) -> tuple[Item, ...]:
    rows = [
        index
        for index, element in enumerate(elements)
        if element.clickable and not element.label and not element.editable
    ]
    if not rows:
        return tuple([_item(index, (), elements) for index in range(len(elements))])
    owner = {
        index: row
        for index, element in enumerate(elements)
        if (row := _row_around(element, index, elements, rows)) is not None
    }
    swallowed: dict[int, list[int]] = {}
    for index, row in owner.items():
        swallowed.setdefault(row, []).append(index)
    return tuple(
        _item(index, swallowed.get(index, []), elements)
        for index in range(len(elements))
        if index not in owner
    )


def _row_around(
    element: Element, index: int, elements: Sequence[Element], rows: Sequence[int]
) -> int | None:
    """The smallest unlabelled clickable element around a plain one, or None."""
    if element.clickable or element.scrollable or element.editable:
        return None
    left, top, right, bottom = element.bounds
    best, best_area = None, 0
    for row in rows:
        box = elements[row].bounds
        inside = box[0] <= left and box[1] <= top and right <= box[2] and bottom <= box[3]
        if row == index or not inside:
            continue
        area = (box[2] - box[0]) * (box[3] - box[1])
        if best is None or area < best_area:
            best, best_area = row, area
    return best


def _item(index: int, swallowed: Sequence[int], elements: Sequence[Element]) -> Item:
    element = elements[index]
    label = element.label
    checkable, checked, selected = element.checkable, element.checked, element.selected
    if swallowed:
        parts = [elements[other] for other in swallowed]
        label = label or " ".join(part.label for part in parts if part.label)
        checkable = checkable or any(part.checkable for part in parts)
        checked = checked or any(part.checked for part in parts)
        selected = selected or any(part.selected for part in parts)
    return Item(
        element=index,
        absorbed=tuple(swallowed),
        class_name=element.class_name,
        label=label,
        words=stems_of(label),
        bounds=element.bounds,
        clickable=element.clickable,
        long_clickable=element.long_clickable,
        checkable=checkable,
        checked=checked,
        editable=element.editable,
        scrollable=element.scrollable,
        focused=element.focused,
        selected=selected,
        enabled=element.enabled,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Goal:
    """A goal's words as stems, and those that mean something; `Goal.of` makes each only once."""

    stems: tuple[str, ...]
    content: frozenset[str]
    stop_words: frozenset[str]
    phrase: str
    matches: dict[str, tuple[int, frozenset[str]]]

    @staticmethod
    @lru_cache(maxsize=8192)
    def of(words: tuple[str, ...]) -> Goal:
        """The goal made of these words as they are written."""
        stems = tuple(" ".join(stems_of(word)) for word in words)
        content = frozenset(word for word in stems if word and word not in STOP_WORDS)
        stop = frozenset(stems) - content
        phrase = f" {' '.join(word for word in stems if word)} "
        return Goal(stems, content, stop, phrase, {})


def match_bin(text: str, goal: Goal) -> tuple[int, frozenset[str]]:
    """How much of `text` occurs in the goal, and which words do.

    Returns: 0 no words, 1 none occurs, 2 fewer than half, 3 half or more, 4 all of them,
        5 all of them and in the goal's order side by side; and the matching content words.
    """
    known = goal.matches.get(text)
    if known is None:
        known = goal.matches[text] = _match(text, goal)
    return known


def _match(text: str, goal: Goal) -> tuple[int, frozenset[str]]:
    words = stems_of(text)
    if not words:
        return 0, frozenset()
    content = [word for word in words if word not in STOP_WORDS] or words
    hits = [word for word in content if word in goal.content]
    if f" {' '.join(words)} " in goal.phrase:
        return 5, frozenset(hits)
    if not hits:
        return 1, frozenset()
    if len(hits) == len(content):
        return 4, frozenset(hits)
    return (3 if 2 * len(hits) >= len(content) else 2), frozenset(hits)

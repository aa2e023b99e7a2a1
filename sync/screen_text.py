"""Texts on a screen as people read them: rows with their labels, and how they match a goal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
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


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """Items that are shown together, and what follows from them alone, whatever the goal.

    Attributes:
        pairs: pairs of items that lie beside each other, by their places in `items`.
        words, field_words: stems that stand on them, and on those that can be typed into.
        labels: whole labels, as stems with one blank between two.
        has_text, has_long, has_focused_field: whether some item has a label, takes a long press,
            is a field with the focus.
    """

    items: tuple[Item, ...]
    pairs: tuple[tuple[int, int], ...]
    words: frozenset[str]
    labels: frozenset[str]
    field_words: frozenset[str]
    has_text: bool
    has_long: bool
    has_focused_field: bool

    @staticmethod
    def of(items: tuple[Item, ...]) -> Shown:
        """What follows from `items`."""
        words, labels = [item.words for item in items], [item.label for item in items]
        fields = [item for item in items if item.editable]
        return Shown(
            items=items,
            pairs=tuple(_pairs_beside(items)),
            words=frozenset(chain.from_iterable(words)),
            labels=frozenset(map(" ".join, words)),
            field_words=frozenset(chain.from_iterable([item.words for item in fields])),
            has_text=any(labels),
            has_long=any(item.long_clickable for item in items),
            has_focused_field=any(item.focused for item in fields),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Screen:
    """The items of a screen, in reading order; rows without a label took those of their texts.

    Attributes:
        elements: what it was made of.
        useful: the items that say something or can be acted on.
        scrollable: whether anything scrolls.
        field_focused: whether a field has the focus.
    """

    elements: tuple[Element, ...]
    items: tuple[Item, ...]
    useful: Shown
    scrollable: bool
    field_focused: bool


def screen_of(observation: Observation) -> Screen:
    """The items of a screen; remembered while the same elements are seen again."""
    elements = observation.elements
    known = _RECENT.get(id(elements))
    if known is None:
        known = _read(elements)
        _RECENT.put(id(elements), known)
    return known


def items_of(observation: Observation) -> tuple[Item, ...]:
    """The items of a screen, in reading order; rows without a label take those of their texts."""
    return screen_of(observation).items


class _Recent:
    """Screens seen lately, by the identity of their elements.

    Hashing a screen costs more than merging it, and holding on to the elements keeps the identity
    unique. Two generations, so that what is in use outlives a change: each holds as many screens
    as a large farm has seats, some ten kilobytes each.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._young: dict[int, Screen] = {}
        self._old: dict[int, Screen] = {}

    def get(self, identity: int) -> Screen | None:
        known = self._young.get(identity)
        if known is None and (known := self._old.get(identity)) is not None:
            self.put(identity, known)
        return known

    def put(self, identity: int, screen: Screen) -> None:
        if len(self._young) >= self._size:
            self._old, self._young = self._young, {}
        self._young[identity] = screen


_RECENT = _Recent(1024)


def _read(elements: tuple[Element, ...]) -> Screen:
    items = _merged(elements)
    useful = tuple([item for item in items if item.label or item.clickable or item.editable])
    return Screen(
        elements=elements,
        items=items,
        useful=Shown.of(useful),
        scrollable=any(element.scrollable for element in elements),
        field_focused=any(element.focused and element.editable for element in elements),
    )


def _pairs_beside(items: Sequence[Item]) -> list[tuple[int, int]]:
    """All pairs of items that lie beside each other: at least half of the lower of the two."""
    spans = [(item.bounds[1], item.bounds[3], index) for index, item in enumerate(items)]
    spans.sort()
    pairs = []
    for position, (top, bottom, one) in enumerate(spans, start=1):
        height = bottom - top
        for start, end, other in islice(spans, position, None):
            if start >= bottom:
                break
            lower = min(height, end - start)
            shared = (min(end, bottom)) - start
            if shared > 0 and lower <= 2 * shared:
                pairs.append((one, other))
    return pairs


def _merged(elements: tuple[Element, ...]) -> tuple[Item, ...]:
    rows = [
        (index, element.bounds)
        for index, element in enumerate(elements)
        if element.clickable and not (element.text or element.description or element.editable)
    ]
    if not rows:
        return tuple([_item(element, index) for index, element in enumerate(elements)])
    swallowed: dict[int, list[int]] = {}
    free: list[int] = []
    for index, element in enumerate(elements):
        row = _row_around(element, index, rows)
        (free if row is None else swallowed.setdefault(row, [])).append(index)
    return tuple(
        [
            _item(elements[index], index)
            if index not in swallowed
            else _row_item(elements, index, swallowed[index])
            for index in free
        ]
    )


def _row_around(element: Element, index: int, rows: Sequence[tuple[int, Rect]]) -> int | None:
    """The smallest unlabelled clickable element around a plain one, or None."""
    if element.clickable or element.scrollable or element.editable:
        return None
    left, top, right, bottom = element.bounds
    best, best_area = None, 0
    for row, (start, above, end, below) in rows:
        if above > top or below < bottom or start > left or end < right or row == index:
            continue
        area = (end - start) * (below - above)
        if best is None or area < best_area:
            best, best_area = row, area
    return best


def _item(element: Element, index: int) -> Item:
    label = element.text or element.description
    return Item(
        index,
        (),
        element.class_name,
        label,
        stems_of(label),
        element.bounds,
        element.clickable,
        element.long_clickable,
        element.checkable,
        element.checked,
        element.editable,
        element.scrollable,
        element.focused,
        element.selected,
        element.enabled,
    )


def _row_item(elements: Sequence[Element], index: int, swallowed: Sequence[int]) -> Item:
    """The item of a row that took the labels and the state of what lies in it."""
    alone = _item(elements[index], index)
    parts = [elements[other] for other in swallowed]
    label = alone.label or " ".join([part.label for part in parts if part.label])
    return alone._replace(
        absorbed=tuple(swallowed),
        label=label,
        words=stems_of(label),
        checkable=alone.checkable or any(part.checkable for part in parts),
        checked=alone.checked or any(part.checked for part in parts),
        selected=alone.selected or any(part.selected for part in parts),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Goal:
    """A goal's words as stems, and those that mean something; `Goal.of` makes each only once."""

    stems: tuple[str, ...]
    content: frozenset[str]
    stop_words: frozenset[str]
    phrase: str
    matches: dict[str, Match]

    @staticmethod
    @lru_cache(maxsize=2048)
    def of(words: tuple[str, ...]) -> Goal:
        """The goal made of these words as they are written."""
        stems = tuple(" ".join(stems_of(word)) for word in words)
        content = frozenset(word for word in stems if word and word not in STOP_WORDS)
        stop = frozenset(stems) - content
        phrase = f" {' '.join(word for word in stems if word)} "
        return Goal(stems, content, stop, phrase, {})


Match = tuple[int, frozenset[str]]
"""How much of a text occurs in a goal (see `match_bin`), and which content words do."""


def match_bin(text: str, goal: Goal) -> Match:
    """How much of `text` occurs in the goal, and which words do.

    Returns: 0 no words, 1 none occurs, 2 fewer than half, 3 half or more, 4 all of them,
        5 all of them and in the goal's order side by side; and the matching content words.
    """
    known = goal.matches.get(text)
    if known is None:
        if len(goal.matches) >= _MOST_MATCHES:
            goal.matches.clear()
        known = goal.matches[text] = _match(text, goal)
    return known


_MOST_MATCHES = 1024
"""Texts that a goal remembers: those of some dozen screens; an owner's goal may live for months."""

_WORDLESS: Match = (0, frozenset())
_UNRELATED: Match = (1, frozenset())


def _match(text: str, goal: Goal) -> Match:
    words = stems_of(text)
    if not words:
        return _WORDLESS
    content = [word for word in words if word not in STOP_WORDS] or words
    hits = [word for word in content if word in goal.content]
    if f" {' '.join(words)} " in goal.phrase:
        return 5, frozenset(hits)
    if not hits:
        return _UNRELATED
    if len(hits) == len(content):
        return 4, frozenset(hits)
    return (3 if 2 * len(hits) >= len(content) else 2), frozenset(hits)

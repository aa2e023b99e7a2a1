"""What an action touches: the position is the fact, the index that an action names only a hint.

A tree's flat elements do not tell which of several views at one point gets the touch, and a button
may carry its words in a child, or beside it. So everything counts that lies at the point, that lies
inside of what reacts there, or, where all of that is silent, that stands right next to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sync.vocabulary import Action, ActionKind, Element, Observation, Rect

_POINTED: Final = frozenset({ActionKind.TAP, ActionKind.LONG_PRESS, ActionKind.DOUBLE_TAP})
_DRAWN: Final = frozenset({ActionKind.SWIPE, ActionKind.DRAG})
_MARGIN: Final = 0.01
"""How far around an element a touch still counts, as a share of the screen's width: touch areas
are often larger than what is drawn."""
_HUGE: Final = 0.5
"""A share of the screen: what is larger and holds other things that react is a background."""
_BESIDE: Final = 0.04
"""How near a text stands that names a silent button, as a share of the screen's height."""


@dataclass(frozen=True, slots=True)
class Touched:
    """What one point of an action touches.

    Attributes:
        x_px, y_px: the point.
        receiver: index of the element that reacts there; None where none says that it does.
        voices: indices of the elements whose words count, the receiver first.
    """

    x_px: int
    y_px: int
    receiver: int | None
    voices: tuple[int, ...]


def touched_by(action: Action, observation: Observation) -> tuple[Touched, ...]:
    """What the action touches, point by point; nothing for keys, texts and plain scrolling."""
    return tuple(_at(x, y, observation) for x, y in _points(action, observation))


def _points(action: Action, observation: Observation) -> Iterator[tuple[int, int]]:
    width, height = observation.width_px, observation.height_px
    if action.kind in _POINTED or action.kind in _DRAWN:
        yield _pixel(action.x, width), _pixel(action.y, height)
    if action.kind in _DRAWN:
        yield _pixel(action.x2, width), _pixel(action.y2, height)
    if action.kind is ActionKind.SCROLL and action.element is not None:
        # A "scroll" across what does not scroll is a swipe: it may be a slider that pays.
        for element in observation.elements[action.element : action.element + 1]:
            if not element.scrollable:
                left, top, right, bottom = element.bounds
                yield (left + right) // 2, (top + bottom) // 2


def _pixel(fraction: float | None, extent_px: int) -> int:
    return min(round((fraction or 0.0) * extent_px), extent_px - 1)


def reacts(element: Element) -> bool:
    """Whether the element says that a touch does something."""
    return element.clickable or element.long_clickable or element.checkable or element.editable


def _at(x_px: int, y_px: int, observation: Observation) -> Touched:
    elements = observation.elements
    margin = _MARGIN * observation.width_px
    under = [i for i, one in enumerate(elements) if _holds(one.bounds, x_px, y_px, margin)]
    reacting = [i for i in under if reacts(elements[i])]
    exact = [i for i in reacting if _holds(elements[i].bounds, x_px, y_px, 0.0)]
    receiver = min(exact or reacting, key=lambda i: _area(elements[i].bounds), default=None)
    voices = dict.fromkeys(() if receiver is None else (receiver,))
    voices.update(dict.fromkeys(under))
    if receiver is not None:
        voices.update(dict.fromkeys(_inside(receiver, observation)))
        if not any(elements[i].label or elements[i].resource_id for i in voices):
            voices.update(dict.fromkeys(_beside(receiver, observation)))
    return Touched(x_px, y_px, receiver, tuple(voices))


def _inside(receiver: int, observation: Observation) -> Iterator[int]:
    """Texts inside of what reacts; not those of a background behind other things that react."""
    elements = observation.elements
    outer = elements[receiver].bounds
    held = [i for i, one in enumerate(elements) if i != receiver and _within(one.bounds, outer)]
    screen = observation.width_px * observation.height_px
    if _area(outer) > _HUGE * screen and any(reacts(elements[i]) for i in held):
        return
    yield from (i for i in held if not reacts(elements[i]))


def _beside(receiver: int, observation: Observation) -> Iterator[int]:
    """Texts that stand next to a silent element, in its column or in its row."""
    elements = observation.elements
    left, top, right, bottom = elements[receiver].bounds
    reach = _BESIDE * observation.height_px
    for index, one in enumerate(elements):
        other = one.bounds
        in_column = other[0] < right and other[2] > left
        in_row = other[1] < bottom and other[3] > top
        across = max(other[0] - right, left - other[2])
        along = max(other[1] - bottom, top - other[3])
        near = (in_column and 0 <= along <= reach) or (in_row and 0 <= across <= reach)
        if near and one.label:
            yield index


def _holds(bounds: Rect, x_px: int, y_px: int, margin: float) -> bool:
    left, top, right, bottom = bounds
    return left - margin <= x_px < right + margin and top - margin <= y_px < bottom + margin


def _within(inner: Rect, outer: Rect) -> bool:
    return (
        outer[0] <= inner[0]
        and outer[1] <= inner[1]
        and inner[2] <= outer[2]
        and inner[3] <= outer[3]
    )


def _area(bounds: Rect) -> int:
    return max(bounds[2] - bounds[0], 0) * max(bounds[3] - bounds[1], 0)

"""From lines of text and shapes to elements: what a person would take each thing on a screen for.

Guesses, by the habits that touch interfaces of all makers share. They are meant for the same policy
that reads view hierarchies: a row is one thing that can be tapped and holds its texts, a wide box
with nothing or left-hand text in it is a field, a box around centred text is a button, an icon that
stands alone can be tapped. Pure functions of what was found in the picture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Final, TypeVar

from device_runtime.screen_reading_parts import keyboard_top, status_bottom
from device_runtime.screen_reading_shapes import Icon, IconKind, Shapes
from device_runtime.screen_reading_text import TextLine
from sync.vocabulary import Element, Rect

_TEXT: Final = "android.widget.TextView"
_BUTTON: Final = "android.widget.Button"
_FIELD: Final = "android.widget.EditText"
_PICKER: Final = "android.widget.Spinner"
_ICON: Final = "android.widget.ImageButton"
_SWITCH: Final = "android.widget.Switch"
_TICK_BOX: Final = "android.widget.CheckBox"
_ROW: Final = "android.widget.LinearLayout"
_SCROLLER: Final = "android.widget.ScrollView"

_Thing = TypeVar("_Thing", TextLine, Icon)

_APP_BAR_DP: Final = 68
_CONTROL_DP: Final = (30, 112)
_CARD_DP: Final = 170
_EDGE_DP: Final = 5
_TOUCH_DP: Final = 48
_LAST_ROW_DP: Final = 72
_CARET_DP: Final = 4
_TILE_DP: Final = (18, 76)
_NAME_GAP_DP: Final = 44
_OFF_CENTRE_DP: Final = 10
_LEAST_TILES: Final = 3
_WIDE_SHARE: Final = 0.55
_MORE: Final = "More options"
_BACK: Final = "Navigate up"


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in one picture, and what is known beside it.

    Attributes:
        width_px, height_px: size of the picture.
        package: of the app in front; empty where unknown.
        touched: where the finger was last, pixels; None where nobody knows.
        keyboard_shown: whether the keyboard is known to be up; None where nobody knows.
    """

    lines: tuple[TextLine, ...]
    shapes: Shapes
    width_px: int
    height_px: int
    package: str = ""
    touched: tuple[int, int] | None = None
    keyboard_shown: bool | None = None


def elements_found(found: Found) -> tuple[Element, ...]:
    """The elements of a screen, in reading order (top, then left)."""
    found = _in_front(found)
    top = status_bottom(found.lines, found.width_px, found.height_px)
    bottom = keyboard_top(found.lines, found.shapes.boxes, found.height_px)
    has_keyboard = found.keyboard_shown
    if has_keyboard is None:
        has_keyboard = bottom < found.height_px
    elements = _Guess(found, top, bottom).elements()
    if has_keyboard and found.touched is not None:
        elements = _with_focus(elements, found.touched, found)
    packed = [replace(element, package=found.package) for element in elements]
    packed.sort(key=lambda element: (element.bounds[1], element.bounds[0]))
    return tuple(packed)


def _in_front(found: Found) -> Found:
    """Only what a dialog holds, where there is one: nothing around it can be touched."""
    front, shapes = found.shapes.front, found.shapes
    if front is None:
        return found
    return replace(
        found,
        lines=tuple(line for line in found.lines if _holds(front, line.bounds)),
        shapes=replace(
            shapes,
            boxes=tuple(box for box in shapes.boxes if _holds(front, box)),
            icons=tuple(icon for icon in shapes.icons if _holds(front, icon.bounds)),
            dividers=tuple(row for row in shapes.dividers if front[1] < row < front[3]),
        ),
    )


class _Guess:
    """Takes lines and icons away one kind of thing after the other, until none is left."""

    def __init__(self, found: Found, top: int, bottom: int) -> None:
        shapes = found.shapes
        self._dp = shapes.dp
        self._width, self._top, self._bottom = found.width_px, top, bottom
        self._boxes = [box for box in shapes.boxes if box[1] >= top and _centre(box)[1] < bottom]
        self._dividers = [
            row for row in shapes.dividers if top < row < bottom and not self._is_edge(row)
        ]
        lines = _between(found.lines, top, bottom)
        self._lines = [line for line in lines if line.icon_name is None]
        self._icons = _named(_between(shapes.icons, top, bottom), lines)
        self._lowest = max((line.bounds[3] for line in self._lines), default=0)

    def elements(self) -> list[Element]:
        """Everything that was found, once."""
        return [
            *self._of_labelled_icons(),
            *self._of_boxes(),
            *self._of_rows(),
            *self._of_stacks(),
            *self._of_icons(),
            *self._scroller(),
        ]

    def _is_edge(self, row: int) -> bool:
        """Whether a line across the screen is the upper or lower edge of boxes."""
        near = _EDGE_DP * self._dp
        return any(min(abs(row - box[1]), abs(row - box[3])) < near for box in self._boxes)

    def _of_boxes(self) -> Iterable[Element]:
        for box in self._boxes:
            if any(other != box and _holds(box, other) for other in self._boxes):
                continue
            lines = [line for line in self._lines if _holds(box, line.bounds)]
            icons = [icon for icon in self._icons if _holds(box, icon.bounds)]
            if box[3] - box[1] > (_CARD_DP if len(lines) > 1 else _CONTROL_DP[1]) * self._dp:
                continue
            made = self._of_box(box, lines, icons)
            if made:
                self._take(lines, icons)
                yield from made

    def _of_box(
        self, box: Rect, lines: Sequence[TextLine], icons: Sequence[Icon]
    ) -> Sequence[Element]:
        is_bar = box[2] - box[0] >= _WIDE_SHARE * self._width
        is_bar = is_bar and box[3] - box[1] >= _CONTROL_DP[0] * self._dp
        icons = [icon for icon in icons if self._is_inside(icon.bounds, box)]
        if not lines and is_bar and not any(icon.name for icon in icons):
            kind = _PICKER if icons else _FIELD
            return [Element(kind, box, clickable=True, editable=not icons)]
        if not lines:
            return [Element(_ICON, box, description=icon.name, clickable=True) for icon in icons]
        if len(lines) == 1 and is_bar and self._is_left_hand(box, lines[0].bounds):
            kind = _PICKER if icons else _FIELD
            text = lines[0].text.rstrip("|")
            return [Element(kind, box, text=text, clickable=True, editable=not icons)]
        if len(lines) == 1:
            return [Element(_BUTTON, box, text=lines[0].text, clickable=True)]
        if _side_by_side(lines):
            return [Element(_BUTTON, line.bounds, text=line.text, clickable=True) for line in lines]
        return [Element(_ROW, box, clickable=True), *_plain(lines)]

    def _is_inside(self, icon: Rect, box: Rect) -> bool:
        """Whether an icon stands in its box, and is neither the caret nor a rounded corner."""
        quarter = (box[3] - box[1]) // 4
        is_level = box[1] + quarter < _centre(icon)[1] < box[3] - quarter
        return is_level and icon[2] - icon[0] > _CARET_DP * self._dp

    def _is_left_hand(self, box: Rect, text: Rect) -> bool:
        """Whether text begins at one end of its box, as in a field, and not in the middle."""
        before, after = text[0] - box[0], box[2] - text[2]
        is_at_end = min(before, after) < 36 * self._dp
        return is_at_end and abs(before - after) > 0.12 * (box[2] - box[0])

    def _of_rows(self) -> Iterable[Element]:
        least, most = (edge * self._dp for edge in _CONTROL_DP)
        spans = [(a, b) for a, b in pairwise(self._dividers) if least <= b - a <= most]
        if spans and self._dividers:
            usual = round(median(b - a for a, b in spans))
            spans.append((self._dividers[0] - usual, self._dividers[0]))
        for top, bottom in sorted(spans):
            lines = [line for line in self._lines if top < _centre(line.bounds)[1] < bottom]
            icons = [icon for icon in self._icons if top < _centre(icon.bounds)[1] < bottom]
            if lines and top > self._top + _APP_BAR_DP * self._dp * 0.6:
                self._take(lines, icons)
                yield from self._of_row((0, top, self._width, bottom), lines, icons)

    def _of_row(
        self, row: Rect, lines: Sequence[TextLine], icons: Sequence[Icon]
    ) -> Iterable[Element]:
        controls = [icon for icon in icons if icon.kind is not IconKind.PICTURE]
        yield from (self._control(icon) for icon in controls)
        if len(lines) == 1:
            yield Element(_TEXT, row, text=lines[0].text, clickable=True)
        else:
            yield Element(_ROW, row, clickable=True)
            yield from _plain(lines)

    def _control(self, icon: Icon) -> Element:
        kind = _SWITCH if icon.kind is IconKind.PILL else _TICK_BOX
        bounds = self._touchable(icon.bounds)
        return Element(kind, bounds, clickable=True, checkable=True, checked=icon.is_on)

    def _of_labelled_icons(self) -> Iterable[Element]:
        """Icons with their names below them, as home screens have."""
        tiles = self._tiles()
        free = [
            line for line in self._lines if not any(_holds(each, line.bounds) for each in tiles)
        ]
        pairs = [
            (max(above, key=_area), line)
            for line in free
            if (above := [each for each in tiles if self._names(line.bounds, each)])
        ]
        if len(pairs) < _LEAST_TILES:
            return
        for tile, line in pairs:
            drawn = [each for each in self._lines if _holds(tile, each.bounds)]
            self._take([line, *drawn], [each for each in self._icons if _meet(each.bounds, tile)])
            yield Element(_TEXT, _around(tile, line.bounds), text=line.text, clickable=True)

    def _tiles(self) -> list[Rect]:
        """Whatever is as large as the icon of an app."""
        least, most = (edge * self._dp for edge in _TILE_DP)
        shapes = [*(icon.bounds for icon in self._icons), *self._boxes]
        return [
            each
            for each in shapes
            if least <= each[2] - each[0] <= most and least <= each[3] - each[1] <= most
        ]

    def _names(self, text: Rect, tile: Rect) -> bool:
        """Whether a text stands centred and close below a tile."""
        is_centred = abs(_centre(text)[0] - _centre(tile)[0]) < _OFF_CENTRE_DP * self._dp
        return is_centred and -2 * self._dp <= text[1] - tile[3] < _NAME_GAP_DP * self._dp

    def _of_stacks(self) -> Iterable[Element]:
        bar = self._top + _APP_BAR_DP * self._dp
        for stack in _stacks(self._lines, self._dp):
            bounds = _around(*(line.bounds for line in stack))
            if _centre(bounds)[1] < bar:
                yield from self._of_bar(stack)
                continue
            if len(stack) == 1:
                yield Element(_TEXT, bounds, text=stack[0].text, clickable=True)
            else:
                yield Element(_ROW, bounds, clickable=True)
                yield from _plain(stack)
        self._lines = []

    def _of_bar(self, stack: Sequence[TextLine]) -> Iterable[Element]:
        """What stands at the top of an app: its title, and words that do something."""
        middle = self._width / 2
        for line in stack:
            acts = line.bounds[0] > middle
            yield Element(_BUTTON if acts else _TEXT, line.bounds, text=line.text, clickable=acts)

    def _of_icons(self) -> Iterable[Element]:
        bar = self._top + _APP_BAR_DP * self._dp
        for icon in self._icons:
            left, top, right, bottom = icon.bounds
            if icon.kind is not IconKind.PICTURE and top > bar:
                yield self._control(icon)
                continue
            name = icon.name
            if not name and bottom - top > 2.2 * (right - left):
                name = _MORE
            elif not name and bottom <= bar and right < 0.2 * self._width:
                name = _BACK
            if name or top < bar or right - left >= 18 * self._dp:
                yield Element(_ICON, self._touchable(icon.bounds), description=name, clickable=True)

    def _scroller(self) -> Iterable[Element]:
        """Whatever is below the app's bar, where it goes on to the lower end of the screen."""
        if self._lowest > self._bottom - _LAST_ROW_DP * self._dp:
            top = round(self._top + _APP_BAR_DP * self._dp)
            yield Element(_SCROLLER, (0, top, self._width, self._bottom), scrollable=True)

    def _touchable(self, bounds: Rect) -> Rect:
        """The bounds, at least as large as a fingertip."""
        (x, y), half = _centre(bounds), round(_TOUCH_DP * self._dp / 2)
        left, top, right, bottom = bounds
        return (
            max(min(left, x - half), 0),
            max(min(top, y - half), 0),
            min(max(right, x + half), self._width),
            max(bottom, y + half),
        )

    def _take(self, lines: Sequence[TextLine], icons: Sequence[Icon]) -> None:
        self._lines = [line for line in self._lines if line not in lines]
        self._icons = [icon for icon in self._icons if icon not in icons]


def _named(icons: Iterable[Icon], lines: Iterable[TextLine]) -> list[Icon]:
    """The icons, each with the name of the character that was read in it, and the rest of those."""
    named = list(icons)
    for line in lines:
        name = line.icon_name
        if name is None:
            continue
        at = next((n for n, icon in enumerate(named) if _meet(icon.bounds, line.bounds)), None)
        if at is None:
            named.append(Icon(line.bounds, name=name))
        else:
            named[at] = replace(named[at], name=name)
    return named


def _with_focus(elements: list[Element], at: tuple[int, int], found: Found) -> list[Element]:
    """The same elements, with the focus in what was touched: the keyboard is up for it."""
    x, y = at
    under = [each for each in elements if _contains(each.bounds, x, y) and not each.scrollable]
    fields = [each for each in under if each.editable] or under
    if fields:
        field = min(fields, key=lambda each: _area(each.bounds))
        focused = replace(field, class_name=_FIELD, clickable=True, editable=True, focused=True)
        return [focused if each is field else each for each in elements]
    half = round(_TOUCH_DP * found.shapes.dp / 2)
    bounds = (0, max(y - half, 0), found.width_px, min(y + half, found.height_px))
    return [*elements, Element(_FIELD, bounds, clickable=True, editable=True, focused=True)]


def _plain(lines: Iterable[TextLine]) -> list[Element]:
    return [Element(_TEXT, line.bounds, text=line.text) for line in lines]


def _stacks(lines: Sequence[TextLine], dp: float) -> list[list[TextLine]]:
    """Lines that stand close below each other at the same left or right edge, as one thing each."""
    stacks: list[list[TextLine]] = []
    for line in lines:
        left, top, right, bottom = line.bounds
        for stack in stacks:
            before = stack[-1].bounds
            height = min(bottom - top, before[3] - before[1])
            is_below = -0.3 * height <= top - before[3] < 0.45 * height
            is_aligned = min(abs(left - before[0]), abs(right - before[2])) < 8 * dp
            if is_below and is_aligned:
                stack.append(line)
                break
        else:
            stacks.append([line])
    return stacks


def _side_by_side(lines: Sequence[TextLine]) -> bool:
    return any(
        one.bounds[1] < _centre(other.bounds)[1] < one.bounds[3]
        for one in lines
        for other in lines
        if one is not other
    )


def _between(things: Iterable[_Thing], top: int, bottom: int) -> list[_Thing]:
    return [each for each in things if top <= _centre(each.bounds)[1] < bottom]


def _centre(bounds: Rect) -> tuple[int, int]:
    return (bounds[0] + bounds[2]) // 2, (bounds[1] + bounds[3]) // 2


def _meet(one: Rect, other: Rect) -> bool:
    return _contains(one, *_centre(other)) or _contains(other, *_centre(one))


def _contains(box: Rect, x: int, y: int) -> bool:
    return box[0] <= x < box[2] and box[1] <= y < box[3]


def _holds(box: Rect, other: Rect) -> bool:
    return _contains(box, *_centre(other)) and _area(box) > _area(other)


def _area(bounds: Rect) -> int:
    return max(bounds[2] - bounds[0], 0) * max(bounds[3] - bounds[1], 0)


def _around(*bounds: Rect) -> Rect:
    return (
        min(each[0] for each in bounds),
        min(each[1] for each in bounds),
        max(each[2] for each in bounds),
        max(each[3] for each in bounds),
    )

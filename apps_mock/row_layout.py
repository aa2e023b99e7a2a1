"""Where the parts of rows and cards lie."""

from __future__ import annotations

from typing import NamedTuple

from apps_mock.canvas import Canvas
from apps_mock.clone_elements import element
from apps_mock.measuring import text_width
from apps_mock.nodes import BOX, CARD, TEXT
from apps_mock.places import Target
from apps_mock.widgets import Card, Event, Row
from sync.vocabulary import Rect


class _Parts(NamedTuple):
    """Where a row's texts lie: (start..end) title and subtitle, (end..far) badge; heights."""

    start: int
    end: int
    far: int
    title: int
    subtitle: int
    height: int


def measure_row(canvas: Canvas, row: Row) -> tuple[int, _Parts]:
    """Pixels that a row takes, and its parts."""
    look, sizes = canvas.look, canvas.sizes
    start = canvas.left + sizes.margin
    if row.icon:
        start += sizes.icon + sizes.margin
    far = canvas.right - sizes.margin
    if row.checked is not None:
        far -= sizes.switch + sizes.margin
    end, badge = far, 0
    if row.badge:
        width = min(text_width(row.badge, "badge", canvas.faces), (far - start) * 2 // 5)
        end = far - width - sizes.gap
        badge = canvas.height(row.badge, "badge", width)
    title = canvas.height(row.title, "title", end - start)
    subtitle = canvas.height(row.subtitle, "summary", end - start) if row.subtitle else 0
    least = look.row_px + look.row_px // 3 if row.subtitle else look.row_px
    height = max(least, title + subtitle + 2 * sizes.gap, badge + 2 * sizes.gap)
    return height, _Parts(start, end, far, title, subtitle, height)


def place_row(canvas: Canvas, row: Row, top: int, parts: _Parts) -> None:
    """Add a row."""
    bounds = (canvas.left, top, canvas.right, top + parts.height)
    seen = canvas.seen(bounds)
    if seen is None:
        for event in dict.fromkeys((row.on_tap, row.on_toggle, row.on_hold)):
            if event is not None:
                canvas.hide(event, "", top)
    elif canvas.look.boxed_rows:
        _boxed(canvas, row, parts, bounds, seen)
    else:
        _texts(canvas, row, parts, bounds, touched=True)
        _switch(canvas, row, bounds, row.on_tap)


def _boxed(canvas: Canvas, row: Row, parts: _Parts, bounds: Rect, seen: Rect) -> None:
    whole_toggles = row.radio or canvas.look.whole_row_toggles
    whole = row.on_tap or (row.on_toggle if whole_toggles else None)
    canvas.open()
    _texts(canvas, row, parts, bounds, touched=False)
    own = _switch(canvas, row, bounds, whole)
    canvas.close(
        BOX,
        bounds,
        kind="row",
        clickable=whole is not None,
        long=row.on_hold is not None,
        selected=row.selected,
    )
    if whole is not None or row.on_hold is not None:
        # Under the switch, so that a switch of its own wins where both are touched.
        canvas.target(Target(seen, whole, hold=row.on_hold), below=int(own))


def _texts(canvas: Canvas, row: Row, parts: _Parts, bounds: Rect, *, touched: bool) -> None:
    _, top, _, bottom = bounds
    spare = parts.height - parts.title - parts.subtitle
    middle = top + parts.title + spare // 2 if row.subtitle else bottom
    if row.icon:
        size = canvas.sizes.icon
        y = (top + bottom - size) // 2
        x = canvas.left + canvas.sizes.margin
        canvas.picture((x, y, x + size, y + size), row.icon)
    start, end = parts.start, parts.end
    upper = (
        (start, middle - parts.title, end, middle) if row.subtitle else (start, top, end, bottom)
    )
    if touched and (row.on_tap is not None or row.on_hold is not None):
        _touched_title(canvas, row, (canvas.left, top, end, bottom), upper)
    else:
        canvas.label((start, top, end, middle), row.title, "title", "title", box_=upper)
    if row.subtitle:
        lower = (start, middle, end, middle + parts.subtitle)
        canvas.label((start, middle, end, bottom), row.subtitle, "summary", "summary", box_=lower)
    if row.badge:
        badge = (end + canvas.sizes.gap, top, parts.far, bottom)
        canvas.label(badge, row.badge, "badge", "badge")


def _touched_title(canvas: Canvas, row: Row, bounds: Rect, place: Rect) -> None:
    """A text that is touched itself, as wide as the row."""
    seen = canvas.seen(bounds)
    if seen is None:
        return
    hold = row.on_hold is not None
    canvas.add(
        element(
            TEXT,
            seen,
            canvas.window.package,
            row.title,
            clickable=True,
            long_clickable=hold,
            selected=row.selected,
        )
    )
    canvas.target(Target(seen, row.on_tap, hold=row.on_hold))
    clip = canvas.seen(place)
    if clip is not None:
        canvas.write(row.title, "title", place, clip)


def _switch(canvas: Canvas, row: Row, bounds: Rect, whole: Event | None) -> bool:
    """Add the row's switch; returns whether it is touched by itself."""
    if row.checked is None:
        return False
    sizes = canvas.sizes
    _, top, right, bottom = bounds
    seen = canvas.seen((right - sizes.margin - sizes.switch, top, right - sizes.margin, bottom))
    if seen is None:
        return False
    own = whole != row.on_toggle
    look = canvas.look
    class_name = look.radio_class if row.radio else look.switch_class
    canvas.add(
        element(
            class_name,
            seen,
            canvas.window.package,
            resource_id=canvas.resource("switch_widget"),
            clickable=own,
            checkable=True,
            checked=row.checked,
        )
    )
    if own and row.on_toggle is not None:
        canvas.target(Target(seen, row.on_toggle))
        return True
    return False


class _CardParts(NamedTuple):
    """Where a card's texts lie (start..end), and the heights of its title, lines and whole."""

    start: int
    end: int
    title: int
    lines: list[int]
    height: int


def measure_card(canvas: Canvas, card: Card) -> tuple[int, _CardParts]:
    """Pixels that a card takes, and its parts."""
    sizes = canvas.sizes
    start = canvas.left + sizes.margin + sizes.pad
    if card.image:
        start += sizes.tile - sizes.margin
    end = canvas.right - sizes.margin - sizes.pad
    title = canvas.height(card.title, "title", end - start)
    lines = [canvas.height(line, "summary", end - start) for line in _lines(card)]
    least = sizes.tile - sizes.gap if card.image else canvas.look.row_px
    height = max(least, title + sum(lines) + 2 * sizes.pad)
    return height + 2 * sizes.gap, _CardParts(start, end, title, lines, height)


def _lines(card: Card) -> tuple[str, ...]:
    return (*card.lines, card.badge) if card.badge else card.lines


def place_card(canvas: Canvas, card: Card, top: int, parts: _CardParts) -> None:
    """Add a card."""
    sizes = canvas.sizes
    start, end, title, lines, height = parts
    y = top + sizes.gap
    bounds = (canvas.left + sizes.margin, y, canvas.right - sizes.margin, y + height)
    seen = canvas.seen(bounds)
    if seen is None:
        if card.on_tap is not None:
            canvas.hide(card.on_tap, "", top)
        return
    canvas.open()
    if card.image:
        x = canvas.left + sizes.margin + sizes.gap
        side = min(height, sizes.tile) - 2 * sizes.gap
        canvas.picture((x, y + sizes.gap, x + side, y + sizes.gap + side), card.image)
    y += (height - title - sum(lines)) // 2
    canvas.label((start, y, end, y + title), card.title, "title", "title")
    y += title
    for line, line_height in zip(_lines(card), lines, strict=True):
        canvas.label((start, y, end, y + line_height), line, "summary", "summary")
        y += line_height
    canvas.close(CARD, bounds, kind="card", clickable=card.on_tap is not None)
    if card.on_tap is not None:
        canvas.target(Target(seen, card.on_tap))

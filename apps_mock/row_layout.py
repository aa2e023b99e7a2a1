"""Where the parts of rows and cards lie."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from apps_mock.canvas import Canvas
from apps_mock.look import Look
from apps_mock.measuring import lines_of, text_height, text_width
from apps_mock.nodes import BOX, CARD, TEXT, checkable, touchable
from apps_mock.places import Target, sizes_of
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


@lru_cache(maxsize=8192)
def _parts(row: Row, left: int, right: int, look: Look) -> _Parts:
    sizes = sizes_of(look)
    start = left + sizes.margin
    if row.icon:
        start += sizes.icon + sizes.margin
    far = right - sizes.margin
    if row.checked is not None:
        far -= sizes.switch + sizes.margin
    end, badge = far, 0
    if row.badge:
        width = min(text_width(row.badge, "badge", look), (far - start) * 2 // 5)
        end = far - width - sizes.gap
        badge = text_height(row.badge, "badge", width, look)
    title = text_height(row.title, "title", end - start, look)
    subtitle = text_height(row.subtitle, "summary", end - start, look) if row.subtitle else 0
    least = look.row_px + look.row_px // 3 if row.subtitle else look.row_px
    height = max(least, title + subtitle + 2 * sizes.gap, badge + 2 * sizes.gap)
    return _Parts(start, end, far, title, subtitle, height)


def row_height(canvas: Canvas, row: Row) -> int:
    """Pixels that a row takes."""
    return _parts(row, canvas.left, canvas.right, canvas.look).height


def place_row(canvas: Canvas, row: Row, top: int) -> None:
    """Add a row."""
    parts = _parts(row, canvas.left, canvas.right, canvas.look)
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
    canvas.add(touchable(canvas.window.package, TEXT, seen, row.title, "", "", hold, row.selected))
    canvas.target(Target(seen, row.on_tap, hold=row.on_hold))
    lines = lines_of(row.title, "title", place[2] - place[0], canvas.look)
    canvas.write(lines, "title", place)


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
        checkable(
            canvas.window.package,
            class_name,
            seen,
            "",
            canvas.resource("switch_widget"),
            own,
            row.checked,
        )
    )
    if own and row.on_toggle is not None:
        canvas.target(Target(seen, row.on_toggle))
        return True
    return False


def card_height(canvas: Canvas, card: Card) -> int:
    """Pixels that a card takes."""
    return _card_texts(canvas, card)[-1] + 2 * canvas.sizes.gap


def _card_texts(canvas: Canvas, card: Card) -> tuple[int, int, int, list[int], int]:
    """Start and end of its texts, height of the title, of each line, of the whole card."""
    look, sizes = canvas.look, canvas.sizes
    start = canvas.left + sizes.margin + sizes.pad
    if card.image:
        start += sizes.tile - sizes.margin
    end = canvas.right - sizes.margin - sizes.pad
    title = text_height(card.title, "title", end - start, look)
    lines = [text_height(line, "summary", end - start, look) for line in _lines(card)]
    least = sizes.tile - sizes.gap if card.image else look.row_px
    return start, end, title, lines, max(least, title + sum(lines) + 2 * sizes.pad)


def _lines(card: Card) -> tuple[str, ...]:
    return (*card.lines, card.badge) if card.badge else card.lines


def place_card(canvas: Canvas, card: Card, top: int) -> None:
    """Add a card."""
    sizes = canvas.sizes
    start, end, title, lines, height = _card_texts(canvas, card)
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

"""What opens over a page: the list of a drop-down or a menu, a month to choose from, a clock face.

Each is a window of its own with its own hierarchy, as on a phone: what lies below is not touched.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from apps_mock.canvas import Canvas
from apps_mock.catalogue import month_text, weekday_letters
from apps_mock.laid_out import LaidOut
from apps_mock.measuring import text_width
from apps_mock.nodes import DIALOG, ICON, MENU, TEXT
from apps_mock.places import Role, Target
from apps_mock.widgets import Event, Picker, Screen
from sync.vocabulary import Rect

MENU_OVERLAY = "menu"
_WEEK = 7
_HOURS, _HOURS_A_LINE = 24, 6
_MINUTES, _MINUTES_A_LINE = range(0, 60, 5), 4


class _Entry(NamedTuple):
    """One line of a list; `checked` is None where nothing is chosen."""

    label: str
    event: Event
    checked: bool | None = None


def opened_on(screen: Screen, overlay: str) -> Picker | str | None:
    """What an overlay's name stands for on a screen; None where it has no such thing."""
    if not overlay:
        return None
    if overlay == MENU_OVERLAY:
        return MENU_OVERLAY if screen.overflow else None
    key = overlay.partition("|")[0]
    pickers = (widget for widget in screen.body if isinstance(widget, Picker))
    return next((picker for picker in pickers if picker.key == key), None)


def lay_out_overlay(canvas: Canvas, screen: Screen, opened: Picker | str) -> LaidOut:
    """The overlay in its place; touching beside it closes it."""
    window = canvas.window
    around = (0, 0, window.width_px, window.height_px)
    canvas.target(Target(around, Event("close")))
    canvas.clip = (canvas.sizes.status, window.height_px)
    if not isinstance(opened, Picker):
        entries = [_Entry(button.label, button.on_tap) for button in screen.overflow]
        return _list(canvas, screen, entries)
    if opened.kind == "choice":
        options = [
            _Entry(
                option.label,
                Event("set", opened.key, option.value),
                checked=option.value == opened.value,
            )
            for option in opened.options
        ]
        return _list(canvas, screen, options)
    shown = window.overlay.partition("|")[2]
    if opened.kind == "date":
        _month(canvas, opened, shown or (opened.value or window.today)[:7])
    else:
        _clock(canvas, opened, shown)
    return canvas.finish(screen, (0, 0, 0, 0), 0)


def _list(canvas: Canvas, screen: Screen, entries: Sequence[_Entry]) -> LaidOut:
    """Entries below each other; menus hang at the top, drop-downs stand in the middle."""
    sizes, window = canvas.sizes, canvas.window
    is_menu = all(entry.checked is None for entry in entries)
    role: Role = "option"
    widest = max((text_width(entry.label, role, canvas.faces) for entry in entries), default=0)
    full = window.width_px - 2 * sizes.margin
    width = min(full, max(widest + 2 * sizes.margin, full // 2 if is_menu else full))
    room = width - 2 * sizes.margin
    heights = [
        max(sizes.touch, canvas.height(entry.label, role, room) + 2 * sizes.gap)
        for entry in entries
    ]
    total = sum(heights)
    space = window.height_px - sizes.status - 2 * sizes.gap
    shown = min(total, space)
    top = sizes.status + sizes.gap
    if not is_menu:
        top += (space - shown) // 2
    right = window.width_px - (sizes.gap if is_menu else sizes.margin)
    canvas.left, canvas.right = right - width, right
    canvas.clip = (top, top + shown)
    area = (canvas.left, top, right, top + shown)
    canvas.open()
    y = top - min(window.scroll_px, total - shown)
    for entry, height in zip(entries, heights, strict=True):
        _entry(canvas, entry, role, (canvas.left, y, right, y + height))
        y += height
    if total > shown:
        canvas.close_body(scrolls=True)
    else:
        canvas.close(MENU, area)
    return canvas.finish(screen, area, total - shown)


def _entry(canvas: Canvas, entry: _Entry, role: Role, bounds: Rect) -> None:
    margin = canvas.sizes.margin
    if entry.checked is None:
        canvas.touch(TEXT, bounds, entry.event, text=entry.label, role=role, pad=margin)
        return
    canvas.choice(
        canvas.look.radio_class,
        bounds,
        entry.event,
        text=entry.label,
        role=role,
        checked=entry.checked,
        pad=margin,
    )


def _card(canvas: Canvas, height: int) -> int:
    """Begin a dialog of that height; returns its top."""
    sizes, window = canvas.sizes, canvas.window
    canvas.left, canvas.right = sizes.margin, window.width_px - sizes.margin
    canvas.open()
    return max(sizes.status, (window.height_px + sizes.status - height) // 2)


def _close_card(canvas: Canvas, top: int, y: int) -> None:
    """Add the button that closes the dialog, and end it."""
    look, sizes = canvas.look, canvas.sizes
    label = look.say("Cancel")
    width = text_width(label, "button", canvas.faces) + 2 * sizes.margin
    bounds = (canvas.right - width, y, canvas.right, y + sizes.touch)
    canvas.touch(look.button_class, bounds, Event("close"), text=label, pad=sizes.pad)
    canvas.close(DIALOG, (canvas.left, top, canvas.right, y + sizes.touch))


def _month(canvas: Canvas, picker: Picker, month: str) -> None:
    """A month's days, and a way to the months before and after it."""
    look, sizes = canvas.look, canvas.sizes
    year, number = (int(part) for part in month.split("-"))
    first, days = monthrange(year, number)
    lines = (first + days + _WEEK - 1) // _WEEK
    cell = sizes.touch - sizes.gap // 2
    top = _card(canvas, sizes.bar + cell * (lines + 1) + sizes.touch)
    below = top + sizes.bar
    _turn(canvas, picker, (year, number, -1), (canvas.left, top, canvas.left + sizes.bar, below))
    title = (canvas.left + sizes.bar, top, canvas.right - sizes.bar, below)
    canvas.label(title, month_text(year, number, look.locale), "title", "title", centred=True)
    _turn(canvas, picker, (year, number, 1), (canvas.right - sizes.bar, top, canvas.right, below))
    for column, letter in enumerate(weekday_letters(look.locale)):
        canvas.label(_cell(canvas, column, below, cell, _WEEK), letter, "label", centred=True)
    for day in range(1, days + 1):
        line, column = divmod(first + day - 1, _WEEK)
        iso = date(year, number, day).isoformat()
        canvas.touch(
            TEXT,
            _cell(canvas, column, below + cell * (line + 1), cell, _WEEK),
            Event("set", picker.key, iso),
            text=str(day),
            description=look.day(iso),
            role="cell",
            selected=iso == picker.value,
            pad=0,
        )
    _close_card(canvas, top, below + cell * (lines + 1))


def _turn(canvas: Canvas, picker: Picker, month: tuple[int, int, int], bounds: Rect) -> None:
    """The button to the month before or after."""
    year, number, step = month
    turned = year * 12 + number - 1 + step
    if not date.min.year * 12 <= turned < (date.max.year + 1) * 12:
        return
    name = f"{turned // 12:04d}-{turned % 12 + 1:02d}"
    description = canvas.look.say("Previous month" if step < 0 else "Next month")
    canvas.touch(ICON, bounds, Event("open", f"{picker.key}|{name}"), description=description)


def _cell(canvas: Canvas, column: int, top: int, height: int, columns: int) -> Rect:
    width = (canvas.right - canvas.left) // columns
    left = canvas.left + column * width
    return left, top, left + width, top + height


def _clock(canvas: Canvas, picker: Picker, hour: str) -> None:
    """The hours of a day; once one is chosen, its minutes."""
    sizes = canvas.sizes
    columns = _MINUTES_A_LINE if hour else _HOURS_A_LINE
    values = [f"{minute:02d}" for minute in _MINUTES] if hour else _hours()
    cell = sizes.touch
    lines = len(values) // columns
    name = f"{picker.label} {hour}" if hour else picker.label
    room = canvas.window.width_px - 4 * sizes.margin
    head = max(sizes.bar, canvas.height(name, "title", room) + 2 * sizes.gap)
    top = _card(canvas, head + cell * lines + sizes.touch)
    margin = sizes.margin
    title = (canvas.left + margin, top, canvas.right - margin, top + head)
    canvas.label(title, name, "title", "title")
    for index, value in enumerate(values):
        line, column = divmod(index, columns)
        event = (
            Event("set", picker.key, f"{hour}:{value}")
            if hour
            else Event("open", f"{picker.key}|{value}")
        )
        canvas.touch(
            TEXT,
            _cell(canvas, column, top + head + line * cell, cell, columns),
            event,
            text=value,
            description=f"{hour}:{value}" if hour else "",
            role="cell",
            selected=f"{hour}:{value}" == picker.value if hour else value == picker.value[:2],
            pad=0,
        )
    _close_card(canvas, top, top + head + lines * cell)


def _hours() -> list[str]:
    return [f"{hour:02d}" for hour in range(_HOURS)]

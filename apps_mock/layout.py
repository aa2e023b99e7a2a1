"""Layout: widgets become places in pixels, nodes of the view hierarchy, and things to touch.

A small engine of columns and rows: a toolbar, a body that scrolls, a foot. Everything is clipped to
what the keyboard leaves of the screen, as on a phone that resizes its windows. One pass gives the
view hierarchy and what each place does, so that they cannot disagree. The same screen in the same
look and window is laid out once for all phones of a process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from apps_mock.canvas import Canvas
from apps_mock.errors import ViewError
from apps_mock.form_layout import (
    measure_chips,
    measure_field,
    measure_picker,
    measure_slider,
    place_chips,
    place_field,
    place_picker,
    place_slider,
)
from apps_mock.laid_out import LaidOut
from apps_mock.look import Look
from apps_mock.measuring import text_width
from apps_mock.nodes import BOTTOM_BAR, DIALOG, SNACKBAR
from apps_mock.overlay_layout import lay_out_overlay, opened_on
from apps_mock.places import Window
from apps_mock.plain_layout import (
    button_lines,
    measure_button,
    measure_image,
    measure_link,
    measure_tiles,
    measure_words,
    place_button,
    place_buttons,
    place_image,
    place_link,
    place_tabs,
    place_tiles,
    place_toolbar,
    place_words,
    press,
)
from apps_mock.row_layout import measure_card, measure_row, place_card, place_row
from apps_mock.screen_cache import CacheInfo, ScreenCache
from apps_mock.view_check import view_fault
from apps_mock.widgets import (
    Button,
    Card,
    Chip,
    Chips,
    Event,
    Field,
    Image,
    Link,
    Picker,
    Row,
    Screen,
    Slider,
    Text,
    Tiles,
    Widget,
)


class _Kind(NamedTuple):
    """How one kind of widget is laid out.

    Any: each function takes its own kind of widget, and gives its own parts.

    Attributes:
        measure: pixels that it takes in height, and what `place` has to know.
        place: adds the widget with these parts at a height.
    """

    measure: Callable[[Canvas, Any], tuple[int, Any]]
    place: Callable[[Canvas, Any, int, Any], None]


_KINDS: dict[type[Widget], _Kind] = {
    Row: _Kind(measure_row, place_row),
    Field: _Kind(measure_field, place_field),
    Picker: _Kind(measure_picker, place_picker),
    Slider: _Kind(measure_slider, place_slider),
    Button: _Kind(measure_button, place_button),
    Text: _Kind(measure_words, place_words),
    Image: _Kind(measure_image, place_image),
    Card: _Kind(measure_card, place_card),
    Link: _Kind(measure_link, place_link),
    Chips: _Kind(measure_chips, place_chips),
    Tiles: _Kind(measure_tiles, place_tiles),
}


class _Body(NamedTuple):
    """The widgets of a body, measured: (widget, its kind, its height, its parts), and the sum."""

    widgets: list[tuple[Widget, _Kind, int, Any]]
    height: int


def _measured(canvas: Canvas, widgets: Sequence[Widget]) -> _Body:
    measured, total = [], 0
    for widget in widgets:
        kind = _KINDS[type(widget)]
        height, parts = kind.measure(canvas, widget)
        measured.append((widget, kind, height, parts))
        total += height
    return _Body(measured, total)


_SCREENS: Final[ScreenCache[LaidOut]] = ScreenCache(latest=16, kept=4096, remembered=65536)
"""A screen with all that hangs on it takes about 10 KiB."""


def cache_info() -> CacheInfo:
    """How often `lay_out` was asked for what it had."""
    return _SCREENS.info()


def lay_out(screen: Screen, look: Look, window: Window) -> LaidOut:
    """The screen in its places.

    Raises: ViewError: a widget holds what it cannot show.
    """
    try:
        key = (screen, look, window)
        number = hash(key)
        laid_out = _SCREENS.get(key, number)
        if laid_out is None:
            laid_out = _laid_out(screen, look, window)
            _SCREENS.put(key, number, laid_out)
    except Exception as error:
        fault = view_fault(screen)
        if fault:
            raise ViewError(fault) from error
        raise
    return laid_out


def page_under(screen: Screen, look: Look, window: Window) -> LaidOut | None:
    """The page under what `window.overlay` opened on it; None where nothing lies over it.

    Raises: ViewError: a widget holds what it cannot show.
    """
    if opened_on(screen, window.overlay) is None:
        return None
    return lay_out(screen, look, window._replace(overlay="", keyboard=False))


def _laid_out(screen: Screen, look: Look, window: Window) -> LaidOut:
    canvas = Canvas(look, window)
    opened = opened_on(screen, window.overlay)
    if opened is not None:
        return lay_out_overlay(canvas, screen, opened)
    bottom = window.height_px - (canvas.sizes.keyboard if window.keyboard else 0)
    if screen.dialog:
        return _dialog(canvas, screen, bottom)
    return _page(canvas, screen, bottom)


def _page(canvas: Canvas, screen: Screen, bottom: int) -> LaidOut:
    window = canvas.window
    placed = _Placement(screen, canvas.look)
    canvas.clip = (canvas.sizes.status, bottom)
    top = canvas.sizes.status
    if screen.title:
        top = place_toolbar(canvas, screen, placed.top)
    top = place_tabs(canvas, placed.tabs, top)
    _hide_overflow(canvas, screen)
    lines = button_lines(canvas, placed.foot, canvas.sizes.bar)
    end = bottom - sum(line.height for line in lines)
    if screen.dock:
        dock = Tiles(screen.dock)
        height, grid = measure_tiles(canvas, dock)
        end -= height
        place_tiles(canvas, dock, end, grid)
    foot = end - _floating_height(canvas, placed) - _notice_height(canvas)
    body = _measured(canvas, placed.body)
    scroll_max = _body(canvas, body, top, foot, swipes=screen.swipes)
    canvas.clip = (canvas.sizes.status, bottom)
    _floating(canvas, placed, end - _floating_height(canvas, placed))
    _notice(canvas, foot)
    if lines:
        canvas.open()
        place_buttons(canvas, placed.foot, lines, end)
        bounds = (canvas.left, end, canvas.right, bottom)
        canvas.close(BOTTOM_BAR, bounds, kind="bottom_bar")
    return canvas.finish(screen, (0, top, window.width_px, foot), scroll_max)


def _dialog(canvas: Canvas, screen: Screen, bottom: int) -> LaidOut:
    sizes, window = canvas.sizes, canvas.window
    canvas.left, canvas.right = sizes.margin, window.width_px - sizes.margin
    room = canvas.right - canvas.left - 2 * sizes.margin
    head = canvas.height(screen.title, "dialog", room) + 2 * sizes.pad
    head = max(sizes.bar, head)
    lines = button_lines(canvas, screen.actions, sizes.bar)
    foot = sum(line.height for line in lines)
    body = _measured(canvas, screen.body)
    shown = min(body.height, bottom - sizes.status - head - foot)
    top = sizes.status + max(0, bottom - sizes.status - head - shown - foot) // 2
    canvas.clip = (sizes.status, bottom)
    canvas.open()
    title = (canvas.left + sizes.margin, top, canvas.right - sizes.margin, top + head)
    canvas.label(title, screen.title, "dialog", "alert_title")
    scroll_max = _body(canvas, body, top + head, top + head + shown)
    canvas.clip = (sizes.status, bottom)
    end = place_buttons(canvas, screen.actions, lines, top + head + shown)
    canvas.close(DIALOG, (canvas.left, top, canvas.right, end))
    area = (canvas.left, top + head, canvas.right, top + head + shown)
    return canvas.finish(screen, area, scroll_max)


class _Placement:
    """Where the look puts buttons: toolbar, body, foot, or floating above it."""

    def __init__(self, screen: Screen, look: Look) -> None:
        self.top: list[Button] = []
        self.foot: list[Button] = []
        self.floating: list[Button] = []
        self.tabs: list[Chip] = list(screen.tabs)
        self.body: list[Widget] = list(screen.body)
        for button in screen.actions:
            place = look.primary_place if button.primary else look.action_place
            if place == "top":
                self.top.append(button)
            elif place == "bottom":
                self.foot.append(button)
            elif place == "floating":
                self.floating.append(button)
            else:
                self.body.append(button)
        if look.place_for_places == "tabs" and not self.tabs:
            self.tabs.extend(
                Chip(place.label, selected=False, on_tap=place.on_tap) for place in screen.places
            )
        elif look.place_for_places == "bottom" and not self.foot:
            self.foot.extend(screen.places)
        elif look.place_for_places == "top" and not self.top and len(screen.places) <= 3:
            self.top.extend(screen.places)
        else:
            self.body.extend(Row(place.label, on_tap=place.on_tap) for place in screen.places)


def _body(canvas: Canvas, body: _Body, top: int, foot: int, *, swipes: bool = False) -> int:
    """Place the body; returns how far it scrolls, in pixels."""
    if not body.widgets:
        return 0
    scroll_max = max(0, body.height - (foot - top))
    canvas.open()
    canvas.clip = (top, foot)
    y = top - min(canvas.window.scroll_px, scroll_max)
    for widget, kind, height, parts in body.widgets:
        kind.place(canvas, widget, y, parts)
        y += height
    canvas.close_body(scrolls=scroll_max > 0 or swipes)
    return scroll_max


def _hide_overflow(canvas: Canvas, screen: Screen) -> None:
    for button in screen.overflow:
        canvas.hide(button.on_tap, "", canvas.clip[1], via=Event("open", "menu"))


def _floating_height(canvas: Canvas, placed: _Placement) -> int:
    return (canvas.sizes.bar + canvas.sizes.gap) * len(placed.floating)


def _floating(canvas: Canvas, placed: _Placement, top: int) -> None:
    """Buttons at the lower right, above the foot."""
    sizes = canvas.sizes
    right = canvas.right - sizes.margin
    for button in placed.floating:
        needed = text_width(button.label, "button", canvas.faces) + 2 * sizes.margin
        width = min(right - sizes.margin, max(sizes.tile, needed))
        press(canvas, button, (right - width, top, right, top + sizes.bar))
        top += sizes.bar + sizes.gap


def _notice_room(canvas: Canvas) -> int:
    return canvas.right - canvas.left - 4 * canvas.sizes.margin


def _notice_height(canvas: Canvas) -> int:
    text = canvas.window.notice
    if not text:
        return 0
    needed = canvas.height(text, "notice", _notice_room(canvas))
    return max(canvas.sizes.touch, needed + 2 * canvas.sizes.pad) + canvas.sizes.gap


def _notice(canvas: Canvas, top: int) -> None:
    """A short text over the foot, in its own box."""
    if not canvas.window.notice:
        return
    sizes = canvas.sizes
    bottom = top + _notice_height(canvas) - sizes.gap
    left, right = canvas.left + sizes.margin, canvas.right - sizes.margin
    canvas.open()
    inner = (left + sizes.margin, top, right - sizes.margin, bottom)
    canvas.label(inner, canvas.window.notice, "notice", "snackbar_text")
    canvas.close(SNACKBAR, (left, top, right, bottom))

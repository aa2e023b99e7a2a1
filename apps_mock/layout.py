"""Layout: widgets become places in pixels, nodes of the view hierarchy, and things to touch.

A small engine of columns and rows: a toolbar, a body that scrolls, a foot. Everything is clipped to
what the keyboard leaves of the screen, as on a phone that resizes its windows. One pass gives the
view hierarchy and what each place does, so that they cannot disagree.
"""

from __future__ import annotations

from apps_mock.canvas import Canvas
from apps_mock.look import Look
from apps_mock.places import BAR_PX, KEYBOARD_PX, STATUS_PX, LaidOut, Window
from apps_mock.widgets import Button, Row, Screen, Widget


def lay_out(screen: Screen, look: Look, window: Window) -> LaidOut:
    """The screen in its places."""
    bottom = window.height_px - (KEYBOARD_PX if window.keyboard else 0)
    if screen.dialog:
        return _dialog(screen, look, window, bottom)
    canvas = Canvas(look, window)
    placed = _Placement(screen, look)
    canvas.clip = (STATUS_PX, bottom)
    top = canvas.toolbar(screen, placed.top) if screen.title else STATUS_PX
    foot = bottom - BAR_PX if placed.foot else bottom
    scroll_max = _body(canvas, placed.body, top, foot)
    if placed.foot:
        canvas.clip = (STATUS_PX, bottom)
        canvas.buttons(placed.foot, foot, foot + BAR_PX)
    return canvas.finish(screen, (0, top, window.width_px, foot), scroll_max)


def _dialog(screen: Screen, look: Look, window: Window, bottom: int) -> LaidOut:
    canvas = Canvas(look, window)
    canvas.clip = (STATUS_PX, bottom)
    height = BAR_PX * 2 + look.row_px * len(screen.body)
    y = max(STATUS_PX, (bottom - height) // 2)
    canvas.text(screen.title, y, BAR_PX)
    y += BAR_PX
    for widget in screen.body:
        y = canvas.place(widget, y)
    canvas.buttons(screen.actions, y, y + BAR_PX)
    return canvas.finish(screen, (0, 0, 0, 0), 0)


class _Placement:
    """Where the look puts buttons: toolbar, body or foot."""

    def __init__(self, screen: Screen, look: Look) -> None:
        self.top: list[Button] = []
        self.foot: list[Button] = []
        self.body: list[Widget] = list(screen.body)
        for button in screen.actions:
            place = look.primary_place if button.primary else look.action_place
            if place == "top":
                self.top.append(button)
            elif place == "bottom":
                self.foot.append(button)
            else:
                self.body.append(button)
        if look.place_for_places == "bottom" and not self.foot:
            self.foot.extend(screen.places)
        elif look.place_for_places == "top" and not self.top and len(screen.places) <= 3:
            self.top.extend(screen.places)
        else:
            self.body.extend(Row(place.label, on_tap=place.on_tap) for place in screen.places)


def _body(canvas: Canvas, widgets: list[Widget], top: int, foot: int) -> int:
    """Place the body; returns how far it scrolls, in pixels."""
    height = sum(canvas.height_of(widget) for widget in widgets)
    scroll_max = max(0, height - (foot - top))
    scroll = min(canvas.window.scroll_px, scroll_max)
    canvas.begin_body(top, foot)
    y = top - scroll
    for widget in widgets:
        y = canvas.place(widget, y)
    canvas.end_body(scrolls=scroll_max > 0)
    return scroll_max

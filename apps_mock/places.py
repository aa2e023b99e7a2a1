"""Places on the screen: sizes in pixels, what can be touched, and a screen that was laid out."""

from __future__ import annotations

from typing import NamedTuple

from apps_mock.look import PX_PER_DP
from apps_mock.widgets import Event
from device_runtime.ui_tree import Node
from sync.vocabulary import Rect

BAR_PX = round(56 * PX_PER_DP)
STATUS_PX = round(24 * PX_PER_DP)
MARGIN_PX = round(16 * PX_PER_DP)
KEYBOARD_PX = round(280 * PX_PER_DP)
SWITCH_PX = round(56 * PX_PER_DP)
TILE_PX = round(96 * PX_PER_DP)


class Target(NamedTuple):
    """A place that does something: it sends an event, or gives a field the focus.

    Attributes:
        hold: what a long press sends; where it is None, a long press is a touch.
    """

    bounds: Rect
    event: Event | None
    field: str = ""
    hold: Event | None = None


class Hidden(NamedTuple):
    """Something to touch that lies outside what shows: above (True) or below it.

    Attributes:
        event: what touching or holding it would send.
        via: what has to be touched first where no scrolling helps, such as what opens a menu.
    """

    event: Event | None
    field: str
    above: bool
    via: Event | None = None


class Window(NamedTuple):
    """What the layout has to know about the moment."""

    package: str
    width_px: int
    height_px: int
    scroll_px: int
    focus: str
    keyboard: bool


class LaidOut(NamedTuple):
    """A screen in its places.

    Attributes:
        targets: later ones lie above earlier ones.
        fields: keys of the text fields in reading order.
        submit: what the enter key sends in the last field.
        scroll_area: the body's place; (0, 0, 0, 0) where it does not scroll.
        scroll_max_px: how far the body can be scrolled down.
    """

    root: Node
    targets: tuple[Target, ...]
    hidden: tuple[Hidden, ...]
    fields: tuple[str, ...]
    submit: Event | None
    scroll_area: Rect
    scroll_max_px: int

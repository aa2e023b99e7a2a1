"""Places on the screen: sizes, what can be touched and read, and what shows of the moment."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

from apps_mock.look import Look
from apps_mock.widgets import Event
from sync.vocabulary import Rect

Role = Literal[
    "bar",
    "dialog",
    "heading",
    "title",
    "body",
    "option",
    "field",
    "hint",
    "link",
    "summary",
    "badge",
    "button",
    "chip",
    "tab",
    "cell",
    "notice",
    "label",
    "error",
    "tile",
]

TEXT_SP: dict[Role, int] = {
    "bar": 20,
    "dialog": 20,
    "heading": 14,
    "title": 16,
    "body": 16,
    "option": 16,
    "field": 16,
    "hint": 16,
    "link": 16,
    "summary": 14,
    "badge": 14,
    "button": 14,
    "chip": 14,
    "tab": 14,
    "cell": 14,
    "notice": 14,
    "label": 12,
    "error": 12,
    "tile": 12,
}
"""How large each kind of text is, in scale-independent pixels."""


class Sizes(NamedTuple):
    """What is equally large in all looks, in a look's pixels."""

    bar: int
    status: int
    margin: int
    pad: int
    gap: int
    keyboard: int
    switch: int
    tile: int
    icon: int
    touch: int
    image: int


@lru_cache(maxsize=8)
def _sizes(density: float) -> Sizes:
    dp = Sizes(
        bar=56,
        status=24,
        margin=16,
        pad=12,
        gap=8,
        keyboard=280,
        switch=56,
        tile=96,
        icon=40,
        touch=48,
        image=160,
    )
    return Sizes(*(round(size * density) for size in dp))


def sizes_of(look: Look) -> Sizes:
    """The sizes in a look's pixels."""
    return _sizes(look.density)


class Target(NamedTuple):
    """A place that does something: it sends an event, or gives a field the focus.

    Attributes:
        hold: what a long press sends; None where it does what a tap does.
    """

    bounds: Rect
    event: Event | None
    field: str = ""
    hold: Event | None = None


class Hidden(NamedTuple):
    """Something to touch that does not show: it lies above (True) or below what shows.

    Attributes:
        via: what has to be touched to reach it, such as the overflow menu; None for scrolling.
    """

    event: Event | None
    field: str
    above: bool
    via: Event | None = None


class Written(NamedTuple):
    """A text as it was laid out.

    Attributes:
        box: where its lines lie, in the middle of its height.
        clip: what of the box shows.
        lines: the text, wrapped.
    """

    role: Role
    box: Rect
    clip: Rect
    lines: tuple[str, ...]
    size_px: int
    bold: bool = False
    centred: bool = False


class Window(NamedTuple):
    """What the layout has to know about the moment.

    Attributes:
        overlay: what lies over the page (see `app.Page`).
        today: the day, for date pickers that hold none yet.
        notice: a short text at the foot.
    """

    package: str
    width_px: int
    height_px: int
    scroll_px: int
    focus: str
    keyboard: bool
    overlay: str = ""
    today: str = "2025-01-01"
    notice: str = ""

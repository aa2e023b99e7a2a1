"""What a picture of a screen is made of: flat shapes in device pixels, in the order of painting.

`drawing` makes them from the view hierarchy, `raster` turns them into pixels and `svg` into a web
page's picture, so that both show the same.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from sync.vocabulary import Rect

Align = Literal["left", "centre", "right"]


class Box(NamedTuple):
    """A rectangle with round corners; `fill` or `outline` may be empty."""

    bounds: Rect
    fill: str
    radius: int = 0
    outline: str = ""
    width: int = 0


class Veil(NamedTuple):
    """Something dark that lets what lies under it shine through; `share` is how much it hides."""

    bounds: Rect
    share: float


class Icon(NamedTuple):
    """One of the drawings of `icons`, in a square; mirrored where reading goes to the left."""

    name: str
    bounds: Rect
    colour: str
    mirrored: bool = False


class Words(NamedTuple):
    """One line of text, in the middle of the height of its place.

    Attributes:
        size: of the font, in device pixels.
        clip: what shows of it.
    """

    text: str
    bounds: Rect
    size: int
    colour: str
    align: Align = "left"
    bold: bool = False
    underlined: bool = False
    clip: Rect | None = None


class Picture(NamedTuple):
    """One of the drawings of `pictures`, cut off at round corners."""

    name: str
    bounds: Rect
    radius: int = 0


Shape = Box | Veil | Icon | Words | Picture


def is_read_leftward(text: str) -> bool:
    """Whether there are Arabic letters in a text."""
    return any("\u0600" <= character <= "\u06ff" for character in text)

"""Pictures of things and places, drawn from their names alone: a ground, some shapes, an icon.

A picture is made of flat parts in a square of 1000 x 1000 of which the middle shows; the same name
gives the same picture everywhere.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from PIL import Image, ImageDraw

from apps_mock.icon_names import icon_for
from apps_mock.icons import GRID, STROKE, strokes_of
from apps_mock.mixing import mixed
from apps_mock.theme import mixed_colour

SIDE: Final = 1000
_SMOOTH: Final = 2

_HUES: Final = (
    "#3f6fd1",
    "#12866b",
    "#c2641d",
    "#8d4bb5",
    "#bd3b56",
    "#5d7a1f",
    "#0f7d97",
    "#8a6a35",
)
_PLACES: Final = frozenset(
    "mountain mountains lake beach sea forest hill hills valley river landscape harbour garden "
    "park island coast meadow sunset desert waterfall".split()
)


class Part(NamedTuple):
    """One flat part of a picture.

    Attributes:
        points: of a polygon or line; centre of a disc or ring.
        radius: of a disc or ring, 0 for polygons and lines.
        width: of a line or ring; 0 for what is filled.
    """

    colour: str
    points: tuple[tuple[float, float], ...]
    radius: float = 0.0
    width: float = 0.0


def hue_of(name: str) -> str:
    """The colour that belongs to a name."""
    return _HUES[mixed(name) % len(_HUES)]


@lru_cache(maxsize=512)
def parts_of(name: str) -> tuple[Part, ...]:
    """The parts of a picture, from the ground upwards."""
    words = set(name.casefold().replace("_", " ").split())
    icon = "" if words & _PLACES else icon_for(name)
    return _landscape(name) if not icon else _emblem(name, icon)


@lru_cache(maxsize=128)
def picture(name: str, width: int, height: int) -> Image.Image:
    """The picture in a size, as an RGB image."""
    side = max(width, height) * _SMOOTH
    unit = side / SIDE
    image = Image.new("RGB", (width * _SMOOTH, height * _SMOOTH))
    shift_x, shift_y = (width * _SMOOTH - side) / 2, (height * _SMOOTH - side) / 2
    pen = ImageDraw.Draw(image)
    for part in parts_of(name):
        _draw_part(pen, part, unit, (shift_x, shift_y))
    return image.resize((width, height), Image.Resampling.BOX)


def _draw_part(
    pen: ImageDraw.ImageDraw, part: Part, unit: float, shift: tuple[float, float]
) -> None:
    points = [(x * unit + shift[0], y * unit + shift[1]) for x, y in part.points]
    width = round(part.width * unit)
    if part.radius:
        x, y = points[0]
        radius = (part.radius + part.width / 2) * unit
        circle = (x - radius, y - radius, x + radius, y + radius)
        if width:
            pen.ellipse(circle, outline=part.colour, width=width)
        else:
            pen.ellipse(circle, fill=part.colour)
    elif width:
        pen.line(points, fill=part.colour, width=width, joint="curve")
        half = width / 2
        for x, y in points:
            pen.ellipse((x - half, y - half, x + half, y + half), fill=part.colour)
    else:
        pen.polygon(points, fill=part.colour)


def _ground(colour: str) -> Part:
    return Part(colour, ((0, 0), (SIDE, 0), (SIDE, SIDE), (0, SIDE)))


def _emblem(name: str, icon: str) -> tuple[Part, ...]:
    hue = hue_of(name)
    turn = mixed(f"{name}|turn") % 3
    return (
        _ground(mixed_colour(hue, "#ffffff", 0.72)),
        Part(mixed_colour(hue, "#ffffff", 0.6), ((150 + 350 * turn, 930),), radius=420),
        Part(mixed_colour(hue, "#ffffff", 0.82), ((880 - 330 * turn, 160),), radius=230),
        Part(mixed_colour(hue, "#ffffff", 0.06), ((500, 500),), radius=160),
        *_icon_parts(icon, "#ffffff", 410, 180),
    )


def _icon_parts(icon: str, colour: str, origin: float, side: float) -> tuple[Part, ...]:
    unit = side / GRID
    parts = []
    for stroke in strokes_of(icon):
        points = tuple((origin + x * unit, origin + y * unit) for x, y in stroke.points)
        if stroke.closed and not stroke.filled:
            points = (*points, points[0])
        width = 0.0 if stroke.filled else STROKE * unit
        parts.append(Part(colour, points, radius=stroke.radius * unit, width=width))
    return tuple(parts)


def _landscape(name: str) -> tuple[Part, ...]:
    hue = hue_of(name)
    sun_x = 250 + mixed(f"{name}|sun") % 500
    peak = 300 + mixed(f"{name}|peak") % 400
    sky = mixed_colour(hue, "#eaf4ff", 0.78)
    return (
        _ground(sky),
        Part(mixed_colour(sky, "#ffe9a8", 0.85), ((sun_x, 380),), radius=75),
        Part(
            mixed_colour(hue, "#ffffff", 0.42),
            ((0, 620), (peak - 160, 400), (peak + 20, 560), (peak + 190, 430), (SIDE, 640),
             (SIDE, SIDE), (0, SIDE)),
        ),
        Part(mixed_colour(hue, "#ffffff", 0.18), ((SIDE - peak, 1130),), radius=520),
        Part(mixed_colour(hue, "#000000", 0.12), ((peak + 120, 1210),), radius=540),
    )  # fmt: skip

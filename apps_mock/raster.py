"""Shapes become pixels, quickly: edges are smooth through small masks that are made once.

Round corners, icons and lines of text are masks in the size they are needed in; painting a shape is
to fill its colour through them. What a shape paints is remembered too, so that a screen that shares
most of its shapes with an earlier one costs little more than its own differences.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from PIL import Image, ImageColor, ImageDraw, ImageFont

from apps_mock.fonts import RULER_PX, Script, font_file, font_for, ruler, script_of
from apps_mock.icons import GRID, STROKE, Stroke, strokes_of
from apps_mock.pictures import picture
from apps_mock.shapes import Box, Icon, Picture, Shape, Veil, Words, is_read_leftward
from apps_mock.text_width import drawable, width_px
from sync.vocabulary import Rect

_SMOOTH: Final = 4
"""Masks are drawn in this many times their size."""

_MANY: Final = 12
"""From so many fills on it is quicker to keep a picture of them."""

_MIDDLE: Final = 0.36
"""How far the middle of a line lies above its baseline, in sizes of its text."""

_BASE: Final = 2
"""Where the baseline lies in what a line is drawn on, in sizes of its text."""

_REMEMBERED_SIZE: Final = 8192
_REMEMBERED: dict[tuple[int, float], tuple[tuple[Shape, ...], tuple[_Fill, ...]]] = {}
"""By identity and scale; holding on to the shapes keeps their identity unique."""


class _Fill(NamedTuple):
    """A colour (or a picture) that is painted at a place, through a mask where there is one."""

    ink: tuple[int, ...] | Image.Image
    box: Rect
    mask: Image.Image | None = None


def paint(image: Image.Image, shapes: tuple[Shape, ...], scale: float) -> None:
    """Paint shapes onto an RGB image.

    Args:
        shapes: remembered by identity: give the same tuple again for what stays the same.
        scale: pixels of the image per device pixel.
    """
    key = (id(shapes), scale)
    known = _REMEMBERED.get(key)
    if known is None:
        if len(_REMEMBERED) >= _REMEMBERED_SIZE:
            _REMEMBERED.clear()
        fills = _baked([fill for shape in shapes for fill in _fills(shape, scale)], image.size)
        known = _REMEMBERED[key] = (shapes, fills)
    for ink, box, mask in known[1]:
        image.paste(ink, box, mask)


def _baked(fills: list[_Fill], whole: tuple[int, int]) -> tuple[_Fill, ...]:
    """The fills as one picture, where there are many and the first one is the ground of all."""
    ground = fills[0] if fills else None
    if ground is None or ground.mask is not None:
        return tuple(fills)
    left, top, right, bottom = ground.box
    covers_all = ground.box == (0, 0, *whole) and len(fills) > 1
    if not covers_all and (len(fills) < _MANY or not all(_lies_in(fill, ground) for fill in fills)):
        return tuple(fills)
    sprite = Image.new("RGB", (right - left, bottom - top))
    for ink, box, mask in fills:
        sprite.paste(ink, (box[0] - left, box[1] - top, box[2] - left, box[3] - top), mask)
    return (_Fill(sprite, ground.box),)


def _lies_in(fill: _Fill, ground: _Fill) -> bool:
    inner, outer = fill.box, ground.box
    return (
        inner[0] >= outer[0]
        and inner[1] >= outer[1]
        and inner[2] <= outer[2]
        and inner[3] <= outer[3]
    )


def _fills(shape: Shape, scale: float) -> list[_Fill]:
    box = _scaled(shape.bounds, scale)
    if box[2] <= box[0] or box[3] <= box[1]:
        return []
    match shape:
        case Box():
            return _box(shape, box, scale)
        case Veil():
            size = (box[2] - box[0], box[3] - box[1])
            return [_Fill((0, 0, 0), box, Image.new("L", size, round(255 * shape.share)))]
        case Icon():
            mask = _icon_mask(shape.name, box[2] - box[0], shape.mirrored)
            return [_Fill(_rgb(shape.colour), (*box[:2], *_end(box, mask)), mask)]
        case Words():
            return _words(shape, box, scale)
        case Picture():
            size = (box[2] - box[0], box[3] - box[1])
            drawing = picture(shape.name, *size)
            return [_Fill(drawing, box, _round_mask(*size, round(shape.radius * scale)))]


def _scaled(bounds: Rect, scale: float) -> Rect:
    left, top, right, bottom = bounds
    return round(left * scale), round(top * scale), round(right * scale), round(bottom * scale)


def _end(box: Rect, mask: Image.Image) -> tuple[int, int]:
    return box[0] + mask.width, box[1] + mask.height


@lru_cache(maxsize=512)
def _rgb(colour: str) -> tuple[int, ...]:
    return ImageColor.getrgb(colour)


def _box(shape: Box, box: Rect, scale: float) -> list[_Fill]:
    radius = min(round(shape.radius * scale), (box[2] - box[0]) // 2, (box[3] - box[1]) // 2)
    fills: list[_Fill] = []
    if shape.fill:
        fills.extend(_filled(box, radius, _rgb(shape.fill)))
    if shape.outline:
        width = max(1, round(shape.width * scale))
        fills.extend(_outlined(box, radius, width, _rgb(shape.outline)))
    return fills


def _filled(box: Rect, radius: int, ink: tuple[int, ...]) -> list[_Fill]:
    left, top, right, bottom = box
    if radius <= 0:
        return [_Fill(ink, box)]
    fills = [_Fill(ink, (left + radius, top, right - radius, bottom))]
    if bottom - top > 2 * radius:
        fills.append(_Fill(ink, (left, top + radius, left + radius, bottom - radius)))
        fills.append(_Fill(ink, (right - radius, top + radius, right, bottom - radius)))
    return [*(fill for fill in fills if _has_area(fill.box)), *_corners(box, radius, 0, ink)]


def _outlined(box: Rect, radius: int, width: int, ink: tuple[int, ...]) -> list[_Fill]:
    left, top, right, bottom = box
    inset = max(radius, width)
    sides = (
        (left + radius, top, right - radius, top + width),
        (left + radius, bottom - width, right - radius, bottom),
        (left, top + inset, left + width, bottom - inset),
        (right - width, top + inset, right, bottom - inset),
    )
    fills = [_Fill(ink, side) for side in sides if _has_area(side)]
    return fills + (_corners(box, radius, width, ink) if radius else [])


def _has_area(box: Rect) -> bool:
    return box[2] > box[0] and box[3] > box[1]


def _corners(box: Rect, radius: int, width: int, ink: tuple[int, ...]) -> list[_Fill]:
    left, top, right, bottom = box
    masks = _corner_masks(radius, width)
    places = (
        (left, top),
        (right - radius, top),
        (left, bottom - radius),
        (right - radius, bottom - radius),
    )
    return [
        _Fill(ink, (x, y, x + radius, y + radius), mask)
        for (x, y), mask in zip(places, masks, strict=True)
    ]


@lru_cache(maxsize=256)
def _corner_masks(radius: int, width: int) -> tuple[Image.Image, ...]:
    """The quarters of a disc, or of a ring of some width: upper ones first, left ones first."""
    size = 2 * radius * _SMOOTH
    disc = Image.new("L", (size, size), 0)
    pen = ImageDraw.Draw(disc)
    pen.ellipse((0, 0, size - 1, size - 1), fill=255)
    if 0 < width < radius:
        inset = width * _SMOOTH
        pen.ellipse((inset, inset, size - 1 - inset, size - 1 - inset), fill=0)
    disc = disc.resize((2 * radius, 2 * radius), Image.Resampling.BOX)
    halves = (0, radius)
    return tuple(disc.crop((x, y, x + radius, y + radius)) for y in halves for x in halves)


@lru_cache(maxsize=64)
def _round_mask(width: int, height: int, radius: int) -> Image.Image:
    mask = Image.new("L", (width, height), 0)
    radius = min(radius, width // 2, height // 2)
    for ink, box, part in _filled((0, 0, width, height), radius, (255,)):
        mask.paste(ink[0] if isinstance(ink, tuple) else ink, box, part)
    return mask


@lru_cache(maxsize=1024)
def _icon_mask(name: str, size: int, mirrored: bool) -> Image.Image:  # noqa: FBT001 - a cached part
    unit = size * _SMOOTH / GRID
    mask = Image.new("L", (size * _SMOOTH, size * _SMOOTH), 0)
    pen = ImageDraw.Draw(mask)
    for stroke in strokes_of(name):
        _draw_stroke(pen, stroke, unit)
    if mirrored:
        mask = mask.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return mask.resize((size, size), Image.Resampling.BOX)


def _draw_stroke(pen: ImageDraw.ImageDraw, stroke: Stroke, unit: float) -> None:
    half = STROKE * unit / 2
    points = [(x * unit, y * unit) for x, y in stroke.points]
    if stroke.radius:
        x, y = points[0]
        radius = stroke.radius * unit + (0 if stroke.filled else half)
        circle = (x - radius, y - radius, x + radius, y + radius)
        if stroke.filled:
            pen.ellipse(circle, fill=255)
        else:
            pen.ellipse(circle, outline=255, width=round(2 * half))
        return
    if stroke.filled:
        pen.polygon(points, fill=255)
        return
    path = [*points, points[0]] if stroke.closed else points
    pen.line(path, fill=255, width=round(2 * half))
    for x, y in points:
        pen.ellipse((x - half, y - half, x + half, y + half), fill=255)


def _words(shape: Words, box: Rect, scale: float) -> list[_Fill]:
    size = max(1, int(shape.size * scale))
    mask, shift_x, shift_y = _line_mask(shape.text, size, shape.bold)
    if mask is None:
        return []
    left, upper, right, lower = box
    match shape.align:
        case "left":
            x = left + shift_x
        case "centre":
            x = (left + right - mask.width) // 2
        case "right":
            x = right - mask.width - max(0, shift_x)
    y = (upper + lower) // 2 + shift_y
    ink = _rgb(shape.colour)
    fills = [_Fill(ink, (x, y, x + mask.width, y + mask.height), mask)]
    if shape.underlined:
        line = (upper + lower) // 2 + round(size * (_MIDDLE + 0.12))
        fills.append(_Fill(ink, (x, line, x + mask.width, line + max(1, size // 16))))
    if shape.clip is None:
        return fills
    clip = _scaled(shape.clip, scale)
    return [part for fill in fills if (part := _clipped(fill, clip)) is not None]


def _clipped(fill: _Fill, clip: Rect) -> _Fill | None:
    left, top, right, bottom = fill.box
    inner = (max(left, clip[0]), max(top, clip[1]), min(right, clip[2]), min(bottom, clip[3]))
    if inner == fill.box:
        return fill
    if not _has_area(inner):
        return None
    mask = fill.mask
    if mask is not None:
        mask = mask.crop((inner[0] - left, inner[1] - top, inner[2] - left, inner[3] - top))
    return _Fill(fill.ink, inner, mask)


@lru_cache(maxsize=8192)
def _line_mask(
    text: str,
    size: int,
    bold: bool,  # noqa: FBT001 - a cached part
) -> tuple[Image.Image | None, int, int]:
    """The line's mask, and where it begins beside the line's start and above its middle."""
    scratch = _shaped(text, size, bold) if is_read_leftward(text) else _set(text, size, bold)
    inked = scratch.getbbox()
    if inked is None:
        return None, 0, 0
    up = round(size * _MIDDLE) - _BASE * size
    return scratch.crop(inked), inked[0] - size, inked[1] + up


def _shaped(text: str, size: int, bold: bool) -> Image.Image:  # noqa: FBT001 - as above
    """The line with letters that join, which takes long."""
    font = font_for(script_of(text), size, bold=bold)
    room = (width_px(text, size, bold=bold) + 2 * size, (_BASE + 1) * size)
    scratch = Image.new("L", room, 0)
    ImageDraw.Draw(scratch).text(
        (size, _BASE * size), drawable(text), fill=255, font=font, anchor="ls", direction="rtl"
    )
    return scratch


def _set(text: str, size: int, bold: bool) -> Image.Image:  # noqa: FBT001 - as above
    """The line letter by letter, each as far from the last one as the layout counts."""
    script = script_of(text)
    scratch = Image.new("L", (width_px(text, size, bold=bold) + 2 * size, (_BASE + 1) * size), 0)
    pen, base = float(size), _BASE * size
    for character in text:
        mask, left, top, advance = _glyph(character, script, size, bold)
        if mask is not None:
            x, y = round(pen) + left, base + top
            scratch.paste(255, (x, y, x + mask.width, y + mask.height), mask)
        pen += advance
    return scratch


@lru_cache(maxsize=16384)
def _glyph(
    character: str,
    script: Script,
    size: int,
    bold: bool,  # noqa: FBT001 - as above
) -> tuple[Image.Image | None, int, int, float]:
    """A letter's mask, where it begins beside its place and below the baseline, its advance."""
    advance = ruler(script, bold=bold).getlength(character) * size / RULER_PX
    scratch = Image.new("L", (4 * size, (_BASE + 1) * size), 0)
    ImageDraw.Draw(scratch).text(
        (size, _BASE * size), character, fill=255, font=_font(script, size, bold), anchor="ls"
    )
    inked = scratch.getbbox()
    if inked is None:
        return None, 0, 0, advance
    return scratch.crop(inked), inked[0] - size, inked[1] - _BASE * size, advance


@lru_cache(maxsize=256)
def _font(script: Script, size: int, bold: bool) -> ImageFont.FreeTypeFont:  # noqa: FBT001 - as above
    """The font at a size for single letters, which need no shaping."""
    engine = ImageFont.Layout.BASIC
    return ImageFont.truetype(font_file(script, bold=bold), size, layout_engine=engine)

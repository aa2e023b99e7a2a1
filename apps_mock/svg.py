"""A clone's screen as SVG, for web pages: the same shapes as the pixels, with texts as text.

Nothing refers to anything outside of the picture, and every text is escaped.
"""

from __future__ import annotations

from functools import lru_cache
from xml.sax.saxutils import escape, quoteattr

from apps_mock.drawing import groups_of
from apps_mock.icons import GRID, STROKE, Stroke, strokes_of
from apps_mock.pictures import SIDE, Part, parts_of
from apps_mock.scene import Scene
from apps_mock.shapes import Box, Icon, Picture, Shape, Veil, Words, is_read_leftward
from apps_mock.text_width import width_px
from sync.vocabulary import Rect

_FONTS = "Fira Sans, Noto Sans, Noto Sans JP, Noto Sans Arabic, system-ui, sans-serif"
_ANCHORS = {"left": "start", "centre": "middle", "right": "end"}
_ILLEGAL = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF], "\ufffd")


def svg(scene: Scene) -> str:
    """The scene as one SVG element, which can stand in a file or in a page."""
    _, _, width, height = scene.root.bounds
    ground, groups = groups_of(scene)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="{_FONTS}" role="img">'
    )
    paper = f'<rect width="{width}" height="{height}" fill="{ground}"/>'
    shapes = (_written(shape) for group in groups for shape in group)
    return "".join((head, paper, *shapes, "</svg>"))


@lru_cache(maxsize=16384)
def _written(shape: Shape) -> str:
    match shape:
        case Box():
            return _rect(shape)
        case Veil():
            left, top, right, bottom = shape.bounds
            return (
                f'<rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" '
                f'fill="#000" fill-opacity="{shape.share:g}"/>'
            )
        case Icon():
            return _icon(shape)
        case Words():
            return _text(shape) if shape.clip is None else _cut(_text(shape), shape.clip)
        case Picture():
            return _cut(_picture(shape.name, shape.bounds), shape.bounds, shape.radius)


def _cut(drawing: str, clip: Rect, radius: int = 0) -> str:
    """The part of a drawing that lies in a place.

    A clip is named after its place, so that pictures which share a page share no wrong clips.
    """
    name = "-".join(str(edge) for edge in (*clip, radius))
    return (
        f'<clipPath id="clip-{name}">{_rect(Box(clip, "#000", radius))}</clipPath>'
        f'<g clip-path="url(#clip-{name})">{drawing}</g>'
    )


def _rect(box: Box) -> str:
    left, top, right, bottom = box.bounds
    inset = box.width / 2 if box.outline else 0
    wide, high = right - left - 2 * inset, bottom - top - 2 * inset
    if wide <= 0 or high <= 0:
        return ""
    radius = max(0, min(box.radius - inset, wide / 2, high / 2))
    outline = f' stroke="{box.outline}" stroke-width="{box.width}"' if box.outline else ""
    return (
        f'<rect x="{left + inset:g}" y="{top + inset:g}" width="{wide:g}" height="{high:g}" '
        f'rx="{radius:g}" fill="{box.fill or "none"}"{outline}/>'
    )


def _text(words: Words) -> str:
    left, top, right, bottom = words.bounds
    x = {"left": left, "centre": (left + right) / 2, "right": right}[words.align]
    leftward = is_read_leftward(words.text)
    anchor = _ANCHORS[words.align]
    if leftward and words.align != "centre":
        anchor = "end" if anchor == "start" else "start"
    y = (top + bottom) / 2 + words.size * 0.36
    wide = width_px(words.text, words.size, bold=words.bold)
    attributes = [
        f'x="{x:g}" y="{y:g}" font-size="{words.size}" fill="{words.colour}"',
        f'text-anchor="{anchor}"',
    ]
    if leftward:
        attributes.append('direction="rtl"')
    else:
        attributes.append(f'textLength="{wide}" lengthAdjust="spacingAndGlyphs"')
    if words.bold:
        attributes.append('font-weight="600"')
    if words.underlined:
        attributes.append('text-decoration="underline"')
    text = escape(words.text.translate(_ILLEGAL))
    return f"<text {' '.join(attributes)}>{text}</text>"


def _icon(icon: Icon) -> str:
    left, top, right, _ = icon.bounds
    unit = (right - left) / GRID
    place = f"translate({left} {top}) scale({unit:g})"
    if icon.mirrored:
        place = f"translate({right} {top}) scale({-unit:g} {unit:g})"
    strokes = "".join(_stroke(stroke) for stroke in strokes_of(icon.name))
    return (
        f'<g transform="{place}" fill="none" stroke="{icon.colour}" stroke-width="{STROKE:g}" '
        f'stroke-linecap="round" stroke-linejoin="round" color="{icon.colour}">{strokes}</g>'
    )


def _stroke(stroke: Stroke) -> str:
    ground = ' fill="currentColor" stroke="none"' if stroke.filled else ""
    if stroke.radius:
        x, y = stroke.points[0]
        return f'<circle cx="{x:g}" cy="{y:g}" r="{stroke.radius:g}"{ground}/>'
    points = " ".join(f"{x:g},{y:g}" for x, y in stroke.points)
    name = "polygon" if stroke.closed else "polyline"
    return f'<{name} points="{points}"{ground}/>'


def _picture(name: str, bounds: Rect) -> str:
    left, top, right, bottom = bounds
    side = max(right - left, bottom - top)
    x, y = (left + right - side) / 2, (top + bottom - side) / 2
    parts = "".join(_part(part) for part in parts_of(name))
    return f'<g transform="translate({x:g} {y:g}) scale({side / SIDE:g})">{parts}</g>'


def _part(part: Part) -> str:
    colour = quoteattr(part.colour)
    paint = f"fill={colour}"
    if part.width:
        paint = (
            f'fill="none" stroke={colour} stroke-width="{part.width:g}" '
            'stroke-linecap="round" stroke-linejoin="round"'
        )
    if part.radius:
        x, y = part.points[0]
        return f'<circle cx="{x:g}" cy="{y:g}" r="{part.radius:g}" {paint}/>'
    points = " ".join(f"{x:g},{y:g}" for x, y in part.points)
    return f'<{"polyline" if part.width else "polygon"} points="{points}" {paint}/>'

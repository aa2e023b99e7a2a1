"""What takes something in: text fields, drop-downs, pickers, sliders."""

from __future__ import annotations

import re
from typing import Final

from apps_mock.drawn import Drawn
from apps_mock.icon_names import icon_for
from apps_mock.lettering import fitted
from apps_mock.shapes import Box, Shape
from apps_mock.text_width import width_px

_NUMBER: Final = re.compile(r"\d+")
_TIME: Final = re.compile(r"\d:\d")


def field(drawn: Drawn) -> list[Shape]:
    """A text field, with its cursor where it has the focus."""
    node, theme, style = drawn.node, drawn.style.theme, drawn.style
    left, top, right, bottom = node.bounds
    tall = bottom - top
    inset = min(style.px(4), max(0, (tall - style.px(32)) // 2))
    inner = (left, top + inset, right, bottom - inset)
    shapes: list[Shape] = []
    if drawn.place == "search":
        shapes.append(Box(inner, theme.well, radius=style.px(28)))
    elif drawn.place != "notice":
        colour, width = (theme.accent, 2) if node.focused else (theme.faint, 1)
        shapes.append(Box(inner, theme.paper if drawn.place == "card" else "", style.px(8), colour,
                          max(1, style.px(width))))  # fmt: skip
    if drawn.written is None:
        pad = style.px(16)
        inside = (left + pad, top, right - pad, bottom)
        drawn = drawn._replace(written=fitted(node.text, inside, unit=style.unit))
    hint = drawn.role == "hint"
    shapes.extend(drawn.words(theme.faint if hint else theme.ink))
    if node.focused:
        shapes.append(_caret(drawn, empty=hint))
    return shapes


def _caret(drawn: Drawn, *, empty: bool) -> Box:
    """The cursor behind the last line of a field."""
    style, written = drawn.style, drawn.written
    left, top, right, bottom = drawn.bounds
    thick = max(2, style.px(2))
    pad, middle, wide = style.px(16), (top + bottom) // 2, 0
    half = style.px(11)
    if written is not None:
        start, end = written.box[0], written.box[2]
        wide = 0 if empty else width_px(written.lines[-1], written.size_px)
        half = round(written.size_px * 0.62)
        middle += round(written.size_px * 0.65 * (len(written.lines) - 1))
    else:
        start, end = left + pad, right - pad
    x = end - wide - thick if style.leftward else start + wide
    x = min(max(x, left + thick), right - 2 * thick)
    return Box((x, middle - half, x + thick, middle + half), style.theme.accent)


def spinner(drawn: Drawn) -> list[Shape]:
    """A drop-down."""
    return _with_icon(drawn, "down")


def _with_icon(drawn: Drawn, name: str) -> list[Shape]:
    style = drawn.style
    left, top, right, bottom = drawn.bounds
    side = style.px(20)
    x = left + style.px(10) if style.leftward else right - style.px(10) - side
    if drawn.written:
        drawn = drawn._replace(written=drawn.written._replace(centred=False))
    icon = style.icon(name, (x, top, x + side, bottom), style.theme.faint, size_dp=20)
    return [*field(drawn), icon]


def picker(drawn: Drawn) -> list[Shape]:
    """A field that opens a choice of days or times."""
    shown = drawn.node.text or drawn.node.description
    is_time = bool(_TIME.search(shown)) or icon_for(shown) == "clock"
    return _with_icon(drawn, "clock" if is_time else "calendar")


def slider(drawn: Drawn) -> list[Shape]:
    """A slider; its value is the number that it says."""
    node, theme, style = drawn.node, drawn.style.theme, drawn.style
    left, top, right, bottom = node.bounds
    found = _NUMBER.search(node.text) or _NUMBER.search(node.description)
    share = min(100, int(found.group())) / 100 if found else 0.5
    pad, y, half = style.px(12), (top + bottom) // 2, max(1, style.px(2))
    start, end = left + pad, right - pad
    at = round(end - (end - start) * share if style.leftward else start + (end - start) * share)
    filled = (at, y - half, end, y + half) if style.leftward else (start, y - half, at, y + half)
    knob = style.px(10)
    return [
        Box((start, y - half, end, y + half), theme.line, radius=half),
        Box(filled, theme.accent, radius=half),
        Box((at - knob, y - knob, at + knob, y + knob), theme.accent, radius=knob),
    ]

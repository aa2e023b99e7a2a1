"""How each kind of node looks: its shapes, from its class, its flags and where it stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from apps_mock.icon_names import icon_for
from apps_mock.lettering import fitted, lines_in
from apps_mock.pictures import hue_of
from apps_mock.places import Written
from apps_mock.shapes import Box, Picture, Shape
from apps_mock.style import Style
from apps_mock.text_width import width_px
from apps_mock.theme import mixed_colour
from device_runtime.ui_tree import Node
from sync.vocabulary import Rect

Place = Literal[
    "page", "toolbar", "tabs", "bar", "card", "dialog", "menu", "search", "web", "notice"
]

COMPLETING: Final = frozenset(
    {
        "add",
        "cart",
        "check",
        "download",
        "money",
        "play",
        "save",
        "search",
        "send",
        "store",
        "ticket",
    }
)
"""Icons of what a page is for: buttons that mean them are drawn in the strongest colour."""

_NUMBER = re.compile(r"\d+")


class Drawn(NamedTuple):
    """One node to be drawn: where it stands, and its text as it was laid out, where it was."""

    node: Node
    place: Place
    written: Written | None
    style: Style

    @property
    def bounds(self) -> Rect:
        """The node's bounds."""
        return self.node.bounds

    @property
    def role(self) -> str:
        """What kind of text it was laid out as; empty where that is not known."""
        return self.written.role if self.written else ""

    def words(self, colour: str, *, most_sp: int = 16, centred: bool = False) -> list[Shape]:
        """Its text in a colour, as laid out or as it fits."""
        left, top, right, bottom = self.bounds
        pad = self.style.px(8) if self.node.clickable else 0
        written = self.written or fitted(
            self.node.text,
            (left + pad, top, right - pad, bottom),
            unit=self.style.unit,
            most_sp=most_sp,
            centred=centred,
        )
        if written is None:
            return []
        return [*lines_in(written, colour, leftward=self.style.leftward)]


def shapes_of(drawn: Drawn) -> tuple[Shape, ...]:
    """The node's own shapes, without its children's."""
    name = drawn.node.class_name.rpartition(".")[2]
    draw = _BY_CLASS.get(name)
    if draw is not None:
        return tuple(draw(drawn))
    return tuple(_text(drawn)) if drawn.node.text else ()


def _text(drawn: Drawn) -> list[Shape]:
    if drawn.node.clickable or drawn.node.checkable:
        return _touched_text(drawn)
    theme = drawn.style.theme
    if drawn.place == "notice":
        return drawn.words(theme.on_notice, most_sp=14)
    if drawn.role:
        return drawn.words(_colour_of(drawn))
    return _text_of_unknown_kind(drawn)


def _colour_of(drawn: Drawn) -> str:
    theme = drawn.style.theme
    match drawn.role:
        case "heading" | "badge":
            return theme.accent
        case "error":
            return theme.danger
        case "summary" | "label":
            return theme.faint
        case "body" if drawn.place == "dialog":
            return theme.faint
        case _:
            return theme.ink


def _text_of_unknown_kind(drawn: Drawn) -> list[Shape]:
    """A text of a tree alone: what kind it is follows from its place and height."""
    style, theme = drawn.style, drawn.style.theme
    _, top, _, bottom = drawn.bounds
    high = bottom - top
    if drawn.place == "toolbar" or (top == style.px(24) and high == style.px(56)):
        return drawn.words(theme.ink, most_sp=20)
    if high < style.px(36):
        return drawn.words(theme.faint, most_sp=14)
    return drawn.words(theme.ink)


def _touched_text(drawn: Drawn) -> list[Shape]:
    node, style = drawn.node, drawn.style
    left, top, right, bottom = node.bounds
    if not node.text:
        return []
    if style.launcher and bottom - top >= style.px(60) and right - left < style.px(200):
        return _tile(drawn)
    if drawn.role == "link" or drawn.place == "web":
        return _link(drawn)
    if drawn.role in {"title", "option"} or drawn.place == "menu":
        return _entry(drawn)
    if drawn.role == "" and drawn.place == "page" and not node.checkable and left < style.px(16):
        return _entry(drawn)
    return _button(drawn)


def _tile(drawn: Drawn) -> list[Shape]:
    node, style = drawn.node, drawn.style
    left, top, right, _ = node.bounds
    text_top = drawn.written.box[1] if drawn.written else top + style.px(64)
    side = style.px(48)
    top_room = max(top, min(text_top, top + style.px(68)))
    y = max(top + style.px(8), (top + top_room - side) // 2)
    x = (left + right - side) // 2
    disc = (x, y, x + side, y + side)
    hue = hue_of(node.text)
    icon = icon_for(node.text)
    shapes: list[Shape] = [Box(disc, hue, radius=style.px(16))]
    if icon:
        shapes.append(style.icon(icon, disc, "#ffffff", size_dp=26))
    else:
        letter = fitted(node.text[:1], disc, unit=style.unit, most_sp=20, centred=True)
        shapes.extend(lines_in(letter, "#ffffff", leftward=False) if letter else [])
    if drawn.written:
        return [*shapes, *drawn.words(style.theme.ink)]
    label = (left, disc[3], right, node.bounds[3])
    written = fitted(node.text, label, unit=style.unit, most_sp=12, centred=True)
    return [*shapes, *(lines_in(written, style.theme.ink, leftward=False) if written else [])]


def _link(drawn: Drawn) -> list[Shape]:
    style = drawn.style
    written = drawn.written or fitted(drawn.node.text, drawn.bounds, unit=style.unit)
    if written is None:
        return []
    return [*lines_in(written, style.theme.accent, leftward=style.leftward, underlined=True)]


def _entry(drawn: Drawn) -> list[Shape]:
    """A text that is touched itself: an entry of a list or menu."""
    node, theme, style = drawn.node, drawn.style.theme, drawn.style
    left, top, right, bottom = node.bounds
    chosen = node.selected or node.checked
    shapes: list[Shape] = []
    if drawn.place in {"page", "web"}:
        shapes.append(_divider(node.bounds, style))
    if chosen and drawn.place == "menu":
        shapes.append(Box(node.bounds, theme.pale))
    elif chosen:
        shapes.append(_edge_mark(node.bounds, style))
    if drawn.written is None:
        pad = style.px(16)
        written = fitted(node.text, (left + pad, top, right - pad, bottom), unit=style.unit)
        drawn = drawn._replace(written=written)
    return [*shapes, *drawn.words(theme.accent if chosen else theme.ink)]


def _edge_mark(bounds: Rect, style: Style) -> Box:
    """A bar at the beginning of what is chosen in a list."""
    left, top, right, bottom = bounds
    thick, inset = style.px(4), style.px(6)
    start = right - thick if style.leftward else left
    return Box((start, top + inset, start + thick, bottom - inset), style.theme.accent, thick // 2)


def _divider(bounds: Rect, style: Style) -> Box:
    """A line below an entry, up to the end of the screen."""
    left, _, right, bottom = bounds
    top, inset = bottom - max(1, style.px(0.75)), style.px(16)
    if style.leftward:
        return Box((0, top, right - inset, bottom), style.theme.line)
    return Box((left + inset, top, style.width, bottom), style.theme.line)


def _button(drawn: Drawn) -> list[Shape]:
    node, theme = drawn.node, drawn.style.theme
    if not node.text:
        return []
    if node.checkable and drawn.role != "option":
        return _chip(drawn)
    colour = theme.faint if not node.enabled else theme.accent
    match drawn.place:
        case "tabs":
            return _tab(drawn)
        case "bar":
            return _bar_item(drawn)
        case "dialog" if drawn.role == "cell":
            return _cell(drawn)
        case "dialog" | "toolbar" | "notice":
            danger = drawn.place == "dialog" and icon_for(node.text) == "delete"
            return drawn.words(theme.danger if danger else colour, most_sp=14, centred=True)
        case "menu":
            return _entry(drawn)
        case _:
            return _filled_button(drawn)


def _filled_button(drawn: Drawn) -> list[Shape]:
    node, theme = drawn.node, drawn.style.theme
    meaning = icon_for(node.text)
    if not node.enabled:
        ground, ink = theme.well, theme.faint
    elif meaning in COMPLETING:
        ground, ink = theme.accent, theme.on_accent
    elif meaning == "delete":
        ground, ink = mixed_colour(theme.paper, theme.danger, 0.16), theme.danger
    else:
        ground, ink = theme.pale, theme.on_pale
    inner = _pill(drawn, least_dp=40)
    radius = (inner[3] - inner[1]) // 2
    return [Box(inner, ground, radius=radius), *drawn.words(ink, most_sp=14, centred=True)]


def _pill(drawn: Drawn, *, least_dp: int) -> Rect:
    """Where a button's ground lies: inside the node's bounds, around its text."""
    left, top, right, bottom = drawn.bounds
    style = drawn.style
    side = style.px(6) if right - left < style.px(300) else style.px(16)
    if drawn.written:
        side = max(0, min(side, drawn.written.box[0] - left - style.px(2)))
    lines = len(drawn.written.lines) if drawn.written else 1
    text = drawn.written.size_px * 1.3 * lines if drawn.written else 0
    high = min(bottom - top, max(style.px(least_dp), round(text) + style.px(12)))
    middle = (top + bottom) // 2
    y = max(top, middle - high // 2)
    return left + side, y, right - side, min(bottom, y + high)


def _chip(drawn: Drawn) -> list[Shape]:
    node, theme, style = drawn.node, drawn.style.theme, drawn.style
    inner = _pill(drawn, least_dp=32)
    chosen = node.checked or node.selected
    if drawn.place == "tabs":
        return _tab(drawn)
    if chosen:
        ground = Box(inner, theme.pale, radius=style.px(8))
    else:
        ground = Box(inner, "", style.px(8), theme.line, max(1, style.px(1)))
    ink = theme.on_pale if chosen else theme.faint
    return [ground, *drawn.words(ink, most_sp=14, centred=True)]


def _tab(drawn: Drawn) -> list[Shape]:
    node, theme, style = drawn.node, drawn.style.theme, drawn.style
    chosen = node.checked or node.selected
    words = drawn.words(theme.accent if chosen else theme.faint, most_sp=14, centred=True)
    if not chosen:
        return words
    left, _, right, bottom = node.bounds
    inset = (right - left) // 5
    line = (left + inset, bottom - style.px(3), right - inset, bottom)
    return [Box(line, theme.accent, radius=style.px(2)), *words]


def _bar_item(drawn: Drawn) -> list[Shape]:
    node, theme = drawn.node, drawn.style.theme
    chosen = node.checked or node.selected
    if not chosen and icon_for(node.text) in COMPLETING:
        return _filled_button(drawn)
    shapes: list[Shape] = []
    if chosen:
        inner = _pill(drawn, least_dp=36)
        shapes.append(Box(inner, theme.pale, radius=(inner[3] - inner[1]) // 2))
    return [
        *shapes,
        *drawn.words(theme.on_pale if chosen else theme.accent, most_sp=14, centred=True),
    ]


def _cell(drawn: Drawn) -> list[Shape]:
    """A day of a calendar, a number of a clock."""
    node, theme, style = drawn.node, drawn.style.theme, drawn.style
    if not (node.selected or node.checked):
        return drawn.words(theme.ink, most_sp=14, centred=True)
    left, top, right, bottom = node.bounds
    half = min(right - left, bottom - top, style.px(40)) // 2
    x, y = (left + right) // 2, (top + bottom) // 2
    disc = (x - half, y - half, x + half, y + half)
    words = drawn.words(theme.on_accent, most_sp=14, centred=True)
    return [Box(disc, theme.accent, radius=half), *words]


def _icon_button(drawn: Drawn) -> list[Shape]:
    node, theme, style = drawn.node, drawn.style.theme, drawn.style
    left, top, right, bottom = node.bounds
    name = icon_for(node.description)
    in_toolbar = drawn.place == "toolbar" or top <= style.px(24)
    shapes: list[Shape] = []
    ink = theme.ink if in_toolbar else theme.on_pale
    if not in_toolbar:
        half = min(right - left, bottom - top, style.px(56)) // 2
        x, y = (left + right) // 2, (top + bottom) // 2
        disc = (x - half, y - half, x + half, y + half)
        shapes.append(Box(disc, theme.pale, radius=min(half, style.px(16))))
    if not node.enabled:
        ink = theme.faint
    if name:
        return [*shapes, style.icon(name, node.bounds, ink)]
    letter = fitted(
        node.description[:1] or "•", node.bounds, unit=style.unit, most_sp=20, centred=True
    )
    return [*shapes, *(lines_in(letter, ink, leftward=False) if letter else [])]


def _picture(drawn: Drawn) -> list[Shape]:
    node, theme, style = drawn.node, drawn.style.theme, drawn.style
    name = node.resource_id.rpartition("/")[2] or node.description
    left, top, right, bottom = node.bounds
    if right - left > style.px(56):
        return [Picture(name or node.description, node.bounds, radius=style.px(12))]
    icon = icon_for(name) or icon_for(node.description)
    if node.clickable and not node.resource_id:
        icon = icon_for(node.description)
    if not icon:
        return [Picture(name, node.bounds, radius=style.px(8))]
    half = min(right - left, bottom - top) // 2
    x, y = (left + right) // 2, (top + bottom) // 2
    disc = Box((x - half, y - half, x + half, y + half), theme.pale, radius=half)
    return [disc, style.icon(icon, node.bounds, theme.on_pale, size_dp=22)]


def _row(drawn: Drawn) -> list[Shape]:
    node, theme, style = drawn.node, drawn.style.theme, drawn.style
    shapes: list[Shape] = [Box(node.bounds, theme.pale)] if node.selected else []
    if drawn.place in {"page", "web"}:
        shapes.append(_divider(node.bounds, style))
    return shapes


def _field(drawn: Drawn) -> list[Shape]:
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


def _spinner(drawn: Drawn) -> list[Shape]:
    style = drawn.style
    left, top, right, bottom = drawn.bounds
    side = style.px(20)
    x = left + style.px(10) if style.leftward else right - style.px(10) - side
    if drawn.written:
        drawn = drawn._replace(written=_at_start(drawn.written, style))
    arrow = style.icon("down", (x, top, x + side, bottom), style.theme.faint, size_dp=20)
    return [*_field(drawn), arrow]


def _at_start(written: Written, style: Style) -> Written:
    """The text at the beginning of its box instead of its middle."""
    left, top, right, bottom = written.box
    pad = style.px(8)
    return written._replace(box=(left + pad, top, right - pad, bottom), centred=False)


def _slider(drawn: Drawn) -> list[Shape]:
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


def _switch(drawn: Drawn) -> list[Shape]:
    node, theme, style = drawn.node, drawn.style.theme, drawn.style
    x, y = _middle(node.bounds)
    wide, high = style.px(24), style.px(14)
    on = node.checked
    track = Box((x - wide, y - high, x + wide, y + high), theme.accent if on else theme.well, high,
                "" if on else theme.faint, style.px(1.5))  # fmt: skip
    knob = style.px(10 if on else 7)
    shift = wide - high
    at = x + shift if on != style.leftward else x - shift
    ground = theme.on_accent if on else theme.faint
    shapes: list[Shape] = [track, Box((at - knob, y - knob, at + knob, y + knob), ground, knob)]
    if on:
        box = (at - knob, y - knob, at + knob, y + knob)
        shapes.append(style.icon("check", box, theme.accent, size_dp=13))
    return shapes


def _check_box(drawn: Drawn) -> list[Shape]:
    node, theme, style = drawn.node, drawn.style.theme, drawn.style
    x, y = _middle(node.bounds)
    half = style.px(10)
    box = (x - half, y - half, x + half, y + half)
    if not node.checked:
        return [Box(box, "", style.px(3), theme.faint, style.px(2))]
    tick = style.icon("check", box, theme.on_accent, size_dp=16)
    return [Box(box, theme.accent, style.px(3)), tick]


def _check_mark(drawn: Drawn) -> list[Shape]:
    """A choice in a list: a tick where it is chosen; with a text it is a whole entry."""
    node, theme, style = drawn.node, drawn.style.theme, drawn.style
    if node.text:
        return _entry(drawn)
    if node.checked:
        return [style.icon("check", node.bounds, theme.accent)]
    x, y = _middle(node.bounds)
    half = style.px(3)
    return [Box((x - half, y - half, x + half, y + half), theme.line, half)]


def _radio(drawn: Drawn) -> list[Shape]:
    node, theme, style = drawn.node, drawn.style.theme, drawn.style
    x, y = _middle(node.bounds)
    half, dot = style.px(10), style.px(5)
    colour = theme.accent if node.checked else theme.faint
    ring = Box((x - half, y - half, x + half, y + half), "", half, colour, style.px(2))
    if not node.checked:
        return [ring]
    return [ring, Box((x - dot, y - dot, x + dot, y + dot), colour, dot)]


def _middle(bounds: Rect) -> tuple[int, int]:
    left, top, right, bottom = bounds
    return (left + right) // 2, (top + bottom) // 2


_BY_CLASS: Final[dict[str, Callable[[Drawn], list[Shape]]]] = {
    "Button": _button,
    "CheckBox": _check_box,
    "CheckedTextView": _check_mark,
    "Chip": _chip,
    "EditText": _field,
    "ImageButton": _icon_button,
    "ImageView": _picture,
    "LinearLayout": _row,
    "RadioButton": _radio,
    "SeekBar": _slider,
    "Spinner": _spinner,
    "Switch": _switch,
    "TextView": _text,
    "View": _text,
}

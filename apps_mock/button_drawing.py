"""Things to press: buttons, chips, tabs, places of a bottom bar, days, pictures with a meaning."""

from __future__ import annotations

from typing import Final

from apps_mock.drawn import Drawn
from apps_mock.entry_drawing import entry
from apps_mock.field_drawing import picker
from apps_mock.icon_names import icon_for
from apps_mock.lettering import fitted, lines_in
from apps_mock.shapes import Box, Shape
from apps_mock.text_width import LINE_HEIGHT, width_px
from apps_mock.theme import mixed_colour
from sync.vocabulary import Rect

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
        "ticket",
    }
)
"""Icons of what a page is for: buttons that mean them are drawn in the strongest colour."""


def button(drawn: Drawn) -> list[Shape]:
    """Something to press, by where it stands and what it is for."""
    node, theme = drawn.node, drawn.style.theme
    empty = not node.text and bool(node.description)
    if empty or drawn.role in {"field", "hint"}:
        return picker(drawn)
    if not node.text:
        return []
    if node.checkable and drawn.role != "option":
        return chip(drawn)
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
            return entry(drawn)
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
    text = 0.0
    if drawn.written:
        size, lines = drawn.written.size_px, drawn.written.lines
        widest = max(width_px(line, size, bold=drawn.written.bold) for line in lines)
        side = max(0, min(side, (right - left - widest) // 2 - style.px(6)))
        text = size * LINE_HEIGHT * len(lines)
    high = min(bottom - top, max(style.px(least_dp), round(text) + style.px(12)))
    middle = (top + bottom) // 2
    y = max(top, middle - high // 2)
    return left + side, y, right - side, min(bottom, y + high)


def chip(drawn: Drawn) -> list[Shape]:
    """One of a few choices beside each other."""
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
    left, _, right, _ = node.bounds
    alone = right - left > drawn.style.width * 0.6
    if not chosen and alone and icon_for(node.text) in COMPLETING:
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


def icon_button(drawn: Drawn) -> list[Shape]:
    """A picture to press; its content description chooses the icon."""
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

"""Entries of lists and menus: rows, texts that are touched themselves, choices."""

from __future__ import annotations

from apps_mock.drawn import Drawn, middle_of
from apps_mock.lettering import fitted
from apps_mock.shapes import Box, Shape
from apps_mock.style import Style
from sync.vocabulary import Rect


def entry(drawn: Drawn) -> list[Shape]:
    """A text that is touched itself: an entry of a list or menu."""
    node, theme, style = drawn.node, drawn.style.theme, drawn.style
    left, top, right, bottom = node.bounds
    chosen = node.selected or node.checked
    shapes: list[Shape] = []
    if drawn.place in {"page", "web"}:
        shapes.append(divider(node.bounds, style))
    if chosen and drawn.place == "menu":
        shapes.append(Box(node.bounds, theme.pale))
    elif chosen:
        shapes.append(_edge_mark(node.bounds, style))
    if drawn.written is None:
        pad = style.px(16)
        written = fitted(node.text, (left + pad, top, right - pad, bottom), unit=style.unit)
        drawn = drawn._replace(written=written)
    return [*shapes, *drawn.words(theme.accent if chosen else theme.ink)]


def row(drawn: Drawn) -> list[Shape]:
    """The ground of an entry whose texts are nodes of their own."""
    node, theme, style = drawn.node, drawn.style.theme, drawn.style
    shapes: list[Shape] = [Box(node.bounds, theme.pale)] if node.selected else []
    if drawn.place in {"page", "web"}:
        shapes.append(divider(node.bounds, style))
    return shapes


def check_mark(drawn: Drawn) -> list[Shape]:
    """A choice in a list: a tick where it is chosen; with a text it is a whole entry."""
    node, theme, style = drawn.node, drawn.style.theme, drawn.style
    if node.text:
        return entry(drawn)
    if node.checked:
        return [style.icon("check", node.bounds, theme.accent)]
    x, y = middle_of(node.bounds)
    half = style.px(3)
    return [Box((x - half, y - half, x + half, y + half), theme.line, half)]


def _edge_mark(bounds: Rect, style: Style) -> Box:
    """A bar at the beginning of what is chosen in a list."""
    left, top, right, bottom = bounds
    thick, inset = style.px(4), style.px(6)
    start = right - thick if style.leftward else left
    return Box((start, top + inset, start + thick, bottom - inset), style.theme.accent, thick // 2)


def divider(bounds: Rect, style: Style) -> Box:
    """A line below an entry, up to the end of the screen."""
    left, _, right, bottom = bounds
    top, inset = bottom - max(1, style.px(0.75)), style.px(16)
    if style.leftward:
        return Box((0, top, right - inset, bottom), style.theme.line)
    return Box((left + inset, top, style.width, bottom), style.theme.line)

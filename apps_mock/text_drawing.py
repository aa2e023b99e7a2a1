"""Texts: what is only read, links, icons of apps with their names."""

from __future__ import annotations

from apps_mock.button_drawing import button
from apps_mock.drawn import Drawn
from apps_mock.entry_drawing import entry
from apps_mock.icon_names import icon_for
from apps_mock.lettering import fitted, lines_in
from apps_mock.pictures import hue_of
from apps_mock.shapes import Box, Shape


def text(drawn: Drawn) -> list[Shape]:
    """A text, by what kind it is and where it stands."""
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
        return button(drawn)
    if style.launcher and bottom - top >= style.px(60) and right - left < style.px(200):
        return _tile(drawn)
    if drawn.role == "link" or drawn.place == "web":
        return _link(drawn)
    if drawn.role in {"title", "option"} or drawn.place == "menu":
        return entry(drawn)
    if drawn.role == "" and drawn.place == "page" and not node.checkable and left < style.px(16):
        return entry(drawn)
    return button(drawn)


def _tile(drawn: Drawn) -> list[Shape]:
    node, style = drawn.node, drawn.style
    left, top, right, _ = node.bounds
    text_top = drawn.written.box[1] if drawn.written else top + style.px(64)
    side = style.px(48)
    top_room = max(top, min(text_top, top + style.px(68)))
    y = max(top + style.px(8), (top + top_room - side) // 2)
    x = (left + right - side) // 2
    disc = (x, y, x + side, y + side)
    icon = icon_for(node.text)
    hue = hue_of(icon or node.text)
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

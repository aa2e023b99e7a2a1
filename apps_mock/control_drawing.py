"""What is on or off, and pictures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from apps_mock.drawn import Drawn, middle_of
from apps_mock.entry_drawing import entry
from apps_mock.icon_names import icon_for
from apps_mock.shapes import Box, Picture, Shape


def switch(drawn: Drawn) -> list[Shape]:
    """A switch."""
    node, theme, style = drawn.node, drawn.style.theme, drawn.style
    x, y = middle_of(node.bounds)
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


def check_box(drawn: Drawn) -> list[Shape]:
    """A check box."""
    if drawn.node.text:
        return _with_text(drawn, check_box)
    node, theme, style = drawn.node, drawn.style.theme, drawn.style
    x, y = middle_of(node.bounds)
    half = style.px(10)
    box = (x - half, y - half, x + half, y + half)
    if not node.checked:
        return [Box(box, "", style.px(3), theme.faint, style.px(2))]
    tick = style.icon("check", box, theme.on_accent, size_dp=16)
    return [Box(box, theme.accent, style.px(3)), tick]


def radio(drawn: Drawn) -> list[Shape]:
    """A radio button."""
    if drawn.node.text:
        return _with_text(drawn, radio)
    node, theme, style = drawn.node, drawn.style.theme, drawn.style
    x, y = middle_of(node.bounds)
    half, dot = style.px(10), style.px(5)
    colour = theme.accent if node.checked else theme.faint
    ring = Box((x - half, y - half, x + half, y + half), "", half, colour, style.px(2))
    if not node.checked:
        return [ring]
    return [ring, Box((x - dot, y - dot, x + dot, y + dot), colour, dot)]


def _with_text(drawn: Drawn, control: Callable[[Drawn], list[Shape]]) -> list[Shape]:
    """An entry with a control at its end."""
    node, style = drawn.node, drawn.style
    left, top, right, bottom = node.bounds
    room = min(style.px(48), (right - left) // 3)
    at_end = (
        (left, top, left + room, bottom) if style.leftward else (right - room, top, right, bottom)
    )
    alone = drawn._replace(node=replace(node, text="", bounds=at_end), written=None)
    return [*entry(drawn), *control(alone)]


def picture_in(drawn: Drawn) -> list[Shape]:
    """A picture: an icon where it is small, a drawing where there is room."""
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

"""What is around an app: status bar, keyboard, the handle of the gestures, a notice."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from apps_mock.lettering import fitted, lines_in
from apps_mock.shapes import Align, Box, Icon, Shape, Words
from apps_mock.style import Style
from apps_mock.theme import mixed_colour

KEY_ROWS: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
STATUS_DP: Final = 24
KEYBOARD_DP: Final = 280
_MARGIN_DP: Final = 16


@lru_cache(maxsize=256)
def status_bar(style: Style, width: int, now: str) -> tuple[Shape, ...]:
    """Time, and how the phone is connected and charged."""
    px, colour = style.px, style.theme.faint
    height, margin = px(STATUS_DP), px(_MARGIN_DP)
    clock = (margin, 0, width // 2, height)
    if style.leftward:
        clock = (width // 2, 0, width - margin, height)
    shapes: list[Shape] = []
    if now:
        align: Align = "right" if style.leftward else "left"
        shapes.append(Words(now, clock, px(12), colour, align, bold=True))
    size, gap = px(14), px(5)
    top = (height - size) // 2
    x = margin if style.leftward else width - margin - 3 * size - 2 * gap
    for name in ("wifi", "signal", "battery"):
        shapes.append(Icon(name, (x, top, x + size, top + size), colour))
        x += size + gap
    return tuple(shapes)


@lru_cache(maxsize=64)
def wallpaper(style: Style, width: int, height: int) -> tuple[Shape, ...]:
    """What lies behind the icons of the launcher, and on the lock screen."""
    theme = style.theme
    near, far = width * 3 // 4, width // 2
    x, y = width // 5, height * 4 // 5
    left, top = width * 9 // 10, height * 3 // 10
    low = mixed_colour(theme.paper, theme.accent, 0.1)
    high = mixed_colour(theme.paper, theme.accent, 0.06)
    return (
        Box((0, 0, width, height), theme.paper),
        Box((x - near, y - near, x + near, y + near), low, near),
        Box((left - far, top - far, left + far, top + far), high, far),
    )


@lru_cache(maxsize=256)
def gesture_handle(style: Style, width: int, height: int) -> tuple[Shape, ...]:
    """The short line at the foot of the screen."""
    px = style.px
    half, thick, up = px(54), max(2, px(3)), px(2)
    middle = width // 2
    bounds = (middle - half, height - up - thick, middle + half, height - up)
    return (Box(bounds, style.theme.faint, radius=thick),)


@lru_cache(maxsize=256)
def notice_at_foot(style: Style, width: int, bottom: int, text: str) -> tuple[Shape, ...]:
    """A short notice above `bottom`."""
    px, theme = style.px, style.theme
    margin, pad = px(12), px(16)
    box = (margin, bottom - px(68), width - margin, bottom - px(20))
    inner = (box[0] + pad, box[1], box[2] - pad, box[3])
    written = fitted(text, inner, unit=style.unit, most_sp=14)
    ground = Box(box, theme.notice, radius=px(8))
    if written is None:
        return (ground,)
    return (ground, *lines_in(written, theme.on_notice, leftward=style.leftward))


@lru_cache(maxsize=256)
def keyboard(style: Style, width: int, height: int) -> tuple[Shape, ...]:
    """A keyboard over the lower part of the screen."""
    px, theme = style.px, style.theme
    top = height - px(KEYBOARD_DP)
    shapes: list[Shape] = [Box((0, top, width, height), theme.keyboard)]
    y = top + px(10)
    row, gap = px(54), px(5)
    key = width // 10
    for letters in KEY_ROWS:
        left = (width - key * len(letters)) // 2
        for letter in letters:
            bounds = (left + gap // 2, y, left + key - gap // 2, y + row - gap)
            shapes.append(Box(bounds, theme.key, radius=px(6)))
            shapes.append(Words(letter, bounds, px(20), theme.ink, "centre"))
            left += key
        y += row
    third = y - row
    shapes += _special_key(style, (gap, third, key + key // 2 - gap, third + row - gap), "shift")
    right = width - key - key // 2
    shapes += _special_key(style, (right + gap, third, width - gap, third + row - gap), "backspace")
    wide = key + key // 2
    shapes += _special_key(style, (gap, y, wide - gap, y + row - gap), "keyboard")
    shapes += _special_key(style, (width - wide + gap, y, width - gap, y + row - gap), "enter")
    shapes.append(Box((wide + gap, y, width - wide - gap, y + row - gap), theme.key, radius=px(6)))
    return tuple(shapes)


def _special_key(style: Style, bounds: tuple[int, int, int, int], icon: str) -> list[Shape]:
    strong = icon == "enter"
    theme = style.theme
    colour = theme.on_accent if strong else theme.ink
    ground = theme.accent if strong else theme.well
    return [Box(bounds, ground, radius=style.px(6)), style.icon(icon, bounds, colour, size_dp=22)]

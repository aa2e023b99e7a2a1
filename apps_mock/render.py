"""Pixels of a clone's screen, drawn with Pillow from the view hierarchy and nothing else.

So pixels and hierarchy cannot disagree, and a screen can be drawn again from a logged tree. Plain
shapes, own drawings, Pillow's bundled font; the same tree gives the same bytes.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

from apps_mock.mixing import mixed
from device_runtime.ui_tree import Node, walk
from sync.vocabulary import Rect

BAR_PX, KEYBOARD_PX, MARGIN_PX, STATUS_PX, TILE_PX = 147, 735, 42, 63, 252
PAPER, INK, FAINT, LINE = "#fbfbfd", "#1b1b1f", "#6b6b76", "#e2e2ea"
ACCENT, ACCENT_PALE, ON_ACCENT = "#2f5fd0", "#dbe5fb", "#ffffff"
KEYBOARD, KEY = "#e6e8ee", "#ffffff"
TILE_COLOURS = ("#2f5fd0", "#0f8a6c", "#b5530f", "#8a3fb0", "#b3273f", "#4c6a12", "#006a8e")
KEY_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm", "  ␣  ")

_TILE_LABEL_PX = TILE_PX // 4


def png(root: Node, *, keyboard: bool = False, now: str = "") -> bytes:
    """The screen as PNG bytes.

    Args:
        root: the view hierarchy; its bounds are the screen.
        keyboard: draw the keyboard over the lower part.
        now: time of day for the status bar.
    """
    buffer = io.BytesIO()
    draw_screen(root, keyboard=keyboard, now=now).save(buffer, format="PNG", compress_level=1)
    return buffer.getvalue()


def draw_screen(root: Node, *, keyboard: bool = False, now: str = "") -> Image.Image:
    """The screen as an RGB image (see `png`)."""
    _, _, width, height = root.bounds
    image = Image.new("RGB", (width, height), PAPER)
    pen = _Pen(ImageDraw.Draw(image), launcher=root.package.endswith(".launcher"))
    for node in walk((root,)):
        pen.node(node)
    pen.text(now, (MARGIN_PX, 0, width // 2, STATUS_PX), size=34, colour=FAINT)
    if keyboard:
        pen.keyboard(width, height)
    return image


@lru_cache(maxsize=32)
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


class _Pen:
    """Draws nodes by their class."""

    def __init__(self, draw: ImageDraw.ImageDraw, *, launcher: bool) -> None:
        self._draw = draw
        self._launcher = launcher
        self._by_class: dict[str, Callable[[Node], None]] = {
            "Button": self._button,
            "CheckBox": self._check_box,
            "CheckedTextView": self._check_mark,
            "EditText": self._field,
            "ImageButton": self._icon,
            "LinearLayout": self._box,
            "RadioButton": self._radio,
            "Switch": self._switch,
            "TextView": self._label,
        }

    def node(self, node: Node) -> None:
        draw = self._by_class.get(node.class_name.rpartition(".")[2])
        if draw is not None:
            draw(node)

    def text(
        self,
        text: str,
        bounds: Rect,
        *,
        size: int = 44,
        colour: str = INK,
        centred: bool = False,
    ) -> None:
        """One line of text in its place, cut off at the end where it does not fit."""
        if not text:
            return
        left, top, right, bottom = bounds
        font = _font(size)
        while len(text) > 1 and self._draw.textlength(text, font=font) > right - left:
            text = text[:-2].rstrip() + "…"
        x, anchor = ((left + right) / 2, "mm") if centred else (left, "lm")
        self._draw.text((x, (top + bottom) / 2), text, fill=colour, font=font, anchor=anchor)

    def keyboard(self, width: int, height: int) -> None:
        """A keyboard over the lower part of the screen."""
        top = height - KEYBOARD_PX
        self._draw.rectangle((0, top, width, height), fill=KEYBOARD)
        row_px = KEYBOARD_PX // len(KEY_ROWS)
        for line, letters in enumerate(KEY_ROWS):
            key_px = width // max(10, len(letters))
            left = (width - key_px * len(letters)) // 2
            y = top + line * row_px
            for letter in letters:
                self._key((left + 6, y + 10, left + key_px - 6, y + row_px - 10), letter)
                left += key_px

    def _key(self, bounds: Rect, letter: str) -> None:
        if letter == " ":
            return
        if letter == "␣":
            middle = (bounds[0] + bounds[2]) // 2
            bounds, letter = (middle - 260, bounds[1], middle + 260, bounds[3]), ""
        self._draw.rounded_rectangle(bounds, 14, fill=KEY)
        self.text(letter, bounds, centred=True)

    def _label(self, node: Node) -> None:
        left, top, right, bottom = node.bounds
        if self._launcher and node.clickable and bottom - top >= TILE_PX // 2:
            self._tile(node)
        elif node.checkable or (node.clickable and left > MARGIN_PX):
            self._button(node)
        elif node.clickable:
            self._draw.line((MARGIN_PX, bottom - 1, right, bottom - 1), fill=LINE, width=2)
            self.text(node.text, (left + MARGIN_PX, top, right, bottom))
        elif top == STATUS_PX and bottom - top == BAR_PX:
            self.text(node.text, node.bounds, size=54)
        else:
            small = bottom - top < BAR_PX // 2 + 20
            self.text(
                node.text, node.bounds, size=36 if small else 44, colour=FAINT if small else INK
            )

    def _tile(self, node: Node) -> None:
        left, top, right, bottom = node.bounds
        colour = TILE_COLOURS[mixed(node.text) % len(TILE_COLOURS)]
        middle, radius = (left + right) // 2, (bottom - top) // 4
        y = top + radius + 24
        circle = (middle - radius, y - radius, middle + radius, y + radius)
        self._draw.ellipse(circle, fill=colour)
        self.text(node.text[:1], circle, size=60, colour=ON_ACCENT, centred=True)
        label = (left, bottom - _TILE_LABEL_PX - 16, right, bottom - 16)
        self.text(node.text, label, size=34, centred=True)

    def _button(self, node: Node) -> None:
        left, top, right, bottom = node.bounds
        inner = (left + 12, top + 18, right - 12, bottom - 18)
        pale = node.checkable and not node.checked
        if inner[2] <= inner[0] or inner[3] <= inner[1]:
            return
        self._draw.rounded_rectangle(inner, 40, fill=ACCENT_PALE if pale else ACCENT)
        colour = ACCENT if pale else ON_ACCENT
        self.text(node.text, inner, size=40, colour=colour, centred=True)

    def _icon(self, node: Node) -> None:
        left, top, right, bottom = node.bounds
        x, y = (left + right) // 2, (top + bottom) // 2
        if left == 0 and top == STATUS_PX:
            arrow = [(x + 14, y - 26), (x - 14, y), (x + 14, y + 26)]
            self._draw.line(arrow, fill=INK, width=6)
            return
        circle = (x - 46, y - 46, x + 46, y + 46)
        self._draw.ellipse(circle, fill=ACCENT_PALE)
        self.text(node.description[:1], circle, colour=ACCENT, centred=True)

    def _box(self, node: Node) -> None:
        _, _, right, bottom = node.bounds
        self._draw.line((MARGIN_PX, bottom - 1, right, bottom - 1), fill=LINE, width=2)

    def _field(self, node: Node) -> None:
        left, top, right, bottom = node.bounds
        outline = ACCENT if node.focused else FAINT
        inner = (left, top + 12, right, bottom - 12)
        if inner[3] <= inner[1]:
            return
        self._draw.rounded_rectangle(inner, 18, outline=outline, width=5 if node.focused else 3)
        self.text(node.text, (left + 30, top, right - 30, bottom))

    def _switch(self, node: Node) -> None:
        x, y = _middle(node.bounds)
        track = (x - 52, y - 30, x + 52, y + 30)
        self._draw.rounded_rectangle(track, 30, fill=ACCENT if node.checked else LINE)
        knob = x + 22 if node.checked else x - 22
        self._draw.ellipse((knob - 24, y - 24, knob + 24, y + 24), fill=ON_ACCENT)

    def _check_box(self, node: Node) -> None:
        x, y = _middle(node.bounds)
        box = (x - 32, y - 32, x + 32, y + 32)
        fill = ACCENT if node.checked else PAPER
        self._draw.rounded_rectangle(box, 10, fill=fill, outline=ACCENT, width=5)
        if node.checked:
            self._tick(x, y, ON_ACCENT)

    def _check_mark(self, node: Node) -> None:
        if node.checked:
            self._tick(*_middle(node.bounds), ACCENT)

    def _tick(self, x: int, y: int, colour: str) -> None:
        self._draw.line([(x - 18, y), (x - 4, y + 16), (x + 20, y - 16)], fill=colour, width=7)

    def _radio(self, node: Node) -> None:
        x, y = _middle(node.bounds)
        self._draw.ellipse((x - 30, y - 30, x + 30, y + 30), outline=ACCENT, width=5)
        if node.checked:
            self._draw.ellipse((x - 16, y - 16, x + 16, y + 16), fill=ACCENT)


def _middle(bounds: Rect) -> tuple[int, int]:
    left, top, right, bottom = bounds
    return (left + right) // 2, (top + bottom) // 2

"""How wide texts are, and where they break: advance widths of the clones' fonts, without shaping.

Arabic letters that join are at most as wide as they are alone, so the sum of single widths is an
upper bound there; elsewhere it is the width up to kerning. Widths depend on no machine.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Final

from apps_mock.fonts import RULER_PX, Script, ruler, script_of

_CONTROL: Final = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")

LINE_HEIGHT: Final = 1.3
"""Height of a line in sizes of its text."""


def width_px(text: str, size_px: int, *, bold: bool = False) -> int:
    """Pixels that a line of text takes at a size, rounded up."""
    return math.ceil(_units(text, bold) * size_px / RULER_PX)


@lru_cache(maxsize=256)
def line_px(size_px: int) -> int:
    """Pixels from one line of text to the next."""
    return math.ceil(size_px * LINE_HEIGHT)


def drawable(text: str) -> str:
    """The text with a space for each control character: shaping fails on some of them."""
    return text if text.isprintable() else _CONTROL.sub(" ", text)


@lru_cache(maxsize=32768)
def wrapped(text: str, room_px: int, size_px: int, *, bold: bool = False) -> tuple[str, ...]:
    """The text's lines within a width: broken at spaces, and between kana and kanji.

    A word that is wider than the room is broken anywhere, as phones do.
    """
    text = drawable(text)
    if "\n" not in text and width_px(text, size_px, bold=bold) <= room_px:
        return (text,)
    room = room_px * RULER_PX / size_px
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines.extend(_broken(paragraph, room, bold))
    return tuple(lines)


@lru_cache(maxsize=32768)
def widest_word_px(text: str, size_px: int, *, bold: bool = False) -> int:
    """Pixels of the widest piece of the text that cannot be broken."""
    return max((width_px(piece.strip(), size_px, bold=bold) for piece in _pieces(text)), default=0)


@lru_cache(maxsize=32768)
def line_units(text: str) -> float:
    """The width of a text on one line at `RULER_PX`; infinite where it has line breaks."""
    return math.inf if "\n" in text else _units(drawable(text), bold=False)


@lru_cache(maxsize=32768)
def bold_line_units(text: str) -> float:
    """The same in bold letters."""
    return math.inf if "\n" in text else _units(drawable(text), bold=True)


@lru_cache(maxsize=32768)
def _units(text: str, bold: bool) -> float:  # noqa: FBT001 - a cached part of `width_px`
    advances = _advances(script_of(text), bold)
    return sum(map(advances.__getitem__, text.replace("\n", " ")))


class _Advances(dict[str, float]):
    """Advance widths by character, measured when they are first needed.

    Text of any letters may come, so what is known is forgotten at `_CHARACTERS` entries.
    """

    def __init__(self, script: Script, *, bold: bool) -> None:
        super().__init__()
        self._font = ruler(script, bold=bold)

    def __missing__(self, character: str) -> float:
        if len(self) >= _CHARACTERS:
            self.clear()
        width = self[character] = float(self._font.getlength(character))
        return width


_CHARACTERS: Final = 8192


@lru_cache(maxsize=4)
def _advances(script: Script, bold: bool) -> _Advances:  # noqa: FBT001 - as above
    return _Advances(script, bold=bold)


def _broken(paragraph: str, room: float, bold: bool) -> list[str]:  # noqa: FBT001 - as above
    lines: list[str] = []
    line = ""
    for piece in _pieces(paragraph):
        longer = line + piece
        if _units(longer.rstrip(), bold) <= room:
            line = longer
            continue
        if line:
            lines.append(line.rstrip())
        line = piece
        while len(line) > 1 and _units(line.rstrip(), bold) > room:
            fitting = _fitting(line, room, bold)
            lines.append(line[:fitting])
            line = line[fitting:]
    lines.append(line.rstrip())
    return lines


def _fitting(word: str, room: float, bold: bool) -> int:  # noqa: FBT001 - as above
    """How many letters of a word go into the room; at least one."""
    for count in range(2, len(word) + 1):
        if _units(word[:count], bold) > room:
            return count - 1
    return len(word)


def _pieces(text: str) -> list[str]:
    """What may not be broken further: words with the space behind them, single kana and kanji."""
    pieces: list[str] = []
    start = 0
    for place, character in enumerate(text):
        after = text[place + 1 : place + 2]
        if character == " " or (after and _may_break(character, after)):
            pieces.append(text[start : place + 1])
            start = place + 1
    pieces.append(text[start:])
    return pieces


_NO_LINE_START: Final = frozenset(
    "、。，．・：；？！）」』】ーぁぃぅぇぉっゃゅょァィゥェォッャュョ％"
)
_NO_LINE_END: Final = frozenset("（「『【")


def _may_break(before: str, after: str) -> bool:
    if after in _NO_LINE_START or before in _NO_LINE_END:
        return False
    return "\u2e80" <= before < "\ufb50" or "\u2e80" <= after < "\ufb50"

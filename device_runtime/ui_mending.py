"""Text that XML 1.0 does not allow, and what may stand in its place.

Pure functions of bytes, each linear in their length: what a dump says stays what it says, except
for characters that no parser accepts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

ILLEGAL: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""A character that XML 1.0 does not allow, not even as a reference."""

_BARE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#0*[0-9]{1,7}|#x0*[0-9a-fA-F]{1,6});)")
_BRACKET_IN_VALUE = re.compile(r'="[^"<]*<[^"]*"')
_HALF = r"&#(?:[xX]([dD][89a-fA-F][0-9a-fA-F]{2})|([0-9]{5}));"
_SURROGATE_PAIR = re.compile(_HALF * 2)
_REFERENCE = re.compile(r"&#(?:x0*([0-9a-fA-F]{1,6})|0*([0-9]{1,7}));")

_Step = tuple[str, re.Pattern[str], Callable[[re.Match[str]], str]]


@dataclass(frozen=True, slots=True)
class Mended:
    """A document that may be readable now, and what was changed for it."""

    body: bytes
    notes: tuple[str, ...]


def mended_forms(body: bytes, *, joins_halves: bool) -> Iterator[Mended]:
    """What `body` can be read as, the smallest change first; nothing where no change helps.

    Args:
        joins_halves: two references to the halves of one character become that character, as
            old phones mean them; else they are dropped like all that refer to nothing.
    """
    steps = (_JOINING, *_HARMLESS) if joins_halves else _HARMLESS
    text, notes = _mended(body.decode(errors="replace"), steps)
    if notes:
        yield Mended(text.encode(), notes)
    text, more = _mended(text, (_BRACKETS,))
    if more:
        yield Mended(text.encode(), notes + more)


def _mended(text: str, steps: tuple[_Step, ...]) -> tuple[str, tuple[str, ...]]:
    notes: dict[str, None] = {}
    for note, pattern, replacement in steps:
        changed = pattern.sub(replacement, text)
        if changed != text:
            notes[note] = None
        text = changed
    return text, tuple(notes)


def _joined_pair(match: re.Match[str]) -> str:
    high = int(match[1], 16) if match[1] else int(match[2])
    low = int(match[3], 16) if match[3] else int(match[4])
    if high >> 10 != 0xD800 >> 10 or low >> 10 != 0xDC00 >> 10:
        return match[0]
    return f"&#{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)};"


def _legal_reference(match: re.Match[str]) -> str:
    code = int(match[1], 16) if match[1] else int(match[2])
    if code > 0x10FFFF or ILLEGAL.match(chr(code)):
        return ""
    return match[0]


_JOINING: Final[_Step] = ("bad_references", _SURROGATE_PAIR, _joined_pair)
_HARMLESS: Final[tuple[_Step, ...]] = (
    ("control_characters", ILLEGAL, lambda _: ""),
    ("bad_references", _REFERENCE, _legal_reference),
    ("bare_ampersands", _BARE_AMPERSAND, lambda _: "&amp;"),
)
_BRACKETS: Final[_Step] = (
    "bare_brackets",
    _BRACKET_IN_VALUE,
    lambda match: match[0].replace("<", "&lt;"),
)

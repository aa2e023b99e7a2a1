"""How much room texts take in a look, and how things beside each other share a line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from apps_mock.look import Look
from apps_mock.places import TEXT_SP, Role
from apps_mock.text_width import drawable, line_px, widest_word_px, width_px, wrapped

BOLD: frozenset[Role] = frozenset({"heading"})
_MOST_LINES = 2
"""More lines than that in a button, tab or chip look wrong: the line is shared out otherwise."""


def text_px(role: Role, look: Look) -> int:
    """The size of such a text."""
    return _text_px(role, look.density, look.font_scale)


@lru_cache(maxsize=512)
def _text_px(role: Role, density: float, font_scale: float) -> int:
    return max(1, round(TEXT_SP[role] * density * font_scale))


def lines_of(text: str, role: Role, room: int, look: Look) -> tuple[str, ...]:
    """The text's lines in a room of that width."""
    return wrapped(text, room, text_px(role, look), bold=role in BOLD)


def text_height(text: str, role: Role, room: int, look: Look) -> int:
    """Pixels that the text's lines take."""
    return len(lines_of(text, role, room, look)) * line_px(text_px(role, look))


def text_width(text: str, role: Role, look: Look) -> int:
    """Pixels that the text takes on one line."""
    return width_px(text, text_px(role, look), bold=role in BOLD)


def tail_of(text: str, role: Role, room: int, look: Look) -> str:
    """The end of a text that fits into the room: a field shows where its cursor is."""
    size = text_px(role, look)
    text = drawable(text).replace("\n", " ")
    while len(text) > 1 and width_px(text, size) > room:
        text = text[1:]
    return text


class Share(NamedTuple):
    """One thing's place in a line: which one it is, from where to where."""

    number: int
    left: int
    right: int


class Line(NamedTuple):
    """Things beside each other, and how high they have to be."""

    shares: tuple[Share, ...]
    height: int


@lru_cache(maxsize=16384)
def shared(
    texts: tuple[str, ...], role: Role, *, room: tuple[int, int], pad: int, height: int, look: Look
) -> tuple[Line, ...]:
    """Share lines out among things with these texts: equally, by need, or on further lines.

    Args:
        room: from where to where the lines go.
        pad: what each needs beside its text, at either side.
        height: what a line has at least.
    """
    left, right = room
    needs = [text_width(text, role, look) + 2 * pad for text in texts]
    lines = _grouped(texts, needs, role, room=right - left, pad=pad, look=look)
    return tuple(_line(line, texts, role, left, pad, height, look) for line in lines)


def _grouped(
    texts: Sequence[str], needs: list[int], role: Role, *, room: int, pad: int, look: Look
) -> list[list[tuple[int, int]]]:
    """(index, width) by line."""
    if not texts:
        return []
    equal = room // len(texts)
    if all(_fits(text, role, equal - 2 * pad, look) for text in texts):
        return [[(index, equal) for index in range(len(texts))]]
    lines: list[list[int]] = [[]]
    for index, need in enumerate(needs):
        if lines[-1] and sum(needs[other] for other in lines[-1]) + need > room:
            lines.append([])
        lines[-1].append(index)
    grouped = []
    for line in lines:
        spare = max(0, room - sum(needs[index] for index in line)) // len(line)
        grouped.append([(index, min(room, needs[index] + spare)) for index in line])
    return grouped


def _fits(text: str, role: Role, room: int, look: Look) -> bool:
    size = text_px(role, look)
    if widest_word_px(text, size, bold=role in BOLD) > room:
        return False
    return len(lines_of(text, role, room, look)) <= _MOST_LINES


def _line(  # noqa: PLR0917 - a private part of `shared`
    line: list[tuple[int, int]],
    texts: Sequence[str],
    role: Role,
    left: int,
    pad: int,
    height: int,
    look: Look,
) -> Line:
    shares = []
    for index, width in line:
        shares.append(Share(index, left, left + width))
        height = max(height, text_height(texts[index], role, width - 2 * pad, look) + pad)
        left += width
    return Line(tuple(shares), height)

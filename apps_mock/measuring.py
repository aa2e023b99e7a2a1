"""How much room texts take in a look, and how things beside each other share a line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from apps_mock.fonts import RULER_PX
from apps_mock.look import Look
from apps_mock.places import TEXT_SP, Role
from apps_mock.text_width import (
    bold_line_units,
    drawable,
    line_px,
    line_units,
    widest_word_px,
    width_px,
    wrapped,
)

BOLD: frozenset[Role] = frozenset({"heading"})
_MOST_LINES = 2
"""More lines than that in a button, tab or chip look wrong: the line is shared out otherwise."""


class Face(NamedTuple):
    """How one kind of text is written in a look.

    Attributes:
        line_px: from one line to the next.
        units: how wide a text is on one line (see `text_width.line_units`).
    """

    size_px: int
    line_px: int
    bold: bool
    units: Callable[[str], float]


Faces = Mapping[Role, Face]


def faces_of(look: Look) -> Faces:
    """How each kind of text is written in a look."""
    return _faces(look.density, look.font_scale)


@lru_cache(maxsize=64)
def _faces(density: float, font_scale: float) -> Faces:
    faces: dict[Role, Face] = {}
    for role, size_sp in TEXT_SP.items():
        size_px, bold = max(1, round(size_sp * density * font_scale)), role in BOLD
        units = bold_line_units if bold else line_units
        faces[role] = Face(size_px, line_px(size_px), bold, units)
    return faces


def lines_of(text: str, role: Role, room: int, faces: Faces) -> tuple[str, ...]:
    """The text's lines in a room of that width."""
    face = faces[role]
    return wrapped(text, room, face.size_px, bold=face.bold)


def text_height(text: str, role: Role, room: int, faces: Faces) -> int:
    """Pixels that the text's lines take."""
    size_px, line, bold, units = faces[role]
    if units(text) * size_px / RULER_PX <= room:
        return line
    return len(wrapped(text, room, size_px, bold=bold)) * line


def text_width(text: str, role: Role, faces: Faces) -> int:
    """Pixels that the text takes on one line."""
    face = faces[role]
    return width_px(text, face.size_px, bold=face.bold)


def tail_of(text: str, role: Role, room: int, faces: Faces) -> str:
    """The end of a text that fits into the room: a field shows where its cursor is."""
    size = faces[role].size_px
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


def shared(
    texts: Sequence[str],
    role: Role,
    *,
    room: tuple[int, int],
    pad: int,
    height: int,
    faces: Faces,
) -> tuple[Line, ...]:
    """Share lines out among things with these texts: equally, by need, or on further lines.

    Args:
        room: from where to where the lines go.
        pad: what each needs beside its text, at either side.
        height: what a line has at least.
    """
    if not texts:
        return ()
    left, right = room
    grouped = _grouped(texts, role, right - left, pad, faces)
    return tuple(_line(line, texts, role, left, pad, height, faces) for line in grouped)


def _grouped(
    texts: Sequence[str], role: Role, room: int, pad: int, faces: Faces
) -> list[list[tuple[int, int]]]:
    """(index, width) by line."""
    equal = room // len(texts)
    if all(_fits(text, role, equal - 2 * pad, faces) for text in texts):
        return [[(index, equal) for index in range(len(texts))]]
    needs = [text_width(text, role, faces) + 2 * pad for text in texts]
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


def _fits(text: str, role: Role, room: int, faces: Faces) -> bool:
    size_px, _, bold, units = faces[role]
    if text.isascii() and text.isprintable() and units(text) * size_px / RULER_PX <= room:
        return True  # One font writes all of it, so no part of it is wider.
    if widest_word_px(text, size_px, bold=bold) > room:
        return False
    return len(wrapped(text, room, size_px, bold=bold)) <= _MOST_LINES


def _line(  # noqa: PLR0917 - a private part of `shared`
    line: list[tuple[int, int]],
    texts: Sequence[str],
    role: Role,
    left: int,
    pad: int,
    height: int,
    faces: Faces,
) -> Line:
    shares = []
    for index, width in line:
        shares.append(Share(index, left, left + width))
        height = max(height, text_height(texts[index], role, width - 2 * pad, faces) + pad)
        left += width
    return Line(tuple(shares), height)

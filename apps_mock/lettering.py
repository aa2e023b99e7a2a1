"""Lines of text for nodes: as they were laid out, or, for a tree alone, in a size that fits."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from apps_mock.places import Written
from apps_mock.shapes import Align, Words
from apps_mock.text_width import line_px, width_px, wrapped
from device_runtime.ui_tree import Node
from sync.vocabulary import Rect

_SIZES_SP: Final = (20, 16, 14, 12, 10)


class Texts:
    """The texts of one screen, to be found by the nodes that they stand in."""

    def __init__(self, texts: tuple[Written, ...]) -> None:
        self._by_text: dict[str, list[Written]] = {}
        for written in texts:
            self._by_text.setdefault(_letters_in(written.lines), []).append(written)

    def take(self, node: Node) -> Written | None:
        """The node's own text, which nobody takes again; None where it was not laid out."""
        if not node.text:
            return None
        candidates = self._by_text.get(_letters(node.text))
        if not candidates:
            return None
        for index, written in enumerate(candidates):
            if is_inside(written.clip, node.bounds):
                return candidates.pop(index)
        return None

    def take_within(self, bounds: Rect, roles: frozenset[str]) -> Written | None:
        """A text of such a role inside a place, which nobody takes again."""
        for candidates in self._by_text.values():
            for index, written in enumerate(candidates):
                if written.role in roles and is_inside(written.clip, bounds):
                    return candidates.pop(index)
        return None

    def rest(self) -> tuple[Written, ...]:
        """Texts that no node took."""
        return tuple(written for candidates in self._by_text.values() for written in candidates)


@lru_cache(maxsize=16384)
def _letters_in(lines: tuple[str, ...]) -> str:
    return _letters("".join(lines))


@lru_cache(maxsize=16384)
def _letters(text: str) -> str:
    return "".join(text.split())


def is_inside(inner: Rect, outer: Rect) -> bool:
    """Whether a place lies in another one."""
    return (
        inner[0] >= outer[0]
        and inner[1] >= outer[1]
        and inner[2] <= outer[2]
        and inner[3] <= outer[3]
    )


def fitted(
    text: str, box: Rect, *, unit: float, most_sp: int = 16, centred: bool = False
) -> Written | None:
    """The text in the largest usual size in which its lines fit into the box; cut off at last."""
    room, height = box[2] - box[0], box[3] - box[1]
    if not text or room <= 0 or height <= 0:
        return None
    size = 1
    for size_sp in (sp for sp in _SIZES_SP if sp <= most_sp):
        size = max(1, round(size_sp * unit))
        lines = wrapped(text, room, size)
        high = len(lines) * line_px(size)
        if high <= height and all(width_px(line, size) <= room for line in lines):
            return Written("body", box, box, lines, size, centred=centred)
    return Written("body", box, box, (_cut(text, room, size),), size, centred=centred)


def _cut(text: str, room: int, size: int) -> str:
    while len(text) > 1 and width_px(text, size) > room:
        text = text[:-2].rstrip() + "…"
    return text


def lines_in(
    written: Written, colour: str, *, leftward: bool, underlined: bool = False
) -> list[Words]:
    """The written lines as shapes, in the middle of their box."""
    left, top, right, bottom = written.box
    step = line_px(written.size_px)
    y = top + (bottom - top - step * len(written.lines)) // 2
    align: Align = "right" if leftward else "left"
    if written.centred:
        align = "centre"
    words = []
    for line in written.lines:
        bounds = (left, y, right, y + step)
        clip = None if is_inside(bounds, written.clip) else written.clip
        words.append(
            Words(line, bounds, written.size_px, colour, align, written.bold, underlined, clip)
        )
        y += step
    return words

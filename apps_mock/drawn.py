"""One node that is to be drawn: where it stands, and its text as it was laid out."""

from __future__ import annotations

from typing import Literal, NamedTuple

from apps_mock.lettering import fitted, lines_in
from apps_mock.places import Written
from apps_mock.shapes import Shape
from apps_mock.style import Style
from device_runtime.ui_tree import Node
from sync.vocabulary import Rect

Place = Literal[
    "page", "toolbar", "tabs", "bar", "card", "dialog", "menu", "search", "web", "notice"
]
"""What a node stands in."""


class Drawn(NamedTuple):
    """One node to be drawn: where it stands, and its text as it was laid out, where it was."""

    node: Node
    place: Place
    written: Written | None
    style: Style

    @property
    def bounds(self) -> Rect:
        """The node's bounds."""
        return self.node.bounds

    @property
    def role(self) -> str:
        """What kind of text it was laid out as; empty where that is not known."""
        return self.written.role if self.written else ""

    def words(self, colour: str, *, most_sp: int = 16, centred: bool = False) -> list[Shape]:
        """Its text in a colour, as laid out or as it fits."""
        left, top, right, bottom = self.bounds
        pad = self.style.px(8) if self.node.clickable else 0
        written = self.written or fitted(
            self.node.text,
            (left + pad, top, right - pad, bottom),
            unit=self.style.unit,
            most_sp=most_sp,
            centred=centred,
        )
        if written is None:
            return []
        return [*lines_in(written, colour, leftward=self.style.leftward)]


def middle_of(bounds: Rect) -> tuple[int, int]:
    """The middle of a place."""
    left, top, right, bottom = bounds
    return (left + right) // 2, (top + bottom) // 2

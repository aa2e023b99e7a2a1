"""A screen that was laid out: what a policy sees and fingers touch, and the sketch of the rest.

Elements and places to touch are needed at each step; the view hierarchy and the texts' lines are
needed by those who draw, dump or check. The layout notes these in the cheapest way, nested elements
and texts that are not broken into lines, and they are made of the sketch when somebody asks.
"""

from __future__ import annotations

from typing import NamedTuple

from apps_mock.measuring import Faces, lines_of, tail_of
from apps_mock.nodes import node_of
from apps_mock.places import Hidden, Role, Target, Written
from apps_mock.widgets import Event
from device_runtime.ui_tree import Node
from sync.vocabulary import Element, Rect

View = Element | tuple[Element, list["View"]]
"""What will be a node, with what lies in it where it is a container."""


Note = tuple[str, Role, int, Rect, Rect, bool, bool]
"""A text that will be written: how wide its lines may be, its box and its clip (as in `Written`),
whether it is centred, and whether its end shows alone, on one line.

A plain tuple of plain values is cheap to make, and the garbage collector forgets it.
"""


class Sketch(NamedTuple):
    """A screen's hierarchy and texts, not made yet."""

    view: View
    notes: tuple[Note, ...]
    faces: Faces

    @property
    def root(self) -> Node:
        """The root of the view hierarchy."""
        return _node(self.view)

    @property
    def texts(self) -> tuple[Written, ...]:
        """Every text that shows, as it is written."""
        written = (_written(note, self.faces) for note in self.notes)
        return tuple(text for text in written if any(text.lines))


def _node(view: View) -> Node:
    if isinstance(view, Element):
        return node_of(view)
    element, inner = view
    return node_of(element, tuple(map(_node, inner)))


def _written(note: Note, faces: Faces) -> Written:
    text, role, room, box, clip, centred, tail = note
    face = faces[role]
    lines = (tail_of(text, role, room, faces),) if tail else lines_of(text, role, room, faces)
    return Written(role, box, clip, lines, face.size_px, face.bold, centred)


class LaidOut(NamedTuple):
    """A screen in its places.

    Attributes:
        elements: what an observation shows of it, in reading order.
        targets: later ones lie above earlier ones.
        fields: keys of the text fields in reading order.
        submit: what the enter key sends in the last field.
        scroll_area: the body's place; (0, 0, 0, 0) where it does not scroll.
        scroll_max_px: how far the body can be scrolled down.
        enters: (field, what the enter key sends in it) of fields that have their own.
        sketch: what its hierarchy and its texts are made from.
    """

    elements: tuple[Element, ...]
    targets: tuple[Target, ...]
    hidden: tuple[Hidden, ...]
    fields: tuple[str, ...]
    submit: Event | None
    scroll_area: Rect
    scroll_max_px: int
    enters: tuple[tuple[str, Event], ...]
    sketch: Sketch

    @property
    def root(self) -> Node:
        """The root of the view hierarchy."""
        return self.sketch.root

    @property
    def texts(self) -> tuple[Written, ...]:
        """Every text that shows."""
        return self.sketch.texts

"""A scene: all that a picture of a screen is made from, the same for pixels and web pages."""

from __future__ import annotations

from dataclasses import dataclass

from apps_mock.places import Written
from apps_mock.shapes import is_read_leftward
from apps_mock.theme import DEFAULT_THEME, Theme
from device_runtime.ui_tree import Node, walk


@dataclass(frozen=True, slots=True)
class Scene:
    """What shows on a screen at one moment.

    Attributes:
        root: the view hierarchy; its bounds are the screen.
        texts: the texts as they were laid out; without them, as for a logged tree, sizes are found
            that fit.
        below, below_texts: the page under an overlay, where there is one; it is drawn dimmed.
        keyboard: whether the keyboard covers the lower part.
        now: time of day for the status bar.
        notice: a short text at the foot of the screen.
    """

    root: Node
    theme: Theme = DEFAULT_THEME
    texts: tuple[Written, ...] = ()
    below: Node | None = None
    below_texts: tuple[Written, ...] = ()
    keyboard: bool = False
    now: str = ""
    notice: str = ""


def reads_leftward(root: Node) -> bool:
    """Whether a screen is read from right to left: some text on it has Arabic letters."""
    return any(is_read_leftward(node.text + node.description) for node in walk((root,)))

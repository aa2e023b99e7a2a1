"""Elements of a clone's screen: what `ui_tree.elements_of` says, without saying it again.

Consecutive screens share most of their nodes, as the same objects (see `canvas`). What such a node
contributes is remembered by identity; a property test compares with the plain function.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from device_runtime.ui_tree import Node, elements_of
from sync.vocabulary import Element

_SIZE: Final = 16384
_REMEMBERED: dict[tuple[int, int, int], tuple[Node, tuple[Element, ...]]] = {}
"""By identity and the screen's size; holding on to the node keeps its identity unique."""

_SCREENS_SIZE: Final = 4096
_SCREENS: dict[int, tuple[Node, tuple[Element, ...]]] = {}
"""Whole screens, as above: equal ones are laid out once (see `layout`)."""


def elements_on(root: Node, width_px: int, height_px: int) -> tuple[Element, ...]:
    """The elements of a laid-out screen, in reading order.

    Args:
        root: a window whose children are widgets, or a body with widgets; it is as large as the
            screen.
    """
    known = _SCREENS.get(id(root))
    if known is None:
        if len(_SCREENS) >= _SCREENS_SIZE:
            _SCREENS.clear()
        known = _SCREENS[id(root)] = (root, _elements_on(root, width_px, height_px))
    return known[1]


def _elements_on(root: Node, width_px: int, height_px: int) -> tuple[Element, ...]:
    elements: list[Element] = []
    for node in root.children:
        if node.children and not node.clickable:
            elements.extend(elements_of((replace(node, children=()),), width_px, height_px))
            for child in node.children:
                elements.extend(_remembered(child, width_px, height_px))
        else:
            elements.extend(_remembered(node, width_px, height_px))
    elements.sort(key=lambda element: (element.bounds[1], element.bounds[0]))
    return tuple(elements)


def _remembered(node: Node, width_px: int, height_px: int) -> tuple[Element, ...]:
    key = (id(node), width_px, height_px)
    known = _REMEMBERED.get(key)
    if known is None:
        if len(_REMEMBERED) >= _SIZE:
            _REMEMBERED.clear()
        known = _REMEMBERED[key] = (node, elements_of((node,), width_px, height_px))
    return known[1]

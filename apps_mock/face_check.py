"""Whether pixels and hierarchy agree: what can be touched has to be seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from device_runtime.ui_tree import Node, is_editable, walk

if TYPE_CHECKING:
    from PIL import Image

LEAST_PIXELS: Final = 12
"""So many pixels of something to touch have to differ from the ground around them."""

_INSET_PX: Final = 4
"""Edges are left out: a divider belongs to the list, not to its entry."""

_MANY_COLOURS: Final = 4096


def faces_disagree(root: Node, image: Image.Image) -> list[str]:
    """What can be touched and shows nothing but its ground, one line each; empty where all shows.

    Args:
        root: the view hierarchy.
        image: its picture, in any scale.
    """
    scale = image.width / (root.bounds[2] - root.bounds[0])
    return [
        f"{_called(node)} at {node.bounds} can be touched but shows nothing: draw it, or take "
        "clickable away"
        for node in walk((root,))
        if (node.clickable or node.checkable or is_editable(node))
        and not _shows(node, image, scale)
    ]


def _shows(node: Node, image: Image.Image, scale: float) -> bool:
    left, top, right, bottom = (round(edge * scale) for edge in node.bounds)
    inset = max(1, round(_INSET_PX * scale)) if bottom - top > 4 * _INSET_PX * scale else 0
    box = (max(0, left), max(0, top + inset), min(image.width, right),
           min(image.height, bottom - inset))  # fmt: skip
    if box[2] <= box[0] or box[3] <= box[1]:
        return True
    colours = image.crop(box).getcolors(_MANY_COLOURS)
    if colours is None:
        return True
    pixels = (box[2] - box[0]) * (box[3] - box[1])
    most = max(count for count, _ in colours)
    return pixels - most >= min(LEAST_PIXELS, max(1, pixels // 8))


def _called(node: Node) -> str:
    name = node.class_name.rpartition(".")[2]
    said = node.text or node.description or node.resource_id
    return f"{name} {said!r}" if said else name

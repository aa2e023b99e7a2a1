"""Selectors of the uiautomator server: which nodes of a screen a client means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from device_runtime.ui_tree import Node

Selector = Mapping[str, Any]  # Any: JSON from a client
_MOST_PATTERN: Final = 200

_TEXTS: Final = {
    "text": "text", "description": "description", "className": "class_name",
    "packageName": "package", "resourceId": "resource_id",
}  # fmt: skip
"""Keys of a selector that name an attribute of a node."""
_FLAGS: Final = {
    "checkable": "checkable", "checked": "checked", "clickable": "clickable",
    "longClickable": "long_clickable", "scrollable": "scrollable", "enabled": "enabled",
    "focusable": "focusable", "focused": "focused", "selected": "selected",
}  # fmt: skip


def matching(roots: tuple[Node, ...], selector: Selector) -> list[Node]:
    """The nodes that a selector means, in the order of the tree."""
    found = [node for root in roots for node in _walk(root) if _fits(node, selector)]
    for relation, inner in _relations(selector):
        found = [other for node in found for other in _related(roots, node, relation, inner)]
    instance = selector.get("instance")
    if isinstance(instance, int):
        return found[instance : instance + 1]
    return found


def info_of(node: Node) -> dict[str, object]:
    """A node as clients read it."""
    left, top, right, bottom = node.bounds
    bounds = {"left": left, "top": top, "right": right, "bottom": bottom}
    flags = {key: getattr(node, name) for key, name in _FLAGS.items()}
    return flags | {
        "text": node.text,
        "contentDescription": node.description,
        "className": node.class_name,
        "packageName": node.package,
        "resourceName": node.resource_id,
        "bounds": bounds,
        "visibleBounds": bounds,
        "childCount": len(node.children),
    }


def _walk(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        one = pending.pop()
        yield one
        pending.extend(reversed(one.children))


def _fits(node: Node, selector: Selector) -> bool:
    for key, value in selector.items():
        if key in _FLAGS:
            if getattr(node, _FLAGS[key]) is not value:
                return False
            continue
        name, how = _split(key)
        if name in _TEXTS and not _says(getattr(node, _TEXTS[name]), how, str(value)):
            return False
    return True


def _split(key: str) -> tuple[str, str]:
    """An attribute's name and how it is compared."""
    for how in ("StartsWith", "Contains", "Matches"):
        if key.endswith(how):
            return key.removesuffix(how), how
    return key, ""


def _says(text: str, how: str, wanted: str) -> bool:
    match how:
        case "Contains":
            return wanted.casefold() in text.casefold()
        case "StartsWith":
            return text.casefold().startswith(wanted.casefold())
        case "Matches":
            try:
                return re.fullmatch(wanted[:_MOST_PATTERN], text, re.DOTALL) is not None
            except re.error:
                return False
        case _:
            return text == wanted


def _relations(selector: Selector) -> Iterator[tuple[str, Selector]]:
    names, inner = selector.get("childOrSibling"), selector.get("childOrSiblingSelector")
    if isinstance(names, list) and isinstance(inner, list):
        yield from zip(names, (each for each in inner if isinstance(each, Mapping)), strict=False)


def _related(roots: tuple[Node, ...], node: Node, relation: str, inner: Selector) -> Iterator[Node]:
    """Nodes below a node, or beside it, that another selector means."""
    if relation == "sibling":
        for root in roots:
            for parent in _walk(root):
                if any(child is node for child in parent.children):
                    yield from (child for child in parent.children if _fits(child, inner))
        return
    for child in node.children:
        yield from (each for each in _walk(child) if _fits(each, inner))

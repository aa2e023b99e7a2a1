"""The view hierarchy of a phone's screen: from uiautomator's XML to nodes to elements, and back.

Bytes of a dump come from outside and may be damaged or hostile: `ui_document` reads what is whole
or can be mended and refuses the rest. Nothing here recurses, so depth costs memory only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from device_runtime.ui_document import CONTAINERS, read_documents
from device_runtime.ui_mending import ILLEGAL
from sync.vocabulary import Element, Rect

_NO_BOUNDS: Final[Rect] = (0, 0, 0, 0)
_EDITABLE: Final = ("EditText", "AutoCompleteTextView")
_BOUNDS = re.compile(r"\[(-?\d{1,7}),(-?\d{1,7})\]\[(-?\d{1,7}),(-?\d{1,7})\]")


@dataclass(frozen=True, slots=True)
class Node:
    """One view; `bounds` is (0, 0, 0, 0) where the dump gave none that can be read."""

    class_name: str
    bounds: Rect
    text: str = ""
    description: str = ""
    resource_id: str = ""
    package: str = ""
    clickable: bool = False
    long_clickable: bool = False
    checkable: bool = False
    checked: bool = False
    enabled: bool = True
    focusable: bool = False
    focused: bool = False
    scrollable: bool = False
    selected: bool = False
    password: bool = False
    children: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """One complete dump.

    Attributes:
        rotation: quarter turns of the default display, 0..3.
        roots: the windows' roots on the default display, in the dump's order.
        notes: what had to be mended or left out, as short constants, each once.
        other_displays: roots on further displays (foldables); never part of an observation.
    """

    rotation: int
    roots: tuple[Node, ...]
    notes: tuple[str, ...] = ()
    other_displays: tuple[Node, ...] = ()


def walk(roots: tuple[Node, ...]) -> Iterator[Node]:
    """Every node under `roots`, parents before children, in the dump's order."""
    pending = list(reversed(roots))
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children))


def is_editable(node: Node) -> bool:
    """Whether text can be typed into the node, by its class."""
    return node.class_name.endswith(_EDITABLE)


def elements_of(roots: tuple[Node, ...], width_px: int, height_px: int) -> tuple[Element, ...]:
    """What an observation shows of the tree, in reading order (top, then left; stable).

    A node counts where some of it lies on the screen and it says something (text, description) or
    reacts (clickable, long-clickable, checkable, scrollable, editable). Bounds stay unclipped.
    """
    kept = [_element(node) for node in walk(roots) if _is_shown(node, width_px, height_px)]
    kept.sort(key=lambda element: (element.bounds[1], element.bounds[0]))
    return tuple(kept)


def _is_shown(node: Node, width_px: int, height_px: int) -> bool:
    left, top, right, bottom = node.bounds
    if min(right, width_px) <= max(left, 0) or min(bottom, height_px) <= max(top, 0):
        return False
    speaks = bool(node.text or node.description)
    reacts = node.clickable or node.long_clickable or node.checkable or node.scrollable
    return speaks or reacts or is_editable(node)


def _element(node: Node) -> Element:
    return Element(
        class_name=node.class_name,
        bounds=node.bounds,
        text=node.text,
        description=node.description,
        resource_id=node.resource_id,
        package=node.package,
        clickable=node.clickable,
        long_clickable=node.long_clickable,
        checkable=node.checkable,
        checked=node.checked,
        editable=is_editable(node),
        password=node.password,
        scrollable=node.scrollable,
        focused=node.focused,
        selected=node.selected,
        enabled=node.enabled,
    )


def parse(data: bytes) -> Hierarchy:
    """The hierarchy in a uiautomator or Appium dump; of several documents, the first.

    Raises: HierarchyError: no document, a document without its end, a document type that declares
        anything, XML that cannot be mended, or more than the limits of `ui_document`.
    """
    reading = read_documents(data, _Builder, most=1)
    if reading.refusal is not None:
        raise reading.refusal
    return reading.sinks[0].hierarchy(reading.notes)


@dataclass(slots=True)
class _Open:
    """An element whose end tag has not come yet."""

    name: str
    attributes: dict[str, str]
    children: list[Node]


class _Builder:
    """Collects nodes from a document's tags, children before parents."""

    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._displays = 0
        self._rotation: int | None = None
        self._roots: list[Node] = []
        self._other_displays: list[Node] = []
        self._has_unreadable_bounds = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "display":
            self._displays += 1
        elif name == "hierarchy" and self._rotation is None:
            self._rotation = _rotation(attributes.get("rotation", "0"))
        self._open.append(_Open(name, attributes, []))

    def end(self, name: str) -> None:
        entry = self._open.pop()
        if name in CONTAINERS:
            self._collect(entry.children)
            return
        node = _node(entry)
        if node.bounds == _NO_BOUNDS and not _BOUNDS.fullmatch(entry.attributes.get("bounds", "")):
            self._has_unreadable_bounds = True
        if self._open:
            self._open[-1].children.append(node)
        else:
            self._collect([node])

    def _collect(self, nodes: list[Node]) -> None:
        (self._other_displays if self._displays > 1 else self._roots).extend(nodes)

    def hierarchy(self, notes: Iterable[str]) -> Hierarchy:
        """What was collected, with the notes of how the document was read."""
        extra = ("unreadable_bounds",) if self._has_unreadable_bounds else ()
        return Hierarchy(
            rotation=self._rotation or 0,
            roots=tuple(self._roots),
            notes=(*notes, *extra),
            other_displays=tuple(self._other_displays),
        )


def _rotation(value: str) -> int:
    return int(value) % 4 if value.isascii() and value.isdigit() else 0


def _node(entry: _Open) -> Node:
    given = entry.attributes

    def flag(name: str) -> bool:
        return given.get(name) == "true"

    bounds = _BOUNDS.fullmatch(given.get("bounds", ""))
    return Node(
        class_name=given.get("class") or entry.name,
        bounds=(int(bounds[1]), int(bounds[2]), int(bounds[3]), int(bounds[4]))
        if bounds
        else _NO_BOUNDS,
        text=given.get("text", ""),
        description=given.get("content-desc", ""),
        resource_id=given.get("resource-id", ""),
        package=given.get("package", ""),
        clickable=flag("clickable"),
        long_clickable=flag("long-clickable"),
        checkable=flag("checkable"),
        checked=flag("checked"),
        enabled=given.get("enabled") != "false",
        focusable=flag("focusable"),
        focused=flag("focused"),
        scrollable=flag("scrollable"),
        selected=flag("selected"),
        password=flag("password"),
        children=tuple(entry.children),
    )


def to_xml(roots: tuple[Node, ...], rotation: int = 0) -> bytes:
    """The dump that uiautomator would write of `roots`; characters XML forbids become dots."""
    if not roots:
        return f'{_PROLOG}<hierarchy rotation="{rotation}" />'.encode()
    parts = [f'{_PROLOG}<hierarchy rotation="{rotation}">']
    pending: list[tuple[Node, int] | None] = _siblings(roots)
    while pending:
        entry = pending.pop()
        if entry is None:
            parts.append("</node>")
            continue
        node, index = entry
        parts.append(f"<node {_attributes(node, index)}")
        if node.children:
            parts.append(">")
            pending.append(None)
            pending.extend(_siblings(node.children))
        else:
            parts.append(" />")
    parts.append("</hierarchy>")
    return "".join(parts).encode()


_PROLOG: Final = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>"
_ESCAPES: Final = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        '"': "&quot;",
        "\n": "&#10;",
        "\r": "&#13;",
        "\t": "&#9;",
    }
)


def _siblings(nodes: tuple[Node, ...]) -> list[tuple[Node, int] | None]:
    return [(node, index) for index, node in reversed(list(enumerate(nodes)))]


def _escape(text: str) -> str:
    return ILLEGAL.sub(".", text).translate(_ESCAPES)


def _attributes(node: Node, index: int) -> str:
    left, top, right, bottom = node.bounds
    values: tuple[tuple[str, str | bool], ...] = (
        ("index", str(index)),
        ("text", node.text),
        ("resource-id", node.resource_id),
        ("class", node.class_name),
        ("package", node.package),
        ("content-desc", node.description),
        ("checkable", node.checkable),
        ("checked", node.checked),
        ("clickable", node.clickable),
        ("enabled", node.enabled),
        ("focusable", node.focusable),
        ("focused", node.focused),
        ("scrollable", node.scrollable),
        ("long-clickable", node.long_clickable),
        ("password", node.password),
        ("selected", node.selected),
        ("bounds", f"[{left},{top}][{right},{bottom}]"),
    )
    return " ".join(
        f'{name}="{_escape(value) if isinstance(value, str) else str(value).lower()}"'
        for name, value in values
    )

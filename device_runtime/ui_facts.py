"""What a dump holds, counted: the facts by which two readers of the same dump can be compared.

A node is an element other than hierarchy, displays, display and window. Counts are of attributes
as they stand in the dump, on all displays and whether or not a node is on the screen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from device_runtime.errors import HierarchyError
from device_runtime.ui_document import CONTAINERS, Condition, read_documents

_BOUNDS = re.compile(r"\[(-?[0-9]{1,999}),(-?[0-9]{1,999})\]" * 2)
_NON_LATIN = re.compile("[\u0250-\u1fff\u2070-\U0010ffff]")
_FLAGS: Final = (
    ("clickable", "clickable"),
    ("long_clickable", "long-clickable"),
    ("scrollable", "scrollable"),
    ("checkable", "checkable"),
    ("checked", "checked"),
    ("focused", "focused"),
    ("password", "password"),
    ("selected", "selected"),
    ("naf", "NAF"),
)


@dataclass(slots=True)
class TreeFacts:
    """Facts of one document.

    Attributes:
        nodes .. selected: nodes, and those of them with that flag set to "true".
        disabled: nodes that say enabled="false".
        bounds_missing, bounds_malformed: no bounds, or none of the form [l,t][r,b].
        zero_area: left equals right, or top equals bottom.
        inverted: right is less than left, or bottom less than top.
        negative: one of the four numbers is below zero.
        first_node_bounds: None where there is no node, or where its bounds cannot be read.
        extent: the largest right and bottom, at least 0.
        outside_first_node: nodes with no pixel or edge inside the first node.
        package: which most nodes have; the first of equals; None where none says.
        packages: nodes per package, in the dump's order.
        rotation: as the hierarchy says; a list where there are several hierarchies.
        windows, displays: how many such elements.
        with_text, with_content_desc: nodes whose attribute is not empty.
        non_latin: nodes with a character past Latin (U+024F) in text or content description that
            is no general punctuation (U+2000 to U+206F); references to surrogates count for none.
        webview: nodes whose class names a WebView.
        naf: nodes marked as not accessibility friendly.
        max_depth: the root is at 0, containers count.
        tag_style: "node" where all nodes are <node>, "class" where none is, else "mixed".
    """

    nodes: int = 0
    clickable: int = 0
    long_clickable: int = 0
    scrollable: int = 0
    checkable: int = 0
    checked: int = 0
    focused: int = 0
    password: int = 0
    selected: int = 0
    disabled: int = 0
    bounds_missing: int = 0
    bounds_malformed: int = 0
    zero_area: int = 0
    inverted: int = 0
    negative: int = 0
    first_node_bounds: tuple[int, ...] | None = None
    extent: tuple[int, int] = (0, 0)
    outside_first_node: int = 0
    package: str | None = None
    packages: dict[str, int] = field(default_factory=dict)
    rotation: str | list[str | None] | None = None
    windows: int = 0
    displays: int = 0
    with_text: int = 0
    with_content_desc: int = 0
    non_latin: int = 0
    webview: int = 0
    naf: int = 0
    max_depth: int = 0
    tag_style: str = "node"


@dataclass(frozen=True, slots=True)
class DumpFacts:
    """What a dump holds and what state it was in.

    Attributes:
        condition: whether it is whole, and what had to be done to read it.
        notes: what was mended or left out, as short constants.
        refusal: why an agent must not act on it; None where it may.
        facts: of one whole document, the fields of `TreeFacts`; of several, "documents" with those
            of each; of a truncated one, the tags that came whole; else the nodes that were seen.
    """

    condition: Condition
    notes: tuple[str, ...]
    refusal: HierarchyError | None
    facts: Mapping[str, object]


def facts_of(data: bytes) -> DumpFacts:
    """Count what the bytes of a dump hold; never raises for what they hold."""
    reading = read_documents(data, _Counter, joins_halves=False)
    facts: Mapping[str, object]
    match reading.condition:
        case Condition.SEVERAL:
            facts = {"documents": [sink.facts() for sink in reading.sinks]}
        case Condition.OK | Condition.TRIMMED | Condition.MENDED | Condition.TRUNCATED:
            facts = reading.sinks[0].facts()
        case Condition.REFUSED:
            facts = {"nodes": sum(sink.nodes for sink in reading.sinks)}
        case Condition.ERROR:
            facts = {"nodes": 0}
    return DumpFacts(reading.condition, tuple(reading.notes), reading.refusal, facts)


class _Counter:
    """Counts one document while its tags come by."""

    def __init__(self) -> None:
        self._depth = 0
        self._has_begun = False
        self._facts = TreeFacts()
        self._counts = Counter[str]()
        self._packages = Counter[str]()
        self._rotations: list[str | None] = []
        self._tags: set[bool] = set()

    @property
    def nodes(self) -> int:
        """Nodes whose start tag came whole."""
        return self._counts["nodes"]

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._has_begun = True
        self._facts.max_depth = max(self._facts.max_depth, self._depth)
        self._depth += 1
        if name in CONTAINERS:
            self._counts[f"{name}s"] += 1
            if name == "hierarchy":
                self._rotations.append(attributes.get("rotation"))
            return
        self._count_node(name, attributes)
        self._count_bounds(attributes.get("bounds"))

    def end(self, name: str) -> None:  # noqa: ARG002 - the sink's signature
        self._depth -= 1

    def _count_node(self, name: str, attributes: dict[str, str]) -> None:
        self._tags.add(name == "node")
        counts = self._counts
        counts["nodes"] += 1
        for key, attribute in _FLAGS:
            if attributes.get(attribute) == "true":
                counts[key] += 1
        text, described = attributes.get("text", ""), attributes.get("content-desc", "")
        counts["disabled"] += attributes.get("enabled") == "false"
        counts["with_text"] += text != ""
        counts["with_content_desc"] += described != ""
        counts["non_latin"] += bool(_NON_LATIN.search(text) or _NON_LATIN.search(described))
        counts["webview"] += "WebView" in (attributes.get("class") or name)
        if package := attributes.get("package"):
            self._packages[package] += 1

    def _count_bounds(self, said: str | None) -> None:
        counts, facts = self._counts, self._facts
        match = None if said is None else _BOUNDS.fullmatch(said)
        if match is None:
            counts["bounds_missing" if said is None else "bounds_malformed"] += 1
            return
        left, top, right, bottom = bounds = tuple(int(number) for number in match.groups())
        if counts["nodes"] == 1:
            facts.first_node_bounds = bounds
        facts.extent = (max(facts.extent[0], right), max(facts.extent[1], bottom))
        counts["zero_area"] += left == right or top == bottom
        counts["inverted"] += right < left or bottom < top
        counts["negative"] += min(bounds) < 0
        first = facts.first_node_bounds
        if first is not None:
            is_beside = right <= first[0] or left >= first[2]
            counts["outside_first_node"] += is_beside or bottom <= first[1] or top >= first[3]

    def facts(self) -> Mapping[str, object]:
        """The facts of the document; of one that broke off, of the start tags that came whole."""
        if self._depth or not self._has_begun:
            clickable = self._counts["clickable"]
            return {"complete_start_tags": self.nodes, "clickable_in_complete_tags": clickable}
        facts = self._facts
        for key in _COUNTED:
            setattr(facts, key, self._counts[key])
        facts.packages = dict(self._packages)
        facts.package = max(self._packages, key=self._packages.__getitem__, default=None)
        facts.rotation = self._rotations if len(self._rotations) > 1 else None
        if len(self._rotations) == 1:
            facts.rotation = self._rotations[0]
        if self._tags:
            facts.tag_style = (
                "mixed" if len(self._tags) > 1 else "node" if True in self._tags else "class"
            )
        return asdict(facts)


_COUNTED: Final = (
    *(key for key, _ in _FLAGS),
    *"nodes disabled bounds_missing bounds_malformed zero_area inverted negative".split(),
    *"outside_first_node windows displays with_text with_content_desc non_latin webview".split(),
)

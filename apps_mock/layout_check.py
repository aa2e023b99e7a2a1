"""What is wrong with a screen that was laid out: texts cut off or on each other, places too."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from apps_mock.laid_out import LaidOut
from apps_mock.look import Look
from apps_mock.places import Target, Written, sizes_of
from apps_mock.text_width import line_px, width_px
from apps_mock.widgets import Event
from device_runtime.ui_tree import Node, walk
from sync.vocabulary import Rect

_CLOSE = Event("close")


def layout_faults(laid_out: LaidOut, look: Look) -> list[str]:
    """One line per fault, with the app's package, the page's title and the widget; none is good."""
    where = f"{laid_out.root.package} {_title(laid_out)!r}"
    faults = [
        *_cut_off(laid_out.texts),
        *_texts_on_each_other(laid_out.texts, look),
        *_places_on_each_other(laid_out),
        *_outside(laid_out.root),
        *_cramped(laid_out.root, look),
    ]
    return [f"{where}: {fault}" for fault in faults]


def _title(laid_out: LaidOut) -> str:
    for text in laid_out.texts:
        if text.role in {"bar", "dialog"}:
            return " ".join(text.lines)
    return ""


def _cut_off(texts: tuple[Written, ...]) -> Iterator[str]:
    for text in texts:
        left, top, right, bottom = text.box
        name = " ".join(text.lines)
        widest = max(width_px(line, text.size_px, bold=text.bold) for line in text.lines)
        if widest > right - left:
            yield (
                f"the {text.role} {name!r} is {widest} px wide in a place of {right - left} px; "
                "shorten a word or give it more room"
            )
        needed = len(text.lines) * line_px(text.size_px)
        if needed > bottom - top:
            yield (
                f"the {text.role} {name!r} is {needed} px high in a place of {bottom - top} px; "
                "let its widget grow"
            )


def _extent(text: Written, look: Look) -> Rect:
    """Where the letters are, as far as they show."""
    left, top, right, bottom = text.box
    wide = max(width_px(line, text.size_px, bold=text.bold) for line in text.lines)
    high = len(text.lines) * line_px(text.size_px)
    if text.centred:
        left = (left + right - wide) // 2
    elif look.right_to_left:
        left = right - wide
    top = (top + bottom - high) // 2
    clip = text.clip
    return (
        max(left, clip[0]),
        max(top, clip[1]),
        min(left + wide, clip[2]),
        min(top + high, clip[3]),
    )


def _overlap(one: Rect, other: Rect) -> bool:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return wide > 0 and high > 0


def _texts_on_each_other(texts: tuple[Written, ...], look: Look) -> Iterator[str]:
    placed = [(text, _extent(text, look)) for text in texts]
    for (one, first), (other, second) in combinations(placed, 2):
        if _overlap(first, second):
            yield f"{' '.join(one.lines)!r} and {' '.join(other.lines)!r} lie on each other"


def _places_on_each_other(laid_out: LaidOut) -> Iterator[str]:
    targets = [target for target in laid_out.targets if target.event != _CLOSE]
    for one, other in combinations(targets, 2):
        if _overlap(one.bounds, other.bounds) and not _holds(one.bounds, other.bounds):
            yield (
                f"what sends {_sent(one)} and what sends {_sent(other)} lie on each other at "
                f"{one.bounds} and {other.bounds}"
            )


def _holds(outer: Rect, inner: Rect) -> bool:
    """Whether the later place lies inside the earlier one, as a switch in its row."""
    return (
        outer != inner
        and outer[0] <= inner[0]
        and outer[1] <= inner[1]
        and outer[2] >= inner[2]
        and outer[3] >= inner[3]
    )


def _sent(target: Target) -> str:
    if target.event is None:
        return f"the field {target.field!r}"
    return " ".join(part for part in target.event if part)


def _outside(root: Node) -> Iterator[str]:
    _, _, width, height = root.bounds
    for node in walk((root,)):
        left, top, right, bottom = node.bounds
        if not (0 <= left < right <= width and 0 <= top < bottom <= height):
            yield (
                f"{node.class_name} {node.text or node.description!r} lies outside the screen: "
                f"{node.bounds}"
            )


def _cramped(root: Node, look: Look) -> Iterator[str]:
    """A body that scrolls needs room for something to be touched in it."""
    least = sizes_of(look).touch
    for node in walk((root,)):
        if node.scrollable and node.bounds[3] - node.bounds[1] < least:
            yield f"the body has {node.bounds[3] - node.bounds[1]} px left, {least} px are needed"

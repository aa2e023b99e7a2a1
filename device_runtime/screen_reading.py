"""Screens without a view hierarchy: a picture turned into elements, for the same policy.

Canvas, games and secure web views have pixels but no tree. `ScreenReader.read` finds text
(RapidOCR), boxes and icons in the picture and says what a person would take them for; `merge` adds
to a tree what only the picture shows.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from device_runtime.pictures import opened_picture
from device_runtime.screen_reading_elements import Found, elements_found
from device_runtime.screen_reading_shapes import Shapes, shapes_in
from device_runtime.screen_reading_text import LineReader, TextLine
from sync.vocabulary import Element, Rect

if TYPE_CHECKING:
    from device_runtime.screen_reading_shapes import Picture

REMEMBERED_PICTURES: Final = 16
_COVERED_SHARE: Final = 0.5


class ScreenReader:
    """Reads pictures of screens; loads its models on first use; not for two threads at once."""

    def __init__(self, lines: LineReader | None = None) -> None:
        self._lines = lines or LineReader()
        self._seen: OrderedDict[bytes, tuple[tuple[TextLine, ...], Shapes, int, int]] = (
            OrderedDict()
        )

    def read(
        self,
        png: bytes,
        *,
        package: str = "",
        touched: tuple[int, int] | None = None,
        keyboard_shown: bool | None = None,
    ) -> tuple[Element, ...]:
        """The elements of a screen in reading order; equal arguments give equal elements.

        Args:
            package: of the app in front; empty where unknown.
            touched: where the finger was last, pixels: with the keyboard up, a field is there.
            keyboard_shown: whether the keyboard is known to be up; None where nobody knows.

        Raises:
            PhoneFaultError: the picture is none, or not all of one.
            ReaderError: the extra `ocr` is not installed.
        """
        key = hashlib.blake2b(png, digest_size=16).digest()
        known = self._seen.get(key)
        if known is None:
            picture = picture_of(png)
            lines = self._lines.lines(picture)
            words = [line.bounds for line in lines if line.icon_name is None]
            shapes = shapes_in(picture, words)
            known = (lines, shapes, picture.shape[1], picture.shape[0])
            if len(self._seen) >= REMEMBERED_PICTURES:
                self._seen.popitem(last=False)
            self._seen[key] = known
        read, shapes, width, height = known
        return elements_found(
            Found(
                lines=read,
                shapes=shapes,
                width_px=width,
                height_px=height,
                package=package,
                touched=touched,
                keyboard_shown=keyboard_shown,
            )
        )


def picture_of(png: bytes) -> Picture:
    """The pixels of an image file: uint8 [H, W, 3], blue, green, red.

    Raises: PhoneFaultError: it cannot be read to its end.
    """
    import numpy as np  # noqa: PLC0415 - heavy beside the rest of the device runtime

    pixels = np.asarray(opened_picture(png, advice="take another"))
    return np.ascontiguousarray(pixels[:, :, ::-1])


def merge(tree: Iterable[Element], read: Iterable[Element]) -> tuple[Element, ...]:
    """The tree's elements, and of those that were read the ones whose place it says nothing of.

    The tree wins: a text that was read is left out where the tree has one, a control where the tree
    has a text or a control, and what scrolls where anything in the tree does.
    """
    kept = list(tree)
    scrolls = any(each.scrollable for each in kept)
    spoken = [each.bounds for each in kept if each.label]
    acting = [each.bounds for each in kept if each.clickable or each.editable or each.checkable]
    for element in read:
        if element.scrollable:
            is_said = scrolls
        else:
            taken = spoken if element.label else [*spoken, *acting]
            is_said = any(_covers(box, element.bounds) for box in taken)
        if not is_said:
            kept.append(element)
    kept.sort(key=lambda element: (element.bounds[1], element.bounds[0]))
    return tuple(kept)


def _covers(box: Rect, other: Rect) -> bool:
    """Whether most of `other` lies in `box`, or most of `box` in `other`."""
    width = min(box[2], other[2]) - max(box[0], other[0])
    height = min(box[3], other[3]) - max(box[1], other[1])
    if width <= 0 or height <= 0:
        return False
    smaller = min(_area(box), _area(other))
    return width * height > _COVERED_SHARE * smaller


def _area(bounds: Rect) -> int:
    return (bounds[2] - bounds[0]) * (bounds[3] - bounds[1])

"""Controls in a picture of a screen that say nothing: boxes, lines between rows, icons.

Found by what touch interfaces of all makers share: a button, a field and a card are flat areas with
straight edges; rows are parted by thin lines; icons are small and stand alone. Sizes are in dp,
taking the short side of a phone's screen for 400 dp.

Notation: H, W height and width of the picture in pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from sync.vocabulary import Rect

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Picture = npt.NDArray[np.uint8]
    Mask = npt.NDArray[np.bool_]

SHORT_SIDE_DP: Final = 400
_EDGE_STEP: Final = 8
"""Difference of neighbouring pixels, 0..255, from which on they belong to two areas."""
_PAGE_SHARE: Final = 0.5
_BOX_FILL: Final = 0.8
_ICON_GAP_DP: Final = 3
_STRAIGHT: Final = 0.7
_DIALOG_DP: Final = 112
_BRIGHT_PERCENTILE: Final = 99.5
_VEIL: Final = 0.75
"""What lies under a dialog is at most as bright as this share of the dialog."""
_WORKING_SIDE_PX: Final = 720


class IconKind(StrEnum):
    """What a small shape looks like."""

    PICTURE = "picture"
    PILL = "pill"
    SQUARE = "square"


@dataclass(frozen=True, slots=True)
class Icon:
    """A small shape without words.

    Attributes:
        kind: a pill is as wide as a switch; a square has four straight sides, as a tick box has.
        is_on: whether the pill leans to the right, or the square is not empty.
        name: what it is called, where it looks like a character.
    """

    bounds: Rect
    kind: IconKind = IconKind.PICTURE
    is_on: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class Shapes:
    """What was found.

    Attributes:
        boxes: flat areas with straight edges, larger ones first.
        dividers: heights in pixels of thin lines across most of the screen, top to bottom.
        icons: from top to bottom.
        dp: pixels of one dp.
        front: a box with a veil over all around it, as a dialog is; None where there is none.
    """

    boxes: tuple[Rect, ...]
    dividers: tuple[int, ...]
    icons: tuple[Icon, ...]
    dp: float
    front: Rect | None = None


def dp_of(picture: Picture) -> float:
    """Pixels of one dp, guessed from the size of the screen."""
    height, width = picture.shape[:2]
    return float(min(height, width)) / SHORT_SIDE_DP


def shapes_in(picture: Picture, texts: Sequence[Rect]) -> Shapes:
    """The shapes of `picture`; what lies in `texts` is writing and no shape."""
    scale = max(1.0, min(picture.shape[:2]) / _WORKING_SIDE_PX)
    small = _smaller(picture, scale)
    dp = dp_of(small)
    writing = [_scaled(text, 1 / scale) for text in texts]
    across, down = _edges(small)
    edges = across | down
    boxes = _boxes(edges, writing, dp)
    icons = _icons(edges, writing, boxes, dp)
    front = _front(small, boxes, dp)
    return Shapes(
        boxes=tuple(_scaled(box, scale) for box in boxes),
        dividers=tuple(round(row * scale) for row in _dividers(down, dp)),
        icons=tuple(replace(icon, bounds=_scaled(icon.bounds, scale)) for icon in icons),
        dp=dp * scale,
        front=None if front is None else _scaled(front, scale),
    )


def _smaller(picture: Picture, scale: float) -> Picture:
    import cv2  # noqa: PLC0415 - heavy, and an extra

    if scale == 1.0:
        return picture
    height, width = picture.shape[:2]
    size = (round(width / scale), round(height / scale))
    return cv2.resize(picture, size, interpolation=cv2.INTER_AREA).astype("uint8", copy=False)


def _scaled(bounds: Rect, factor: float) -> Rect:
    left, top, right, bottom = (round(edge * factor) for edge in bounds)
    return left, top, right, bottom


def _edges(picture: Picture) -> tuple[Mask, Mask]:
    """Masks [H, W]: where a pixel differs from its right one, and from the one below."""
    import numpy as np  # noqa: PLC0415 - heavy beside the rest of the device runtime

    signed = picture.astype(np.int16)
    across = np.zeros(picture.shape[:2], dtype=np.bool_)
    down = np.zeros_like(across)
    across[:, :-1] = np.abs(signed[:, 1:] - signed[:, :-1]).max(axis=2) > _EDGE_STEP
    down[:-1] = np.abs(signed[1:] - signed[:-1]).max(axis=2) > _EDGE_STEP
    return across, down


def _boxes(edges: Mask, texts: Sequence[Rect], dp: float) -> tuple[Rect, ...]:
    """Flat areas that fill their rectangle, once the writing inside is counted as theirs."""
    import cv2  # noqa: PLC0415 - heavy, and an extra
    import numpy as np  # noqa: PLC0415

    flat = (~edges).astype(np.uint8)
    for left, top, right, bottom in texts:
        flat[top:bottom, left:right] = 1
    _, _, stats, _ = cv2.connectedComponentsWithStats(flat, connectivity=4)
    height, width = edges.shape
    boxes = []
    for left, top, wide, high, area in stats[1:].tolist():
        if wide < 32 * dp or high < 24 * dp or area < _BOX_FILL * wide * high:
            continue
        if wide * high < _PAGE_SHARE * width * height:
            boxes.append((left, top, left + wide, top + high))
    boxes.sort(key=lambda box: ((box[0] - box[2]) * (box[3] - box[1]), box))
    return tuple(boxes)


def _front(picture: Picture, boxes: Sequence[Rect], dp: float) -> Rect | None:
    """The largest box, where nothing around it is nearly as bright as what it holds."""
    import numpy as np  # noqa: PLC0415

    large = [box for box in boxes if min(box[2] - box[0], box[3] - box[1]) > _DIALOG_DP * dp]
    if not large:
        return None
    left, top, right, bottom = large[0]
    brightness = picture.max(axis=2)
    around = np.ones(brightness.shape, dtype=np.bool_)
    around[top:bottom, left:right] = False
    outside = float(np.percentile(brightness[around], _BRIGHT_PERCENTILE))
    inside = float(np.percentile(brightness[top:bottom, left:right], _BRIGHT_PERCENTILE))
    return large[0] if outside < _VEIL * inside else None


def _dividers(down: Mask, dp: float) -> tuple[int, ...]:
    """Rows of pixels that differ from the next one over more than half the width, twice close."""
    import numpy as np  # noqa: PLC0415

    rows = np.flatnonzero(down.mean(axis=1) > 0.5).tolist()
    return tuple(
        first for first, second in pairwise(rows) if second - first <= max(2, round(2 * dp))
    )


def _icons(
    edges: Mask, texts: Sequence[Rect], boxes: Sequence[Rect], dp: float
) -> tuple[Icon, ...]:
    """Small clusters of edges outside the writing; frames of boxes are none."""
    import cv2  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415

    ink = edges.astype(np.uint8)
    for left, top, right, bottom in texts:
        ink[top:bottom, left:right] = 0
    frame = max(2, round(3 * dp))
    for left, top, right, bottom in boxes:
        inner = ink[top + frame : bottom - frame, left + frame : right - frame].copy()
        ink[max(0, top - frame) : bottom + frame, max(0, left - frame) : right + frame] = 0
        ink[top + frame : bottom - frame, left + frame : right - frame] = inner
    gap = 2 * round(_ICON_GAP_DP * dp) + 1
    joined = cv2.dilate(ink, np.ones((gap, gap), np.uint8))
    _, labels, stats, _ = cv2.connectedComponentsWithStats(joined, connectivity=8)
    icons = []
    for number, (left, top, wide, high, _) in enumerate(stats[1:].tolist(), start=1):
        inside = ink[top : top + high, left : left + wide] & (
            labels[top : top + high, left : left + wide] == number
        )
        icon = _icon(inside.astype(np.bool_), left, top, dp)
        if icon is not None:
            icons.append(icon)
    icons.sort(key=lambda icon: (icon.bounds[1], icon.bounds[0]))
    return tuple(icons)


def _icon(inside: Mask, left: int, top: int, dp: float) -> Icon | None:
    import numpy as np  # noqa: PLC0415

    rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    if rows.size == 0:
        return None
    bounds = (
        left + int(columns[0]),
        top + int(rows[0]),
        left + int(columns[-1]) + 2,
        top + int(rows[-1]) + 2,
    )
    wide, high = bounds[2] - bounds[0], bounds[3] - bounds[1]
    if not (10 * dp <= high <= 64 * dp and 3 * dp <= wide <= 72 * dp):
        return None
    kind = _kind(inside[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1], dp)
    is_on = {
        IconKind.PILL: _leans_right,
        IconKind.SQUARE: _is_ticked,
    }.get(kind, lambda _: False)
    return Icon(bounds, kind, is_on(inside))


def _kind(ink: Mask, dp: float) -> IconKind:
    """What the edges of a shape, bool [H, W], make of it."""
    high, wide = ink.shape
    if 1.4 <= wide / high <= 2.4 and wide >= 26 * dp:
        return IconKind.PILL
    if not (0.85 <= wide / high <= 1.2 and 12 * dp <= wide <= 30 * dp):
        return IconKind.PICTURE
    rim = max(2, round(2 * dp))
    sides = (
        ink[:rim].any(axis=0),
        ink[-rim:].any(axis=0),
        ink[:, :rim].any(axis=1),
        ink[:, -rim:].any(axis=1),
    )
    return IconKind.SQUARE if all(side.mean() > _STRAIGHT for side in sides) else IconKind.PICTURE


def _is_ticked(ink: Mask) -> bool:
    """Whether there are edges in the middle third of a square."""
    high, wide = ink.shape
    return bool(ink[high // 3 : 2 * high // 3, wide // 3 : 2 * wide // 3].any())


def _leans_right(ink: Mask) -> bool:
    """Whether the edges of a switch, so its thumb, lie more on the right."""
    import numpy as np  # noqa: PLC0415

    columns = np.nonzero(ink)[1]
    return bool(columns.mean() > (columns.min() + columns.max()) / 2)

"""The style of one screen: its theme, its density, and which way it is read."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from apps_mock.icons import POINTS_AHEAD
from apps_mock.shapes import Icon
from apps_mock.theme import Theme
from sync.vocabulary import Rect


class Style(NamedTuple):
    """What every drawing has to know.

    Attributes:
        unit: pixels per density-independent pixel.
        leftward: it is read from right to left.
        launcher: icons of apps are drawn as such.
    """

    theme: Theme
    unit: float
    leftward: bool
    launcher: bool

    def px(self, dp: float) -> int:
        """Pixels of so many density-independent ones."""
        return round(dp * self.unit)

    def icon(self, name: str, bounds: Rect, colour: str, *, size_dp: int = 24) -> Icon:
        """An icon in the middle of a place, no larger than the place."""
        left, top, right, bottom = bounds
        size = max(1, min(self.px(size_dp), right - left, bottom - top))
        x, y = (left + right - size) // 2, (top + bottom - size) // 2
        mirrored = self.leftward and name in POINTS_AHEAD
        return Icon(name, (x, y, x + size, y + size), colour, mirrored)


@lru_cache(maxsize=256)
def style_of(theme: Theme, unit: float, *, leftward: bool, launcher: bool) -> Style:
    """The style; the same arguments give the same object."""
    return Style(theme, unit, leftward, launcher)

"""The style of one screen: its theme, its density, and which way it is read."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from apps_mock.icons import POINTS_AHEAD
from apps_mock.look import SCREEN_SIZES
from apps_mock.shapes import Icon
from apps_mock.theme import Theme
from sync.vocabulary import Rect

_USUAL_WIDTH_DP = 411


class Style(NamedTuple):
    """What every drawing has to know.

    Attributes:
        width: of the screen, in pixels.
        unit: pixels per density-independent pixel.
        leftward: it is read from right to left.
        launcher: icons of apps are drawn as such.
    """

    theme: Theme
    width: int
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


def density_of(width_px: int) -> float:
    """Pixels per density-independent pixel of a screen of that width."""
    for size in SCREEN_SIZES:
        if size.width_px == width_px:
            return size.density
    return width_px / _USUAL_WIDTH_DP


@lru_cache(maxsize=256)
def style_of(theme: Theme, width: int, *, leftward: bool, launcher: bool) -> Style:
    """The style of screens of a width; the same arguments give the same object."""
    return Style(theme, width, density_of(width), leftward, launcher)

"""Themes: names of roles to colours, in several schemes, each light and dark.

Pixels (`render`) and web pages (`svg`) take every colour from here. A look names a scheme and says
whether it is dark; the same two give the same theme everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours (`#rrggbb`) by what they are for.

    Attributes:
        paper: what a page lies on.
        surface, raised: cards and bars; dialogs and menus.
        ink, faint, line: texts, lesser texts, dividers and outlines.
        accent, on_accent: what completes something, and what stands on it.
        pale, on_pale: what is chosen or may be pressed, and what stands on it.
        danger: what cannot be undone, and errors.
        well: places that take something in, such as search bars and tracks of switches.
        notice, on_notice: short notices at the foot of the screen.
        keyboard, key: the keyboard and its keys.
    """

    name: str
    dark: bool
    paper: str
    surface: str
    raised: str
    ink: str
    faint: str
    line: str
    accent: str
    on_accent: str
    pale: str
    on_pale: str
    danger: str
    well: str
    notice: str
    on_notice: str
    keyboard: str
    key: str


class _Tones(NamedTuple):
    """A scheme's own colours, from its strongest on light ground to its palest on dark ground."""

    accent: str
    pale: str
    on_pale: str
    dark_accent: str
    dark_on_accent: str
    dark_pale: str
    dark_on_pale: str


_SCHEMES: dict[str, _Tones] = {
    "ocean": _Tones(
        "#1f5fbf", "#d6e3ff", "#001b3e", "#aac7ff", "#0a305f", "#27477a", "#d6e3ff"
    ),
    "forest": _Tones(
        "#1e6b45", "#c9eed3", "#00210f", "#8fd8a8", "#00391e", "#14522f", "#c9eed3"
    ),
    "plum": _Tones(
        "#7544a8", "#efdbff", "#2b0052", "#dab9ff", "#431278", "#5c2c8f", "#efdbff"
    ),
    "amber": _Tones(
        "#8a5100", "#ffdcbe", "#2c1600", "#ffb870", "#4a2800", "#693c00", "#ffdcbe"
    ),
    "rose": _Tones(
        "#a33a58", "#ffd9df", "#3f0018", "#ffb1c0", "#64082b", "#832241", "#ffd9df"
    ),
    "slate": _Tones(
        "#44607a", "#cfe5ff", "#001d33", "#abcae8", "#11324a", "#2c4962", "#cfe5ff"
    ),
    "lagoon": _Tones(
        "#00696d", "#b2eff2", "#002021", "#80d4d8", "#003739", "#004f52", "#b2eff2"
    ),
    "olive": _Tones(
        "#596400", "#dfeb8c", "#191e00", "#c3cf73", "#2d3400", "#434b00", "#dfeb8c"
    ),
}  # fmt: skip

SCHEMES: tuple[str, ...] = tuple(_SCHEMES)
"""Names of the colour schemes."""


@lru_cache(maxsize=2 * len(_SCHEMES))
def theme_named(scheme: str, *, dark: bool = False) -> Theme:
    """The theme of a colour scheme; the same arguments give the same object.

    Raises: ValueError: no such scheme.
    """
    if scheme not in _SCHEMES:
        raise ValueError(f"no colour scheme is called {scheme!r}; there are {', '.join(SCHEMES)}")
    tones = _SCHEMES[scheme]
    if dark:
        accent = tones.dark_accent
        return Theme(
            name=f"{scheme} dark",
            dark=True,
            paper=mixed_colour("#121316", accent, 0.03),
            surface=mixed_colour("#1c1d21", accent, 0.05),
            raised=mixed_colour("#292a2f", accent, 0.06),
            ink="#e6e4ea",
            faint="#aeabb6",
            line=mixed_colour("#3d3e45", accent, 0.05),
            accent=accent,
            on_accent=tones.dark_on_accent,
            pale=tones.dark_pale,
            on_pale=tones.dark_on_pale,
            danger="#ffb4ab",
            well=mixed_colour("#2d2e34", accent, 0.07),
            notice="#e6e4ea",
            on_notice="#2b2b31",
            keyboard=mixed_colour("#1e1f24", accent, 0.05),
            key=mixed_colour("#393a41", accent, 0.06),
        )
    accent = tones.accent
    return Theme(
        name=f"{scheme} light",
        dark=False,
        paper=mixed_colour("#fdfcff", accent, 0.015),
        surface=mixed_colour("#f5f4f9", accent, 0.04),
        raised=mixed_colour("#fbfaff", accent, 0.05),
        ink="#1b1b20",
        faint="#5c5d68",
        line=mixed_colour("#dcdbe4", accent, 0.06),
        accent=accent,
        on_accent="#ffffff",
        pale=tones.pale,
        on_pale=tones.on_pale,
        danger="#b3261e",
        well=mixed_colour("#ecebf2", accent, 0.06),
        notice="#313036",
        on_notice="#f4eff6",
        keyboard=mixed_colour("#e4e4ec", accent, 0.05),
        key="#ffffff",
    )


def mixed_colour(one: str, other: str, share: float) -> str:
    """A colour between two, with that share of the other one."""
    first, second = bytes.fromhex(one[1:]), bytes.fromhex(other[1:])
    mixed = (round(a + (b - a) * share) for a, b in zip(first, second, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


DEFAULT_THEME = theme_named("ocean")
"""What is drawn with where nobody chose."""

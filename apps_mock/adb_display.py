"""The mock phone's displays: size and turn of what is shown, and whether it is on.

The clone is drawn at the size that its look has. A task may give the clone another look at any
time, so the wanted size is put on it before each use.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

from apps_mock.adb_ports import ClonePhone
from apps_mock.adb_profile import DisplayProfile

DISPLAY_ID: Final = "4619827259835644672"
INNER_ID: Final = "4619827551948147201"
"""The display that is off on a phone with two of them."""

Size = tuple[int, int]


class Displays:
    """The displays of one phone; callers hold the phone's lock."""

    def __init__(self, phone: ClonePhone, profile: DisplayProfile) -> None:
        self._phone = phone
        self._profile = profile
        self._drawn: Size | None = None
        self._natural: Size = (0, 0)
        self._override: Size | None = None
        self.rotation = 1 if profile is DisplayProfile.ROTATED else 0
        self.is_awake = True

    @property
    def ids(self) -> tuple[str, ...]:
        """Long ids of the displays, the one that is on first."""
        return (DISPLAY_ID, INNER_ID) if self._profile is DisplayProfile.TWO else (DISPLAY_ID,)

    @property
    def physical(self) -> Size:
        """Size of the panel, upright."""
        self.fit()
        return self._natural

    @property
    def override(self) -> Size | None:
        """Size that `wm size` gave the display, upright; None where there is none."""
        self.fit()
        return self._override

    @property
    def size(self) -> Size:
        """Width and height of what is shown, as it is turned."""
        self.fit()
        return self._turned(self._override or self._natural)

    def set_override(self, size: Size | None) -> None:
        """Give the display another size, or its own again."""
        self.fit()
        self._override = None if size == self._natural else size
        self.fit()

    def turn(self, rotation: int) -> None:
        """Turn the display to so many quarters."""
        self.rotation = rotation % 4
        self.fit()

    def fit(self) -> None:
        """Draw the clone at the size that this display has, whatever look it was given since."""
        info = self._phone.info()
        drawn = (info.width_px, info.height_px)
        if drawn != self._drawn:
            self._natural = self._panel_of(drawn)
            self._override = drawn if self._natural != drawn else None
        wanted = self._turned(self._override or self._natural)
        if wanted != drawn:
            self._phone.resize(*wanted)
        self._drawn = wanted

    def _panel_of(self, drawn: Size) -> Size:
        """The panel's own size for a clone that is drawn at a size."""
        if self._profile is DisplayProfile.OVERRIDE:
            return (drawn[0] * 4 // 3, drawn[1] * 4 // 3)
        return drawn

    def _turned(self, size: Size) -> Size:
        return (size[1], size[0]) if self.rotation % 2 else size


def black_png(size: Size) -> bytes:
    """A PNG of that size that is all black, as of a window that forbids screenshots."""
    width, height = size
    rows = (b"\0" + b"\0\0\0" * width) * height
    header = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )

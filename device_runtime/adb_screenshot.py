"""Screenshots of phones over ADB: proof that one is whole, its size, and whether it shows nothing.

A phone with several displays prints a warning before the picture; it is cut off and kept as a note.
Nothing is ever repaired: bytes that went through a terminal (line feeds turned into CR LF) are no
PNG any more and are refused.
"""

from __future__ import annotations

import hashlib
import io
import struct
from dataclasses import dataclass, replace
from typing import Final

from device_runtime.errors import PhoneFaultError
from device_runtime.pictures import opened_picture

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_SEARCHED_BYTES: Final = 8192
_CHUNK = struct.Struct(">I4s")
_HEADER = struct.Struct(">I4sII")
_EDGE_SHARE: Final = 0.08
"""How much of each edge may hold the system's bars, which show even over a secure window."""
_SUSPECT_BYTES_PER_PIXEL: Final = 0.02
"""A picture that is of one colour apart from bars needs fewer bytes than this."""


@dataclass(frozen=True, slots=True)
class Screenshot:
    """One complete picture of the screen.

    Attributes:
        printed: what the phone printed before it; empty on most phones.
    """

    png: bytes
    width_px: int
    height_px: int
    printed: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of the PNG bytes, hexadecimal: what an observation calls it by."""
        return hashlib.sha256(self.png).hexdigest()

    def is_blank(self) -> bool:
        """Whether it is all of one colour, apart from bars at its edges.

        Raises: PhoneFaultError: it is damaged, or larger than any screen.
        """
        if len(self.png) > _SUSPECT_BYTES_PER_PIXEL * self.width_px * self.height_px:
            return False
        left, top = round(_EDGE_SHARE * self.width_px), round(_EDGE_SHARE * self.height_px)
        inside = (left, top, self.width_px - left, self.height_px - top)
        picture = opened_picture(self.png, advice="take another")
        return picture.crop(inside).getcolors(maxcolors=1) is not None

    def upright(self, rotation: int) -> Screenshot:
        """The picture as the owner sees it, of one that was taken in the phone's natural position.

        Args:
            rotation: quarter turns of the display, 0..3.

        Raises: PhoneFaultError: it is damaged, or larger than any screen.
        """
        if rotation % 4 == 0:
            return self
        picture = opened_picture(self.png, advice="take another")
        turned = picture.rotate(90 * rotation, expand=True)
        data = io.BytesIO()
        turned.save(data, "PNG", compress_level=1)
        return replace(self, png=data.getvalue(), width_px=turned.width, height_px=turned.height)


def read_screenshot(data: bytes) -> Screenshot:
    """The picture in what a phone sent, complete.

    Raises: PhoneFaultError: no PNG, or one that ends before its IEND chunk.
    """
    start = data.find(_SIGNATURE, 0, _SEARCHED_BYTES)
    if start < 0:
        raise PhoneFaultError(f"the screenshot is no PNG ({len(data)} bytes); take another")
    position = start + len(_SIGNATURE)
    while position + _CHUNK.size <= len(data):
        length, kind = _CHUNK.unpack_from(data, position)
        position += _CHUNK.size + length + 4
        if kind == b"IEND" and position <= len(data):
            return _described(data[start:position], data[:start])
    raise PhoneFaultError(f"the screenshot was cut off after {len(data)} bytes; take another")


def complete_png(data: bytes) -> bytes:
    """The PNG in `data` without what a phone printed around it.

    Raises: PhoneFaultError: as `read_screenshot`.
    """
    return read_screenshot(data).png


def _described(png: bytes, before: bytes) -> Screenshot:
    _, kind, width_px, height_px = _HEADER.unpack_from(png, len(_SIGNATURE))
    if kind != b"IHDR" or not (width_px and height_px):
        raise PhoneFaultError("the screenshot has no size; take another")
    printed = " ".join(before.decode(errors="replace").split())
    return Screenshot(png, width_px, height_px, printed)

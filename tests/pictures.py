"""PNG files that no library would write."""

from __future__ import annotations

import struct
import zlib


def png_header(width_px: int, height_px: int) -> bytes:
    """A PNG that claims a size and holds no pixels."""
    size = struct.pack("!IIBBBBB", width_px, height_px, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack("!I", len(data)) + name + data + struct.pack("!I", zlib.crc32(name + data))
        for name, data in ((b"IHDR", size), (b"IEND", b""))
    )

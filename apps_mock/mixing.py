"""A fast, stable hash of short texts, for orders and draws that have to be the same everywhere."""

from __future__ import annotations

from zlib import crc32


def mixed(text: str) -> int:
    """32 bits that depend on every letter.

    A bare CRC is linear: two texts of one length keep their distance whatever is put before them,
    so orders drawn with it hardly vary. Multiplying and folding breaks that.
    """
    value = crc32(text.encode())
    value = (value ^ value >> 16) * 0x7FEB352D & 0xFFFFFFFF
    value = (value ^ value >> 15) * 0x846CA68B & 0xFFFFFFFF
    return value ^ value >> 16

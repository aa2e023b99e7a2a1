"""Packets of the ADB wire: 24 bytes of header, then a payload.

Sums are byte sums. They are sent where the peer may check them, and a sum that is there and wrong
ends the link; a missing one (zero) is let pass, since newer peers leave it out.
"""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass
from typing import Final

from apps_mock.errors import AdbProtocolError

VERSION_SUMMED: Final = 0x01000000
VERSION: Final = 0x01000001
MAX_PAYLOAD: Final = 0x100000

_HEADER = struct.Struct("<4s5I")


@dataclass(frozen=True, slots=True)
class Packet:
    """One message; `command` is four letters, the arguments depend on it."""

    command: bytes
    arg0: int
    arg1: int
    payload: bytes = b""


def pack(packet: Packet, *, with_sum: bool) -> bytes:
    """Header and payload as sent; without a sum the field is zero."""
    total = _sum_of(packet.payload) if with_sum else 0
    magic = int.from_bytes(packet.command, "little") ^ 0xFFFFFFFF
    header = _HEADER.pack(
        packet.command, packet.arg0, packet.arg1, len(packet.payload), total, magic
    )
    return header + packet.payload


async def read_packet(reader: asyncio.StreamReader) -> Packet:
    """The next packet.

    Raises:
        AdbProtocolError: the bytes are no packet, one that is too large, or one with a wrong sum.
        asyncio.IncompleteReadError: the peer went away.
    """
    header = await reader.readexactly(_HEADER.size)
    command, arg0, arg1, length, total, magic = _HEADER.unpack(header)
    if magic != int.from_bytes(command, "little") ^ 0xFFFFFFFF:
        raise AdbProtocolError(f"a packet's magic is wrong: {header.hex()}")
    if length > MAX_PAYLOAD:
        raise AdbProtocolError(f"a payload of {length} bytes exceeds {MAX_PAYLOAD}")
    payload = await reader.readexactly(length)
    if total and total != _sum_of(payload):
        raise AdbProtocolError(f"the sum of a {command!r} packet is {total}, not that of its bytes")
    return Packet(command, arg0, arg1, payload)


def _sum_of(payload: bytes) -> int:
    return sum(payload) & 0xFFFFFFFF

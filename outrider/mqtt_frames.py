"""MQTT's packets in a stream of bytes: where one ends, which kind it is, where its payload begins.

Only as much as a proxy between a client and a broker has to know; MQTT 3.1.1, section 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

MAX_FRAME_BYTES: Final = 16 * 1024 * 1024
_MAX_LENGTH_BYTES: Final = 4


class Packet(IntEnum):
    """The kinds of packets that faults tell apart; others are only passed on."""

    CONNECT = 1
    CONNACK = 2
    PUBLISH = 3
    PUBACK = 4
    SUBSCRIBE = 8
    SUBACK = 9
    PINGREQ = 12
    PINGRESP = 13
    DISCONNECT = 14


class NotMqttError(Exception):
    """The bytes are no MQTT packets: whoever sent them is lost."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One packet, whole.

    Attributes:
        raw: all of its bytes.
        body_at: where its body begins, behind the length.
    """

    raw: bytes
    body_at: int

    @property
    def kind(self) -> int:
        """Its kind, see `Packet`."""
        return self.raw[0] >> 4

    @property
    def payload_at(self) -> int:
        """Where a PUBLISH's payload begins (an MQTT 5 packet's properties count as payload)."""
        topic_bytes = int.from_bytes(self.raw[self.body_at : self.body_at + 2], "big")
        has_id = bool(self.raw[0] & 0b0110)
        return min(self.body_at + 2 + topic_bytes + 2 * has_id, len(self.raw))

    def cut_to(self, size_bytes: int) -> Frame:
        """The same packet with a shorter body of `size_bytes`, its length told rightly."""
        head = self.raw[:1] + _length(size_bytes)
        return Frame(head + self.raw[self.body_at : self.body_at + size_bytes], len(head))


class FrameSplitter:
    """Turns bytes as they come into whole packets."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The packets that are whole now.

        Raises: NotMqttError: a length that no packet has.
        """
        self._waiting += data
        while (frame := self._next()) is not None:
            yield frame

    def _next(self) -> Frame | None:
        length, body_at = 0, 1
        while True:
            if body_at >= len(self._waiting):
                return None
            byte = self._waiting[body_at]
            length |= (byte & 0x7F) << 7 * (body_at - 1)
            body_at += 1
            if not byte & 0x80:
                break
            if body_at > _MAX_LENGTH_BYTES:
                raise NotMqttError("a packet's length has more than four bytes")
        if length > MAX_FRAME_BYTES:
            raise NotMqttError(f"a packet of {length} bytes is none of ours")
        end = body_at + length
        if len(self._waiting) < end:
            return None
        raw = bytes(self._waiting[:end])
        del self._waiting[:end]
        return Frame(raw, body_at)


def _length(size_bytes: int) -> bytes:
    encoded = bytearray()
    while True:
        size_bytes, low = divmod(size_bytes, 128)
        encoded.append(low | (0x80 if size_bytes else 0))
        if not size_bytes:
            return bytes(encoded)

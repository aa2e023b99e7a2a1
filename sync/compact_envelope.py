"""Envelopes in their short form: the head deflated with a dictionary of what envelopes say.

    0x01 │ length of the head (2 bytes, big-endian) │ head, deflated │ body as it is

An envelope names its fields, which is three times what it says. Peers from minor version 2 on read
both forms, and tell them apart by the first byte: no msgpack map begins with 0x01. A body that
deflating would not make smaller stays as it is; a short one is deflated as a part of the head.
"""

from __future__ import annotations

import zlib
from functools import cache
from importlib.resources import files
from typing import Final

from sync.errors import RejectedError

MARK: Final = b"\x01"
MAX_HEAD_BYTES: Final = 64 * 1024
_DICTIONARY: Final = "envelopes_1.zdict"
_LENGTH_BYTES: Final = 2
_LEVEL: Final = 9
_MEMORY: Final = 9


@cache
def _dictionary() -> bytes:
    return files("sync").joinpath(f"dictionaries/{_DICTIONARY}").read_bytes()


def joined(head: bytes, body: bytes) -> bytes | None:
    """The short form of an envelope; None where the head is too long for it."""
    packer = zlib.compressobj(
        _LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS, _MEMORY, zlib.Z_DEFAULT_STRATEGY, _dictionary()
    )
    short = packer.compress(head) + packer.flush()
    if max(len(short), len(head)) >= MAX_HEAD_BYTES:
        return None
    return MARK + len(short).to_bytes(_LENGTH_BYTES, "big") + short + body


def parted(payload: bytes) -> tuple[bytes, bytes]:
    """The head of an envelope and its body.

    Raises: RejectedError: it is no short form (reason "malformed").
    """
    start = len(MARK) + _LENGTH_BYTES
    end = start + int.from_bytes(payload[len(MARK) : start], "big")
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS, zdict=_dictionary())
    try:
        head = unpacker.decompress(payload[start:end], MAX_HEAD_BYTES)
    except zlib.error as error:
        raise _malformed(str(error)) from error
    if end > len(payload) or not unpacker.eof or unpacker.unused_data:
        raise _malformed("it is cut off, or longer than it says")
    return head, payload[end:]


def _malformed(text: str) -> RejectedError:
    return RejectedError(f"envelope cannot be read ({text}): drop it", reason="malformed")

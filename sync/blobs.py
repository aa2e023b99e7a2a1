"""Blobs on the wire: what a chunk is, which ones are missing, and whether one is what it claims.

A blob is bytes named by their SHA-256. It travels in chunks of 64 KiB; which of them are here is a
set of bits, chunk 0 the lowest, that both a database row and a message can hold.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from typing import Final

from sync.errors import RejectedError
from sync.messages import BlobChunk

CHUNK_BYTES: Final = 64 * 1024
MAX_BLOB_BYTES: Final = 8 * 1024 * 1024
"""No picture of a screen is larger; what claims to be is refused unseen."""
DIGEST_BYTES: Final = 32


def digest_of(data: bytes) -> bytes:
    """The name of a blob: SHA-256 of its bytes."""
    return hashlib.sha256(data).digest()


def chunk_count(size_bytes: int) -> int:
    """How many chunks a blob of a size has."""
    return -(-size_bytes // CHUNK_BYTES)


def is_sendable(size_bytes: int) -> bool:
    """Whether a blob of that size may travel: none is empty, none exceeds `MAX_BLOB_BYTES`."""
    return 0 < size_bytes <= MAX_BLOB_BYTES


def chunk_of(digest: bytes, data: bytes, index: int) -> BlobChunk:
    """Chunk number `index` of a whole blob, ready to be sent."""
    part = data[index * CHUNK_BYTES : (index + 1) * CHUNK_BYTES]
    return BlobChunk(
        digest=digest,
        offset=index * CHUNK_BYTES,
        total=len(data),
        data=part,
        crc32=zlib.crc32(part),
    )


def check_chunk(chunk: BlobChunk, size_bytes: int) -> int:
    """The number of a chunk that came, once it is known to be whole and in its place.

    Args:
        size_bytes: of the blob, as the episode that names it says.
    Raises: RejectedError: it is not what it claims to be (reason "size", "place" or "crc").
    """
    if chunk.total != size_bytes:
        raise _rejected(f"a blob of {size_bytes} bytes came as one of {chunk.total}", "size")
    index, rest = divmod(chunk.offset, CHUNK_BYTES)
    expected = min(CHUNK_BYTES, size_bytes - chunk.offset)
    if rest or chunk.offset < 0 or len(chunk.data) != expected:
        raise _rejected(
            f"{len(chunk.data)} bytes at {chunk.offset} are no chunk of {size_bytes} bytes", "place"
        )
    if zlib.crc32(chunk.data) != chunk.crc32:
        raise _rejected(f"the chunk at {chunk.offset} was damaged on its way", "crc")
    return index


def missing_ranges(received: int, size_bytes: int, *, most: int) -> tuple[tuple[int, int], ...]:
    """(first chunk, how many) of what is not here yet, lowest first.

    Args:
        received: bits of the chunks that are here, or asked for.
        most: how many chunks may be named in all.
    """
    ranges: list[tuple[int, int]] = []
    for index in range(chunk_count(size_bytes)):
        if most <= 0:
            break
        if received >> index & 1:
            continue
        most -= 1
        if ranges and sum(ranges[-1]) == index:
            first, count = ranges[-1]
            ranges[-1] = (first, count + 1)
        else:
            ranges.append((index, 1))
    return tuple(ranges)


def all_chunks(size_bytes: int) -> int:
    """The bits of a blob that is here whole."""
    return (1 << chunk_count(size_bytes)) - 1


def chunks_in(first: int, count: int, size_bytes: int) -> Iterator[int]:
    """The chunks of a range that the blob has; a range may claim what it likes."""
    end = min(first + max(count, 0), chunk_count(size_bytes))
    yield from range(max(first, 0), end)


def packed(received: int) -> bytes:
    """Bits as a database holds them."""
    return received.to_bytes(-(-received.bit_length() // 8), "little")


def unpacked(data: bytes) -> int:
    """Bits as `packed` wrote them."""
    return int.from_bytes(data, "little")


def _rejected(text: str, reason: str) -> RejectedError:
    return RejectedError(f"{text}: ask for it again", reason=reason)

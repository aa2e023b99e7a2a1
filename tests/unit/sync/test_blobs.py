from __future__ import annotations

from dataclasses import replace

import pytest

from sync import blobs
from sync.errors import RejectedError
from tests.blob_world import picture

CHUNK = blobs.CHUNK_BYTES


@pytest.mark.parametrize("size", [1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK])
def test_chunks_of_a_blob_make_it_again(size):
    data = picture(1, size)
    digest = blobs.digest_of(data)
    chunks = [blobs.chunk_of(digest, data, index) for index in range(blobs.chunk_count(size))]
    assert b"".join(chunk.data for chunk in chunks) == data
    assert [blobs.check_chunk(chunk, size) for chunk in chunks] == list(range(len(chunks)))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"total": CHUNK + 8}, "size"),
        ({"offset": 1}, "place"),
        ({"offset": -CHUNK}, "place"),
        ({"offset": 5 * CHUNK}, "place"),
        ({"data": b"short"}, "place"),
        ({"crc32": 1}, "crc"),
    ],
)
def test_a_chunk_that_is_not_what_it_claims_is_rejected(change, reason):
    data = picture(1, CHUNK + 7)
    chunk = blobs.chunk_of(blobs.digest_of(data), data, 0)
    with pytest.raises(RejectedError) as raised:
        blobs.check_chunk(replace(chunk, **change), len(data))
    assert raised.value.reason == reason


def test_missing_ranges_name_the_gaps_up_to_a_limit():
    size = 10 * CHUNK
    received = 0b00_1001_0000
    assert blobs.missing_ranges(received, size, most=99) == ((0, 4), (5, 2), (8, 2))
    assert blobs.missing_ranges(received, size, most=5) == ((0, 4), (5, 1))
    assert blobs.missing_ranges(received, size, most=0) == ()
    assert blobs.missing_ranges(blobs.all_chunks(size), size, most=99) == ()


def test_a_range_names_no_chunk_that_the_blob_lacks():
    assert list(blobs.chunks_in(1, 99, 3 * CHUNK)) == [1, 2]
    assert list(blobs.chunks_in(-5, 6, 3 * CHUNK)) == [0]
    assert list(blobs.chunks_in(0, -1, 3 * CHUNK)) == []


@pytest.mark.parametrize("received", [0, 1, 0b1011, 1 << 127])
def test_bits_survive_a_database(received):
    assert blobs.unpacked(blobs.packed(received)) == received


def test_what_is_empty_or_huge_is_not_sendable():
    assert not blobs.is_sendable(0)
    assert not blobs.is_sendable(blobs.MAX_BLOB_BYTES + 1)
    assert blobs.is_sendable(blobs.MAX_BLOB_BYTES)

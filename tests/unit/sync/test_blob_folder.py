from __future__ import annotations

from errno import ENOSPC

import pytest

from sync.blob_folder import BlobFolder
from sync.blobs import CHUNK_BYTES, digest_of
from tests.blob_world import picture


@pytest.fixture
def folder(tmp_path):
    return BlobFolder(tmp_path / "blobs")


def put_parts(folder, data, *, skip=()):
    for index in range(-(-len(data) // CHUNK_BYTES)):
        if index not in skip:
            part = data[index * CHUNK_BYTES : (index + 1) * CHUNK_BYTES]
            folder.write_part(digest_of(data), index, part)


def test_a_blob_lies_two_levels_deep_under_its_digest(folder):
    digest = folder.put(b"seen")
    name = digest.hex()
    assert (folder.directory / name[:2] / name[2:]).read_bytes() == b"seen"
    assert folder.read(digest) == b"seen"
    assert [one for one, _path in folder.files()] == [digest]


def test_the_same_bytes_are_one_file_that_is_written_once(folder):
    first = folder.path(folder.put(b"seen")).stat().st_ino
    assert folder.path(folder.put(b"seen")).stat().st_ino == first


def test_a_file_of_another_size_is_written_again(folder):
    digest = folder.put(b"seen")
    folder.path(digest).write_bytes(b"see")
    folder.put(b"seen")
    assert folder.read(digest) == b"seen"


def test_a_damaged_file_is_not_believed(folder):
    digest = folder.put(b"seen")
    folder.path(digest).write_bytes(b"sEen")
    assert folder.read(digest) is None
    assert folder.exists(digest)
    folder.discard(digest)
    folder.discard(digest)
    assert folder.read(digest) is None
    assert not folder.exists(digest)


def test_chunks_in_any_order_become_the_blob_when_all_are_there(folder):
    data = picture(1, 3 * CHUNK_BYTES - 9)
    put_parts(folder, data, skip={0})
    assert folder.read(digest_of(data)) is None
    put_parts(folder, data, skip={1, 2})
    assert folder.finish(digest_of(data))
    assert folder.read(digest_of(data)) == data


def test_chunks_with_a_hole_are_not_believed_and_thrown_away(folder):
    data = picture(1, 3 * CHUNK_BYTES)
    put_parts(folder, data, skip={1})
    assert not folder.finish(digest_of(data))
    assert not folder.exists(digest_of(data))
    assert not folder.finish(digest_of(data))
    assert list((folder.directory / "incoming").iterdir()) == []


def test_what_is_no_blob_is_left_alone(folder):
    folder.put(b"seen")
    (folder.directory / "ab").mkdir(exist_ok=True)
    (folder.directory / "ab" / "notes.txt").write_text("mine")
    (folder.directory / "STORE").write_text("x")
    assert [one for one, _path in folder.files()] == [digest_of(b"seen")]


def test_a_full_disk_leaves_what_was_there(folder, monkeypatch):
    data = picture(1, 2 * CHUNK_BYTES)
    put_parts(folder, data, skip={1})

    def full(*_args):
        raise OSError(ENOSPC, "No space left on device")

    monkeypatch.setattr("os.pwrite", full)
    with pytest.raises(OSError, match="No space left"):
        put_parts(folder, data, skip={0})
    monkeypatch.undo()
    put_parts(folder, data, skip={0})
    assert folder.finish(digest_of(data))

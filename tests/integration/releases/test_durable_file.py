"""Files are there whole or not at all, and one writer at a time."""

import os
import stat
import threading

import pytest

from sync.durable_file import exclusive, write_all_durably, write_durably

pytestmark = pytest.mark.integration


def test_a_file_and_its_folders_are_made(tmp_path):
    write_durably(tmp_path / "a" / "b" / "file", b"data", mode=0o600)
    path = tmp_path / "a" / "b" / "file"
    assert path.read_bytes() == b"data"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_durably(path, b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_durably(path, b"new")
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_whoever_has_the_old_file_open_keeps_the_old_bytes(tmp_path):
    path = tmp_path / "file"
    write_durably(path, b"old")
    with path.open("rb") as held:
        write_durably(path, b"new")
        assert (held.read(), path.read_bytes()) == (b"old", b"new")


def test_a_second_writer_waits_for_the_first(tmp_path):
    order = []

    def second():
        with exclusive(tmp_path / "lock"):
            order.append("second")

    thread = threading.Thread(target=second)
    with exclusive(tmp_path / "lock"):
        thread.start()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_files_that_belong_together_are_renamed_only_once_all_are_on_disk(tmp_path, monkeypatch):
    write_all_durably(tmp_path, {"a": b"old", "b": b"old"})
    synced = []

    def full_at_the_second(descriptor):
        synced.append(descriptor)
        if len(synced) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_at_the_second)
    with pytest.raises(OSError, match="No space"):
        write_all_durably(tmp_path, {"a": b"new", "b": b"new"})
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {
        "a": b"old",
        "b": b"old",
    }

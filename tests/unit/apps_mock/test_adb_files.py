"""The mock phone's file system."""

from __future__ import annotations

import pytest

from apps_mock import adb_files
from apps_mock.adb_files import Files, resolve
from apps_mock.errors import MockFileError

NOW_S = 1_700_000_000


@pytest.fixture
def files():
    return Files(lambda: NOW_S)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/sdcard/a", "/storage/emulated/0/a"),
        ("/sdcard", "/storage/emulated/0"),
        ("/storage/self/primary//a/./b/../c", "/storage/emulated/0/a/c"),
        ("/sdcard2/a", "/sdcard2/a"),
        ("//data/local/tmp/", "/data/local/tmp"),
        ("/../../etc/passwd", "/etc/passwd"),
        ("relative", "/relative"),
    ],
)
def test_each_place_has_one_name(path, place):
    assert resolve(path) == place


def test_file_is_read_under_every_name_of_its_place(files):
    files.write("/sdcard/a", b"x")

    assert files.read("/storage/emulated/0/a") == b"x"
    assert files.stat("/mnt/sdcard/a") == (adb_files.FILE_MODE, 1, NOW_S)


def test_folder_holds_what_was_put_into_it(files):
    files.make_folder("/sdcard/a/b", parents=True)
    files.write("/sdcard/a/c", b"")

    assert files.names("/sdcard/a") == ("b", "c")
    files.remove("/sdcard/a", recursive=True)
    assert files.stat("/sdcard/a/c") is None


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        (lambda files: files.read("/sdcard/none"), "No such file"),
        (lambda files: files.read("/sdcard"), "Is a directory"),
        (lambda files: files.write("/sdcard", b""), "Is a directory"),
        (lambda files: files.write("/sdcard/new/", b""), "Is a directory"),
        (lambda files: files.write("/sdcard/none/a", b""), "No such file"),
        (lambda files: files.write("/system/a", b""), "Read-only"),
        (lambda files: files.make_folder("/sdcard/Download"), "File exists"),
        (lambda files: files.make_folder("/sdcard/none/a"), "No such file"),
        (lambda files: files.remove("/sdcard/none"), "No such file"),
        (lambda files: files.remove("/sdcard/Download"), "Is a directory"),
        (lambda files: files.remove("/sdcard", recursive=True), "Read-only"),
        (lambda files: files.remove("/sdcard/Download", recursive=True), "Permission denied"),
        (lambda files: files.names("/sdcard/none"), "No such file"),
    ],
)
def test_impossible_use_is_told_in_the_platforms_words(files, use, reason):
    with pytest.raises(MockFileError, match=reason):
        use(files)


def test_storage_has_an_end(files, monkeypatch):
    monkeypatch.setattr(adb_files, "CAPACITY_BYTES", 10)
    files.write("/sdcard/a", b"123456")

    with pytest.raises(MockFileError, match="No space"):
        files.write("/sdcard/a", b"12345", append=True)

    assert files.read("/sdcard/a") == b"123456"


def test_patterns_match_names_in_one_folder_but_no_hidden_ones(files):
    for name in ("a.xml", "b.xml", "c.png", ".d.xml"):
        files.write(f"/sdcard/{name}", b"")

    assert files.matches("/sdcard/*.xml") == ("/sdcard/a.xml", "/sdcard/b.xml")
    assert files.matches("/none/*") == ()


def test_system_files_are_read_and_never_written(files):
    assert b"MemTotal" in files.read("/proc/meminfo")
    with pytest.raises(MockFileError, match="Read-only"):
        files.write("/proc/meminfo", b"x")
    with pytest.raises(MockFileError):
        files.remove("/proc/version")


def test_patterns_match_in_every_part_of_a_path(files):
    files.make_folder("/sdcard/a/b", parents=True)
    files.write("/sdcard/a/b/one.xml", b"")
    files.write("/sdcard/a/[x]", b"")

    assert files.matches("/sdcard/*/b/*.xml") == ("/sdcard/a/b/one.xml",)
    assert files.matches("a/*/one.*", "/sdcard") == ("a/b/one.xml",)
    assert files.matches("/sdcard/a/[[]x]") == ("/sdcard/a/[x]",)
    assert files.matches("/nope/*") == ()


def test_walk_goes_down_a_tree(files):
    files.make_folder("/sdcard/t/u", parents=True)
    files.write("/sdcard/t/u/f", b"")

    assert files.walk("/sdcard/t") == ("/sdcard/t", "/sdcard/t/u", "/sdcard/t/u/f")
    with pytest.raises(MockFileError):
        files.walk("/sdcard/none")


def test_path_that_is_too_long_is_refused(files):
    with pytest.raises(MockFileError, match="too long"):
        files.make_folder("/sdcard" + "/a" * 600, parents=True)

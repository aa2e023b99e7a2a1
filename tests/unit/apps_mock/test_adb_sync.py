"""The `sync:` service, request by request, however its bytes arrive."""

from __future__ import annotations

import asyncio
import struct

import pytest

from apps_mock.adb_files import Files
from apps_mock.adb_sync import SyncSession
from apps_mock.errors import AdbProtocolError

NOW_S = 1_700_000_000


class FakeStream:
    """Gives its input in pieces, keeps what is written."""

    def __init__(self, data, piece):
        self.pieces = [data[start : start + piece] for start in range(0, len(data), piece)]
        self.written = b""

    async def read(self):
        return self.pieces.pop(0) if self.pieces else b""

    async def write(self, data):
        self.written += data


def request(kind, path):
    return kind + struct.pack("<I", len(path.encode())) + path.encode()


def talk(files, *requests, piece=1 << 20):
    stream = FakeStream(b"".join(requests), piece)
    asyncio.run(SyncSession(stream, files).run())
    return stream.written


@pytest.fixture
def files():
    files = Files(lambda: NOW_S)
    files.write("/sdcard/a", b"hello")
    return files


@pytest.mark.parametrize("piece", [1, 3, 1 << 20])
def test_pushed_file_arrives_whole_however_it_is_cut(files, piece):
    data = b"DATA" + struct.pack("<I", 5) + b"12345" + b"DATA" + struct.pack("<I", 1) + b"6"
    done = b"DONE" + struct.pack("<I", 99)

    answer = talk(files, request(b"SEND", "/sdcard/b/c,33188"), data, done, piece=piece)

    assert answer == b"OKAY\0\0\0\0"
    assert files.read("/sdcard/b/c") == b"123456"
    assert files.stat("/sdcard/b/c")[2] == 99


def test_push_to_a_read_only_place_fails_with_its_reason(files):
    answer = talk(files, request(b"SEND", "/system/x,33188"), b"DONE\0\0\0\0")

    assert answer[:4] == b"FAIL"
    assert b"Read-only" in answer


def test_pushed_data_that_is_none_breaks_the_protocol(files):
    with pytest.raises(AdbProtocolError):
        talk(files, request(b"SEND", "/sdcard/b,33188"), b"WHAT\0\0\0\0")


def test_pulled_file_comes_in_chunks_and_ends_with_done(files):
    files.write("/sdcard/big", b"x" * 70_000)

    answer = talk(files, request(b"RECV", "/sdcard/big"))

    assert answer.startswith(b"DATA" + struct.pack("<I", 65_536) + b"x")
    assert answer.count(b"DATA") == 2
    assert answer.endswith(b"DONE\0\0\0\0")


def test_pull_of_nothing_fails_and_the_session_goes_on(files):
    answer = talk(files, request(b"RECV", "/sdcard/none"), request(b"STAT", "/sdcard/a"))

    assert answer[:4] == b"FAIL"
    assert answer[-16:-12] == b"STAT"
    assert struct.unpack("<I", answer[-8:-4]) == (5,)


def test_status_has_the_protocols_sizes(files):
    assert len(talk(files, request(b"STAT", "/sdcard/a"))) == 16
    assert len(talk(files, request(b"LST2", "/sdcard/a"))) == 72
    missing = talk(files, request(b"STA2", "/sdcard/none"))
    assert struct.unpack("<4sI", missing[:8]) == (b"STA2", 2)


def test_lists_end_with_a_done_of_the_entries_size(files):
    files.make_folder("/sdcard/empty")

    assert len(talk(files, request(b"LIST", "/sdcard/empty"))) == 20
    assert len(talk(files, request(b"LIS2", "/sdcard/empty"))) == 76
    listed = talk(files, request(b"LIST", "/sdcard"))
    assert listed.count(b"DENT") == 4
    assert listed[-20:-16] == b"DONE"


@pytest.mark.parametrize("bad", [b"HACK\0\0\0\0", b"STAT" + struct.pack("<I", 5_000)])
def test_unknown_or_oversized_request_ends_the_session(files, bad):
    answer = talk(files, bad, request(b"STAT", "/sdcard/a"))

    assert answer[:4] == b"FAIL"
    assert b"STAT\xb0" not in answer


def test_quit_ends_the_session(files):
    assert talk(files, b"QUIT\0\0\0\0", request(b"STAT", "/sdcard/a")) == b""


def test_request_that_fails_leaves_the_stream_for_the_next_one(files):
    answer = talk(
        files,
        request(b"RECV", "/sdcard/none"),
        request(b"STAT", "/sdcard/" + "x" * 1016),
        request(b"SEND", "/system/x,33188"),
        b"DONE\0\0\0\0",
        request(b"RECV", "/sdcard/a"),
    )

    assert answer.count(b"FAIL") == 2
    assert answer.endswith(b"DATA\x05\0\0\0helloDONE\0\0\0\0")


def test_listing_at_the_longest_path_fails_in_words(files, monkeypatch):
    monkeypatch.setattr("apps_mock.adb_files.LONGEST_PATH", 20)

    answer = talk(files, request(b"LIST", "/sdcard/" + "x" * 100))

    assert answer.startswith(b"FAIL")
    assert b"File name too long" in answer

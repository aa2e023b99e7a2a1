from __future__ import annotations

import queue
import threading

import pytest

from sync import fetch
from sync.clock import ManualClock
from sync.errors import FetchInterruptedError, RejectedError
from sync.fetch import CHUNK_BYTES, DirectoryFiles, FileFetcher
from sync.messages import FileChunk
from tests.wire import MemoryFiles


class Server:
    """Answers requests from memory, as told: `answer` may replace or drop a chunk."""

    def __init__(self, files, answer=lambda chunk: chunk):
        self.files = MemoryFiles(files)
        self.answer = answer
        self.requests = []
        numbers = iter(range(10_000))
        self.fetcher = FileFetcher(
            self.serve, clock=ManualClock(), new_id=lambda: f"request-{next(numbers)}"
        )

    def serve(self, request):
        self.requests.append(request)
        part = self.files.read(request.path, request.offset, request.length)
        chunk = (
            FileChunk(request_id=request.request_id, path=request.path, missing=True)
            if part is None
            else FileChunk(
                request_id=request.request_id,
                path=request.path,
                offset=request.offset,
                total=part.total,
                data=part.data,
                version=part.version,
            )
        )
        answered = self.answer(chunk)
        if answered is not None:
            self.fetcher.take(answered)


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES])
def test_a_file_arrives_whole(size):
    data = bytes(index % 251 for index in range(size))
    server = Server({"a": data})
    assert b"".join(server.fetcher.fetch("a")) == data


def test_what_was_asked_without_a_connection_is_asked_again_once_there_is_one(monkeypatch):
    monkeypatch.setattr(fetch, "REPEAT_AFTER_S", 3600.0)
    asked, chunks = threading.Event(), []
    server = Server({"a": b"all of it"}, answer=lambda chunk: asked.set())
    asking = threading.Thread(target=lambda: chunks.extend(server.fetcher.fetch("a")), daemon=True)
    asking.start()
    assert asked.wait(10)
    server.answer = lambda chunk: chunk
    server.fetcher.connected()
    asking.join(10)

    assert chunks == [b"all of it"]
    assert [one.request_id for one in server.requests] == ["request-0", "request-0"]


def test_a_fetch_goes_on_from_where_it_stopped():
    data = bytes(200_000)
    server = Server({"a": data})
    rest = b"".join(server.fetcher.fetch("a", offset=70_000))
    assert len(rest) == 130_000
    assert server.requests[0].offset == 70_000


def test_a_missing_file_is_rejected():
    with pytest.raises(RejectedError) as caught:
        list(Server({}).fetcher.fetch("a"))
    assert caught.value.reason == "missing"


def test_a_file_over_the_limit_is_refused_before_it_is_read():
    server = Server({"a": bytes(100_000)})
    with pytest.raises(RejectedError) as caught:
        list(server.fetcher.fetch("a", max_bytes=99_999))
    assert caught.value.reason == "too_large"
    assert len(server.requests) == 1


@pytest.mark.requirement("OR-FIL-1")
def test_a_file_that_changes_meanwhile_is_not_stitched_together():
    versions = iter(["one", "two"])
    server = Server(
        {"a": bytes(100_000)},
        answer=lambda chunk: FileChunk(
            request_id=chunk.request_id,
            path="a",
            offset=chunk.offset,
            total=chunk.total,
            data=chunk.data,
            version=next(versions),
        ),
    )
    with pytest.raises(FetchInterruptedError, match="changed"):
        list(server.fetcher.fetch("a"))


@pytest.mark.parametrize("broken", [{"offset": 9}, {"data": b""}])
def test_pieces_that_do_not_fit_end_the_fetch(broken):
    def answer(chunk):
        fields = {"offset": chunk.offset, "data": chunk.data} | broken
        return FileChunk(request_id=chunk.request_id, path="a", total=chunk.total, **fields)

    with pytest.raises(FetchInterruptedError, match="wrong pieces"):
        list(Server({"a": b"abc"}, answer).fetcher.fetch("a"))


def test_silence_is_asked_ever_less_often_and_says_where_to_go_on(monkeypatch):
    server = Server({"a": bytes(100_000)}, answer=lambda chunk: None if chunk.offset else chunk)
    clock = server.fetcher._clock

    class Impatient(queue.SimpleQueue):
        def get(self, block=True, timeout=None):
            clock.advance(timeout if self.empty() else 0.0)
            return super().get(block=False)

    monkeypatch.setattr("sync.fetch.queue.SimpleQueue", Impatient)
    with pytest.raises(FetchInterruptedError) as caught:
        list(server.fetcher.fetch("a", stall_timeout_s=15.0))
    assert caught.value.offset == CHUNK_BYTES
    assert [request.offset for request in server.requests] == [0] + [CHUNK_BYTES] * 4
    assert len({request.request_id for request in server.requests}) == 2


def test_a_chunk_that_nobody_waits_for_is_dropped():
    server = Server({"a": b"abc"})
    server.fetcher.take(FileChunk(request_id="long ago", path="a", data=b"zzz", total=3))
    assert b"".join(server.fetcher.fetch("a")) == b"abc"


@pytest.mark.requirement("OR-FIL-2")
@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", "nothing", "", "folder", "a\0b"])
def test_nothing_outside_the_directory_can_be_read(tmp_path, path):
    (tmp_path / "secret").write_bytes(b"s")
    served = tmp_path / "served"
    (served / "folder").mkdir(parents=True)
    assert DirectoryFiles(served).read(path, 0, 10) is None


def test_a_link_that_leads_outside_is_not_followed(tmp_path):
    (tmp_path / "secret").write_bytes(b"s")
    served = tmp_path / "served"
    served.mkdir()
    (served / "link").symlink_to(tmp_path / "secret")
    assert DirectoryFiles(served).read("link", 0, 10) is None


def test_a_part_says_how_long_the_whole_is_and_which_version(tmp_path):
    (tmp_path / "a").write_bytes(b"abcdef")
    files = DirectoryFiles(tmp_path)
    part = files.read("a", 2, 3)
    assert (part.data, part.total) == (b"cde", 6)
    (tmp_path / "a").write_bytes(b"abcdefg")
    assert files.read("a", 0, 1).version != part.version

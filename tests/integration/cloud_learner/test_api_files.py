"""Release files over HTTP: to devices and readers, in ranges, and with MQTT standing in."""

from __future__ import annotations

import socket
import threading
from contextlib import closing, contextmanager

import pytest
import uvicorn
from fastapi import FastAPI

from cloud_learner import device_rows
from cloud_learner.api_files import file_routes
from cloud_learner.device_store import DeviceStore
from cloud_learner.store import Database, sqlite_url
from cloud_learner.tokens import TokenFile
from sync.clock import ManualClock, SystemClock
from sync.enrolment import new_key, public_key_of
from sync.errors import FetchInterruptedError, RejectedError
from sync.file_pass import VALID_MS, check_file_pass, file_pass
from sync.http_files import FallbackFetch, HttpFiles
from sync.resumed_fetch import ResumedFetch

pytestmark = pytest.mark.integration

TOKEN = "a-token-of-sufficient-length"
DATA = bytes(range(256)) * 1000
PATH = "targets/releases/r1/hash.adapter.bin"


@contextmanager
def serving(app):
    """The port of a real HTTP server on this machine."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(app, log_config=None, log_level="critical", lifespan="off")
    )
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    with closing(listening):
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join()


class Cloud:
    """Serves one file; knows one device with a key, and another that was revoked."""

    def __init__(self, folder):
        self.folder = folder
        self.key = new_key()
        self.clock = SystemClock()
        file = folder / "tuf" / PATH
        file.parent.mkdir(parents=True)
        file.write_bytes(DATA)
        (folder / "secret").write_bytes(b"secret")
        self.database = Database(sqlite_url(folder / "cloud.db"))
        self.devices = DeviceStore(self.database, clock=self.clock, new_id=lambda: "id")
        token = TokenFile(folder / "token")
        token.write(TOKEN)
        self.app = FastAPI()
        self.app.include_router(
            file_routes(folder / "tuf", devices=self.devices, token=token, clock=self.clock)
        )
        key = public_key_of(self.key).hex()
        self._add("phone-1", public_key=key)
        self._add("revoked", public_key=key, revoked_at_ms=1)

    def _add(self, device_id, **fields):
        with self.database.write() as connection:
            device_rows.ensure(connection, device_id)
            device_rows.change(connection, [device_id], **fields)

    def headers(self, device_id="phone-1"):
        def made(path):
            now_ms = self.clock.wall_ms()
            return {"Authorization": file_pass(device_id, self.key, path, now_ms=now_ms)}

        return made


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    made = Cloud(tmp_path_factory.mktemp("files"))
    with serving(made.app) as port:
        made.url = f"http://127.0.0.1:{port}"
        yield made
    made.database.close()


def files(cloud, headers=None):
    return HttpFiles(cloud.url, headers=headers or cloud.headers())


@pytest.mark.parametrize("offset", [0, 1, 100_000, len(DATA) - 1])
def test_a_device_reads_on_from_anywhere(cloud, offset):
    assert b"".join(files(cloud).fetch(PATH, offset)) == DATA[offset:]


def test_behind_the_end_there_is_nothing(cloud):
    assert b"".join(files(cloud).fetch(PATH, len(DATA))) == b""


def test_a_readers_token_opens_files_too(cloud):
    by_token = files(cloud, lambda _: {"Authorization": f"Bearer {TOKEN}"})
    assert b"".join(by_token.fetch(PATH, 0)) == DATA


@pytest.mark.parametrize("device", ["revoked", "nobody"])
def test_a_device_that_may_not_read_gets_nothing(cloud, device):
    with pytest.raises(FetchInterruptedError, match="401"):
        b"".join(files(cloud, cloud.headers(device)).fetch(PATH, 0))


@pytest.mark.parametrize("header", ["", "Bearer wrong", "Outrider-Device x", "Basic eDp5"])
def test_a_stranger_gets_nothing(cloud, header):
    with pytest.raises(FetchInterruptedError, match="401"):
        b"".join(files(cloud, lambda _: {"Authorization": header}).fetch(PATH, 0))


@pytest.mark.parametrize("path", ["../secret", "targets/../../secret", "nothing", "metadata/x"])
def test_nothing_else_is_served(cloud, path):
    with pytest.raises((FileNotFoundError, FetchInterruptedError)):
        b"".join(files(cloud).fetch(path, 0))


def test_a_pass_opens_one_file_for_a_while(cloud):
    now_ms = 1_000_000_000
    header = file_pass("phone-1", cloud.key, PATH, now_ms=now_ms)

    def check(path=PATH, at_ms=now_ms):
        return check_file_pass(header, path, key_of=cloud.devices.public_key, now_ms=at_ms)

    assert check() == check(at_ms=now_ms + VALID_MS) == "phone-1"
    for wrong in ({"path": "another"}, {"at_ms": now_ms + VALID_MS + 1}):
        with pytest.raises(RejectedError) as caught:
            check(**wrong)
        assert caught.value.reason == "bad_pass"


def test_a_server_that_is_not_there_is_interrupted_at_the_offset():
    with closing(socket.create_server(("127.0.0.1", 0))) as nobody:
        port = nobody.getsockname()[1]
    with pytest.raises(FetchInterruptedError) as caught:
        b"".join(HttpFiles(f"http://127.0.0.1:{port}").fetch(PATH, 7))
    assert caught.value.offset == 7


@pytest.mark.parametrize("url", ["ftp://x", "nothing", "http://"])
def test_what_is_no_address_is_misuse(url):
    with pytest.raises(ValueError, match="no address"):
        HttpFiles(url)


class Way:
    """A way to fetch that can break after some bytes."""

    def __init__(self, data=DATA, breaks_at=None):
        self.data, self.breaks_at, self.asked = data, breaks_at, []

    def __call__(self, path, offset):
        self.asked.append(offset)
        while offset < len(self.data):
            if self.breaks_at is not None and offset >= self.breaks_at:
                raise FetchInterruptedError("broken", path=path, offset=offset)
            yield self.data[offset : offset + 50_000]
            offset += 50_000


def test_the_other_way_goes_on_where_the_first_one_broke():
    first, second = Way(breaks_at=100_000), Way()
    fetch = FallbackFetch(first, second, clock=ManualClock())
    assert b"".join(fetch(PATH, 0)) == DATA
    assert (first.asked, second.asked) == ([0], [100_000])


def test_a_way_that_broke_is_left_alone_for_a_while_and_then_comes_first_again():
    first, second, clock = Way(breaks_at=0), Way(), ManualClock()
    fetch = FallbackFetch(first, second, clock=clock)
    for _ in range(3):
        assert b"".join(fetch(PATH, 0)) == DATA
    assert (len(first.asked), len(second.asked)) == (1, 3)
    first.breaks_at = None
    clock.advance(60.0)
    assert b"".join(fetch(PATH, 0)) == DATA
    assert (len(first.asked), len(second.asked)) == (2, 3)


class Empty(Way):
    """A way that answers, and knows no file."""

    def __call__(self, path, offset):
        self.asked.append(offset)
        raise FileNotFoundError(path)


def test_a_file_is_missing_where_one_way_says_so_and_the_other_one_does_not_answer():
    fetch = FallbackFetch(Empty(), Way(breaks_at=0), clock=ManualClock())
    with pytest.raises(FileNotFoundError):
        list(fetch(PATH, 0))


def test_a_file_that_broke_off_is_not_missing_whatever_the_other_way_says():
    """A client takes a missing root for the newest one, and goes on under old keys."""
    fetch = FallbackFetch(Empty(), Way(breaks_at=100_000), clock=ManualClock())
    with pytest.raises(FetchInterruptedError):
        list(fetch(PATH, 0))


def test_a_way_that_says_that_a_file_is_missing_is_asked_first_again():
    first, second = Empty(), Way()
    fetch = FallbackFetch(first, second, clock=ManualClock())
    for _ in range(2):
        assert b"".join(fetch(PATH, 0)) == DATA
    assert (first.asked, second.asked) == ([0, 0], [0, 0])


def test_a_download_outlives_both_ways_and_the_process(tmp_path):
    broken = FallbackFetch(Way(breaks_at=100_000), Way(breaks_at=150_000), clock=ManualClock())
    with pytest.raises(FetchInterruptedError):
        list(ResumedFetch(broken, tmp_path / "pieces", is_large=lambda _: True)(PATH))
    later = Way()
    fetch = ResumedFetch(later, tmp_path / "pieces", is_large=lambda _: True)
    assert b"".join(fetch(PATH)) == DATA
    assert later.asked == [150_000]

"""Every attack of TUF's list, over each way that files reach a phone: refused, and named.

Files come over MQTT (the links that ship, on the broker in this process), over HTTP (a server that
does what the attacker wants), and in bundles. An attacker here serves anything it likes, under any
path, and holds what keys a test gives it. What it never gets: a phone that acts on what nobody
signed, or that stops acting.
"""

import http.server
import itertools
import json
import threading
import zipfile
from contextlib import closing

import pytest

from device_runtime.installer import Installer
from sync.clock import ManualClock, SystemClock
from sync.errors import RejectedError, TransientError
from sync.fetch import DirectoryFiles
from sync.http_files import FILES_PATH, HttpFiles
from sync.key_rotation import rotate_online_keys
from sync.loopback import LoopbackBroker
from sync.messages import Birth
from sync.ports import FilePart
from sync.resumed_fetch import LeastRate
from sync.session import CloudSession, DeviceSession
from sync.trust import Repository, TrustedClient
from sync.vocabulary import DeviceId

pytestmark = pytest.mark.integration

DAY_MS = 86_400_000
ENDLESS = 200 * 1024 * 1024


class Served:
    """What the attacker's server has under each path; `files` is replaced to attack."""

    def __init__(self, fleet):
        self.files = lambda path: b"".join(fleet.honest(path))
        self.endless = None
        self.most_sent = 0

    def size(self, path):
        return ENDLESS if self._is_endless(path) else len(self.files(path))

    def part(self, path, offset, length):
        if self._is_endless(path):
            self.most_sent = max(self.most_sent, offset + length)
            return bytes(length)
        return self.files(path)[offset : offset + length]

    def _is_endless(self, path):
        return self.endless is not None and path.endswith(self.endless)


class OverMqtt:
    """The device's and the cloud's sessions, on the broker in this process."""

    def __init__(self, served, folder):
        broker = LoopbackBroker(fleet="home")
        self._served = served
        self._cloud = CloudSession(
            transport=broker.transport("cloud", service=True),
            fleet="home",
            ingest=lambda batch: {},
            files=self,
        )
        self._device = DeviceSession(
            transport=broker.transport("p1"),
            database=folder / "wire.db",
            fleet="home",
            birth=Birth(device_id=DeviceId("p1")),
        )
        self._cloud.start()
        self._device.start()
        assert self._cloud.wait_connected(10)
        assert self._device.wait_connected(10)

    def read(self, path, offset, length):
        """See FileSource."""
        try:
            total = self._served.size(path)
            return FilePart(self._served.part(path, offset, length), total, "1")
        except FileNotFoundError:
            return None

    def fetch(self, path, offset):
        try:
            yield from self._device.fetch(path, offset=offset, stall_timeout_s=10)
        except RejectedError as error:
            if error.reason == "missing":
                raise FileNotFoundError(path) from error
            raise

    def close(self):
        self._device.close()
        self._cloud.close()


class OverHttp:
    """A server of the attacker's own."""

    def __init__(self, served, folder):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                path = self.path.removeprefix(FILES_PATH)
                try:
                    size = served.size(path)
                except FileNotFoundError:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(size))
                self.end_headers()
                try:
                    for offset in range(0, size, 65_536):
                        length = min(65_536, size - offset)
                        self.wfile.write(served.part(path, offset, length))
                except (BrokenPipeError, ConnectionResetError):
                    pass

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.fetch = HttpFiles(f"http://127.0.0.1:{self._server.server_port}").fetch

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def served(fleet):
    return Served(fleet)


@pytest.fixture(params=[OverMqtt, OverHttp], ids=["mqtt", "http"])
def carried(request, fleet, served, tmp_path):
    """A phone that runs release 1, whose files come from the attacker from now on."""
    fleet.publish(1)
    phone = fleet.phone()
    assert phone.installer.refresh("canary").applied
    phone.installer.commit()
    phone.transitions.clear()
    with closing(request.param(served, tmp_path)) as way:
        phone.client = TrustedClient(phone.folder / "trust", lambda path: way.fetch(path, 0))
        phone.installer = Installer(
            phone.folder, phone.client, report=phone.transitions.append, clock=ManualClock()
        )
        yield phone


def assert_refused(phone, outcome, reason, runs="r1"):
    assert (outcome.applied, outcome.reason) == (False, reason), outcome.detail
    assert phone.runs == runs
    assert phone.installer.begin_load().read() is not None
    assert phone.transitions[-1].reason == reason


def flipped(data):
    return data[:-20] + bytes([data[-20] ^ 1]) + data[-19:]


def over(served, **by_ending):
    """Serve other bytes for paths that end so (with "_" for ".")."""
    honest = served.files

    def files(path):
        for ending, made in by_ending.items():
            if path.endswith(ending.replace("_", ".")):
                return made(honest(path))
        return honest(path)

    served.files = files


def test_an_honest_server(fleet, carried):
    fleet.publish(2)
    assert carried.installer.refresh("canary").applied
    assert carried.runs == "r2"


def test_arbitrary_package(fleet, served, carried):
    fleet.publish(2)
    over(served, adapter_bin=lambda data: b"x" * len(data))
    assert_refused(carried, carried.installer.refresh("canary"), "tampered")


def test_arbitrary_package_of_another_size(fleet, served, carried):
    fleet.publish(2)
    over(served, adapter_bin=lambda data: data + b"more")
    assert_refused(carried, carried.installer.refresh("canary"), "too_large")


def test_tampered_adapter(fleet, served, carried):
    fleet.publish(2)
    over(served, adapter_bin=flipped)
    assert_refused(carried, carried.installer.refresh("canary"), "tampered")


def test_tampered_description(fleet, served, carried):
    fleet.publish(2)
    over(served, release_json=lambda data: data.replace(b'"version":2', b'"version":3'))
    assert_refused(carried, carried.installer.refresh("canary"), "tampered")


def test_rollback(fleet, served, carried):
    old = {
        path: fleet.repository.read(path)
        for path in (
            "metadata/timestamp.json",
            "metadata/2.snapshot.json",
            "metadata/2.targets.json",
        )
    }
    fleet.publish(2)
    assert carried.installer.refresh("canary").applied
    honest = served.files
    served.files = lambda path: old[path] if path in old else honest(path)
    assert_refused(carried, carried.installer.refresh("canary"), "older_version", runs="r2")


def test_indefinite_freeze(fleet, served, carried):
    fleet.repository._clock = ManualClock(SystemClock().wall_ms() - 100 * DAY_MS)
    fleet.publish(2)
    frozen = fleet.repository.read("metadata/timestamp.json")
    over(served, timestamp_json=lambda _: frozen)
    assert_refused(carried, carried.installer.refresh("canary"), "expired")


@pytest.mark.parametrize("role", ["snapshot", "targets"])
def test_mix_and_match(fleet, served, carried, role):
    fleet.publish(2)
    old = fleet.repository.read(f"metadata/3.{role}.json")
    fleet.publish(3)
    over(served, **{f"4_{role}_json": lambda _: old})
    assert_refused(carried, carried.installer.refresh("canary"), "tampered")


@pytest.mark.parametrize(
    "endless", ["timestamp.json", ".root.json", ".release.json", "adapter.bin"]
)
def test_endless_data(fleet, served, carried, endless):
    fleet.publish(2)
    served.endless = endless
    assert_refused(carried, carried.installer.refresh("canary"), "too_large")
    assert served.most_sent < ENDLESS / 4


def test_slow_retrieval(fleet, served, carried):
    fleet.publish(2)
    clock = ManualClock()

    def trickle(path, offset):
        for index in range(offset, len(served.files(path))):
            clock.advance(5.0)
            yield served.files(path)[index : index + 1]

    client = TrustedClient(
        carried.folder / "trust", lambda path: LeastRate(trickle, clock=clock)(path, 0)
    )
    with pytest.raises(TransientError, match="bytes a second"):
        Installer(carried.folder, client).refresh("canary")
    assert clock.monotonic_s() < 200
    assert carried.runs == "r1"
    assert carried.installer.refresh("canary").applied


def test_wrong_key(served, carried, make_fleet):
    other = make_fleet("other")
    for version in (1, 2, 5):
        other.publish(version)
    served.files = lambda path: b"".join(other.honest(path))
    assert_refused(carried, carried.installer.refresh("canary"), "wrong_key")


def test_key_revoked(fleet, served, carried, make_fleet):
    """The stolen old keys sign on after the rotation; only phones that saw the new root count."""
    stolen = fleet.directory / "stolen"
    keys = fleet.directory / "keys"
    stolen.mkdir()
    (stolen / "online").mkdir()
    for key in (keys / "online").glob("*.pem"):
        copy = stolen / "online" / key.name
        copy.touch(mode=0o600)
        copy.write_bytes(key.read_bytes())
    thief = Repository(fleet.directory / "tuf", stolen)
    rotate_online_keys(fleet.directory / "tuf", keys)
    fleet.repository = Repository(fleet.directory / "tuf", keys)
    assert carried.installer.refresh("canary") is None  # the phone saw the new root
    evil = fleet.release(9, fleet.repository.adapter("r1"))
    thief.publish(evil, fleet.repository.adapter("r1"), "canary")
    assert_refused(carried, carried.installer.refresh("canary"), "wrong_key")


def test_a_new_root_that_the_old_one_did_not_sign(served, carried, make_fleet):
    other = make_fleet("other")
    rotate_online_keys(other.directory / "tuf", other.directory / "keys")
    root = other.repository.read("metadata/2.root.json")
    honest = served.files
    served.files = lambda path: root if path == "metadata/2.root.json" else honest(path)
    assert_refused(carried, carried.installer.refresh("canary"), "wrong_key")


def test_extraneous_dependencies(fleet, served, carried):
    """A release that needs a base which nobody signed is refused before it is downloaded."""
    fleet.publish(2, base_digest="e" * 64)
    asked = []
    honest = served.files

    def files(path):
        asked.append(path)
        return honest(path)

    served.files = files
    assert_refused(carried, carried.installer.refresh("canary"), "base_mismatch")
    assert not [path for path in asked if path.endswith(("adapter.bin", "base.zip"))]


def test_fast_forward_of_metadata_is_recovered_from_by_a_rotation(fleet, carried):
    """Whoever stole the timestamp and snapshot keys signed a version that is never reached."""
    thief = Repository(fleet.directory / "tuf", fleet.directory / "keys")
    before = {path: path.read_bytes() for path in (fleet.directory / "tuf").rglob("*.json")}
    thief._snapshot.signed.version = thief._timestamp.signed.version = 2**30
    thief.publish(fleet.release(2, fleet.repository.adapter("r1")), fleet.repository.adapter("r1"))
    assert carried.installer.refresh("canary") is None
    for path in (fleet.directory / "tuf").rglob("*.json"):  # the operator restores a copy
        path.unlink()
    for path, data in before.items():
        path.write_bytes(data)
    assert_refused(carried, carried.installer.refresh("canary"), "older_version")
    rotate_online_keys(
        fleet.directory / "tuf", fleet.directory / "keys", roles=["snapshot", "timestamp"]
    )
    fleet.repository = Repository(fleet.directory / "tuf", fleet.directory / "keys")
    fleet.publish(2)
    assert carried.installer.refresh("canary").applied
    assert carried.runs == "r2"


def test_fast_forward_of_releases_is_recovered_from_by_a_rotation(fleet, served, carried):
    """Whoever stole the online keys put phones at a version that the fleet never reaches."""
    data = fleet.repository.adapter("r1")
    fleet.repository.publish(fleet.release(2**40, data), data, "canary")
    assert carried.installer.refresh("canary").applied
    tuf = fleet.directory / "tuf"
    for path in (tuf / "metadata").glob("*.*.json"):  # the operator restores an older state
        if not path.name.startswith(("1.", "2.")):
            path.unlink()
    restored = _restored(fleet)
    rotate_online_keys(tuf, fleet.directory / "keys")
    fleet.repository = restored()
    fleet.publish(2)
    assert carried.installer.refresh("canary").applied
    assert carried.runs == "r2"
    older = fleet.directory / "releases" / "r1.zip"
    assert carried.installer.apply_bundle(older).reason == "wrong_key"


def _restored(fleet):
    """The repository as it was after release 1, with metadata versions far ahead."""
    folder = fleet.directory / "tuf" / "metadata"
    timestamp = json.loads((folder / "timestamp.json").read_bytes())
    timestamp["signed"]["meta"]["snapshot.json"] = {"version": 2}
    (folder / "timestamp.json").write_text(json.dumps(timestamp))
    return lambda: Repository(fleet.directory / "tuf", fleet.directory / "keys")


def test_a_bundle_with_files_that_nobody_knows(fleet, carried, rewrite_bundle):
    def change(entries):
        entries["run_me.sh"] = b"rm -rf /"
        entries["../../escape"] = b"x"

    made = rewrite_bundle(fleet.publish(2), change)
    assert carried.installer.apply_bundle(made).applied
    assert not list(carried.folder.rglob("run_me.sh")) + list(carried.folder.rglob("escape"))


def test_a_bundle_that_unfolds_without_end(fleet, carried, tmp_path):
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("adapter.bin", "w", force_zip64=True) as entry:
            for _ in itertools.repeat(None, 65):
                entry.write(bytes(1 << 20))
        archive.writestr("release.json", b"{}")
        archive.writestr("metadata/timestamp.json", b"{}")
    assert_refused(carried, carried.installer.apply_bundle(path), "too_large")


@pytest.mark.parametrize("path", ["../keys/root/root.pem", "metadata/../../keys/root/root.pem"])
def test_no_file_outside_is_served(fleet, path):
    source = DirectoryFiles(fleet.directory / "tuf")
    assert source.read(path, 0, 10) is None

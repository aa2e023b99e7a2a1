"""Sessions with their threads: on the fake broker, and over paho on the real one."""

from __future__ import annotations

import queue
import sqlite3
import threading
import time
from random import Random

import pytest

from sync import fetch, outbox
from sync.database import open_database, transaction
from sync.errors import LinkLostError, RejectedError
from sync.fetch import DirectoryFiles
from sync.loopback import LoopbackBroker
from sync.messages import (
    AssignmentBatch,
    AssignmentsAccepted,
    Birth,
    Cancel,
    Health,
    ReleaseAnnouncement,
)
from sync.session import CloudSession, DeviceSession
from sync.vocabulary import Assignment, AssignmentId, DeviceId
from tests.brokers import WAYS, make_broker
from tests.conftest import require
from tests.wire import event, upload

FLEET = "home"
WAIT_S = 20.0


@pytest.fixture(params=["loopback", *WAYS], scope="module")
def transport(request, tmp_path_factory):
    """A function from a name to a fresh connection."""
    if request.param == "loopback":
        fake = LoopbackBroker(fleet=FLEET)
        yield lambda name: fake.transport(name, service=name == "cloud")
        return
    broker = make_broker(request.param, tmp_path_factory.mktemp("broker"), require, fleet=FLEET)
    broker.process.start()
    yield broker.transport
    broker.process.stop()


@pytest.fixture
def name(request):
    """A device of its own for each test, because the broker outlives them."""
    return f"phone-{abs(hash(request.node.name)) % 10**9}"


class Service:
    """A cloud that keeps what it gets."""

    def __init__(self, transport, folder):
        self.received = queue.SimpleQueue()
        self.session = CloudSession(
            transport=transport("cloud"),
            fleet=FLEET,
            ingest=self.ingest,
            files=DirectoryFiles(folder),
            random=Random(1),
        )

    def ingest(self, batch):
        for one in batch:
            self.received.put(one)
        return {}

    def wait_for(self, message_type, device):
        while True:
            one = self.received.get(timeout=WAIT_S)
            if one.device_id == device and isinstance(one.message, message_type):
                return one


@pytest.fixture
def cloud(transport, tmp_path):
    (tmp_path / "served").mkdir()
    service = Service(transport, tmp_path / "served")
    service.session.start()
    assert service.session.wait_connected(WAIT_S)
    yield service
    service.session.close()


@pytest.fixture
def device(transport, tmp_path, name, cloud):
    session = DeviceSession(
        transport=transport(name),
        database=tmp_path / "device.db",
        fleet=FLEET,
        birth=Birth(device_id=DeviceId(name), channel=name),
        random=Random(2),
    )
    session.start()
    assert session.wait_connected(WAIT_S)
    cloud.wait_for(Birth, name)
    yield session
    session.close()


@pytest.fixture
def conn(tmp_path, device):
    conn = open_database(tmp_path / "device.db")
    yield conn
    conn.close()


def put(conn, *messages):
    with transaction(conn):
        for message in messages:
            outbox.enqueue(conn, message, created_at_ms=1)


def test_a_file_that_is_asked_for_before_there_is_a_connection_comes_with_it(
    transport, tmp_path, name, cloud, monkeypatch
):
    monkeypatch.setattr(fetch, "REPEAT_AFTER_S", 3600.0)
    (tmp_path / "served" / "adapter.bin").write_bytes(b"an adapter")
    asked, send = threading.Event(), DeviceSession.send

    def send_and_say(session, message):
        send(session, message)
        asked.set()

    monkeypatch.setattr(DeviceSession, "send", send_and_say)
    session = DeviceSession(
        transport=transport(name),
        database=tmp_path / "early.db",
        fleet=FLEET,
        birth=Birth(device_id=DeviceId(name)),
        random=Random(2),
    )
    came: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    asking = threading.Thread(
        target=lambda: came.put(b"".join(session.fetch("adapter.bin"))), daemon=True
    )
    asking.start()
    assert asked.wait(WAIT_S)
    session.start()

    assert came.get(timeout=WAIT_S) == b"an adapter"
    session.close()


def test_rows_leave_when_the_session_is_woken_and_are_gone_when_committed(
    cloud, device, conn, name
):
    put(conn, upload(1), upload(2))
    device.wake()
    assert device.wait_drained(WAIT_S)
    got = [cloud.wait_for(type(upload(1)), name).message for _ in range(2)]
    assert got == [upload(1), upload(2)]
    stats = device.stats()
    assert (stats.depth, stats.parked, stats.counters.acknowledged) == (0, 0, 2)
    assert cloud.session.stats().counters.acknowledged == 2


def test_rows_of_another_process_leave_without_a_wake_up(device, conn):
    put(conn, event(1))
    assert device.wait_drained(WAIT_S)


def test_assignments_reach_the_owner_and_the_cloud_hears_that_they_did(cloud, device, name):
    batch = AssignmentBatch(assignments=(Assignment(AssignmentId("a1"), template="wifi_on"),))
    cloud.session.send(name, batch)
    assert device.next_message(WAIT_S) == batch
    accepted = cloud.wait_for(AssignmentsAccepted, name).message
    assert accepted.assignment_ids == ("a1",)
    cloud.session.send(name, Cancel(assignment_ids=(AssignmentId("a1"),)))
    assert isinstance(device.next_message(WAIT_S), Cancel)


def test_a_release_is_heard_by_who_is_there_and_by_who_comes_later(
    cloud, device, transport, tmp_path, name
):
    said = ReleaseAnnouncement(channel=name, release_id="r1", version=1)
    cloud.session.announce(said)
    assert device.next_message(WAIT_S) == said
    later = DeviceSession(
        transport=transport(f"{name}-b"),
        database=tmp_path / "later.db",
        fleet=FLEET,
        birth=Birth(device_id=DeviceId(f"{name}-b"), channel=name),
    )
    later.start()
    assert later.next_message(WAIT_S) == said
    later.close()


def test_files_arrive_whole_and_missing_ones_are_refused(device, tmp_path):
    data = Random(3).randbytes(200_000)
    (tmp_path / "served" / "adapter.bin").write_bytes(data)
    assert b"".join(device.fetch("adapter.bin")) == data
    assert b"".join(device.fetch("adapter.bin", offset=150_000)) == data[150_000:]
    with pytest.raises(RejectedError) as caught:
        list(device.fetch("../device.db"))
    assert caught.value.reason == "missing"


def test_health_and_a_new_birth_reach_the_cloud(cloud, device, name):
    device.send(Health(at_ms=5))
    assert cloud.wait_for(Health, name).message == Health(at_ms=5)
    device.announce(Birth(device_id=DeviceId(name), release_id="r2", channel="canary"))
    birth = cloud.wait_for(Birth, name).message
    assert (birth.release_id, birth.channel, birth.boot_id) == ("r2", "canary", device.boot_id)
    assert name in cloud.session.stats().devices


def go_to_the_cloud_and_back(device):
    with pytest.raises(RejectedError):
        list(device.fetch("nothing"))


def test_uploads_wait_while_the_cloud_gives_no_credit(cloud, device, conn):
    cloud.session.set_credit(0)
    go_to_the_cloud_and_back(device)
    put(conn, event(1))
    device.wake()
    go_to_the_cloud_and_back(device)
    assert device.stats().counters.sent == 0
    cloud.session.set_credit(8)
    assert device.wait_drained(WAIT_S)


def test_a_session_never_speaks_for_another_device(device):
    with pytest.raises(ValueError, match="another device"):
        device.announce(Birth(device_id=DeviceId("somebody-else")))


def test_a_session_that_starts_again_knows_its_install_and_its_unfinished_work(
    cloud, device, transport, tmp_path, name
):
    batch = AssignmentBatch(assignments=(Assignment(AssignmentId("a1"), template="wifi_on"),))
    cloud.session.send(name, batch)
    assert device.next_message(WAIT_S) == batch
    device.close()
    again = DeviceSession(
        transport=transport(name),
        database=tmp_path / "device.db",
        fleet=FLEET,
        birth=Birth(device_id=DeviceId(name)),
    )
    again.start()
    assert again.next_message(WAIT_S) == batch
    assert again.install_id == device.install_id
    assert again.boot_id != device.boot_id
    again.close()


def test_the_cloud_does_not_pretend_to_send_while_it_is_not_connected(transport, tmp_path):
    service = Service(transport, tmp_path)
    with pytest.raises(LinkLostError):
        service.session.send("phone-1", Cancel(assignment_ids=()))
    service.session.close()


def watch(session):
    deadline_s = time.monotonic() + WAIT_S
    while time.monotonic() < deadline_s:
        session.stats()
        session.wait_connected(0.01)


def test_an_error_in_the_service_ends_its_session_and_the_owner_learns_why(
    transport, tmp_path, device, conn
):
    def broken(batch):
        raise ZeroDivisionError

    session = CloudSession(
        transport=transport("cloud"),
        fleet=FLEET,
        ingest=broken,
        files=DirectoryFiles(tmp_path),
    )
    session.start()
    with pytest.raises(RuntimeError, match="wire-cloud ended by an error") as caught:
        watch(session)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    session.close()


def test_a_busy_database_is_waited_for_and_nothing_is_lost(device, conn, monkeypatch):
    failures = iter([sqlite3.OperationalError("disk is full")] * 2)
    claim = device._link.outbox.claim

    def failing(window):
        for failure in failures:
            raise failure
        return claim(window)

    monkeypatch.setattr(device._link.outbox, "claim", failing)
    put(conn, event(1))
    device.wake()
    assert device.wait_drained(WAIT_S)
    assert device.stats().database_errors == 2


def test_rows_that_are_not_drained_in_time_are_reported(transport, tmp_path):
    session = DeviceSession(
        transport=transport("phone-lonely"),
        database=tmp_path / "device.db",
        fleet=FLEET,
        birth=Birth(device_id=DeviceId("phone-lonely")),
    )
    conn = open_database(tmp_path / "device.db")
    put(conn, event(1))
    conn.close()
    assert not session.wait_drained(0.0)
    assert session.next_message(0.0) is None
    session.close()

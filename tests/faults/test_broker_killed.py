"""The broker is killed while acknowledgements are outstanding: each row arrives, and once."""

from __future__ import annotations

import os
import queue
import shutil
import signal
import sqlite3
import threading
from random import Random

import pytest

from sync import outbox
from sync.broker import BrokerProcess
from sync.codec import encode_body
from sync.database import open_database, transaction
from sync.fetch import CHUNK_BYTES, DirectoryFiles
from sync.messages import Birth, EpisodeUpload
from sync.mqtt import PahoTransport
from sync.session import CloudSession, DeviceSession
from sync.vocabulary import DeviceId
from tests.brokers import server
from tests.wire import upload

WAIT_S = 60.0
ROWS = 60


class Service:
    """A cloud with a real database; `gate` holds its commits back."""

    def __init__(self, broker, folder):
        self.gate = threading.Event()
        self.reached = threading.Event()
        self.gate.set()
        self.deliveries = []
        self._conn = sqlite3.connect(folder / "cloud.db", check_same_thread=False)
        self._conn.execute(
            "CREATE TABLE episodes (device TEXT, install TEXT, seq INTEGER, episode TEXT, "
            "PRIMARY KEY (device, install, seq))"
        )
        self.session = CloudSession(
            transport=PahoTransport(broker.address()),
            fleet="home",
            ingest=self.ingest,
            files=DirectoryFiles(folder),
            random=Random(1),
        )

    def ingest(self, batch):
        uploads = [one for one in batch if isinstance(one.message, EpisodeUpload)]
        if uploads:
            self.reached.set()
            assert self.gate.wait(WAIT_S)
        with self._conn:
            for one in uploads:
                self.deliveries.append((one.seq, one.attempt))
                self._conn.execute(
                    "INSERT INTO episodes VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    (one.device_id, one.install_id, one.seq, one.message.episode.id),
                )
        return {}

    def rows(self):
        return self._conn.execute("SELECT seq, episode FROM episodes ORDER BY seq").fetchall()


@pytest.fixture
def broker(tmp_path):
    broker = BrokerProcess(tmp_path / "broker", fleet="home")
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
def service(broker, tmp_path):
    service = Service(broker, tmp_path)
    service.session.start()
    assert service.session.wait_connected(WAIT_S)
    yield service
    service.gate.set()
    service.session.close()


@pytest.fixture
def phone(broker, tmp_path):
    session = DeviceSession(
        transport=PahoTransport(broker.add_device("phone-1")),
        database=tmp_path / "phone.db",
        fleet="home",
        birth=Birth(device_id=DeviceId("phone-1")),
        random=Random(2),
    )
    session.start()
    assert session.wait_connected(WAIT_S)
    yield session
    session.close()


@pytest.fixture
def conn(tmp_path, phone):
    conn = open_database(tmp_path / "phone.db")
    yield conn
    conn.close()


def play(conn, phone, first, count):
    """Log `count` episodes; (sequence, episode id) of each."""
    rows = []
    for number in range(first, first + count):
        body = encode_body(upload(number))
        with transaction(conn):
            rows.append((outbox.enqueue(conn, body, created_at_ms=1), upload(number).episode.id))
        phone.wake()
    return rows


def test_only_unacknowledged_rows_are_sent_again_after_the_broker_was_killed(
    broker, service, phone, conn
):
    broker.watch()
    settled = play(conn, phone, 0, 10)
    assert phone.wait_drained(WAIT_S)
    service.gate.clear()
    service.reached.clear()
    outstanding = play(conn, phone, 10, 10)
    assert service.reached.wait(WAIT_S)
    os.kill(broker.pid, signal.SIGKILL)
    service.gate.set()
    assert phone.wait_drained(WAIT_S)
    assert service.rows() == settled + outstanding
    resent = {seq for seq, attempt in service.deliveries if attempt > 1}
    assert resent
    assert resent <= {seq for seq, _episode in outstanding}
    assert phone.stats().counters.resent >= 1
    assert phone.stats().counters.acknowledged == 20


def test_rows_of_phone_and_cloud_are_equal_through_many_kills(broker, service, phone, conn):
    restarted = queue.SimpleQueue()
    broker.watch(restarted.put)
    played = []
    for round_number in range(3):
        played += play(conn, phone, round_number * ROWS, ROWS)
        os.kill(broker.pid, signal.SIGKILL)
        restarted.get(timeout=WAIT_S)
    assert phone.wait_drained(WAIT_S)
    assert service.rows() == played
    assert phone.stats().parked == 0


def test_a_phone_that_was_away_from_the_start_delivers_when_the_broker_comes(tmp_path):
    broker = BrokerProcess(tmp_path / "broker", fleet="home")
    address = broker.add_device("phone-1")
    phone = DeviceSession(
        transport=PahoTransport(address),
        database=tmp_path / "phone.db",
        fleet="home",
        birth=Birth(device_id=DeviceId("phone-1")),
    )
    phone.start()
    conn = open_database(tmp_path / "phone.db")
    played = play(conn, phone, 0, 3)
    broker.start()
    service = Service(broker, tmp_path)
    service.session.start()
    assert phone.wait_drained(WAIT_S)
    assert service.rows() == played
    phone.close()
    service.session.close()
    conn.close()
    broker.stop()


@pytest.mark.parametrize("make", ["nats", pytest.param("mosquitto", marks=pytest.mark.slow)])
def test_a_release_that_is_half_fetched_goes_on_over_an_emptied_broker(tmp_path, make, require):
    broker = BrokerProcess(tmp_path / "broker", fleet="home", server=server(make, require))
    broker.start()
    files = tmp_path / "served"
    files.mkdir()
    content = Random(3).randbytes(10 * CHUNK_BYTES + 7)
    (files / "adapter.bin").write_bytes(content)
    cloud = CloudSession(
        transport=PahoTransport(broker.address()),
        fleet="home",
        ingest=lambda _batch: {},
        files=DirectoryFiles(files),
        random=Random(1),
    )
    phone = DeviceSession(
        transport=PahoTransport(broker.add_device("phone-1")),
        database=tmp_path / "phone.db",
        fleet="home",
        birth=Birth(device_id=DeviceId("phone-1")),
        random=Random(2),
    )
    for session in (cloud, phone):
        session.start()
        assert session.wait_connected(WAIT_S)
    chunks = phone.fetch("adapter.bin", stall_timeout_s=WAIT_S)
    fetched = [next(chunks) for _ in range(4)]
    os.kill(broker.pid, signal.SIGKILL)
    broker.stop()
    shutil.rmtree(tmp_path / "broker" / "store")
    broker.start()
    fetched += chunks
    assert b"".join(fetched) == content
    assert len(fetched) == 11  # none of them twice
    phone.close()
    cloud.close()
    broker.stop()

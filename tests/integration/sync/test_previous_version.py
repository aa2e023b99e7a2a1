"""Today's cloud with a device of the version before, and today's device with such a cloud.

The other side is the real code of then (tests/golden/sync_v1.zip) in a process of its own.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
from contextlib import contextmanager

import pytest

from sync import outbox
from sync.database import open_database, transaction
from sync.fetch import DirectoryFiles
from sync.messages import (
    AssignmentBatch,
    AssignmentsAccepted,
    Birth,
    EpisodeUpload,
    NewCredentials,
    ReleaseAnnouncement,
)
from sync.session import CloudSession, DeviceSession
from sync.vocabulary import Assignment, AssignmentId, DeviceId
from tests.brokers import make_broker
from tests.conftest import ROOT, require
from tests.wire import event, upload

WAIT_S = 30.0
OLD = ROOT / "tests" / "golden" / "sync_v1.zip"
FILE = bytes(range(256)) * 600


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    broker = make_broker("nats-3.1.1", tmp_path_factory.mktemp("broker"), require)
    broker.process.start()
    yield broker
    broker.process.stop()


@pytest.fixture
def served(tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "adapter.bin").write_bytes(FILE)
    return folder


@contextmanager
def previous(part, folder, address):
    """The other side as a process that knows its address."""
    process = subprocess.Popen(
        [sys.executable, ROOT / "tests" / "previous_peer.py", OLD, part, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
    )
    names = ("host", "port", "client_id", "username", "password")
    process.stdin.write(json.dumps({name: getattr(address, name) for name in names}) + "\n")
    process.stdin.flush()
    try:
        yield process
    finally:
        process.kill()
        process.stdin.close()
        process.stdout.close()
        process.wait()


@pytest.mark.requirement("OR-VER-2")
def test_todays_cloud_serves_a_device_of_the_version_before(broker, tmp_path, served):
    heard = queue.SimpleQueue()

    def ingest(batch):
        for one in batch:
            heard.put(one)
        return {}

    cloud = CloudSession(
        transport=broker.transport(), fleet="home", ingest=ingest, files=DirectoryFiles(served)
    )
    cloud.start()
    assert cloud.wait_connected(WAIT_S)
    cloud.announce(ReleaseAnnouncement(channel="stable", release_id="r1", version=1))
    rows = {}
    with previous("device", tmp_path, broker.address("phone-old")) as device:
        accepted = False
        while len(rows) < 3 or not accepted:
            one = heard.get(timeout=WAIT_S)
            if isinstance(one.message, Birth):
                cloud.send("phone-old", NewCredentials(version=1, password="for newer ones"))
                batch = AssignmentBatch(assignments=(Assignment(AssignmentId("a1")),))
                cloud.send("phone-old", batch)
            accepted = accepted or isinstance(one.message, AssignmentsAccepted)
            if one.stream == "outbox":
                rows[one.seq] = one.message
        saw = json.loads(device.stdout.readline())
    counters = cloud.stats().counters
    cloud.close()
    assert saw == {
        "drained": True,
        "messages": ["AssignmentBatch", "ReleaseAnnouncement"],
        "fetched": len(FILE),
        "parked": 0,
        "malformed": 0,
    }
    episodes = [one for one in rows.values() if isinstance(one, EpisodeUpload)]
    assert [len(one.episode.steps) for one in episodes] == [30]
    assert (counters.withheld, counters.dead_lettered, counters.unknown_fields) == (1, 0, 0)


@pytest.mark.requirement("OR-VER-2", "OR-VER-5")
def test_todays_device_works_with_a_cloud_of_the_version_before(broker, tmp_path, served):
    with previous("cloud", served, broker.address()) as cloud:
        assert json.loads(cloud.stdout.readline()) == {"ready": True}
        device = DeviceSession(
            transport=broker.transport("phone-new"),
            database=tmp_path / "new.db",
            fleet="home",
            birth=Birth(device_id=DeviceId("phone-new"), attributes={"model": "new"}),
        )
        device.start()
        assert device.wait_connected(WAIT_S)
        conn = open_database(tmp_path / "new.db")
        with transaction(conn):
            for message in (event(1), event(2), upload(7, steps=40)):
                outbox.enqueue(conn, message, created_at_ms=1)
        conn.close()
        device.wake()
        assert device.wait_drained(WAIT_S)
        messages = {type(device.next_message(WAIT_S)).__name__ for _ in range(2)}
        assert b"".join(device.fetch("adapter.bin")) == FILE
        stats = device.stats()
        device.close()
        cloud.stdin.close()
        saw = json.loads(cloud.stdout.readline())
    assert messages == {"AssignmentBatch", "ReleaseAnnouncement"}
    assert saw == {
        "rows": ["EpisodeUpload", "Event", "Event"],
        "steps": 40,
        "dead_lettered": 0,
    }
    assert (stats.parked, stats.counters.malformed) == (0, 0)

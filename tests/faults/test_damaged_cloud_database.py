"""A cloud database that was damaged: said in one line, left as it is, and nothing acknowledged."""

from __future__ import annotations

import threading
from contextlib import closing
from random import Random

import pytest

from cloud_learner.errors import StoreDamagedError
from cloud_learner.ingest import Ingest
from cloud_learner.store import Database, sqlite_url
from outrider import cli
from sync import outbox
from sync.clock import SystemClock
from sync.codec import encode_body
from sync.database import open_database, transaction
from sync.fetch import DirectoryFiles
from sync.loopback import LoopbackBroker
from sync.messages import Birth
from sync.session import CloudSession, DeviceSession
from sync.vocabulary import DeviceId
from tests.wire import upload

pytestmark = pytest.mark.faults

NOISE = Random(1).randbytes(40_000)


def test_a_file_of_noise_is_refused_in_one_line_and_left_as_it_is(tmp_path, capsys):
    file = tmp_path / "cloud" / "cloud.db"
    file.parent.mkdir()
    file.write_bytes(NOISE)
    with pytest.raises(StoreDamagedError):
        Database(sqlite_url(file))
    assert cli.run(["cloud", "serve", "--data", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "is damaged" in said
    assert said.count("\n") == 1
    assert file.read_bytes() == NOISE


def test_a_store_that_breaks_while_it_is_used_acknowledges_nothing(tmp_path):
    file = tmp_path / "cloud.db"
    Database(sqlite_url(file)).close()
    database = Database(sqlite_url(file))
    broker = LoopbackBroker()
    failed = threading.Event()
    ingest = Ingest(database, clock=SystemClock())

    def commit(batch):
        try:
            return ingest.commit(batch)
        except StoreDamagedError:
            failed.set()
            raise

    cloud = CloudSession(
        transport=broker.transport("cloud", service=True),
        fleet="home",
        ingest=commit,
        files=DirectoryFiles(tmp_path),
    )
    phone = DeviceSession(
        transport=broker.transport("phone-1"),
        database=tmp_path / "phone.db",
        fleet="home",
        birth=Birth(device_id=DeviceId("phone-1")),
    )
    file.write_bytes(file.read_bytes()[:100] + NOISE)
    cloud.start()
    phone.start()
    with closing(open_database(tmp_path / "phone.db")) as conn:
        with transaction(conn):
            outbox.enqueue(conn, encode_body(upload(1)), created_at_ms=1)
        phone.wake()
        assert failed.wait(30.0)
        cloud.close()
        with pytest.raises(StoreDamagedError, match="put a backup in its place"):
            cloud.stats()
        assert outbox.depth(conn) == 1
    phone.close()
    database.close()

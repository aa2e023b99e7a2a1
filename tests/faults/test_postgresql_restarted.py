"""The database server goes away under the service: it waits, and acknowledges nothing meanwhile."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from cloud_learner.errors import StoreUnavailableError
from cloud_learner.ingest import Ingest
from cloud_learner.learner_store import LearnerStore
from cloud_learner.report_store import ReportStore
from cloud_learner.store import Database
from exporters.base import save_base
from sync import outbox
from sync.clock import SystemClock
from sync.codec import encode_body
from sync.database import open_database, transaction
from sync.fetch import DirectoryFiles
from sync.loopback import LoopbackBroker
from sync.messages import Birth
from sync.session import CloudSession, DeviceSession
from sync.vocabulary import DeviceId
from tests.learner_program import made_network
from tests.wire import upload

pytestmark = pytest.mark.faults

ROOT = Path(__file__).resolve().parents[2]
EPISODES = 40
WAIT_S = 60.0


@pytest.fixture
def url(postgres_server):
    made = postgres_server.empty()
    Database(made).close()
    yield made
    postgres_server.start()
    postgres_server.drop(made)


@dataclass
class Cutting:
    """Ingest whose server is stopped once, before a batch is committed or after."""

    ingest: Ingest
    server: object
    number: signal.Signals
    after: bool

    def __post_init__(self):
        self.cut, self.refused = threading.Event(), threading.Event()

    def commit(self, batch):
        if not self.cut.is_set() and not self.after:
            self._cut()
        try:
            outcome = self.ingest.commit(batch)
        except StoreUnavailableError:
            self.refused.set()
            raise
        if not self.cut.is_set():
            self._cut()
            raise StoreUnavailableError("committed, and the answer was lost")
        return outcome

    def _cut(self):
        self.server.stop(self.number)
        self.cut.set()


@pytest.mark.parametrize(
    ("number", "after"),
    [
        pytest.param(signal.SIGINT, False, id="stopped-before-commit", marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, True, id="stopped-after-commit"),
        pytest.param(signal.SIGQUIT, False, id="crashed-before-commit"),
        pytest.param(signal.SIGQUIT, True, id="crashed-after-commit", marks=pytest.mark.slow),
    ],
)
def test_a_server_that_goes_away_loses_nothing_and_doubles_nothing(
    tmp_path, postgres_server, url, number, after
):
    broker = LoopbackBroker()
    with closing(Database(url, sole=True)) as database:
        cutting = Cutting(
            Ingest(database, clock=SystemClock()), postgres_server, number, after=after
        )
        cloud = CloudSession(
            transport=broker.transport("cloud", service=True),
            fleet="home",
            ingest=cutting.commit,
            files=DirectoryFiles(tmp_path),
        )
        phone = DeviceSession(
            transport=broker.transport("phone-1"),
            database=tmp_path / "phone.db",
            fleet="home",
            birth=Birth(device_id=DeviceId("phone-1")),
        )
        with closing(open_database(tmp_path / "phone.db")) as conn, transaction(conn):
            for one in range(1, EPISODES + 1):
                outbox.enqueue(conn, encode_body(upload(one)), created_at_ms=1)
        cloud.start()
        phone.start()

        assert cutting.refused.wait(WAIT_S)
        with closing(open_database(tmp_path / "phone.db")) as conn:
            assert outbox.depth(conn) == EPISODES
        with pytest.raises(StoreUnavailableError):
            database.check_sole()
        postgres_server.start()

        assert phone.wait_drained(WAIT_S)
        database.check_sole()
        counts = ReportStore(database).counts()
        assert (counts["episodes"], counts["dead_letters"]) == (EPISODES, 0)
        assert cloud.stats().counters.postponed > 0
        phone.close()
        cloud.close()


def test_a_learner_waits_for_its_server_until_it_is_told_to_stop(tmp_path, postgres_server, url):
    stop, asked = threading.Event(), threading.Event()

    def wait(pause_s):
        asked.set()
        return stop.wait(min(pause_s, 0.05))

    with closing(Database(url, migrate=False)) as database:
        store = LearnerStore(database, adapters_dir=tmp_path, clock=SystemClock(), wait=wait)
        report = {"round_index": 3, "consumed_row": 0, "cpu_s": 1.0, "metrics": {"loss": 0.5}}
        store.report(**report)
        postgres_server.stop()
        reporting = threading.Thread(target=store.report, kwargs=report)
        reporting.start()
        assert asked.wait(WAIT_S)
        postgres_server.start()
        reporting.join(WAIT_S)

        assert not reporting.is_alive()
        assert len(ReportStore(database).learner_metrics()) == 2
        postgres_server.stop()
        stop.set()
        with pytest.raises(StoreUnavailableError, match="cannot be used now"):
            store.campaign()


@pytest.mark.slow
def test_a_learner_that_waits_for_its_server_ends_well_when_it_is_told_to(
    tmp_path, postgres_server, url
):
    save_base(made_network(), tmp_path / "base", {"note": "tiny, for tests"})
    words = ["cloud", "learn", "--data", str(tmp_path / "fleet"), "--database", url, "--json"]
    learner = subprocess.Popen(
        [sys.executable, "-m", "outrider", *words, "--base", str(tmp_path / "base")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert json.loads(learner.stdout.readline())["event"] == "started"
        postgres_server.stop()
        assert any("store_awaited" in line for line in learner.stderr)
        learner.send_signal(signal.SIGINT)
        said, errors = learner.communicate(timeout=WAIT_S)
    finally:
        learner.kill()
        learner.wait()

    assert learner.returncode == 0, errors
    assert json.loads(said.splitlines()[-1])["event"] == "summary"

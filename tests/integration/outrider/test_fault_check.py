"""The check behind the fault bench finds what is missing, twice, altered or made up."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from cloud_learner.ingest import Ingest
from cloud_learner.store import Database, sqlite_url
from device_runtime.log_quota import let_go, set_log_quota
from device_runtime.trajectory_log import TrajectoryLog
from outrider.fault_check import check, read_phone
from outrider.fault_parts import EVENT, EVENT_ID, WITNESS
from sync.clock import ManualClock
from sync.codec import EncodedBody, decode_body
from sync.database import transaction
from sync.messages import EpisodeUpload, Event
from sync.outbox import enqueue
from sync.session import Received
from tests.wire import upload

EPISODES = 4


class Pair:
    """A phone's database and the cloud's, with the same rows."""

    def __init__(self, folder):
        self.phone = folder / "phone.db"
        self.url = sqlite_url(folder / "cloud.db")
        clock = ManualClock()
        with closing(TrajectoryLog.open(self.phone, clock=clock, new_id=lambda: "i")) as log:
            conn = log.connection
            for number in range(EPISODES):
                one = upload(number)
                log.append(one.episode, one.verdicts)
            with transaction(conn):
                enqueue(conn, Event(kind=EVENT, fields={EVENT_ID: "e"}), created_at_ms=1)
                conn.execute(f"CREATE TABLE {WITNESS} (id TEXT PRIMARY KEY)")
                conn.execute(f"INSERT INTO {WITNESS} VALUES ('e')")
            rows = conn.execute("SELECT seq, kind, enc, body FROM outbox").fetchall()
        messages = [(row[0], decode_body(EncodedBody(*row[1:]))) for row in rows]
        self.ingest(*messages)
        self.settle("1 = 1")

    def ingest(self, *messages):
        database = Database(self.url)
        batch = [
            Received("phone-1", message, "i", "b", "outbox", seq, 1, 1, 1, redelivered=False)
            for seq, message in messages
        ]
        Ingest(database, clock=ManualClock()).commit(batch)
        database.close()

    def settle(self, rows):
        with closing(sqlite3.connect(self.phone)) as conn, conn:
            conn.execute(f"DELETE FROM outbox WHERE {rows}")

    def cloud(self, statement):
        with closing(sqlite3.connect(self.url.removeprefix("sqlite:///"))) as conn, conn:
            conn.execute(statement)

    def findings(self, lost=frozenset()):
        return check([read_phone(self.phone, "phone-1")], self.url, lost=lost)


@pytest.fixture
def pair(tmp_path):
    return Pair(tmp_path)


def test_equal_rows_are_clean(pair):
    found = pair.findings()
    assert (found.broken, found.episodes, found.events) == ((), EPISODES, 1)


def test_an_episode_that_the_cloud_lacks_is_found_unless_it_may_be_lost(pair):
    pair.cloud("DELETE FROM episode_bodies WHERE row = 1")
    pair.cloud("DELETE FROM episodes WHERE row = 1")
    assert pair.findings().broken == ("1 episodes are missing in the cloud",)
    assert pair.findings(lost=frozenset({"episode-0"})).broken == ()


def test_an_event_that_the_cloud_lacks_is_found(pair):
    pair.cloud("DELETE FROM device_events")
    assert pair.findings().broken == ("1 events are missing in the cloud",)


def test_an_event_that_counts_twice_is_found_unless_a_database_was_damaged(pair):
    pair.ingest((98, Event(kind=EVENT, fields={EVENT_ID: "e"})))
    assert pair.findings().broken == ("1 events are in the cloud more than once",)
    assert pair.findings(lost=frozenset({"episode-0"})).broken == ()


def test_an_episode_that_no_phone_played_is_found(pair):
    forged = replace(upload(9).episode)
    pair.ingest((99, EpisodeUpload(episode=forged)))
    assert pair.findings().broken == ("1 episodes of the cloud are on no phone",)


def test_an_altered_episode_is_found(pair):
    pair.cloud(
        "UPDATE episode_bodies SET body = (SELECT body FROM episode_bodies WHERE row = 2) "
        "WHERE row = 1"
    )
    assert pair.findings().broken == ("1 episodes differ",)


def test_an_episode_whose_steps_the_phone_let_go_is_compared_by_its_name(pair):
    with closing(sqlite3.connect(pair.phone)) as conn, transaction(conn):
        set_log_quota(conn, 1)
        assert let_go(conn) == EPISODES
    assert pair.findings().broken == ()
    pair.cloud("DELETE FROM episode_bodies WHERE row = 1")
    pair.cloud("DELETE FROM episodes WHERE row = 1")
    assert pair.findings().broken == ("1 episodes are missing in the cloud",)


def test_a_row_that_waits_and_one_that_was_refused_are_found(pair):
    with closing(sqlite3.connect(pair.phone)) as conn, conn:
        for reason in (None, "malformed"):
            conn.execute(
                "INSERT INTO outbox (kind, priority, enc, body, created_at_ms, parked_reason) "
                "VALUES ('event', 0, 'msgpack', x'80', 1, ?)",
                (reason,),
            )
    assert pair.findings().broken == (
        "1 rows still wait to be sent",
        "1 rows were refused for good",
    )

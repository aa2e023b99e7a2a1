"""A message that no database takes holds back nothing but itself, and drops are told of once."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from random import Random

import pytest
from sqlalchemy import func, select

from cloud_learner import ingest_store
from cloud_learner.errors import StoreDamagedError, StoreRefusedError, StoreUnavailableError
from cloud_learner.ingest import LETTERS_PER_S, UNSTORABLE, Ingest
from cloud_learner.report_store import ReportStore
from cloud_learner.store import Database, counters
from cloud_learner.tables import DEAD_LETTERS, EPISODES
from sync.clock import ManualClock
from sync.drop_rules import dropped_event
from sync.messages import Event, Health
from sync.session import DeadLetter, Received
from tests.wire import event, upload

POISON = Event(kind="something_happened", at_ms=2**64 - 1)
"""No column holds so large a number."""


@pytest.fixture
def ingest(database):
    return Ingest(database, clock=ManualClock())


def received(message, seq, *, stream="outbox"):
    return Received(
        device_id="phone-1",
        message=message,
        install_id="install-1",
        boot_id="boot",
        stream=stream,
        seq=seq,
        attempt=1,
        sent_at_ms=0,
        received_at_ms=0,
        redelivered=False,
    )


def rows_of(database, table):
    with database.read() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


@pytest.mark.requirement("OR-ACK-17")
@pytest.mark.parametrize("place", [0, 3, 7])
def test_a_poisonous_message_is_a_dead_letter_and_its_neighbours_are_stored(
    ingest, database, place
):
    batch = [received(upload(number), number) for number in range(1, 8)]
    batch.insert(place, received(POISON, 99))
    assert ingest.commit(batch) == {place: UNSTORABLE}
    assert rows_of(database, EPISODES) == 7
    with database.read() as connection:
        (letter,) = connection.execute(select(DEAD_LETTERS)).mappings()
    assert (letter["reason"], letter["device_id"]) == (UNSTORABLE, "phone-1")


def test_a_text_that_is_longer_than_usual_is_kept(ingest, database):
    long = Event(kind="x" * 500, fields={"y" * 500: "z" * 5000})
    assert ingest.commit([received(long, 1)]) == {}
    [kept] = ReportStore(database).events()
    assert (kept["kind"], kept["fields"]) == (long.kind, long.fields)


def test_no_message_is_large_enough_to_hold_its_neighbours_back(ingest, database):
    """An index of PostgreSQL takes no more than 2,700 bytes that cannot be made smaller."""
    endless = Random(1).randbytes(10_000).hex()
    batch = [received(upload(1), 1), replace(received(event(2), 2), install_id=endless)]
    refused = ingest.commit(batch)
    assert refused == ({} if database.dialect == "sqlite" else {1: UNSTORABLE})
    assert rows_of(database, EPISODES) == 1


def test_a_broken_database_is_no_messages_fault(ingest, database, monkeypatch):
    """Else what was sent would be refused for good, and thrown away by the phones."""
    for error in (StoreDamagedError("damaged"), StoreRefusedError("refused")):

        def fail(*_args, error=error, **_kwargs):
            raise error

        monkeypatch.setattr("cloud_learner.ingest.record_message", fail)
        with pytest.raises(type(error)):
            ingest.commit([received(event(1), 1)])
    assert rows_of(database, DEAD_LETTERS) == 0


def test_a_user_without_the_rights_stores_nothing_and_refuses_nothing(postgres_server):
    url = postgres_server.empty()
    with closing(Database(url)) as database:
        with database.write() as connection:
            connection.exec_driver_sql("ALTER TABLE episodes RENAME TO episodes_of_somebody")
        with pytest.raises(StoreRefusedError, match="must own the tables") as caught:
            Ingest(database, clock=ManualClock()).commit([received(upload(1), 1)])
        assert "\n" not in str(caught.value)
        assert rows_of(database, DEAD_LETTERS) == 0
    postgres_server.drop(url)


def test_several_poisonous_messages_are_each_found(ingest, database):
    batch = [received(POISON if number % 3 == 0 else event(number), number) for number in range(9)]
    assert ingest.commit(batch) == dict.fromkeys([0, 3, 6], UNSTORABLE)
    assert ReportStore(database).counts()["device_events"] == 6


def test_a_database_that_is_away_makes_nobody_poisonous(ingest, database, monkeypatch):
    def away(*_args, **_kwargs):
        raise StoreUnavailableError("away")

    monkeypatch.setattr("cloud_learner.ingest.record_message", away)
    with pytest.raises(StoreUnavailableError):
        ingest.commit([received(event(1), 1), received(event(2), 2)])
    assert rows_of(database, DEAD_LETTERS) == 0


def test_the_newest_dead_letters_are_kept_and_all_are_counted(ingest, database, monkeypatch):
    monkeypatch.setattr(ingest_store, "DEAD_LETTERS_KEPT", 3)
    for number in range(5):
        ingest.bury(DeadLetter(f"topic/{number}", b"", "malformed"))
    with database.read() as connection:
        details = [row[0] for row in connection.execute(select(DEAD_LETTERS.c.detail))]
    assert [detail.split()[0] for detail in details] == ["topic/2", "topic/3", "topic/4"]


def test_of_a_flood_few_letters_are_kept_a_second_and_all_are_counted(database):
    """Each that is kept costs a commit, for which all other phones wait."""
    clock = ManualClock()
    ingest = Ingest(database, clock=clock)
    for _ in range(2):
        for number in range(2 * LETTERS_PER_S):
            ingest.bury(DeadLetter(f"topic/{number}", b"", "malformed"))
        clock.advance(1.0)
    assert rows_of(database, DEAD_LETTERS) == 2 * LETTERS_PER_S
    ingest.commit([received(event(1), 1)])
    ingest.commit([received(event(2), 2)])
    with database.read() as connection:
        assert counters(connection)["dead_lettered"] == 4 * LETTERS_PER_S


def test_declared_drops_are_totals_whoever_tells_them_and_however_often(ingest, database):
    first = dropped_event("episode_oldest", (2, 500), at_ms=1)
    later = dropped_event("episode_oldest", (5, 900), at_ms=2)
    health = Health(at_ms=3, drops={"episode_oldest": (4, 800), "blob_oldest": (1, 70)})
    ingest.commit([received(later, 2), received(first, 1), received(health, 1, stream="live")])
    ingest.commit([received(later, 2), replace(received(first, 3), install_id="install-2")])
    counts = ReportStore(database).counts()
    assert counts["drops_episode_oldest"] == 5 + 2
    assert counts["drops_blob_oldest"] == 1
    assert (counts["drops"], counts["drop_bytes"]) == (8, 900 + 500 + 70)


def test_drops_by_rules_that_are_not_known_here_count_together(ingest, database):
    for totals in ({"x": (10, 2), "y": (20, 1)}, {"x": (11, 3), "y": (20, 1)}):
        ingest.commit([received(Health(at_ms=3, drops=totals), 1, stream="live")])
    counts = ReportStore(database).counts()
    assert (counts["drops_other"], counts["drop_bytes"]) == (31, 4)


@pytest.mark.parametrize("fields", [{}, {"rule": "x", "count": "-1", "bytes": "1"}])
def test_an_event_of_drops_that_says_nothing_usable_is_only_an_event(ingest, database, fields):
    assert ingest.commit([received(Event(kind="storage_dropped", fields=fields), 1)]) == {}
    assert ReportStore(database).counts()["drops"] == 0

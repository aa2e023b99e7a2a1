"""The database of each kind: its tables, its transactions, and two processes at once."""

from __future__ import annotations

import math
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import insert, select
from sqlalchemy.exc import DBAPIError

from cloud_learner import store_lock
from cloud_learner.errors import (
    SettingsError,
    StoreInUseError,
    StoreMismatchError,
    StoreRefusedError,
    StoreUnavailableError,
)
from cloud_learner.store import Database, count, counters, insert_new, sqlite_url, upsert
from cloud_learner.tables import ADAPTERS, COUNTERS, DEAD_LETTERS, LEARNER_STATE, METADATA
from tests.postgresql import url_of


@pytest.fixture(params=["sqlite", "postgresql"])
def new_url(request, tmp_path):
    """A database in which there is nothing yet."""
    if request.param == "sqlite":
        yield sqlite_url(tmp_path / "cloud.db")
        return
    yield request.getfixturevalue("new_postgresql")


@pytest.fixture
def new_postgresql(postgres_server):
    """As above, of PostgreSQL."""
    url = postgres_server.empty()
    yield url
    postgres_server.drop(url)


def test_migrations_make_the_tables_that_the_code_uses(database):
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})

        assert compare_metadata(context, METADATA) == []


def test_a_new_database_is_its_owners_alone(tmp_path):
    with (
        closing(Database(sqlite_url(tmp_path / "cloud.db"), sole=True)) as database,
        database.write() as connection,
    ):
        count(connection, "redelivered", 1)

        assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}


def test_what_devices_are_told_is_stored_outlasts_a_loss_of_power(tmp_path):
    with (
        closing(Database(sqlite_url(tmp_path / "cloud.db"))) as database,
        database.write() as connection,
    ):
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_opening_again_changes_nothing_and_keeps_what_is_there(database):
    with database.write() as connection:
        count(connection, "redelivered", 3)

    again = Database(url_of(database))
    with again.read() as connection:
        kept = counters(connection)
    again.close()

    assert kept == {"redelivered": 3}


def test_a_database_without_tables_is_refused_where_it_is_only_used(new_url, tmp_path):
    (tmp_path / "cloud.db").touch()
    with pytest.raises(StoreMismatchError, match=r"start `outrider cloud serve`"):
        Database(new_url, migrate=False)


def test_a_file_that_is_not_there_is_not_made_by_who_only_uses_it(tmp_path):
    with pytest.raises(StoreMismatchError, match="correct --database"):
        Database(sqlite_url(tmp_path / "typo" / "cloud.db"), migrate=False)
    assert not (tmp_path / "typo").exists()


@pytest.mark.parametrize("migrate", [True, False])
@pytest.mark.parametrize(
    ("version", "advice"),
    [("9999", "use the version that wrote it"), ("0001", "brings it up to date")],
)
def test_tables_of_another_version_are_refused_in_one_line(new_url, version, advice, migrate):
    with closing(Database(new_url)) as database, database.write() as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{version}'")
    refusal: type[Exception] = StoreMismatchError
    if migrate and version == "0001":  # the mark lies: the tables are there
        refusal, advice = StoreRefusedError, "already exists"

    with pytest.raises(refusal, match=advice) as caught:
        Database(new_url, migrate=migrate)

    assert "\n" not in str(caught.value)


def test_rows_that_cannot_be_brought_up_to_date_are_no_wrong_name(tmp_path):
    url = sqlite_url(tmp_path / "cloud.db")
    with closing(Database(url)) as database, database.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0008'")
        connection.exec_driver_sql(
            "CREATE TRIGGER kept BEFORE UPDATE ON alembic_version "
            "BEGIN SELECT RAISE(ABORT, 'stays so'); END"
        )

    with pytest.raises(StoreMismatchError, match=r"up to date \(stays so\)"):
        Database(url)


@pytest.mark.parametrize(
    "url",
    [
        "nonsense",
        "nonsense://me:secret@host/x",
        "mysql+absent://me:secret@host/x",
        "postgresql+absent://me:secret@host/x",
        "postgresql://me:se@cret@host/x",
        "postgresql://me:x@y:secret@host/x",
        "postgresql://host:secret/x",
    ],
)
def test_a_url_that_names_no_database_is_refused_in_one_line_without_its_password(url):
    with pytest.raises(SettingsError, match="sqlite:///FILE") as caught:
        Database(url)
    assert "cret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_missing_driver_is_named_with_what_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(SettingsError, match=r"pip install 'outrider\[postgres\]'") as caught:
        Database("postgresql://me:secret@host/x")
    assert "secret" not in str(caught.value)


def test_a_transaction_that_fails_leaves_nothing(database):
    def fail():
        with database.write() as connection:
            count(connection, "redelivered")
            raise KeyError("boom")

    with pytest.raises(KeyError):
        fail()

    with database.read() as connection:
        assert counters(connection) == {}


def test_a_reader_keeps_its_view_while_another_process_writes(database):
    other = Database(url_of(database), migrate=False)
    with database.read() as reading:
        before = counters(reading)
        with other.write() as writing:
            count(writing, "redelivered")
        during = counters(reading)
    with database.read() as reading:
        after = counters(reading)
    other.close()

    assert (before, during, after) == ({}, {}, {"redelivered": 1})


def test_writers_wait_for_each_other_so_that_what_was_read_holds(database):
    others = [Database(url_of(database), migrate=False) for _ in range(3)]

    def add(store):
        for _ in range(20):
            with store.write() as connection:
                known = counters(connection).get("redelivered", 0)
                row = {"name": "redelivered", "value": known + 1}
                upsert(connection, COUNTERS, row)

    threads = [threading.Thread(target=add, args=(store,)) for store in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.read() as connection:
        assert counters(connection) == {"redelivered": 60}
    for store in others:
        store.close()


def test_rows_are_numbered_in_the_order_of_commits(database):
    letter = {"device_id": "d", "reason": "r", "received_at_ms": 1}
    begun, may_end = threading.Event(), threading.Event()

    def write_first():
        with database.write() as connection:
            connection.execute(insert(DEAD_LETTERS).values(detail="first", **letter))
            begun.set()
            assert may_end.wait(30)

    thread = threading.Thread(target=write_first)
    thread.start()
    assert begun.wait(30)
    threading.Timer(0.05, may_end.set).start()
    with database.write() as connection:
        connection.execute(insert(DEAD_LETTERS).values(detail="second", **letter))
        seen = connection.execute(select(DEAD_LETTERS.c.detail).order_by(DEAD_LETTERS.c.row))

        assert seen.scalars().all() == ["first", "second"]
    thread.join()


def test_a_database_has_one_service_at_a_time(database, monkeypatch):
    monkeypatch.setattr(store_lock, "_GONE_S", 0.2)
    url = url_of(database)
    first = Database(url, sole=True)
    with pytest.raises(StoreInUseError, match="stop it first") as caught:
        Database(url, sole=True)
    first.check_sole()
    Database(url, migrate=False).close()  # a learner is no service
    first.close()
    Database(url, sole=True).close()

    assert "\n" not in str(caught.value)


def test_a_service_that_is_killed_does_not_keep_its_database(database):
    holds = (
        "import sys; from cloud_learner.store import Database; "
        "Database(sys.argv[1], sole=True); print('held', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", holds, url_of(database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with child:
        assert child.stdout.readline() == b"held\n"
        child.kill()

    Database(url_of(database), sole=True).close()


def _cut_off(session):
    """Break a client's connection; its server has one still, until what is returned is closed."""
    fd = session.connection.dbapi_connection.fileno()
    kept = socket.socket(fileno=os.dup(fd))
    broken, other = socket.socketpair()
    other.close()
    os.dup2(broken.fileno(), fd)
    broken.close()
    return kept


def test_a_service_that_was_cut_off_waits_for_its_own_lost_lock(new_postgresql, monkeypatch):
    with closing(Database(new_postgresql, sole=True)) as database:
        with _cut_off(database._lock._session):
            for _ in range(3):
                with pytest.raises(StoreUnavailableError):
                    database.check_sole()
        deadline_s = time.monotonic() + 30
        while True:
            try:
                database.check_sole()
                break
            except StoreUnavailableError:
                assert time.monotonic() < deadline_s
                time.sleep(0.02)

        monkeypatch.setattr(store_lock, "_GONE_S", 0.0)
        with pytest.raises(StoreInUseError):
            Database(new_postgresql, sole=True)


def test_a_service_that_was_cut_off_ends_where_another_took_its_place(new_postgresql, monkeypatch):
    with closing(Database(new_postgresql, sole=True)) as database:
        with _cut_off(database._lock._session), pytest.raises(StoreUnavailableError):
            database.check_sole()
        with closing(Database(new_postgresql, sole=True)):
            with pytest.raises(StoreUnavailableError):
                database.check_sole()
            monkeypatch.setattr(store_lock, "_CUT_OFF_S", 0.0)
            with pytest.raises(StoreInUseError):
                database.check_sole()


def test_only_the_first_of_two_equal_keys_is_inserted(database):
    with database.write() as connection:
        first = insert_new(connection, COUNTERS, {"name": "x", "value": 1})
        second = insert_new(connection, COUNTERS, {"name": "x", "value": 2})
        value = connection.execute(select(COUNTERS.c.value)).scalar()

    assert (first, second, value) == (True, False, 1)


def test_upsert_replaces_all_but_what_is_to_be_kept(database):
    row = {"key": "round", "value": 1, "updated_at_ms": 5}
    with database.write() as connection:
        connection.execute(insert(LEARNER_STATE).values(**row))
        upsert(
            connection,
            LEARNER_STATE,
            {**row, "value": 2, "updated_at_ms": 9},
            keep=("updated_at_ms",),
        )
        kept = connection.execute(
            select(LEARNER_STATE.c.value, LEARNER_STATE.c.updated_at_ms)
        ).one()

    assert tuple(kept) == (2, 5)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"loss": math.nan, "all": [math.inf, 1.5]}, {"loss": None, "all": [None, 1.5]}),
        ({"said": "\x00 \ud800 ü 文"}, {"said": "\x00 \ud800 ü 文"}),
        (True, True),
    ],
)
def test_json_holds_every_text_and_null_for_what_is_no_number(database, value, kept):
    with database.write() as connection:
        row = {"key": "k", "value": value, "updated_at_ms": 0}
        connection.execute(insert(LEARNER_STATE).values(**row))
    with database.read() as connection:
        assert connection.execute(select(LEARNER_STATE.c.value)).scalar() == kept


def test_tables_that_were_changed_are_no_database_that_is_away(database):
    with database.write() as connection:
        connection.exec_driver_sql("ALTER TABLE counters RENAME COLUMN value TO number")
    try:
        with pytest.raises(StoreRefusedError, match="value"), database.read() as connection:
            counters(connection)
    finally:
        with database.write() as connection:
            connection.exec_driver_sql("ALTER TABLE counters RENAME COLUMN number TO value")


def test_a_file_that_can_be_written_again_is_written(tmp_path):
    with closing(Database(sqlite_url(tmp_path / "cloud.db"))) as database:
        with database.read() as connection:  # as where it was opened on a read-only disk
            connection.exec_driver_sql("PRAGMA query_only = ON")
        with pytest.raises(StoreUnavailableError, match="readonly"), database.write() as connection:
            count(connection, "redelivered")
        with database.write() as connection:
            count(connection, "redelivered")
            assert counters(connection) == {"redelivered": 1}


def test_what_a_statement_was_given_stands_in_no_error(database):
    with database.read() as connection, pytest.raises(DBAPIError) as caught:
        connection.execute(insert(ADAPTERS).values(name="a-secret"))
    assert "a-secret" not in str(caught.value)

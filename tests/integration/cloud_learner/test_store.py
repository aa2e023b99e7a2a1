"""The database file: its tables, its transactions, and two processes at once."""

from __future__ import annotations

import stat

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import insert, select

from cloud_learner.errors import SettingsError, StoreMismatchError
from cloud_learner.store import Database, count, counters, insert_new, sqlite_url, upsert
from cloud_learner.tables import COUNTERS, LEARNER_STATE, METADATA


@pytest.fixture
def database(tmp_path):
    opened = Database(sqlite_url(tmp_path / "cloud.db"))
    yield opened
    opened.close()


def test_migrations_make_the_tables_that_the_code_uses(database):
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection)

        assert compare_metadata(context, METADATA) == []


def test_a_new_database_is_its_owners_alone(tmp_path, database):
    with database.write() as connection:
        count(connection, "redelivered", 1)

    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.glob("cloud.db*")} == {0o600}


def test_opening_again_changes_nothing_and_keeps_what_is_there(tmp_path, database):
    with database.write() as connection:
        count(connection, "redelivered", 3)

    again = Database(sqlite_url(tmp_path / "cloud.db"))
    with again.read() as connection:
        kept = counters(connection)
    again.close()

    assert kept == {"redelivered": 3}


def test_a_database_of_a_newer_version_is_refused_in_one_line(tmp_path, database):
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(StoreMismatchError) as caught:
        Database(sqlite_url(tmp_path / "cloud.db"))

    assert "use the version that wrote it" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["nonsense", "nonsense://me:secret@host/x", "mysql+absent://me:secret@host/x"],
)
def test_a_url_that_names_no_database_is_refused_in_one_line_without_its_password(url):
    with pytest.raises(SettingsError, match="sqlite:///FILE") as caught:
        Database(url)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_transaction_that_fails_leaves_nothing(database):
    def fail():
        with database.write() as connection:
            count(connection, "redelivered")
            raise KeyError("boom")

    with pytest.raises(KeyError):
        fail()

    with database.read() as connection:
        assert counters(connection) == {}


def test_a_reader_keeps_its_view_while_another_process_writes(tmp_path, database):
    other = Database(sqlite_url(tmp_path / "cloud.db"), migrate=False)
    with database.read() as reading:
        before = counters(reading)
        with other.write() as writing:
            count(writing, "redelivered")
        during = counters(reading)
    with database.read() as reading:
        after = counters(reading)
    other.close()

    assert (before, during, after) == ({}, {}, {"redelivered": 1})


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
        stored = connection.execute(select(LEARNER_STATE)).one()

    assert tuple(stored) == ("round", 2, 5)

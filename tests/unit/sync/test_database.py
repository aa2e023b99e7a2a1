from __future__ import annotations

import sqlite3
import stat
from contextlib import closing, suppress
from importlib.resources import files
from pathlib import Path
from random import Random

import pytest

from sync.clock import ManualClock
from sync.codec import decode_body
from sync.database import (
    SCHEMA_VERSION,
    create_schema,
    open_database,
    read_meta,
    transaction,
    write_meta,
)
from sync.errors import IntegrityError
from sync.inbox import pending
from sync.outbox import Outbox, enqueue
from tests.wire import event, upload


@pytest.fixture
def conn(tmp_path):
    conn = open_database(tmp_path / "device.db")
    yield conn
    conn.close()


def test_the_install_keeps_the_name_that_it_was_made_with(conn):
    create_schema(conn, install_id="first")
    create_schema(conn, install_id="second")
    assert read_meta(conn, "install_id") == "first"


def waits_for_the_disk(conn):
    (level,) = conn.execute("PRAGMA synchronous").fetchone()
    return level == 2


def test_only_what_is_to_outlast_a_loss_of_power_waits_for_the_disk(conn):
    create_schema(conn, install_id="one")
    with transaction(conn):
        write_meta(conn, "a", "1")
        assert not waits_for_the_disk(conn)
    for fails in (False, True):
        with suppress(KeyError), transaction(conn, durable=True):
            write_meta(conn, "b", "2")
            assert waits_for_the_disk(conn)
            if fails:
                raise KeyError
        assert not waits_for_the_disk(conn)
    assert (read_meta(conn, "a"), read_meta(conn, "b")) == ("1", "2")


def test_a_new_database_is_its_owners_alone_and_an_old_one_stays_as_it_is(tmp_path):
    modes = []
    for before in (None, 0o640):
        path = tmp_path / f"{before}.db"
        if before:
            path.touch()
            path.chmod(before)
        with closing(open_database(path)) as conn:
            create_schema(conn, install_id="one")
            modes.append(
                {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.glob(f"{before}*")}
            )
    assert modes == [{0o600}, {0o640}]


def test_tables_are_made_inside_the_callers_transaction(conn):
    conn.execute("BEGIN")
    create_schema(conn, install_id="one")
    conn.rollback()
    tables = conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    assert tables == []


def test_a_database_of_newer_code_is_refused(conn):
    create_schema(conn, install_id="one")
    write_meta(conn, "schema_version", "99")
    with pytest.raises(IntegrityError, match="update the program"):
        create_schema(conn, install_id="one")


def test_a_fact_can_be_changed(conn):
    create_schema(conn, install_id="one")
    write_meta(conn, "epoch", "1")
    write_meta(conn, "epoch", "2")
    assert read_meta(conn, "epoch") == "2"
    assert read_meta(conn, "colour") is None


def test_two_connections_meet_in_one_file(conn, tmp_path):
    create_schema(conn, install_id="one")
    other = open_database(tmp_path / "device.db")
    with transaction(conn):
        write_meta(conn, "epoch", "1")
        assert read_meta(other, "epoch") is None
    assert read_meta(other, "epoch") == "1"
    other.close()


def test_an_error_inside_a_transaction_leaves_the_connection_usable(conn):
    create_schema(conn, install_id="one")
    with pytest.raises(sqlite3.IntegrityError), transaction(conn):
        conn.execute("INSERT INTO wire_meta VALUES ('install_id', 'again')")
    with transaction(conn):
        write_meta(conn, "epoch", "3")
    assert read_meta(conn, "epoch") == "3"


# --- databases of earlier versions ------------------------------------------------------------

DUMPS = Path(__file__).parents[2] / "golden" / "device_database"
VERSIONS = range(1, SCHEMA_VERSION + 1)


def old_database(path, version):
    """A file as that version's program left it."""
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript((DUMPS / f"v{version}.sql").read_text("utf-8"))


def tables_of(conn):
    return conn.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY 1, 2"
    ).fetchall()


def columns_of(conn):
    names = [name for kind, name, _ in tables_of(conn) if kind == "table"]
    return {name: conn.execute(f"PRAGMA table_info({name})").fetchall() for name in names}


def test_there_is_one_script_and_one_old_database_for_each_version():
    scripts = sorted(one.name for one in files("sync").joinpath("schema").iterdir())
    assert scripts == [f"wire_{number:04d}.sql" for number in VERSIONS]
    assert {one.name for one in DUMPS.iterdir()} == {f"v{number}.sql" for number in VERSIONS}


@pytest.mark.parametrize("version", VERSIONS)
def test_an_old_database_keeps_its_rows_and_gets_the_tables_of_a_new_one(conn, tmp_path, version):
    old_database(tmp_path / "old.db", version)
    create_schema(conn, install_id="new")
    with closing(open_database(tmp_path / "old.db")) as old:
        create_schema(old, install_id="must not replace the old one")
        assert columns_of(old) == columns_of(conn)
        assert [row[:2] for row in tables_of(old)] == [row[:2] for row in tables_of(conn)]
        assert read_meta(old, "install_id") == "install-of-version-1"
        assert read_meta(old, "schema_version") == str(SCHEMA_VERSION)
        assert old.execute("SELECT seq, kind, attempts, parked_reason FROM outbox").fetchall() == [
            (1, "event", 2, None),
            (2, "episode_upload", 1, None),
            (3, "episode_upload", 4, "unknown_version"),
        ]
        assert [one.id for one in pending(old)] == ["a-1"]
        assert enqueue(old, event(4), created_at_ms=9) == 4


@pytest.mark.parametrize("version", VERSIONS)
def test_what_an_old_database_held_is_sent(tmp_path, version):
    old_database(tmp_path / "old.db", version)
    with closing(open_database(tmp_path / "old.db")) as old:
        create_schema(old, install_id="x")
        rows = Outbox(old, clock=ManualClock(), random=Random(1)).claim(64)
        assert [decode_body(row.body) for row in rows] == [event(1), upload(2)]


def test_sizes_are_counted_from_the_rows_that_were_there(tmp_path):
    old_database(tmp_path / "old.db", 1)
    with closing(open_database(tmp_path / "old.db")) as old:
        create_schema(old, install_id="x")
        held = old.execute("SELECT items, bytes FROM storage WHERE part = 'outbox'").fetchone()
        assert held == old.execute("SELECT count(*), sum(length(body)) FROM outbox").fetchone()


def test_a_migration_that_fails_half_way_leaves_the_old_database(tmp_path):
    old_database(tmp_path / "old.db", 1)
    with closing(open_database(tmp_path / "old.db")) as old:
        old.execute("CREATE TABLE drops (taken TEXT)")  # stands in the way of the last statement
        before = tables_of(old)
        with pytest.raises(sqlite3.OperationalError, match="drops"):
            create_schema(old, install_id="x")
        assert tables_of(old) == before
        assert read_meta(old, "schema_version") == "1"


def test_migrating_twice_changes_nothing(tmp_path):
    old_database(tmp_path / "old.db", 1)
    with closing(open_database(tmp_path / "old.db")) as old:
        create_schema(old, install_id="x")
        once = list(old.iterdump())
        create_schema(old, install_id="y")
        assert list(old.iterdump()) == once


def test_a_version_that_is_no_number_is_refused(conn):
    create_schema(conn, install_id="one")
    write_meta(conn, "schema_version", "two")
    with pytest.raises(IntegrityError, match="restore it or move it away"):
        create_schema(conn, install_id="one")

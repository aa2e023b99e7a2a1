from __future__ import annotations

import sqlite3

import pytest

from sync.database import create_schema, open_database, read_meta, transaction, write_meta
from sync.errors import IntegrityError


@pytest.fixture
def conn(tmp_path):
    conn = open_database(tmp_path / "device.db")
    yield conn
    conn.close()


def test_the_install_keeps_the_name_that_it_was_made_with(conn):
    create_schema(conn, install_id="first")
    create_schema(conn, install_id="second")
    assert read_meta(conn, "install_id") == "first"


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

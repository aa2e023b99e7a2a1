"""The device's SQLite file as the wire uses it: how it is opened, its tables, who it is.

Several connections meet in the file (trajectory log, session, command line): write-ahead logging
lets them read beside one writer, and a busy writer is waited for.

The tables have a version. Each is one numbered script in `sync/schema`, never changed once it was
released; `create_schema` runs those that a file lacks, in order, in one transaction, so an old file
is wholly brought up to date or not touched.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Final

from sync.durable_file import make_private
from sync.errors import IntegrityError

INSTALL_ID: Final = "install_id"
"""Fact of a database: under which name its rows are numbered (`sync.installation`)."""
SCHEMA_VERSION: Final = 6
"""Number of the last script in `sync/schema`."""

BUSY_TIMEOUT_S: Final = 10.0
_NOT_WRITABLE: Final = frozenset(
    {sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
)
"""Primary result codes; what SQLite adds above the lowest byte says more of the same."""


def open_database(path: Path) -> sqlite3.Connection:
    """A connection in autocommit mode; transactions are begun explicitly (see `transaction`).

    A new file may be read by its owner alone: it will hold what was on screens.
    """
    make_private(path)
    conn = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    try:
        conn.execute("PRAGMA journal_mode = WAL")
        conn.execute("PRAGMA synchronous = NORMAL")
        conn.execute("PRAGMA foreign_keys = ON")
    except sqlite3.Error:
        conn.close()
        raise
    return conn


@contextmanager
def transaction(conn: sqlite3.Connection, *, durable: bool = False) -> Iterator[None]:
    """One write transaction: committed on a clean end, rolled back on any exception.

    Args:
        durable: what it wrote, and all before it, outlasts a loss of power once it has ended: for
            what somebody is told of then. The others outlast the end of a process, and cost no wait
            for the disk.
    """
    if durable:
        conn.execute("PRAGMA synchronous = FULL")
    try:
        conn.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            conn.rollback()
            raise
        conn.commit()
    finally:
        if durable:
            conn.execute("PRAGMA synchronous = NORMAL")


def cannot_write(error: sqlite3.Error) -> bool:
    """Whether the disk took nothing (full, read-only, failing), though it may still be read."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    return code & 0xFF in _NOT_WRITABLE


def create_schema(conn: sqlite3.Connection, *, install_id: str) -> None:
    """Bring the wire's tables to this version, keeping every row; `install_id` names a new file.

    Idempotent. Works inside the caller's transaction, or in one of its own where there is none.

    Raises: IntegrityError: the file was written by newer code, or its version cannot be read.
    """
    if not conn.in_transaction:
        with transaction(conn):
            create_schema(conn, install_id=install_id)
        return
    version = _version(conn)
    if version > SCHEMA_VERSION:
        raise IntegrityError(
            f"the device's database has wire tables of version {version}, this code knows "
            f"{SCHEMA_VERSION}: update the program"
        )
    for number in range(version + 1, SCHEMA_VERSION + 1):
        script = files("sync").joinpath(f"schema/wire_{number:04d}.sql").read_text("utf-8")
        for statement in statements(script):
            conn.execute(statement)
        write_meta(conn, "schema_version", str(number))
    if read_meta(conn, INSTALL_ID) is None:
        write_meta(conn, INSTALL_ID, install_id)


def statements(script: str) -> Iterator[str]:
    """The statements of an SQL file, triggers whole; `executescript` would commit before it."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def read_meta(conn: sqlite3.Connection, key: str) -> str | None:
    """One fact about this database, or None."""
    row = conn.execute("SELECT value FROM wire_meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def write_meta(conn: sqlite3.Connection, key: str, value: str) -> None:
    """Set one fact about this database."""
    conn.execute(
        "INSERT INTO wire_meta (key, value) VALUES (?, ?) "
        "ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, value),
    )


def _version(conn: sqlite3.Connection) -> int:
    known = conn.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'wire_meta'"
    ).fetchone()
    if not known:
        return 0
    said = read_meta(conn, "schema_version") or ""
    if not said.isdecimal() or int(said) < 1:
        raise IntegrityError(
            f"the device's database names {said[:32]!r} as its version: restore it or move it away"
        )
    return int(said)

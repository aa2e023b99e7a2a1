"""The way to the cloud database: which URLs there are, how connections are set up, what errors say.

Writers of one database wait for each other, in every process: under SQLite a writer takes the write
lock when its transaction begins, under PostgreSQL it takes an advisory lock then. So what a
transaction read holds until it commits, and rows are numbered in the order of commits. Readers
never wait; each sees the database as it was at one moment.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import URL, Connection, Engine, ExceptionContext, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from cloud_learner.errors import (
    SettingsError,
    StoreDamagedError,
    StoreMismatchError,
    StoreRefusedError,
    StoreUnavailableError,
)
from sync.durable_file import make_private

WRITES: Final = "outrider_write"
"""Execution option of connections whose transactions write."""
POSTGRESQL: Final = "postgresql"
BUSY_TIMEOUT_MS = 20_000
"""How long a writer waits for the others."""

_URLS = "sqlite:///FILE or postgresql://USER@HOST:PORT/NAME"
_DRIVERS: Final = {
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
_WRITERS_LOCK = int.from_bytes(b"outrider")  # a key of 64 bits that nobody else has
_SILENT_HOST: Final = {
    "application_name": "outrider",
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
"""libpq's options under which a server that is gone is noticed within a minute."""
_SESSION: Final = (
    f"SET lock_timeout = {BUSY_TIMEOUT_MS}",
    # the other way round: the locks of a program whose machine is gone do not stay
    "SET tcp_keepalives_idle = 30",
    "SET tcp_keepalives_interval = 10",
    "SET tcp_keepalives_count = 3",
    "SET tcp_user_timeout = 60000",  # where an answer is on its way, nothing is kept alive
)
_DAMAGED_FILE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_REFUSED_FILE = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH})
"""Other tables than this version's, or no leave: the same again whenever it is asked."""
_DAMAGED_STATES = frozenset({"XX001", "XX002"})  # data_corrupted, index_corrupted
_TOO_LARGE_CLASS = "54"  # a value beyond what PostgreSQL can hold or index
_READ_ONLY_STATE = "25006"  # it is a stand-by, or becomes the main one just now


def open_engine(text: str, *, create: bool = True) -> Engine:
    """The connections to a database; none is opened yet.

    Args:
        create: make the file of an SQLite database where there is none.

    Raises:
        SettingsError: there is no such database, or its driver is not installed. The text never
            holds a part of the URL, which may hold a password.
        StoreMismatchError: there is no file, and none is to be made.
    """
    url = _parsed(text)
    try:
        engine = create_engine(url, hide_parameters=True, json_serializer=as_json, **_pool(url))
    except ImportError as error:
        raise SettingsError(
            f"PostgreSQL needs a driver ({error}): pip install 'outrider[postgres]'"
        ) from error
    if engine.dialect.name == POSTGRESQL:
        event.listen(engine, "connect", _prepare_postgresql)
        event.listen(engine, "begin", _begin_postgresql)
        return engine
    if (file := file_of(engine)) is not None:
        if not (create or file.is_file()):
            raise StoreMismatchError(f"{file} is no cloud database: correct --database")
        file.parent.mkdir(parents=True, exist_ok=True)
        make_private(file)  # it will hold what was on screens
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    event.listen(engine, "handle_error", _leave_read_only)
    return engine


def file_of(engine: Engine) -> Path | None:
    """The file of an SQLite database; None where it is none, in memory, or named by a URI."""
    name = engine.url.database
    if engine.dialect.name == POSTGRESQL or not name or name.startswith((":", "file:")):
        return None
    return Path(name)


def reading_options(engine: Engine) -> Mapping[str, Any]:  # Any: as SQLAlchemy takes them
    """Execution options of connections that want a consistent view."""
    if engine.dialect.name == POSTGRESQL:
        return {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    return {}  # every transaction of SQLite has one


@contextmanager
def translated() -> Iterator[None]:
    """Raise what a database says in the words of `cloud_learner.errors`.

    What a statement's own values are to blame for (too large, twice) goes through as it is.
    """
    try:
        yield
    except PoolTimeoutError as error:
        raise StoreUnavailableError(
            "too many ask the cloud database at once; retry"  # the error names a web page
        ) from error
    except DBAPIError as error:
        ours = _in_our_words(error)
        if ours is None:
            raise
        raise ours from error


def said_by(error: DBAPIError) -> str:
    """What a driver says, in one line."""
    return " ".join(str(error.orig).split())


def is_answer(error: DBAPIError) -> bool:
    """Whether a database said it; else its driver did, of what it was called with."""
    state = getattr(error.orig, "sqlstate", None)
    return state is not None or _file_state(error.orig) != sqlite3.SQLITE_OK


def as_json(value: object) -> str:
    """A value as JSON, which has no word for what is no number: null, as PostgreSQL wants it."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False)


def _finite(value: object) -> object:
    match value:
        case dict():
            return {key: _finite(one) for key, one in value.items()}
        case list() | tuple():
            return [_finite(one) for one in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def _parsed(text: str) -> URL:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        url = None
    if url is None or url.drivername not in _DRIVERS or "@" in (url.host or ""):
        raise SettingsError(
            f"no database is named so: write {_URLS}, and in a password %40 for @, %2F for /, "
            "%3A for : and %25 for %"
        )
    return url.set(drivername=_DRIVERS[url.drivername])


def _pool(url: URL) -> dict[str, Any]:  # Any: as SQLAlchemy takes them
    if not url.drivername.startswith(POSTGRESQL):
        return {}
    defaults = {name: value for name, value in _SILENT_HOST.items() if name not in url.query}
    # pinged when it is taken: after a restart of the server no old connection is any good
    return {
        "connect_args": defaults,
        "pool_pre_ping": True,
        "isolation_level": "READ COMMITTED",
    }


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # we begin ourselves: see _begin_sqlite
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA journal_mode = WAL")
    # what devices are told is stored outlasts a loss of power
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _leave_read_only(context: ExceptionContext) -> None:
    """Open a file again that takes no writes: a connection keeps what it was opened with."""
    if _file_state(context.original_exception) == sqlite3.SQLITE_READONLY:
        context.is_disconnect = True


def _prepare_postgresql(connection: Any, _record: object) -> None:  # Any: the driver is optional
    with connection.cursor() as cursor:
        for statement in _SESSION:
            cursor.execute(statement)
    connection.commit()


def _begin_postgresql(connection: Connection) -> None:
    if connection.get_execution_options().get(WRITES, False):
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITERS_LOCK})")


def _in_our_words(error: DBAPIError) -> Exception | None:
    said, state = said_by(error), getattr(error.orig, "sqlstate", None)
    file_state = _file_state(error.orig)
    if isinstance(error, DataError | IntegrityError) or (state or "").startswith(_TOO_LARGE_CLASS):
        return None
    if file_state in _DAMAGED_FILE or state in _DAMAGED_STATES:
        return StoreDamagedError(
            f"the cloud database is damaged ({said}); move it away and put a backup in its place, "
            "or start with none: phones send again what was not acknowledged"
        )
    if file_state not in _REFUSED_FILE and (
        isinstance(error, OperationalError)
        or error.connection_invalidated
        or state == _READ_ONLY_STATE
    ):
        return StoreUnavailableError(
            f"the cloud database cannot be used now ({said}); retry, or check --database"
        )
    if not is_answer(error):
        return None
    return StoreRefusedError(
        f"the cloud database refuses what is asked of it ({said}): its user must own the tables, "
        "and they must be this version's"
    )


def _file_state(error: BaseException | None) -> int:
    """SQLite's primary result code; OK where it said none."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)) & 0xFF

"""The cloud database: opening it, its transactions, and what ingest writes.

Everything that must survive a kill goes through here, each change in one transaction. Two processes
use the database at once (service and learner); under SQLite a writer takes the write lock when its
transaction begins, so that none fails half way, and readers never wait (WAL).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, Table, create_engine, event, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, OperationalError

from cloud_learner.errors import (
    SettingsError,
    StoreDamagedError,
    StoreMismatchError,
    StoreUnavailableError,
)
from cloud_learner.tables import COUNTERS, EPISODES
from sync.durable_file import make_private
from sync.vocabulary import EndReason, Purpose

Row = Mapping[str, Any]  # column name to value: what a database driver returns has no static type
BUSY_TIMEOUT_MS = 20_000
_WRITE = "outrider_write"
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


def sqlite_url(path: Path) -> str:
    """The URL of a database file; `path` may be relative."""
    return f"sqlite:///{path}"


class Database:
    """One connection pool on the cloud database; safe to share between threads.

    Args:
        url: SQLAlchemy URL, `sqlite:///FILE` or `postgresql+DRIVER://…`.
        migrate: bring the tables to this version first (one process of a deployment does it).

    Raises:
        StoreMismatchError: the database was written by a newer version.
        StoreUnavailableError: it cannot be reached.
        StoreDamagedError: its file is broken.
    """

    def __init__(self, url: str, *, migrate: bool = True) -> None:
        self.engine = _open(url)
        if migrate:
            _migrate(self.engine)

    @property
    def dialect(self) -> str:
        """Either "sqlite" or "postgresql"."""
        return self.engine.dialect.name

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A consistent view; nothing may be written through it."""
        with _translated(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that holds the write lock: commits at the end, rolls back on any error."""
        with _translated(), self.engine.connect() as connection:
            writing = connection.execution_options(**{_WRITE: True})
            with writing.begin():
                yield writing

    def close(self) -> None:
        """Close the pool. Idempotent."""
        self.engine.dispose()


def insert_new(connection: Connection, table: Table, row: Row) -> bool:
    """Insert `row` unless a unique column is taken; True where it is new."""
    return connection.execute(_insert_new(connection.dialect.name, table), dict(row)).rowcount == 1


@cache
def _insert_new(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    """The statement without its values: to build one for each row takes longer than to run it."""
    make = sqlite.insert if dialect == "sqlite" else postgresql.insert
    return make(table).on_conflict_do_nothing()


def insert_all_new(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Insert the rows of which no unique column is taken."""
    if not rows:
        return
    make = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    connection.execute(make(table).on_conflict_do_nothing(), [dict(row) for row in rows])


def upsert(connection: Connection, table: Table, row: Row, *, keep: Sequence[str] = ()) -> None:
    """Insert `row`, or replace all but its key and the columns in `keep`."""
    statement = _upsert(connection.dialect.name, table, tuple(row), tuple(keep))
    connection.execute(statement, dict(row))


@cache
def _upsert(
    dialect: str, table: Table, names: tuple[str, ...], keep: tuple[str, ...]
) -> sqlite.Insert | postgresql.Insert:
    """The statement for rows of some columns, without their values, as for `_insert_new`."""
    statement = (sqlite.insert if dialect == "sqlite" else postgresql.insert)(table)
    keys = [column.name for column in table.primary_key.columns]
    change = {
        name: statement.excluded[name] for name in names if name not in keys and name not in keep
    }
    return statement.on_conflict_do_update(index_elements=keys, set_=change).inline()


def count(connection: Connection, name: str, by: int = 1) -> None:
    """Add `by` to the counter `name`."""
    connection.execute(_count(connection.dialect.name), {"name": name, "value": by})


def counted(connection: Connection, name: str) -> int:
    """Add one to the counter `name`; what it is then."""
    statement = _count(connection.dialect.name).returning(COUNTERS.c.value)
    return int(connection.execute(statement, {"name": name, "value": 1}).scalar_one())


@cache
def _count(dialect: str) -> sqlite.Insert | postgresql.Insert:
    """The statement that adds to a counter, without its values, as for `_insert_new`."""
    statement = (sqlite.insert if dialect == "sqlite" else postgresql.insert)(COUNTERS)
    return statement.on_conflict_do_update(
        index_elements=["name"], set_={"value": COUNTERS.c.value + statement.excluded.value}
    )


def counters(connection: Connection) -> dict[str, int]:
    """All counters by name."""
    rows = connection.execute(select(COUNTERS.c.name, COUNTERS.c.value))
    return {name: int(value) for name, value in rows}


def one(connection: Connection, statement: Any) -> Any:  # scalar of any column
    """The single value of a query, or None where it has no row."""
    return connection.execute(statement).scalar()


def row_count(connection: Connection, table: Table, *conditions: Any) -> int:  # SQL expressions
    """How many rows meet all conditions."""
    statement = select(func.count()).select_from(table)
    return int(one(connection, statement.where(*conditions)) or 0)


def training_env_steps(connection: Connection) -> int:
    """Steps of all training episodes that count: no duplicates, no env_errors."""
    statement = select(func.sum(EPISODES.c.n_steps)).where(
        EPISODES.c.purpose == Purpose.TRAIN.value,
        EPISODES.c.duplicate.is_(False),
        EPISODES.c.end_reason != EndReason.ENV_ERROR.value,
    )
    return int(one(connection, statement) or 0)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except OperationalError as error:
        raise StoreUnavailableError(
            f"the cloud database cannot be used now ({error.orig}); retry, or check --database"
        ) from error
    except DatabaseError as error:
        if getattr(error.orig, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF not in _DAMAGED:
            raise
        raise StoreDamagedError(
            f"the cloud database is damaged ({error.orig}); move its file away and put a backup in "
            "its place, or start with none: phones send again what was not acknowledged"
        ) from error


def _open(url: str) -> Engine:
    try:
        engine = create_engine(url)
    except (
        ArgumentError,
        ImportError,
        ValueError,
    ) as error:  # never the URL itself: it may hold a password
        raise SettingsError(
            f"no database can be opened so ({error}): write --database sqlite:///FILE, or another "
            "URL of SQLAlchemy's whose driver is installed"
        ) from error
    if engine.dialect.name == "sqlite":
        database = engine.url.database
        if database and not database.startswith((":", "file:")):  # in memory, or a URI
            Path(database).parent.mkdir(parents=True, exist_ok=True)
            make_private(Path(database))  # it will hold what was on screens
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # we begin ourselves: see _begin_sqlite
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = NORMAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITE, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _migrate(engine: Engine) -> None:
    with as_file(files("cloud_learner") / "migrations") as scripts, _translated():
        config = Config()
        config.set_main_option("script_location", str(scripts))
        with engine.connect() as connection:
            writing = connection.execution_options(**{_WRITE: True})
            config.attributes["connection"] = writing
            try:
                command.upgrade(config, "head")
            except DBAPIError:
                raise
            except Exception as error:  # alembic has no common error
                raise StoreMismatchError(
                    f"the cloud database cannot be upgraded ({error}); "
                    "use the version that wrote it"
                ) from error

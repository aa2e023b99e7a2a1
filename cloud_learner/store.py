"""The cloud database: its transactions, and what ingest writes.

Everything that must survive a kill goes through here, each change in one transaction. Two processes
use the database at once, service and learner; `cloud_learner.store_engine` says how they share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError

from cloud_learner import store_schema
from cloud_learner.errors import SettingsError, StoreMismatchError
from cloud_learner.store_engine import (
    WRITES,
    is_answer,
    open_engine,
    reading_options,
    said_by,
    translated,
)
from cloud_learner.store_lock import ServiceLock
from cloud_learner.tables import COUNTERS, EPISODES
from sync.vocabulary import EndReason, Purpose

Row = Mapping[str, Any]  # column name to value: what a database driver returns has no static type


def sqlite_url(path: Path) -> str:
    """The URL of a database file; `path` may be relative."""
    return f"sqlite:///{path}"


class Database:
    """One connection pool on the cloud database; safe to share between threads.

    Args:
        url: `sqlite:///FILE` or `postgresql://USER@HOST:PORT/NAME`, as SQLAlchemy reads it.
        migrate: bring the tables to this version first (one process of a deployment does it);
            otherwise they must be of it.
        sole: be the one service of this database until it is closed.

    Raises:
        SettingsError: there is no such database.
        StoreInUseError: it has another service.
        StoreMismatchError: the tables are of another version, or cannot be brought to this one.
        StoreRefusedError: its user may not do what is needed.
        StoreUnavailableError: it cannot be reached.
        StoreDamagedError: its file is broken.
    """

    def __init__(self, url: str, *, migrate: bool = True, sole: bool = False) -> None:
        self.engine = open_engine(url, create=migrate)
        self._reading = reading_options(self.engine)
        self._lock: ServiceLock | None = None
        try:
            self._lock = ServiceLock(self.engine) if sole else None
            with translated():
                (store_schema.migrate if migrate else store_schema.check)(self.engine)
        except BaseException as error:
            self.close()
            if isinstance(error, DBAPIError):
                raise _not_opened(error) from error
            raise

    @property
    def dialect(self) -> str:
        """Either "sqlite" or "postgresql"."""
        return self.engine.dialect.name

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A consistent view; nothing may be written through it."""
        with translated(), self.engine.connect() as connection:
            yield connection.execution_options(**self._reading)

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that holds the write lock: commits at the end, rolls back on any error."""
        with translated(), self.engine.connect() as connection:
            writing = connection.execution_options(**{WRITES: True})
            with writing.begin():
                yield writing

    def check_sole(self) -> None:
        """See that this is still the database's one service; see `ServiceLock.check`."""
        if self._lock is not None:
            self._lock.check()

    def close(self) -> None:
        """Close the pool. Idempotent."""
        if self._lock is not None:
            self._lock.release()
        self.engine.dispose()


def _not_opened(error: DBAPIError) -> SettingsError | StoreMismatchError:
    if is_answer(error):
        return StoreMismatchError(
            f"the cloud database's rows cannot be brought up to date ({said_by(error)}): use the "
            "version that wrote them, or put a backup in their place"
        )
    return SettingsError(  # an option that there is not
        f"no database can be opened so ({said_by(error)}): correct --database"
    )


def insert_new(connection: Connection, table: Table, row: Row) -> bool:
    """Insert `row` unless a unique column is taken; True where it is new."""
    return connection.execute(_insert_new(connection.dialect.name, table), dict(row)).rowcount == 1


@cache
def _insert_new(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    """The statement without its values: to build one for each row takes longer than to run it."""
    make = sqlite.insert if dialect == "sqlite" else postgresql.insert
    # as it stands, without asking for new keys: else PostgreSQL's driver counts no rows
    statement = make(table).on_conflict_do_nothing().inline()
    return statement.execution_options(preserve_rowcount=True)


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
    """Add one to the counter `name`; what it is then, which nobody else is given."""
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

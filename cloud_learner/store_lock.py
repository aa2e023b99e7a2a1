"""One service for each cloud database: the others are told so before they change anything.

What is held ends with the process that holds it: a lock on a file beside an SQLite database, or an
advisory lock of a session under PostgreSQL.
"""

from __future__ import annotations

import fcntl
import time
from contextlib import ExitStack, suppress
from typing import IO, Final, NoReturn

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from cloud_learner.errors import StoreInUseError, StoreUnavailableError
from cloud_learner.store_engine import POSTGRESQL, file_of, translated
from sync.durable_file import make_private

_SERVICE_LOCK: Final = int.from_bytes(b"outrider") + 1
_GONE_S = 5.0
"""How long a server may take to notice that the process that held the lock was killed."""
_CUT_OFF_S = 70.0
"""How long it may take to notice that nobody answers on a connection, which `store_engine` lets it
ask for a minute: until then what holds our lock may be the session that we lost."""
_POLL_S = 0.1


class ServiceLock:
    """The right to be the one service of a database.

    Raises: StoreInUseError: another service has it.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._file: IO[bytes] | None = None
        self._session: Connection | None = None
        self._refused_since_s: float | None = None
        if engine.dialect.name != POSTGRESQL:
            self._lock_file()
            return
        deadline_s = time.monotonic() + _GONE_S
        while not self._lock_session():
            if time.monotonic() > deadline_s:
                raise StoreInUseError
            time.sleep(_POLL_S)

    def check(self) -> None:
        """See that the right is still ours; a server that was restarted has forgotten it.

        Raises:
            StoreUnavailableError: the database is away, or holds the right for a connection that
                was lost; call again.
            StoreInUseError: another service took it meanwhile.
        """
        if self._engine.dialect.name != POSTGRESQL:
            return
        if self._session is None and not self._lock_session():
            self._await_lost_session()
        self._refused_since_s = None
        assert self._session is not None
        try:
            with translated():
                self._session.exec_driver_sql("SELECT 1")
        except BaseException:
            self._end_session()
            raise

    def release(self) -> None:
        """Let another service have it. Idempotent."""
        self._end_session()
        if self._file is not None:
            self._file.close()

    def _lock_file(self) -> None:
        database = file_of(self._engine)
        if database is None:
            return  # in memory: nobody else can see it
        path = database.with_name(f"{database.name}-service")
        make_private(path)
        self._file = path.open("ab")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise StoreInUseError from error

    def _lock_session(self) -> bool:
        """Take the lock, where it is free, with a connection of its own that is never pooled."""
        with translated(), ExitStack() as on_failure:
            session = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            on_failure.callback(session.close)
            session.detach()
            taken = session.exec_driver_sql(f"SELECT pg_try_advisory_lock({_SERVICE_LOCK})")
            if not taken.scalar_one():
                return False
            on_failure.pop_all()
            self._session = session
            return True

    def _await_lost_session(self) -> NoReturn:
        """Say that the lock is not ours now: another's only where our own session must be over."""
        now_s = time.monotonic()
        if self._refused_since_s is None:
            self._refused_since_s = now_s
        if now_s - self._refused_since_s > _CUT_OFF_S:
            raise StoreInUseError
        raise StoreUnavailableError(
            "the cloud database waits for a connection of this service that was lost, or another "
            "service uses it; it is asked again"
        )

    def _end_session(self) -> None:
        if self._session is not None:
            with suppress(DBAPIError):
                self._session.close()
            self._session = None

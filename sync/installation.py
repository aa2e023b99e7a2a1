"""Under which name a device numbers its rows, and a new one where another device uses it too.

(device, install, sequence) names a row for ever. A database that was copied to a second device
makes two devices that number different rows alike. The cloud takes the first row of a number and
refuses the other (`sequence_taken`); its device then gives the row, and all rows that are queued
later, the name of a new installation, and sends it again. Rows that were queued before keep their
name until they are refused themselves: both devices may hold them, and each is to count once.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

import structlog

from sync.database import INSTALL_ID, cannot_write, read_meta, transaction, write_meta
from sync.drop_rules import begin_totals

SEQUENCE_TAKEN: Final = "sequence_taken"
"""Reason code of a row whose number is another row's."""
NAME_CHARACTERS: Final = 12
"""Of an id: 48 bits of chance, for names that only one device's are told from."""
MOST_NAMES: Final = 3
"""How many new names a process gives one row; a cloud that refuses them all is broken."""

_log = structlog.get_logger()


def install_id(conn: sqlite3.Connection) -> str:
    """The name that rows are queued under; "" in a database without one."""
    return read_meta(conn, INSTALL_ID) or ""


def short_name(identity: str) -> str:
    """The end of an id, for what is told from others of one device only: a database, a process.

    Such names travel in every envelope. The end of a UUID of version 7 is chance.
    """
    return identity[-NAME_CHARACTERS:]


class Renaming:
    """Gives rows new names; used by one thread."""

    def __init__(self, conn: sqlite3.Connection, *, new_id: Callable[[], str]) -> None:
        self._conn = conn
        self._new_id = new_id
        self._given: Counter[int] = Counter()

    def rename(self, rows: Iterable[int], *, under: str) -> frozenset[int]:
        """Give rows that were refused under a name another one, durably.

        Returns: those that cannot be helped: each of their new names was refused, too. What the
            disk does not take is tried again when the row is refused again.
        """
        rows = frozenset(rows)
        hopeless = frozenset(seq for seq in rows if self._given[seq] >= MOST_NAMES)
        if rows == hopeless:
            return hopeless
        try:
            with transaction(self._conn):
                name = self._fresh_name(under)
                self._conn.executemany(
                    "UPDATE outbox SET install = ? WHERE seq = ? AND install = ?",
                    [(name, seq, under) for seq in rows - hopeless],
                )
        except sqlite3.OperationalError as error:
            if not cannot_write(error):
                raise
            return hopeless
        self._given.update(rows - hopeless)
        _log.warning("rows_renamed", rows=len(rows - hopeless), before=under, after=name)
        return hopeless

    def _fresh_name(self, under: str) -> str:
        """The name that rows are queued under from now on: not `under`, which another uses."""
        name = install_id(self._conn)
        if name != under:
            return name
        name = short_name(self._new_id())
        write_meta(self._conn, INSTALL_ID, name)
        begin_totals(self._conn)
        return name

"""How much the outbox may hold: what is queued beyond it pushes out what is worth less.

The limit stands in the device's database, so that every program which writes to it keeps to it, and
may be set from afar. On a disk that is nearly full the outbox does not grow at all: the database
uses the place of what it gives up for what comes.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sync.database import read_meta, write_meta
from sync.drop_rules import OUTBOX_ORDER, DropRule, note_drop

QUOTA_BYTES: Final = 256 * 2**20
FLOOR_BYTES: Final = 64 * 2**20
_QUOTA_KEY: Final = "outbox_quota_bytes"
_FLOOR_KEY: Final = "disk_floor_bytes"
_AT_ONCE: Final = 64


@dataclass(frozen=True, slots=True)
class OutboxQuota:
    """The limits of one device.

    Attributes:
        quota_bytes: most that the bodies in the outbox may come to.
        floor_bytes: with less than this free on the disk, the outbox does not grow.
    """

    quota_bytes: int = QUOTA_BYTES
    floor_bytes: int = FLOOR_BYTES

    def __post_init__(self) -> None:
        if self.quota_bytes < 0 or self.floor_bytes < 0:
            raise ValueError(f"limits of the outbox are sizes in bytes, got {self}")


def set_quota(conn: sqlite3.Connection, quota: OutboxQuota) -> None:
    """Keep to other limits from the next row on, inside the caller's transaction."""
    write_meta(conn, _QUOTA_KEY, str(quota.quota_bytes))
    write_meta(conn, _FLOOR_KEY, str(quota.floor_bytes))


def read_quota(conn: sqlite3.Connection) -> OutboxQuota:
    """The limits that hold."""
    return OutboxQuota(
        int(read_meta(conn, _QUOTA_KEY) or QUOTA_BYTES),
        int(read_meta(conn, _FLOOR_KEY) or FLOOR_BYTES),
    )


def held_bytes(conn: sqlite3.Connection) -> int:
    """Bytes of all bodies in the outbox, parked ones too."""
    return int(conn.execute("SELECT bytes FROM storage WHERE part = 'outbox'").fetchone()[0])


def free_bytes(conn: sqlite3.Connection) -> int:
    """Free space where the database lies; what it could reuse inside itself counts."""
    file = conn.execute("PRAGMA database_list").fetchone()[2]
    if not file:
        return FLOOR_BYTES  # a database in memory
    disk = os.statvfs(Path(file).parent)
    pages = conn.execute("PRAGMA freelist_count").fetchone()[0]
    page_bytes = conn.execute("PRAGMA page_size").fetchone()[0]
    return int(disk.f_bavail * disk.f_frsize + pages * page_bytes)


def make_room(
    conn: sqlite3.Connection,
    *,
    incoming_bytes: int,
    incoming_rule: DropRule,
    now_ms: int,
    free: Callable[[sqlite3.Connection], int] = free_bytes,
) -> None:
    """Give up rows until `incoming_bytes` fit, inside the transaction that queues them.

    Nothing is given up for something that would be given up before it: a row that does not fit
    then is queued all the same and is the first to go.
    """
    quota = read_quota(conn)
    held = held_bytes(conn)
    limit = quota.quota_bytes
    if free(conn) < quota.floor_bytes:
        limit = min(limit, held)
    excess = held + incoming_bytes - limit
    for rule in OUTBOX_ORDER[: OUTBOX_ORDER.index(incoming_rule) + 1]:
        while excess > 0:
            freed = _drop_oldest(conn, rule, excess, now_ms=now_ms)
            if not freed:
                break
            excess -= freed


def _drop_oldest(conn: sqlite3.Connection, rule: DropRule, excess: int, *, now_ms: int) -> int:
    """Give up the oldest rows of one rule, at most as many as are needed; bytes that went."""
    wanted = "parked_reason IS NOT NULL"
    if rule is not DropRule.PARKED_OLDEST:
        wanted = f"parked_reason IS NULL AND drop_rule = '{rule}'"
    oldest = conn.execute(
        f"SELECT seq, length(body) FROM outbox WHERE {wanted} ORDER BY seq LIMIT ?",  # noqa: S608 - constants
        (_AT_ONCE,),
    ).fetchall()
    freed = 0
    for seq, size_bytes in oldest:
        if freed >= excess:
            break
        conn.execute("DELETE FROM outbox WHERE seq = ?", (seq,))
        note_drop(conn, rule, str(seq), size_bytes=size_bytes, now_ms=now_ms)
        freed += size_bytes
    return freed

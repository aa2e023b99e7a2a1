"""How much of what was played a device keeps: the oldest episodes give their steps up first.

Only steps that the cloud has committed, or that were given up unsent by a declared rule, go; the
line about the episode stays, so that counts, audit and "was it played before" are as they were.
What waits to be sent has its own limit (`sync.outbox_quota`).
"""

from __future__ import annotations

import sqlite3
from typing import Final

from sync.database import read_meta, write_meta

QUOTA_BYTES: Final = 512 * 10**6
"""Some hundred thousand episodes."""
_QUOTA_KEY: Final = "log_quota_bytes"
_AT_ONCE: Final = 64


def set_log_quota(conn: sqlite3.Connection, quota_bytes: int) -> None:
    """Keep steps of that many bytes from the next episode on, inside the caller's transaction."""
    write_meta(conn, _QUOTA_KEY, str(quota_bytes))


def log_bytes(conn: sqlite3.Connection) -> int:
    """Bytes of the steps of all logged episodes, as they were uploaded."""
    return int(conn.execute("SELECT bytes FROM log_size").fetchone()[0])


def let_go(conn: sqlite3.Connection) -> int:
    """Bring the log down to its quota as far as may be, inside the caller's transaction.

    Returns: how many episodes gave up their steps.
    """
    excess = log_bytes(conn) - int(read_meta(conn, _QUOTA_KEY) or QUOTA_BYTES)
    gone = 0
    while excess > 0:
        oldest = conn.execute(
            "SELECT seq, length(body) FROM episodes WHERE enc <> '' AND NOT EXISTS "
            "(SELECT 1 FROM outbox WHERE outbox.seq = upload_seq) ORDER BY seq LIMIT ?",
            (_AT_ONCE,),
        ).fetchall()
        if not oldest:
            break
        for seq, size_bytes in oldest:
            if excess <= 0:
                break
            conn.execute("UPDATE episodes SET enc = '', body = x'' WHERE seq = ?", (seq,))
            excess -= size_bytes
            gone += 1
    return gone

"""The blobs that a device can send, as rows beside its outbox.

`record` runs in the transaction that closes an episode. A row is `waiting` until the cloud holds
the blob and `stored` from then on: its file is kept while there is room, so that a cloud that lost
its store can ask again. What is given up leaves a row in `drops`, under the name of its rule.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from sync.drop_rules import DropRule, note_drop
from sync.messages import ScreenPicture


def record(
    conn: sqlite3.Connection, pictures: Iterable[ScreenPicture], *, upload_seq: int, now_ms: int
) -> None:
    """Note blobs that an episode names, inside the caller's transaction. Idempotent.

    Args:
        upload_seq: the outbox row that brings the episode.
    """
    conn.executemany(
        "INSERT INTO blobs (digest, bytes, state, upload_seq, created_at_ms) "
        "VALUES (?, ?, 'waiting', ?, ?) ON CONFLICT DO NOTHING",
        [(one.blob, one.size_bytes, upload_seq, now_ms) for one in pictures],
    )


def to_offer(
    conn: sqlite3.Connection, *, before: int, now_ms: int, horizon_ms: int, most: int
) -> list[tuple[bytes, int]]:
    """(digest, size) of blobs that wait, oldest first, each episode of which is committed.

    Args:
        before: the first outbox row of which no episode can be committed yet: a backlog of episodes
            is not searched for what none of them can bring.
        horizon_ms: no offer is put off for longer; one that seems to be comes from a clock that
            was set back.
    """
    return conn.execute(
        "SELECT digest, bytes FROM blobs WHERE state = 'waiting' AND upload_seq < ? "
        "AND (offer_at_ms <= ? OR offer_at_ms > ?) "
        "AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.seq = blobs.upload_seq) "
        "ORDER BY upload_seq, digest LIMIT ?",
        (before, now_ms, now_ms + horizon_ms, most),
    ).fetchall()


def size_of(conn: sqlite3.Connection, digest: bytes) -> int | None:
    """Size in bytes of a blob that may be asked for; None where there is none."""
    row = conn.execute("SELECT bytes FROM blobs WHERE digest = ?", (digest,)).fetchone()
    return None if row is None else int(row[0])


def mark_stored(conn: sqlite3.Connection, digests: Iterable[bytes]) -> int:
    """The cloud holds these; how many of them waited."""
    return conn.executemany(
        "UPDATE blobs SET state = 'stored' WHERE digest = ? AND state = 'waiting'",
        [(digest,) for digest in digests],
    ).rowcount


def put_off(
    conn: sqlite3.Connection, digests: Iterable[bytes], *, now_ms: int, first_ms: int, most_ms: int
) -> None:
    """Offer these again later: after `first_ms`, then after waits that double up to `most_ms`."""
    conn.executemany(
        "UPDATE blobs SET offers = offers + 1, "
        "offer_at_ms = ? + min(?, ? * (1 << min(offers, 20))) WHERE digest = ?",
        [(now_ms, most_ms, first_ms, digest) for digest in digests],
    )


def want_again(conn: sqlite3.Connection) -> int:
    """The cloud has another store: offer everything anew; how many it had stored before."""
    conn.execute("UPDATE blobs SET offers = 0, offer_at_ms = 0 WHERE state = 'waiting'")
    return conn.execute(
        "UPDATE blobs SET state = 'waiting', offers = 0, offer_at_ms = 0 WHERE state = 'stored'"
    ).rowcount


def give_up(
    conn: sqlite3.Connection, digests: Iterable[bytes], *, rule: DropRule, now_ms: int
) -> int:
    """Forget blobs by a rule, and declare that; how many there were."""
    given = 0
    for digest in digests:
        row = conn.execute(
            "DELETE FROM blobs WHERE digest = ? RETURNING bytes", (digest,)
        ).fetchone()
        if row is None:
            continue
        given += 1
        note_drop(conn, rule, digest.hex(), size_bytes=row[0], now_ms=now_ms)
    return given


def forget(conn: sqlite3.Connection, digests: Iterable[bytes]) -> None:
    """Forget blobs that the cloud holds: nothing is lost."""
    conn.executemany("DELETE FROM blobs WHERE digest = ?", [(digest,) for digest in digests])


def over_quota(
    conn: sqlite3.Connection, quota_bytes: int, *, most: int = 256
) -> tuple[list[bytes], list[bytes]]:
    """(stored, waiting) blobs to give up so that the rest fits `quota_bytes`, oldest first.

    What the cloud holds goes first; at most `most` in one go.
    """
    excess = held(conn)[1] - quota_bytes
    chosen: tuple[list[bytes], list[bytes]] = ([], [])
    if excess <= 0:
        return chosen
    rows: Sequence[tuple[bytes, int, int]] = conn.execute(
        "SELECT digest, bytes, state = 'waiting' FROM blobs ORDER BY state, upload_seq LIMIT ?",
        (most,),
    ).fetchall()
    for digest, size_bytes, is_waiting in rows:
        if excess <= 0:
            break
        chosen[is_waiting].append(digest)
        excess -= size_bytes
    return chosen


def held(conn: sqlite3.Connection) -> tuple[int, int]:
    """How many blobs there are, and their bytes."""
    row = conn.execute("SELECT items, bytes FROM storage WHERE part = 'blobs'").fetchone()
    return int(row[0]), int(row[1])


def waiting(conn: sqlite3.Connection) -> tuple[int, int]:
    """How many blobs the cloud does not hold yet, and their bytes."""
    row = conn.execute(
        "SELECT count(*), coalesce(sum(bytes), 0) FROM blobs WHERE state = 'waiting'"
    ).fetchone()
    return int(row[0]), int(row[1])

"""The device's durable queue of outgoing messages: a row stays until the cloud has committed it.

`enqueue` runs inside the caller's transaction, so "episode closed" and "message queued" are one
fact. `Outbox` is the sender's view: it hands out rows under a window, remembers in memory which are
outstanding and until when, deletes what the cloud committed and parks what it rejected. A new
process knows of no outstanding row and sends every row again: the cloud counts each once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from sync.clock import Clock
from sync.codec import EncodedBody, encode_body
from sync.database import create_schema, transaction
from sync.messages import DurableMessage

__all__ = ["Backoff", "Outbox", "OutboxRow", "create_schema", "depth", "enqueue", "parked"]

_PRIORITY: Final = {"event": 0, "episode_upload": 1}


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that double with each attempt up to a cap, with full jitter above the first."""

    first_s: float
    cap_s: float

    def delay_s(self, attempt: int, random: Random) -> float:
        """How long to wait after attempt number `attempt` (0, 1, ...)."""
        ceiling_s = min(self.cap_s, self.first_s * 2.0 ** min(attempt + 1, 32))
        return random.uniform(self.first_s, max(self.first_s, ceiling_s))


RESEND: Final = Backoff(first_s=2.0, cap_s=60.0)
_PATIENCE: Final = 3.0
"""A resend waits at least for this many times the usual answer, so that it adds no load to a slow
cloud's."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A row to send; `attempt` counts this time too, so 2 is the first resend."""

    seq: int
    body: EncodedBody
    attempt: int


@dataclass(slots=True)
class _Outstanding:
    size_bytes: int
    sent_at_s: float
    sends: int
    resend_at_s: float


def enqueue(
    conn: sqlite3.Connection, message: DurableMessage | EncodedBody, *, created_at_ms: int
) -> int:
    """Queue a message inside the caller's transaction and return its sequence number.

    A caller that cares how long it holds the database encodes the body before (`encode_body`).

    Raises: RejectedError: too large to be ever sent (reason "too_large"); nothing was queued.
    """
    body = message if isinstance(message, EncodedBody) else encode_body(message)
    cursor = conn.execute(
        "INSERT INTO outbox (kind, priority, enc, body, created_at_ms) VALUES (?, ?, ?, ?, ?)",
        (body.kind, _PRIORITY[body.kind], body.enc, body.data, created_at_ms),
    )
    seq = cursor.lastrowid
    assert seq is not None
    return seq


def depth(conn: sqlite3.Connection) -> int:
    """Rows that the cloud has not committed yet, parked ones left out."""
    query = "SELECT count(*) FROM outbox WHERE parked_reason IS NULL"
    return int(conn.execute(query).fetchone()[0])


def parked(conn: sqlite3.Connection) -> tuple[tuple[int, str], ...]:
    """(sequence, reason) of the rows that the cloud rejected; they are kept for a person to see."""
    query = "SELECT seq, parked_reason FROM outbox WHERE parked_reason IS NOT NULL ORDER BY seq"
    return tuple(conn.execute(query))


class Outbox:
    """The sender's view of one outbox; used by one thread."""

    def __init__(
        self,
        conn: sqlite3.Connection,
        *,
        clock: Clock,
        random: Random,
        backoff: Backoff = RESEND,
        max_outstanding_bytes: int = 1 << 20,
    ) -> None:
        self._conn = conn
        self._clock = clock
        self._random = random
        self._backoff = backoff
        self._max_outstanding_bytes = max_outstanding_bytes
        self._outstanding: dict[int, _Outstanding] = {}
        self._usual_answer_s = 0.0

    def claim(self, window: int) -> list[OutboxRow]:
        """Rows to send now: those whose answer is overdue, then new ones while the window has room.

        At most `window` rows and `max_outstanding_bytes` are outstanding (one row always fits).
        """
        now_s = self._clock.monotonic_s()
        due = [seq for seq, held in self._outstanding.items() if held.resend_at_s <= now_s]
        fresh = self._fresh(window)
        if not due and not fresh:
            return []
        with transaction(self._conn):
            rows = self._read([*due, *fresh])
        for row in rows:
            self._hold(row, now_s)
        return rows

    def acknowledge(self, sequences: Iterable[int]) -> int:
        """Delete rows that the cloud has committed; how many there were. Idempotent."""
        gone = [(seq,) for seq in sequences]
        if not gone:
            return 0
        with transaction(self._conn):
            deleted = self._conn.executemany("DELETE FROM outbox WHERE seq = ?", gone).rowcount
        now_s = self._clock.monotonic_s()
        for (seq,) in gone:
            held = self._outstanding.pop(seq, None)
            if held is not None:
                self._usual_answer_s += (now_s - held.sent_at_s - self._usual_answer_s) / 8
        return deleted

    def reject(self, rejected: Sequence[tuple[int, str]]) -> None:
        """Park rows that the cloud will never accept, with its reason; they are kept, not sent."""
        if not rejected:
            return
        with transaction(self._conn):
            self._conn.executemany(
                "UPDATE outbox SET parked_reason = ? WHERE seq = ?",
                [(reason, seq) for seq, reason in rejected],
            )
        for seq, _reason in rejected:
            self._outstanding.pop(seq, None)

    def expect_nothing(self) -> None:
        """Forget what is outstanding, so that it is claimed again: who had it is gone."""
        self._outstanding.clear()

    def next_due_s(self) -> float | None:
        """Monotonic time at which the next resend is due; None with nothing outstanding."""
        return min((held.resend_at_s for held in self._outstanding.values()), default=None)

    @property
    def outstanding(self) -> int:
        """Rows that were sent and not answered."""
        return len(self._outstanding)

    def _fresh(self, window: int) -> list[int]:
        room = window - len(self._outstanding)
        if room <= 0:
            return []
        budget = self._max_outstanding_bytes - sum(
            held.size_bytes for held in self._outstanding.values()
        )
        candidates = self._conn.execute(
            "SELECT seq, length(body) FROM outbox WHERE parked_reason IS NULL "
            "ORDER BY priority, seq LIMIT ?",
            (window,),
        )
        chosen: list[int] = []
        for seq, size_bytes in candidates:
            if seq in self._outstanding:
                continue
            fits = size_bytes <= budget or not (chosen or self._outstanding)
            if len(chosen) == room or not fits:
                break
            chosen.append(seq)
            budget -= size_bytes
        return chosen

    def _read(self, sequences: list[int]) -> list[OutboxRow]:
        rows = []
        for seq in sequences:
            found = self._conn.execute(
                "UPDATE outbox SET attempts = attempts + 1 "
                "WHERE seq = ? AND parked_reason IS NULL RETURNING kind, enc, body, attempts",
                (seq,),
            ).fetchall()
            if not found:  # another session of this device had it acknowledged
                self._outstanding.pop(seq, None)
            rows += [OutboxRow(seq, EncodedBody(*row[:3]), row[3]) for row in found]
        return rows

    def _hold(self, row: OutboxRow, now_s: float) -> None:
        held = self._outstanding.get(row.seq)
        sends = 0 if held is None else held.sends + 1
        wait_s = max(
            self._backoff.delay_s(sends, self._random),
            min(_PATIENCE * self._usual_answer_s, self._backoff.cap_s),
        )
        self._outstanding[row.seq] = _Outstanding(
            size_bytes=len(row.body.data),
            sent_at_s=now_s if held is None else held.sent_at_s,
            sends=sends,
            resend_at_s=now_s + wait_s,
        )

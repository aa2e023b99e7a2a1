"""The device's durable queue of outgoing messages: a row stays until the cloud has committed it.

`enqueue` runs inside the caller's transaction, so "episode closed" and "message queued" are one
fact; where the outbox is full it gives up what is worth less (sync.outbox_quota). `Outbox` is the
sender's view: it hands out rows under a window, remembers in memory which are outstanding and until
when, deletes what the cloud committed and parks what it rejected. A new process knows of no
outstanding row and sends every row again: the cloud counts each once.

A database that cannot be written to (full disk, read-only disk) is still read: its rows are sent,
and what becomes of them is written down once that is possible.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from sync.clock import Clock
from sync.codec import EncodedBody, decode_body, encode_body, reads
from sync.database import cannot_write, create_schema, transaction
from sync.drop_rules import DropRule, rule_of
from sync.installation import install_id
from sync.messages import Acknowledgement, DurableMessage, EpisodeUpload, Event
from sync.outbox_quota import make_room

__all__ = ["Backoff", "Outbox", "OutboxRow", "create_schema", "depth", "enqueue", "parked"]

_PRIORITY: Final = {"event": 0, "episode_upload": 1}
_URGENT: Final = 0
"""Rows of this priority leave whatever else is outstanding."""


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
_SILENCE_MOST_S: Final = 10.0
"""How long resends are held back at most because the cloud has not said a word yet."""


MAX_SEQ: Final = 2**63 - 1
"""SQLite's largest row number."""
_LONGEST_PAUSE_S: Final = 300.0
"""However long the cloud wants us to wait: what it said may have been a mistake."""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A row to send; `attempt` counts this time too, so 2 is the first resend.

    Attributes:
        install: the installation whose number `seq` is.
    """

    seq: int
    body: EncodedBody
    attempt: int
    install: str


@dataclass(slots=True)
class _Outstanding:
    size_bytes: int
    is_urgent: bool
    sent_at_s: float
    last_sent_at_s: float
    sends: int
    wait_s: float
    not_before_s: float = 0.0


def enqueue(
    conn: sqlite3.Connection, message: DurableMessage | EncodedBody, *, created_at_ms: int
) -> int:
    """Queue a message inside the caller's transaction and return its sequence number.

    Where the outbox has no room, rows that are worth less are given up and declared as drops.
    A caller that cares how long it holds the database encodes the body before (`encode_body`).

    Raises: RejectedError: too large to be ever sent (reason "too_large"); nothing was queued.
    """
    body = message if isinstance(message, EncodedBody) else encode_body(message)
    rule = _rule_of(message)
    make_room(conn, incoming_bytes=len(body.data), incoming_rule=rule, now_ms=created_at_ms)
    cursor = conn.execute(
        "INSERT INTO outbox (kind, priority, enc, body, created_at_ms, drop_rule, install) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            *(body.kind, _PRIORITY[body.kind], body.enc, body.data, created_at_ms, rule),
            install_id(conn),
        ),
    )
    seq = cursor.lastrowid
    assert seq is not None
    return seq


def _rule_of(message: DurableMessage | EncodedBody) -> DropRule:
    if isinstance(message, EncodedBody):
        message_in_it = decode_body(message)
        assert isinstance(message_in_it, EpisodeUpload | Event)
        message = message_in_it
    return rule_of(message)


def depth(conn: sqlite3.Connection) -> int:
    """Rows that the cloud has not committed yet, parked ones left out."""
    query = (
        "SELECT items - (SELECT count(*) FROM outbox WHERE parked_reason IS NOT NULL) "
        "FROM storage WHERE part = 'outbox'"
    )
    return int(conn.execute(query).fetchone()[0])


def oldest(conn: sqlite3.Connection) -> int:
    """The lowest row that is still to be settled; the next one's number where there is none."""
    row = _oldest_row(conn)
    if row is not None:
        return row[0]
    last = conn.execute("SELECT seq FROM sqlite_sequence WHERE name = 'outbox'").fetchone()
    return 1 if last is None else int(last[0]) + 1


def first_unsent(conn: sqlite3.Connection) -> int:
    """The lowest episode that was never sent: rows leave in order, so none above it was either."""
    row = conn.execute(
        "SELECT seq FROM outbox WHERE parked_reason IS NULL AND priority = ? AND attempts = 0 "
        "ORDER BY seq LIMIT 1",
        (_PRIORITY["episode_upload"],),
    ).fetchone()
    return MAX_SEQ if row is None else int(row[0])


def waits_since_ms(conn: sqlite3.Connection) -> int | None:
    """When the lowest row that is still to be settled was queued, by the device's clock."""
    row = _oldest_row(conn)
    return None if row is None else row[1]


def _oldest_row(conn: sqlite3.Connection) -> tuple[int, int] | None:
    """(sequence, created_at_ms) of the lowest row to settle: the first of each priority's first."""
    query = (
        "SELECT seq, created_at_ms FROM outbox WHERE parked_reason IS NULL AND priority = ? "
        "ORDER BY seq LIMIT 1"
    )
    firsts = (conn.execute(query, (priority,)).fetchone() for priority in _PRIORITY.values())
    return min((first for first in firsts if first is not None), default=None)


def parked(conn: sqlite3.Connection) -> tuple[tuple[int, str], ...]:
    """(sequence, reason) of the rows that the cloud rejected; they are kept for a person to see."""
    query = "SELECT seq, parked_reason FROM outbox WHERE parked_reason IS NOT NULL ORDER BY seq"
    return tuple(conn.execute(query))


def names_rows(message: Acknowledgement) -> bool:
    """Whether all numbers in it are such as rows have: no others can be looked for."""
    answered = (seq for seq, _reason in (*message.rejected, *message.postponed))
    ends = (end for both in message.selective for end in both)
    said = (message.cumulative, *message.sequences, *answered, *ends)
    return all(0 <= seq <= MAX_SEQ for seq in said)


class Outbox:
    """The sender's view of one outbox; used by one thread.

    Args:
        max_outstanding_bytes: most that may be outstanding, whatever the cloud allows.
    """

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
        self._credit_bytes = max_outstanding_bytes
        self._outstanding: dict[int, _Outstanding] = {}
        self._unwritten: dict[int, str] = {}  # settled, "" or the reason; not written down yet
        self._attempts: dict[int, int] = {}  # where the database cannot count them
        self._usual_answer_s = 0.0
        self._asked_at_s: float | None = None
        self._moved_at_s = self._moved_to_s = 0.0
        self._paused_until_s = 0.0
        self._is_shut = False

    def claim(self, window: int) -> list[OutboxRow]:
        """Rows to send now: those whose answer is overdue, then new ones while the window has room.

        At most `window` rows and the bytes that the cloud allows are outstanding; one row always
        fits, and urgent ones are held up by urgent ones only. Nothing while the cloud wants a
        pause, or with no window.
        """
        self._write_down()
        now_s = self._clock.monotonic_s()
        self._is_shut = window <= 0
        if self._is_shut or now_s < self._paused_until_s:
            return []
        due = [seq for seq, held in self._outstanding.items() if self._due_s(held) <= now_s]
        fresh = self._fresh(window)
        if not due and not fresh:
            return []
        rows = self._read([*due, *fresh])
        for row in rows:
            self._hold(row, now_s)
        return rows

    def allow(self, *, credit_bytes: int, backoff_s: float) -> None:
        """What the cloud allows from now on: bytes outstanding (0: as we like), and a pause."""
        most = self._max_outstanding_bytes
        self._credit_bytes = min(credit_bytes, most) if credit_bytes > 0 else most
        now_s = self._clock.monotonic_s()
        pause_s = min(backoff_s, _LONGEST_PAUSE_S)
        self._paused_until_s = (
            now_s + self._random.uniform(pause_s, 1.5 * pause_s) if pause_s > 0 else 0.0
        )

    def acknowledge(
        self,
        sequences: Iterable[int],
        *,
        install: str | None = None,
        cumulative: int = 0,
        selective: Iterable[tuple[int, int]] = (),
    ) -> int:
        """Delete rows that the cloud has committed; how many there were. Idempotent.

        Args:
            install: only rows that are sent under this name; None for any.
            cumulative: every row up to this one that was ever sent.
            selective: (first, last) of more such rows.
        """
        ranges = [*selective, *([(1, cumulative)] if cumulative > 0 else [])]
        gone = self._sent_under(install, {*sequences, *self._sent_within(ranges)})
        now_s = self._clock.monotonic_s()
        for seq in gone:
            held = self._outstanding.pop(seq, None)
            if held is not None:
                self.answered(now_s - held.sent_at_s)
                self._moved_at_s = now_s
                self._moved_to_s = max(self._moved_to_s, held.last_sent_at_s)
        return self._settle(dict.fromkeys(gone, ""))

    def answered(self, took_s: float) -> None:
        """Something that we said was answered after so long: it rises at once and falls slowly."""
        usual_s = self._usual_answer_s
        self._usual_answer_s = max(took_s, usual_s + (took_s - usual_s) / 8)

    def ask(self, asked_at_s: float | None) -> None:
        """The cloud was asked for a sign at that time; None: it has given one since.

        While it gives none, rows that it has not come to yet are not sent to it again.
        """
        self._asked_at_s = asked_at_s

    def reject(self, rejected: Sequence[tuple[int, str]], *, install: str | None = None) -> None:
        """Park rows that the cloud will never accept, with its reason; they are kept, not sent.

        Args:
            install: see `acknowledge`.
        """
        known = self._sent_under(install, {seq for seq, _reason in rejected})
        for seq in known:
            self._outstanding.pop(seq, None)
        self._settle({seq: reason or "rejected" for seq, reason in rejected if seq in known})

    def send_again(self, sequences: Iterable[int]) -> None:
        """These are to be claimed again at once: their answer said that it was for another row."""
        for seq in sequences:
            self._outstanding.pop(seq, None)

    def postpone(self, sequences: Iterable[int]) -> None:
        """The cloud could not take these now: they are due after its pause, or as if unanswered."""
        for seq in sequences:
            held = self._outstanding.get(seq)
            if held is not None:
                held.not_before_s = self._paused_until_s

    def expect_nothing(self) -> None:
        """Forget what is outstanding, so that it is claimed again: who had it is gone."""
        self._outstanding.clear()

    def next_due_s(self) -> float | None:
        """Monotonic time at which the next resend is due; None where nothing is to be sent again.

        That is with nothing outstanding, and while the cloud allows no row at all.
        """
        if self._is_shut:
            return None
        due_s = min(map(self._due_s, self._outstanding.values()), default=None)
        if self._paused_until_s > self._clock.monotonic_s():
            return max(due_s or 0.0, self._paused_until_s)
        return due_s

    @property
    def outstanding(self) -> int:
        """Rows that were sent and not answered."""
        return len(self._outstanding)

    @property
    def paused(self) -> bool:
        """Whether the cloud wants us to send nothing now."""
        return self._clock.monotonic_s() < self._paused_until_s

    def needs_newer(self, seq: int, minor: int) -> bool:
        """Whether a row is kept in an encoding that a peer of this minor version cannot read."""
        row = self._conn.execute("SELECT enc FROM outbox WHERE seq = ?", (seq,)).fetchone()
        return row is not None and not reads(minor, str(row[0]))

    def oldest(self) -> int:
        """The lowest row that is still to be settled; see `oldest`."""
        return oldest(self._conn)

    def _due_s(self, held: _Outstanding) -> float:
        """When a row is to be sent again, as far as the cloud's pace is known by now.

        Rows are looked at in the order in which they were sent: while those before it are answered,
        a row waits for its turn and is not lost.
        """
        is_passed_over = held.last_sent_at_s < self._moved_to_s
        since_s = held.last_sent_at_s if is_passed_over else self._moved_at_s
        usual_s = min(_PATIENCE * self._usual_answer_s, self._backoff.cap_s)
        wait_s = max(held.wait_s, usual_s)
        due_s = max(held.not_before_s, max(held.last_sent_at_s, since_s) + wait_s)
        if self._asked_at_s is None:
            return due_s
        return max(due_s, self._asked_at_s + _SILENCE_MOST_S)

    def _sent_within(self, ranges: Sequence[tuple[int, int]]) -> set[int]:
        """Rows in these ranges that were sent before: only those can be committed."""
        found: set[int] = set()
        for first, last in ranges:
            found |= {seq for seq in self._outstanding if first <= seq <= last}
            found.update(
                seq
                for (seq,) in self._conn.execute(
                    "SELECT seq FROM outbox WHERE seq BETWEEN ? AND ? AND attempts > 0 "
                    "AND parked_reason IS NULL",
                    (first, last),
                )
            )
        return found

    def _sent_under(self, install: str | None, sequences: set[int]) -> set[int]:
        """Those of some rows that were sent under a name (None: any): no other can be settled."""
        query = "SELECT attempts, install FROM outbox WHERE seq = ?"
        found = ((seq, self._conn.execute(query, (seq,)).fetchone()) for seq in sequences)
        return {
            seq
            for seq, row in found
            if row is not None
            and (row[0] > 0 or seq in self._outstanding)
            and install in {None, row[1]}
        }

    def _settle(self, settled: dict[int, str]) -> int:
        """Note what became of rows, and write it down; how many rows were deleted."""
        self._unwritten.update(settled)
        return self._write_down()

    def _write_down(self) -> int:
        """Write down what became of rows; on a disk that takes nothing, later."""
        if not self._unwritten:
            return 0
        gone = [(seq,) for seq, reason in self._unwritten.items() if not reason]
        parked = [(reason, seq) for seq, reason in self._unwritten.items() if reason]
        try:
            with transaction(self._conn):
                deleted = self._conn.executemany("DELETE FROM outbox WHERE seq = ?", gone).rowcount
                self._conn.executemany("UPDATE outbox SET parked_reason = ? WHERE seq = ?", parked)
        except sqlite3.OperationalError as error:
            if not cannot_write(error):
                raise
            return 0
        for seq in self._unwritten:
            self._attempts.pop(seq, None)
        self._unwritten.clear()
        return max(deleted, 0)

    def _fresh(self, window: int) -> list[int]:
        held = self._outstanding.values()
        budget = self._credit_bytes - sum(one.size_bytes for one in held)
        room = window - len(held)
        urgent_room = window - sum(one.is_urgent for one in held)
        if max(room, urgent_room) <= 0:
            return []
        candidates = self._conn.execute(
            "SELECT seq, length(body), priority FROM outbox WHERE parked_reason IS NULL "
            "ORDER BY priority, seq LIMIT ?",
            (window + len(held) + len(self._unwritten),),
        )
        chosen: list[int] = []
        for seq, size_bytes, priority in candidates:
            if seq in self._outstanding or seq in self._unwritten:
                continue
            if priority == _URGENT:
                fits = len(chosen) < urgent_room
            else:
                alone = not (chosen or self._outstanding)
                fits = len(chosen) < room and (size_bytes <= budget or alone)
            if not fits:
                break
            chosen.append(seq)
            budget -= size_bytes
        return chosen

    def _read(self, sequences: list[int]) -> list[OutboxRow]:
        try:
            with transaction(self._conn):
                return self._read_and_count(sequences)
        except sqlite3.OperationalError as error:
            if not cannot_write(error):
                raise
        return self._read_only(sequences)

    def _read_and_count(self, sequences: list[int]) -> list[OutboxRow]:
        rows = []
        for seq in sequences:
            found = self._conn.execute(
                "UPDATE outbox SET attempts = attempts + 1 + ? "
                "WHERE seq = ? AND parked_reason IS NULL "
                "RETURNING kind, enc, body, attempts, install",
                (self._attempts.get(seq, 0), seq),
            ).fetchall()
            if not found:  # another session of this device had it acknowledged, or it was dropped
                self._outstanding.pop(seq, None)
            rows += [OutboxRow(seq, EncodedBody(*row[:3]), *row[3:]) for row in found]
        for seq in sequences:
            self._attempts.pop(seq, None)
        return rows

    def _read_only(self, sequences: list[int]) -> list[OutboxRow]:
        """Rows of a database that takes nothing: how often they were sent is counted here."""
        rows = []
        for seq in sequences:
            found = self._conn.execute(
                "SELECT kind, enc, body, attempts, install FROM outbox "
                "WHERE seq = ? AND parked_reason IS NULL",
                (seq,),
            ).fetchone()
            if found is None:
                self._outstanding.pop(seq, None)
                continue
            self._attempts[seq] = self._attempts.get(seq, 0) + 1
            attempt = found[3] + self._attempts[seq]
            rows.append(OutboxRow(seq, EncodedBody(*found[:3]), attempt, found[4]))
        return rows

    def _hold(self, row: OutboxRow, now_s: float) -> None:
        held = self._outstanding.get(row.seq)
        sends = 0 if held is None else held.sends + 1
        self._outstanding[row.seq] = _Outstanding(
            size_bytes=len(row.body.data),
            is_urgent=_PRIORITY.get(row.body.kind) == _URGENT,
            sent_at_s=now_s if held is None else held.sent_at_s,
            last_sent_at_s=now_s,
            sends=sends,
            wait_s=self._backoff.delay_s(sends, self._random),
        )

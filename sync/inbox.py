"""The device's durable list of assignments: one that arrives twice is played once.

`accept` stores what is new; `finish` runs inside the transaction that closes the episode, so an
assignment and its episode are one fact. What was accepted and not finished is pending again after a
crash. Finished and cancelled ids stay (without their bodies), so that a late copy changes nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import msgspec

from sync.vocabulary import Assignment, AssignmentId

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Assignment)


def accept(
    conn: sqlite3.Connection, assignments: Iterable[Assignment], *, received_at_ms: int
) -> tuple[Assignment, ...]:
    """Store assignments inside the caller's transaction and return those that are new, in order."""
    return tuple(
        assignment
        for assignment in assignments
        if conn.execute(
            "INSERT INTO inbox (assignment_id, position, state, body, received_at_ms) "
            "SELECT ?, coalesce(max(position), 0) + 1, 'pending', ?, ? FROM inbox "
            "WHERE state = 'pending' ON CONFLICT (assignment_id) DO NOTHING",
            (assignment.id, _ENCODER.encode(assignment), received_at_ms),
        ).rowcount
    )


def pending(conn: sqlite3.Connection) -> tuple[Assignment, ...]:
    """Assignments that were accepted and neither finished nor cancelled, oldest first."""
    rows = conn.execute("SELECT body FROM inbox WHERE state = 'pending' ORDER BY position")
    return tuple(_DECODER.decode(body) for (body,) in rows)


def finish(conn: sqlite3.Connection, assignment_id: AssignmentId) -> bool:
    """Mark an assignment as played, inside the transaction that stores its episode.

    Returns: False where it was not pending (unknown, finished before, or cancelled).
    """
    return bool(
        conn.execute(
            "UPDATE inbox SET state = 'finished', body = NULL "
            "WHERE assignment_id = ? AND state = 'pending'",
            (assignment_id,),
        ).rowcount
    )


def cancel(
    conn: sqlite3.Connection, assignment_ids: Iterable[AssignmentId], *, received_at_ms: int
) -> None:
    """Cancel assignments, also such as are still to arrive; finished ones stay finished."""
    conn.executemany(
        "INSERT INTO inbox (assignment_id, position, state, received_at_ms) "
        "VALUES (?, 0, 'cancelled', ?) ON CONFLICT (assignment_id) "
        "DO UPDATE SET state = 'cancelled', body = NULL WHERE state = 'pending'",
        [(assignment_id, received_at_ms) for assignment_id in assignment_ids],
    )

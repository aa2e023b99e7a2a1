"""Assignments between their arrival and their episode: durable in the inbox, in order in memory.

An assignment is taken by a seat in memory only; `TrajectoryLog.append` finishes it on disk together
with its episode. So what was taken when the process died is waiting again at the next start, and
what was played never comes back, however often the cloud sends it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable

from sync import inbox
from sync.clock import Clock
from sync.database import transaction
from sync.messages import Event
from sync.outbox import enqueue
from sync.vocabulary import Assignment, AssignmentId


class AssignmentQueue:
    """The assignments of one device that are to be played. Used by one thread.

    Args:
        connection: the device's database, with the wire's tables.
    """

    def __init__(self, connection: sqlite3.Connection, *, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock
        self._waiting = {item.id: item for item in inbox.pending(connection)}

    def __len__(self) -> int:
        """How many wait for a seat."""
        return len(self._waiting)

    def accept(self, assignments: Iterable[Assignment]) -> tuple[AssignmentId, ...]:
        """Keep assignments durably; the ids that are safe now, those that came again included."""
        batch = tuple(assignments)
        with transaction(self._connection):
            new = inbox.accept(self._connection, batch, received_at_ms=self._clock.wall_ms())
        self._waiting.update((item.id, item) for item in new)
        return tuple(item.id for item in batch)

    def cancel(self, assignment_ids: Iterable[AssignmentId]) -> None:
        """Forget assignments that no seat has taken; what is being played goes on."""
        ids = tuple(assignment_ids)
        with transaction(self._connection):
            inbox.cancel(self._connection, ids, received_at_ms=self._clock.wall_ms())
        for assignment_id in ids:
            self._waiting.pop(assignment_id, None)

    def take(self, *, ready: Callable[[Assignment], bool]) -> Assignment | None:
        """The oldest waiting assignment that is `ready`, or None; it waits no more."""
        for assignment in self._waiting.values():
            if ready(assignment):
                return self._waiting.pop(assignment.id)
        return None

    def reject(self, assignment: Assignment, *, reason: str, detail: str) -> None:
        """Give an assignment back for good: finished here, and an event tells the cloud why."""
        now_ms = self._clock.wall_ms()
        fields = {"assignment_id": assignment.id, "reason": reason, "detail": detail}
        event = Event(kind="assignment_rejected", fields=fields, at_ms=now_ms)
        self._waiting.pop(assignment.id, None)
        with transaction(self._connection):
            if inbox.finish(self._connection, assignment.id):
                enqueue(self._connection, event, created_at_ms=now_ms)

"""Assignments between their arrival and their episode: durable in the inbox, in order in memory.

The session stores what arrives in the inbox table before it hands it on. A seat takes an assignment
in memory only; `TrajectoryLog.append` finishes it on disk together with its episode. So what was
taken when the process died is waiting again at the next start, and what was played never comes
back, however often the cloud sends it.
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
    """The assignments of one device that are to be played, oldest first. Used by one thread.

    Args:
        connection: the device's database, with the wire's tables; what is pending there waits here
            from the start.
    """

    def __init__(self, connection: sqlite3.Connection, *, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock
        self._waiting = {item.id: item for item in inbox.pending(connection)}
        self._resumed = frozenset(self._waiting)

    def __len__(self) -> int:
        """How many wait for a seat."""
        return len(self._waiting)

    def offer(self, assignments: Iterable[Assignment]) -> None:
        """Let assignments that are in the inbox wait for a seat; known ones are not added again."""
        for assignment in assignments:
            if assignment.id not in self._resumed:
                self._waiting[assignment.id] = assignment

    def accept(self, assignments: Iterable[Assignment]) -> None:
        """Store assignments of this device's own in the inbox, and let new ones wait."""
        with transaction(self._connection):
            new = inbox.accept(self._connection, assignments, received_at_ms=self._clock.wall_ms())
        self.offer(new)

    def cancel(self, assignment_ids: Iterable[AssignmentId]) -> None:
        """Let go of assignments that no seat has taken; what is being played goes on."""
        for assignment_id in assignment_ids:
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

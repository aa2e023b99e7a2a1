"""Messages whose effect the disk did not take: they are dealt with again until it does.

A full or read-only disk must neither end the wire nor swallow an order. The broker is told that
such a message was dealt with only once it was, or was let go of.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import structlog

from sync.clock import Clock
from sync.ports import Incoming

RETRY_S: Final = 1.0
MOST: Final = 64
"""Older ones are let go of: whoever sent them says them again where nothing came of them."""

_log = structlog.get_logger()


class Unkept:
    """What waits for a disk that takes it; used by one thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._waiting: deque[Incoming] = deque(maxlen=MOST)
        self._due_s = 0.0

    def put(self, incoming: Incoming, error: Exception) -> Incoming | None:
        """Keep a message for later; the oldest one where there is no room for both."""
        if not self._waiting:
            _log.warning("message_put_off", topic=incoming.topic, error=str(error))
        let_go = self._waiting[0] if len(self._waiting) == MOST else None
        self._waiting.append(incoming)
        self._due_s = self._clock.monotonic_s() + RETRY_S
        return let_go

    def superseded(self, topic: str) -> list[Incoming]:
        """What waits of a topic of which only the last word counts; it waits no more."""
        gone = [one for one in self._waiting if one.topic == topic]
        for one in gone:
            self._waiting.remove(one)
        return gone

    def due(self) -> list[Incoming]:
        """What is to be dealt with again now, oldest first; it waits no more."""
        if not self._waiting or self._clock.monotonic_s() < self._due_s:
            return []
        due = list(self._waiting)
        self._waiting.clear()
        return due

    def forget(self) -> None:
        """The connection that these came on is lost, and with it what is not retained."""
        self._waiting.clear()

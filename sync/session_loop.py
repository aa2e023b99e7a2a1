"""The thread under a session: one queue for events, wake-ups and commands, one owner of the link.

No callback of a driver does any work, and no lock is held while something is published.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol

import structlog

from sync.errors import ProjectError
from sync.ports import Connected, Disconnected, Incoming, TransportEvent

Command = Callable[[], object]
Item = TransportEvent | Command
CLOSE_TIMEOUT_S: Final = 10.0
DATABASE_RETRY_S: Final = 1.0
MAX_BATCH: Final = 256

_log = structlog.get_logger()


class Work(Protocol):
    """What a loop turns: a link. All three are called on the loop's thread."""

    def take(self, events: Sequence[TransportEvent]) -> None:
        """Take events of the transport, in order."""
        ...

    def pump(self) -> float:
        """Do what is due; seconds until there is something to do, if nothing happens before."""
        ...

    def close(self) -> None:
        """Say goodbye and end the connection for good."""
        ...


class SessionLoop:
    """The thread that owns a link: hands it what waits in the queue, then what is due."""

    def __init__(self, name: str, work: Work, items: queue.SimpleQueue[Item]) -> None:
        self.database_errors = 0
        self.connected = threading.Event()
        self._work = work
        self._items = items
        self._failure: Exception | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin to turn. Once only."""
        self._thread.start()

    def stop(self) -> None:
        """Let the thread end its turn and say goodbye, and wait for it."""
        self._stopping = True
        self._items.put(nothing)
        if self._thread.ident is not None:
            self._thread.join(CLOSE_TIMEOUT_S)

    def check(self) -> None:
        """Raise what ended the thread, where something did.

        Raises:
            ProjectError: an error that says what to do next.
            RuntimeError: any other.
        """
        if isinstance(self._failure, ProjectError):
            raise self._failure
        if self._failure is not None:
            raise RuntimeError(f"{self._thread.name} ended by an error") from self._failure

    def _run(self) -> None:
        wait_s = 0.0
        try:
            while not self._stopping:
                wait_s = self._turn(wait_s)
        except Exception as error:  # noqa: BLE001 - the owner learns of it by its next call
            self._failure = error
            _log.exception("session_failed", session=self._thread.name)
        finally:
            self._work.close()

    def _turn(self, wait_s: float) -> float:
        try:
            for group in self._drain(wait_s):
                if callable(group):
                    group()
                else:
                    self._work.take(group)
            return self._work.pump()
        except sqlite3.OperationalError as error:  # a full disk, or a writer that holds on too long
            self.database_errors += 1
            _log.warning("session_database_failed", session=self._thread.name, error=str(error))
            return DATABASE_RETRY_S

    def _drain(self, wait_s: float) -> Iterator[list[TransportEvent] | Command]:
        """What waits in the queue, in order, with neighbouring events together."""
        events: list[TransportEvent] = []
        for item in self._waiting(wait_s):
            if isinstance(item, Connected | Disconnected | Incoming):
                events.append(item)
                continue
            if events:
                yield events
                events = []
            yield item
        if events:
            yield events

    def _waiting(self, wait_s: float) -> Iterator[Item]:
        try:
            yield self._items.get(block=wait_s > 0, timeout=wait_s)
            for _ in range(MAX_BATCH - 1):
                yield self._items.get_nowait()
        except queue.Empty:
            return


def nothing() -> None:
    """Make a waiting loop look around."""

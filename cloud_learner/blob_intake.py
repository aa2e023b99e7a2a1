"""Takes blobs beside ingest: a thread of its own, so that no disk holds an episode back.

session's thread ─► bounded queue ─► this thread: desk, files, one transaction ─► answers
"""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Final, Protocol

import structlog

from cloud_learner.blob_store import BlobStore
from sync.blob_desk import OWED_MOST, BlobDesk, BlobDeskCounters
from sync.clock import Clock
from sync.errors import TransientError
from sync.messages import BlobDownMessage, BlobUpMessage

_WAITING_MOST: Final = 2 * OWED_MOST
"""Messages that wait: twice what is asked for, so that memory is bounded whatever phones send."""
_BATCH: Final = 64
_TICK_S: Final = 1.0
_STOP_S: Final = 10.0

_log = structlog.get_logger()


class BlobDownlink(Protocol):
    """The session, as far as blobs need it."""

    @property
    def holds_back(self) -> bool:
        """Whether devices are told to send nothing right now."""
        ...

    def send(self, device_id: str, message: BlobDownMessage) -> None:
        """Publish to one device.

        Raises: LinkLostError: there is no connection to the broker now.
        """
        ...


@dataclass(frozen=True, slots=True)
class BlobIntakeStats:
    """What was taken since the start; see BlobDeskCounters.

    Attributes:
        overflowed: messages that were dropped unread because too many waited.
        failed_commits: times that the database or the disk took nothing.
    """

    desk: BlobDeskCounters
    overflowed: int
    failed_commits: int


class BlobIntake:
    """The cloud's side of blobs, running. `take` may be called from any thread."""

    def __init__(self, store: BlobStore, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._desk = BlobDesk(store, clock=clock)
        self._waiting: queue.Queue[tuple[str, BlobUpMessage] | None] = queue.Queue(_WAITING_MOST)
        self._overflowed = 0
        self._failed_commits = 0
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: Exception | None = None

    def start(self, downlink: BlobDownlink) -> None:
        """Begin to work in the background, and to answer through `downlink`. Once only."""
        self._thread = threading.Thread(
            target=self._run, args=(downlink,), name="blobs", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop after what is being done. Idempotent."""
        self._stopping.set()
        with suppress(queue.Full):  # then it is awake
            self._waiting.put_nowait(None)
        if self._thread is not None:
            self._thread.join(_STOP_S)

    def take(self, device_id: str, message: BlobUpMessage) -> None:
        """Take what a device says, without waiting; what there is no room for is asked again."""
        try:
            self._waiting.put_nowait((device_id, message))
        except queue.Full:
            self._overflowed += 1

    def stats(self) -> BlobIntakeStats:
        """Counts at this moment.

        Raises: RuntimeError: the thread ended by an error.
        """
        if self._failure is not None:
            raise RuntimeError("the thread that takes blobs ended by an error") from self._failure
        return BlobIntakeStats(replace(self._desk.counters), self._overflowed, self._failed_commits)

    def counts(self) -> dict[str, int]:
        """All counts by name: of the store, and of what was taken since the start."""
        stats = self.stats()
        taken = {f"blob_desk_{name}": value for name, value in asdict(stats.desk).items()}
        return {**self._store.counts(), **taken, "blob_overflowed": stats.overflowed}

    def _run(self, downlink: BlobDownlink) -> None:
        ticked_s = self._clock.monotonic_s()
        try:
            while not self._stopping.is_set():
                if self._clock.monotonic_s() - ticked_s >= _TICK_S:
                    ticked_s = self._clock.monotonic_s()
                    self._desk.pause(downlink.holds_back)
                    self._desk.tick()
                self._turn(downlink)
        except Exception as error:  # noqa: BLE001 - the owner learns of it by its next call
            self._failure = error
            _log.exception("blob_intake_failed")

    def _turn(self, downlink: BlobDownlink) -> None:
        try:
            self._take_batch()
            self._answer(downlink)
        except (TransientError, OSError) as error:
            self._failed_commits += 1
            self._desk.answers()  # nobody is told of what is not noted; devices offer again
            _log.warning("blobs_not_noted", error=str(error))
            self._stopping.wait(_TICK_S)

    def _take_batch(self) -> None:
        try:
            first = self._waiting.get(timeout=_TICK_S)
        except queue.Empty:
            return
        batch = [first]
        while len(batch) < _BATCH and not self._waiting.empty():
            batch.append(self._waiting.get_nowait())
        for one in batch:
            if one is not None:
                self._desk.take(*one)

    def _answer(self, downlink: BlobDownlink) -> None:
        self._store.commit()
        for device_id, message in self._desk.answers():
            try:
                downlink.send(device_id, message)
            except TransientError:  # no connection: devices offer again when there is one
                return

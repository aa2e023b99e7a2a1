"""The wire as the rest of the project sees it: DeviceSession on phones and farms, CloudSession.

Each runs its link in one background thread that takes everything from one queue: the driver's
events, wake-ups and commands from other threads (sync.session_loop).
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random

import structlog

from sync import blob_rows
from sync.blob_sender import BlobSendCounters, BlobSettings
from sync.boot_watch import Double
from sync.clock import Clock, SystemClock
from sync.cloud_link import (
    CloudCounters,
    CloudLink,
    CloudOutlets,
    DeadLetter,
    IngestHandler,
    Received,
    Repeated,
)
from sync.database import create_schema, open_database, transaction
from sync.device_link import DeviceCounters, DeviceLink, DeviceOutlets
from sync.errors import LinkLostError
from sync.fetch import MAX_FILE_BYTES, FileFetcher
from sync.installation import install_id, short_name
from sync.messages import (
    Birth,
    BlobUpMessage,
    ControlMessage,
    DownMessage,
    InboxMessage,
    LiveMessage,
    ReleaseAnnouncement,
)
from sync.outbox import depth, parked
from sync.ports import (
    CredentialsHolder,
    FileSource,
    Incoming,
    SettingsHolder,
    Transport,
    TransportEvent,
)
from sync.server_clock import ServerClock
from sync.session_loop import Item, SessionLoop, nothing
from sync.unanswered import UnansweredOnce
from sync.vocabulary import new_uuid7

__all__ = [
    "CloudSession",
    "CloudStats",
    "DeadLetter",
    "DeviceSession",
    "DeviceStats",
    "IngestHandler",
    "Received",
    "Repeated",
]

_log = structlog.get_logger()
_PROGRESS_POLL_S = 0.2
MOST_QUEUED = 4_096
"""Messages that may wait for the cloud's thread before those at QoS 0 are dropped unread. The
broker holds back the others: it has only so many on their way that were not acknowledged."""


@dataclass(frozen=True, slots=True)
class DeviceStats:
    """How a device's session does; see DeviceCounters for the counts since its start.

    Attributes:
        blobs_waiting: blobs that the cloud does not hold yet.
        blobs: what was sent of them since the start.
    """

    connected: bool
    connects: int
    last_error: str
    depth: int
    parked: int
    outstanding: int
    database_errors: int
    counters: DeviceCounters
    contended: bool = False
    blobs_waiting: int = 0
    blobs: BlobSendCounters = field(default_factory=BlobSendCounters)


class DeviceSession:
    """A device's wire: drains the outbox, keeps the inbox, fetches files. Thread-safe.

    Args:
        transport: a fresh connection that nobody else uses.
        database: the device's SQLite file; the wire's tables are made where they are missing.
        birth: what the device is; boot, epoch and time are filled in for each connection.
        control: takes what the owner says, on the session's thread, and must not block.
        heard: told whenever the cloud or the owner was heard.
        settings: what can be set from afar; None where nothing can.
        credentials: what an enrolled device connects with; None where that is not its own.
        server_clock: learns the cloud's time from its answers.
        blobs: where pictures of screens lie that may be sent; None where none ever leave.
    """

    def __init__(
        self,
        *,
        transport: Transport,
        database: Path,
        fleet: str,
        birth: Birth,
        control: Callable[[ControlMessage], None] | None = None,
        heard: Callable[[], None] | None = None,
        settings: SettingsHolder | None = None,
        credentials: CredentialsHolder | None = None,
        server_clock: ServerClock | None = None,
        blobs: BlobSettings | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
        new_id: Callable[[], str] = new_uuid7,
    ) -> None:
        clock = clock or SystemClock()
        self.boot_id = short_name(new_id())
        self._device_id = birth.device_id
        self._conn = _opened(database, install_id=short_name(new_id()))
        self.install_id = install_id(self._conn)
        self._reader = open_database(database)
        self._reader_lock = threading.Lock()
        self._progress = threading.Condition()
        self._inbox: queue.SimpleQueue[InboxMessage | None] = queue.SimpleQueue()
        self._items: queue.SimpleQueue[Item] = queue.SimpleQueue()
        self._fetcher = FileFetcher(self.send, clock=clock, new_id=new_id)
        self._clock = clock
        self._link = DeviceLink(
            transport=transport,
            sink=self._items.put,
            conn=self._conn,
            fleet=fleet,
            birth=birth,
            boot_id=self.boot_id,
            outlets=DeviceOutlets(
                inbox=self._inbox.put,
                chunk=self._fetcher.take,
                connected=self._connection_changed,
                acknowledged=self._notify,
                control=control or _nobody_listens,
                heard=heard or nothing,
                settings=settings,
                credentials=credentials,
            ),
            clock=clock,
            random=random or Random(self.boot_id),
            server_clock=server_clock,
            blobs=blobs,
            new_id=new_id,
        )
        self._loop = SessionLoop(f"wire-{birth.device_id}", self._link, self._items)

    def start(self) -> None:
        """Begin to work in the background; unfinished assignments are the first message."""
        self._link.resume()
        self._loop.start()

    def close(self) -> None:
        """Say goodbye and stop; what is not acknowledged stays in the outbox. Idempotent."""
        self._loop.stop()
        self._conn.close()
        with self._reader_lock:
            self._reader.close()

    def wake(self) -> None:
        """Say that rows were committed to the outbox, so that they leave at once."""
        self._items.put(nothing)

    def send(self, message: LiveMessage) -> None:
        """Publish a message that may be lost; without a connection it is."""
        self._items.put(partial(self._link.send, message))

    def announce(self, birth: Birth) -> None:
        """Say anew what this device is (another release, another channel)."""
        if birth.device_id != self._device_id:
            raise ValueError(f"this session is {self._device_id}'s, not another device's")
        self._items.put(partial(self._link.announce, birth))

    def look_up(self) -> None:
        """Let whoever waits for a message look around: `next_message` answers None at once."""
        self._inbox.put(None)

    def next_message(self, timeout_s: float) -> InboxMessage | None:
        """The next message for this device's owner, or None after `timeout_s`.

        Raises: RuntimeError: the session's thread ended by an error.
        """
        self._loop.check()
        try:
            return self._inbox.get(block=timeout_s > 0, timeout=timeout_s)
        except queue.Empty:
            self._loop.check()
            return None

    def fetch(
        self,
        path: str,
        *,
        offset: int = 0,
        stall_timeout_s: float = 30.0,
        max_bytes: int = MAX_FILE_BYTES,
    ) -> Iterator[bytes]:
        """A release file, chunk by chunk from `offset` on; see FileFetcher.fetch for its errors."""
        return self._fetcher.fetch(
            path, offset=offset, stall_timeout_s=stall_timeout_s, max_bytes=max_bytes
        )

    @property
    def connected(self) -> bool:
        """Whether there is a connection to the broker now."""
        return self._loop.connected.is_set()

    @property
    def contended(self) -> bool:
        """Whether the cloud sees another process connect under this device's name."""
        return self._link.connection.contended

    def wait_connected(self, timeout_s: float) -> bool:
        """Wait for a connection; False where there is none after `timeout_s`."""
        return self._loop.connected.wait(timeout_s)

    def wait_drained(self, timeout_s: float) -> bool:
        """Wait until the cloud has answered for every row; False where some are left."""
        deadline_s = self._clock.monotonic_s() + timeout_s
        with self._progress:
            while self._depth():
                left_s = deadline_s - self._clock.monotonic_s()
                if left_s <= 0:
                    return False
                self._progress.wait(min(left_s, _PROGRESS_POLL_S))
        return True

    def stats(self) -> DeviceStats:
        """Counts and depths at this moment."""
        with self._reader_lock:
            waiting, given_up = depth(self._reader), len(parked(self._reader))
            blobs_waiting, _bytes = blob_rows.waiting(self._reader)
        sender = self._link.blobs
        return DeviceStats(
            connected=self.connected,
            connects=self._link.connection.connects,
            last_error=self._link.connection.last_error,
            depth=waiting,
            parked=given_up,
            outstanding=self._link.outbox.outstanding,
            database_errors=self._loop.database_errors,
            counters=replace(self._link.counters),
            contended=self._link.connection.contended,
            blobs_waiting=blobs_waiting,
            blobs=BlobSendCounters() if sender is None else replace(sender.counters),
        )

    def _depth(self) -> int:
        with self._reader_lock:
            return depth(self._reader)

    def _notify(self) -> None:
        with self._progress:
            self._progress.notify_all()

    def _connection_changed(self, online: bool) -> None:  # noqa: FBT001 - an event's one value
        (self._loop.connected.set if online else self._loop.connected.clear)()
        if online:
            self._fetcher.connected()


def _nobody_listens(message: ControlMessage) -> None:
    """A device without an owner, such as a farm."""
    _log.info("control_ignored", kind=type(message).__name__)


@dataclass(frozen=True, slots=True)
class CloudStats:
    """How the cloud's session does; see CloudCounters for the counts since its start."""

    connected: bool
    connects: int
    last_error: str
    devices: tuple[str, ...]
    counters: CloudCounters


class CloudSession:
    """The service's wire: hands batches to `ingest`, serves files, reaches devices. Thread-safe.

    Args:
        ingest: commits a batch; called on the session's thread, so batches never overlap.
        files: what devices may fetch.
        shards: only the devices of these shards; None means all.
        dead_letter: gets what was given up, before the sender is told.
        doubled: told where two processes use one device's name.
        blobs: takes what devices say of their blobs, and parts of them, on the session's thread.
        credit: how many outbox rows each device may have outstanding.
    """

    def __init__(
        self,
        *,
        transport: Transport,
        fleet: str,
        ingest: IngestHandler,
        files: FileSource,
        shards: tuple[int, ...] | None = None,
        dead_letter: Callable[[DeadLetter], None] | None = None,
        doubled: Callable[[Double], None] | None = None,
        blobs: Callable[[str, BlobUpMessage], None] | None = None,
        credit: int = 64,
        clock: Clock | None = None,
        random: Random | None = None,
        new_id: Callable[[], str] = new_uuid7,
    ) -> None:
        boot_id = short_name(new_id())
        self._items: queue.SimpleQueue[Item] = queue.SimpleQueue()
        self._transport = UnansweredOnce(transport)
        self._link = CloudLink(
            transport=self._transport,
            sink=self._offer,
            fleet=fleet,
            shards=shards,
            files=files,
            outlets=CloudOutlets(
                ingest=ingest,
                dead_letter=dead_letter or _log_dead_letter,
                connected=self._connection_changed,
                doubled=doubled or _log_double,
                blobs=blobs or _no_blobs,
            ),
            boot_id=boot_id,
            clock=clock or SystemClock(),
            random=random or Random(boot_id),
            credit=credit,
            queued=self._items.qsize,
        )
        self._shed = 0
        self._loop = SessionLoop("wire-cloud", self._link, self._items)

    def start(self) -> None:
        """Begin to work in the background."""
        self._loop.start()

    def close(self) -> None:
        """Stop after the batch in progress; what was not committed comes again. Idempotent."""
        self._loop.stop()

    def send(self, device_id: str, message: DownMessage) -> None:
        """Publish to one device, which may be away: say it again until it shows an effect.

        Raises: LinkLostError: there is no connection to the broker now.
        """
        self._check_connected()
        self._items.put(partial(self._link.send, device_id, message))

    def announce(self, announcement: ReleaseAnnouncement) -> None:
        """Say what a channel points at, now and to whoever subscribes later. Idempotent."""
        self._items.put(partial(self._link.announce, announcement))

    def forget(self, device_id: str) -> None:
        """Take away what the broker keeps of a revoked device and for it, now and from now on.

        Raises: LinkLostError: there is no connection to the broker now.
        """
        self._check_connected()
        self._items.put(partial(self._link.forget, device_id))

    def set_credit(self, credit: int) -> None:
        """How many rows each device may have outstanding; 0 holds uploads back."""
        self._items.put(partial(self._link.set_credit, credit))

    @property
    def holds_back(self) -> bool:
        """Whether devices are told to send nothing right now."""
        return self._link.holds_back

    @property
    def connected(self) -> bool:
        """Whether there is a connection to the broker now."""
        return self._loop.connected.is_set()

    def wait_connected(self, timeout_s: float) -> bool:
        """Wait for a connection; False where there is none after `timeout_s`."""
        return self._loop.connected.wait(timeout_s)

    def stats(self) -> CloudStats:
        """Counts at this moment.

        Raises: RuntimeError: the session's thread ended by an error.
        """
        self._loop.check()
        return CloudStats(
            connected=self.connected,
            connects=self._link.connection.connects,
            last_error=self._link.connection.last_error,
            devices=self._link.devices,
            counters=replace(
                self._link.counters,
                shed=self._link.counters.shed + self._shed,
                repeats=self._transport.repeats,
            ),
        )

    def _check_connected(self) -> None:
        self._loop.check()
        if not self.connected:
            raise LinkLostError("the cloud is not connected to the broker: send again later")

    def _offer(self, event: TransportEvent) -> None:
        """Queue an event; one that nobody waits for is let go of where too many wait already."""
        is_optional = isinstance(event, Incoming) and event.receipt is None
        if is_optional and self._items.qsize() >= MOST_QUEUED:
            self._shed += 1
        else:
            self._items.put(event)

    def _connection_changed(self, online: bool) -> None:  # noqa: FBT001 - an event's one value
        (self._loop.connected.set if online else self._loop.connected.clear)()


def _log_double(double: Double) -> None:
    _log.warning("device_doubled", device_id=double.device_id, how=double.how)


def _no_blobs(device_id: str, message: BlobUpMessage) -> None:
    """A service that keeps no blobs: devices hear nothing, and offer them again now and then."""
    _log.debug("blobs_ignored", device_id=device_id, kind=type(message).__name__)


def _log_dead_letter(letter: DeadLetter) -> None:
    _log.warning("message_dead_lettered", topic=letter.topic, reason=letter.reason)


def _opened(database: Path, *, install_id: str) -> sqlite3.Connection:
    """A connection to a database with the wire's tables; none is left open by an error."""
    conn = open_database(database)
    try:
        with transaction(conn):
            create_schema(conn, install_id=install_id)
    except BaseException:
        conn.close()
        raise
    return conn

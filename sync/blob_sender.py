"""The device's half of blobs, without a thread: offers what waits, sends what it is asked for.

    episode committed ─► BlobOffer ─► BlobWant ─► BlobChunk … ─► BlobAck ─► row `stored`

The cloud sets the pace and remembers what it has: a device that was killed offers again, and is
asked for the chunks that are missing. Nothing leaves while `may_send` says no, whatever was asked
for before, and no file leaves whose bytes are not what its name says.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import structlog

from sync import blob_rows
from sync.blob_folder import BlobFolder
from sync.blobs import chunk_of, chunks_in
from sync.clock import Clock
from sync.database import read_meta, transaction, write_meta
from sync.drop_rules import DropRule
from sync.messages import BlobAck, BlobDownMessage, BlobOffer, BlobUpMessage, BlobWant, Event
from sync.outbox import Backoff, enqueue, first_unsent

OFFERED_MOST: Final = 64
"""Blobs that wait for an answer; the cloud keeps as many in mind for each device."""
CHUNKS_A_TURN: Final = 2
"""Chunks between two looks at the outbox: what a new episode waits for at most."""
QUEUE_MOST: Final = 256
LOOK_S: Final = 1.0
TIDY_S: Final = 30.0
ORPHAN_S: Final = 3600.0
"""A file without a row is this old before it goes: its episode may still be played."""
_UNANSWERED: Final = Backoff(first_s=5.0, cap_s=120.0)
_ANSWERED_S: Final = 60.0
_LATER_MS: Final = 10 * 60_000
_LATEST_MS: Final = 6 * 3_600_000
_STORE: Final = "blob_store"

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class BlobSettings:
    """Where a device's blobs lie, and when they may leave.

    Attributes:
        may_send: whether blobs may leave right now; asked often, so it must be quick.
        quota_bytes: room for blobs on the device's disk.
    """

    directory: Path
    may_send: Callable[[], bool] = lambda: True
    quota_bytes: int = 256 * 1024 * 1024


@dataclass(slots=True)
class BlobSendCounters:
    """What happened since the sender was made.

    Attributes:
        shared: blobs that the cloud had, or got, from somebody else: no byte of them left here.
        damaged: files that were gone or did not hold what their name says; never sent.
        again: blobs that the cloud had stored and wants anew: its store is another one.
    """

    offers: int = 0
    chunks: int = 0
    chunk_bytes: int = 0
    stored: int = 0
    shared: int = 0
    refused: int = 0
    unknown: int = 0
    damaged: int = 0
    dropped: int = 0
    again: int = 0


class BlobSender:
    """One device's blobs; used by the thread that owns the link.

    Args:
        conn: the device's database, as that thread has it.
        publish: sends a message that may be lost; False where there is no connection.
    """

    def __init__(
        self,
        conn: sqlite3.Connection,
        settings: BlobSettings,
        *,
        publish: Callable[[BlobUpMessage], bool],
        clock: Clock,
        random: Random,
    ) -> None:
        self.counters = BlobSendCounters()
        self._conn = conn
        self._settings = settings
        self._folder = BlobFolder(settings.directory)
        self._publish = publish
        self._clock = clock
        self._random = random
        self._offered: dict[bytes, int] = {}
        self._sent: set[bytes] = set()
        self._queue: dict[tuple[bytes, int], None] = {}
        self._open: tuple[bytes, bytes] | None = None
        self._greets = True
        self._unanswered = 0
        self._look_at_s = clock.monotonic_s()
        self._repeat_at_s = self._look_at_s
        self._tidy_at_s = self._look_at_s
        self._sweeps = True

    def pump(self, *, is_free: bool) -> float:
        """Do what is due; seconds until there is something to do, if nothing happens before.

        Args:
            is_free: whether the link has nothing more urgent to send.
        """
        now_s = self._clock.monotonic_s()
        if now_s >= self._tidy_at_s:
            self._tidy_at_s = now_s + TIDY_S
            self._tidy()
        if not self._settings.may_send():
            self.expect_nothing()
            return LOOK_S
        if now_s >= self._look_at_s:
            self._offer(now_s)
        if is_free:
            self._send()
        return 0.0 if is_free and self._queue else max(0.0, self._look_at_s - now_s)

    def take(self, message: BlobDownMessage) -> None:
        """Take what the cloud asks for, or says of blobs."""
        self._unanswered = 0
        self._repeat_at_s = self._clock.monotonic_s() + _ANSWERED_S
        self._hear_store(message.store_id)
        if isinstance(message, BlobWant):
            self._take_want(message)
        else:
            self._take_ack(message)

    def look_soon(self) -> None:
        """Rows were committed in the cloud: what they name can be offered."""
        self._look_at_s = min(self._look_at_s, self._clock.monotonic_s())

    def expect_nothing(self) -> None:
        """Forget what was offered and asked for: who heard it is gone."""
        self._offered.clear()
        self._queue.clear()
        self._open = None
        self._greets = True
        self._unanswered = 0
        self.look_soon()

    def _offer(self, now_s: float) -> None:
        """Offer what is new, all that is unsettled where nobody answered, or say hello."""
        self._look_at_s = now_s + LOOK_S
        oldest = blob_rows.to_offer(
            self._conn,
            before=first_unsent(self._conn),
            now_ms=self._clock.wall_ms(),
            horizon_ms=_LATEST_MS,
            most=OFFERED_MOST,
        )
        if now_s >= self._repeat_at_s:
            fresh = dict(oldest)
        else:
            fresh = {digest: size for digest, size in oldest if digest not in self._offered}
        greets = self._greets and blob_rows.held(self._conn)[0] > 0
        if not (fresh or greets) or not self._publish(BlobOffer(have=tuple(fresh.items()))):
            return
        self._offered = dict(oldest)
        self._greets = False
        self.counters.offers += 1
        self._repeat_at_s = now_s + _UNANSWERED.delay_s(self._unanswered, self._random)
        self._unanswered += 1

    def _send(self) -> None:
        for digest, index in list(self._queue)[:CHUNKS_A_TURN]:
            data = self._load(digest)
            if data is None:
                continue
            chunk = chunk_of(digest, data, index)
            if not self._publish(chunk):
                return
            self._queue.pop((digest, index), None)
            self._sent.add(digest)
            self.counters.chunks += 1
            self.counters.chunk_bytes += len(chunk.data)

    def _load(self, digest: bytes) -> bytes | None:
        """A blob whose digest was checked, or None; then it is reported and asked for no more."""
        if self._open is not None and self._open[0] == digest:
            return self._open[1]
        data = self._folder.read(digest)
        if data is None:
            self._lose(digest)
            return None
        self._open = (digest, data)
        return data

    def _lose(self, digest: bytes) -> None:
        reason = "damaged" if self._folder.exists(digest) else "missing"
        now_ms = self._clock.wall_ms()
        event = Event(
            kind="blob_lost", fields={"digest": digest.hex(), "reason": reason}, at_ms=now_ms
        )
        with transaction(self._conn):
            given = blob_rows.give_up(
                self._conn, [digest], rule=DropRule.BLOB_DAMAGED, now_ms=now_ms
            )
            if given:
                enqueue(self._conn, event, created_at_ms=now_ms)
        self.counters.damaged += given
        _log.warning("blob_lost", digest=digest.hex(), reason=reason)
        self._discard([digest])
        self._settle([digest])
        self._publish(BlobOffer(lost=(digest,)))

    def _take_want(self, want: BlobWant) -> None:
        lost = []
        for digest, first, count in want.ranges[:QUEUE_MOST]:
            size = blob_rows.size_of(self._conn, digest)
            if size is None:
                lost.append(digest)
                continue
            for index in chunks_in(first, count, size):
                if len(self._queue) < QUEUE_MOST:
                    self._queue[digest, index] = None
        if lost:
            self._publish(BlobOffer(lost=tuple(lost)))

    def _take_ack(self, ack: BlobAck) -> None:
        now_ms = self._clock.wall_ms()
        refused = [digest for digest, _reason in ack.refused]
        if ack.stored or refused or ack.unknown:
            with transaction(self._conn):
                stored = blob_rows.mark_stored(self._conn, ack.stored)
                given = blob_rows.give_up(
                    self._conn, refused, rule=DropRule.BLOB_REFUSED, now_ms=now_ms
                )
                blob_rows.put_off(
                    self._conn, ack.unknown, now_ms=now_ms, first_ms=_LATER_MS, most_ms=_LATEST_MS
                )
            self.counters.stored += stored
            self.counters.shared += sum(
                digest in self._offered and digest not in self._sent for digest in ack.stored
            )
            self.counters.refused += given
            self.counters.unknown += len(ack.unknown)
        for digest, reason in ack.refused:
            _log.warning("blob_refused", digest=digest.hex(), reason=reason)
        self._discard(refused)
        self._settle((*ack.stored, *refused, *ack.unknown))
        self.look_soon()

    def _settle(self, digests: Iterable[bytes]) -> None:
        gone = set(digests)
        if not gone:
            return
        for digest in gone:
            self._offered.pop(digest, None)
            self._sent.discard(digest)
        self._queue = {key: None for key in self._queue if key[0] not in gone}
        if self._open is not None and self._open[0] in gone:
            self._open = None

    def _hear_store(self, store_id: str) -> None:
        """Offer everything again where the cloud's store is not the one that was sent to."""
        known = read_meta(self._conn, _STORE)
        if not store_id or store_id == known:
            return
        with transaction(self._conn):
            write_meta(self._conn, _STORE, store_id)
            again = 0 if known is None else blob_rows.want_again(self._conn)
        self.counters.again += again
        if again:
            _log.warning("blob_store_replaced", blobs=again)
            self._offered.clear()
            self.look_soon()

    def _tidy(self) -> None:
        """Give up what the quota has no room for, and once what no episode came to name."""
        stored, waiting = blob_rows.over_quota(self._conn, self._settings.quota_bytes)
        if stored or waiting:
            with transaction(self._conn):
                blob_rows.forget(self._conn, stored)
                self.counters.dropped += blob_rows.give_up(
                    self._conn, waiting, rule=DropRule.BLOB_OLDEST, now_ms=self._clock.wall_ms()
                )
            self._discard((*stored, *waiting))
            self._settle(waiting)
            self._tidy_at_s = self._clock.monotonic_s()
        elif self._sweeps:
            self._sweeps = False
            self._discard(self._orphans())

    def _orphans(self) -> Iterator[bytes]:
        """Files of episodes that were never closed: a process was killed while it played them."""
        before_s = self._clock.wall_ms() / 1000.0 - ORPHAN_S
        for digest, path in self._folder.files():
            with suppress(OSError):
                is_old = path.stat().st_mtime < before_s
                if is_old and blob_rows.size_of(self._conn, digest) is None:
                    yield digest

    def _discard(self, digests: Iterable[bytes]) -> None:
        for digest in digests:
            with suppress(OSError):  # it takes room, and is looked at again at the next start
                self._folder.discard(digest)

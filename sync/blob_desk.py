"""The cloud's half of blobs, without a thread: what is asked of whom, and what is believed.

    BlobOffer ─► BlobAck (held already) · BlobWant (missing chunks) ─► BlobChunk … ─► BlobAck

A blob is asked of one device at a time; another one that offered it is asked when the first falls
silent, and all are told when it is here: what ten phones saw travels once. Asking is the credit: a
device has a window of chunks that grows while they come quickly and shrinks when they do not, and
what was not asked for is dropped unread. What is known of devices here is a cache: they offer
again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import structlog

from sync.blob_shelf import BlobRecord, BlobShelf, BlobState
from sync.blobs import DIGEST_BYTES, all_chunks, check_chunk, chunks_in, missing_ranges
from sync.clock import Clock
from sync.errors import RejectedError
from sync.messages import BlobAck, BlobChunk, BlobDownMessage, BlobOffer, BlobUpMessage, BlobWant

OFFERED_MOST: Final = 64
"""Blobs that are kept in mind for each device."""
FIRST_WINDOW: Final = 8
LARGEST_WINDOW: Final = 16
"""Chunks that one device may owe: most pictures are one chunk, far from full."""
TOLD_TOGETHER: Final = 16
"""Blobs of which a device that still owes chunks is told in one message that they are stored."""
OWED_MOST: Final = 256
"""Chunks that all devices together may owe: 16 MiB."""
SILENT_S: Final = 10.0
"""A device that was asked and sends nothing for so long is silent: another one is asked."""
_SHUNNED_S: Final = 20.0
"""How long a silent device is not asked, unless it offers before; doubles each time in a row."""
_SHUNNED_MOST_S: Final = 320.0
_PATIENCE: Final = 3
"""Silences in a row until an offer alone is not believed, and bad chunks until a device waits."""
_BROKEN_S: Final = 10.0
"""How long nothing is asked for after the disk took no more."""
_FORGOTTEN_S: Final = 900.0
_QUIET_S: Final = 1.0
_QUICK_S: Final = 0.5
_SLOW_S: Final = 2.0
RESTARTS: Final = 3
"""How often a device may send wrong bytes of one blob before it is asked for it no more."""

_log = structlog.get_logger()


@dataclass(slots=True)
class BlobDeskCounters:
    """What happened since the desk was made.

    Attributes:
        shared: devices that offered a blob which then came from another one, or was here before.
        unasked: chunks that nobody had asked for; duplicates and late ones among them.
        bad_chunks: damaged, misplaced or of another size.
        restarted: blobs whose chunks were all here and were not the blob.
        silent: times that a device was asked and did not send.
        given_up: (device, blob) pairs that are asked no more.
        store_errors: chunks that the disk did not take.
    """

    offers: int = 0
    stored: int = 0
    shared: int = 0
    chunks: int = 0
    chunk_bytes: int = 0
    unasked: int = 0
    bad_chunks: int = 0
    restarted: int = 0
    silent: int = 0
    refused: int = 0
    given_up: int = 0
    unknown: int = 0
    store_errors: int = 0


@dataclass(slots=True)
class _Blob:
    """A blob that somebody offered and that is not here yet."""

    size_bytes: int
    received: int
    holders: dict[str, int] = field(default_factory=dict)
    """Who has it, and how often each sent all of it and it was not the blob."""
    asked: str = ""
    owed: int = 0
    asked_at_s: float = 0.0


@dataclass(slots=True)
class _Device:
    heard_at_s: float
    window: int = FIRST_WINDOW
    owes: int = 0
    offered: dict[bytes, None] = field(default_factory=dict)
    untold: list[bytes] = field(default_factory=list)
    """What it sent and is stored, and it was not told of yet."""
    shunned_until_s: float = 0.0
    silences: int = 0
    bad_chunks: int = 0
    """In a row."""


class BlobDesk:
    """Decides for one shelf; used by one thread. Call `answers` after each `take` or `tick`."""

    def __init__(self, shelf: BlobShelf, *, clock: Clock) -> None:
        self.counters = BlobDeskCounters()
        self._shelf = shelf
        self._clock = clock
        self._devices: dict[str, _Device] = {}
        self._blobs: dict[bytes, _Blob] = {}
        self._asked: dict[bytes, None] = {}
        self._answers: list[tuple[str, BlobDownMessage]] = []
        self._owed = 0
        self._paused = False
        self._broken_until_s = 0.0

    def take(self, device_id: str, message: BlobUpMessage) -> None:
        """Take what a device says of its blobs, or a part of one."""
        device = self._devices.setdefault(device_id, _Device(self._clock.monotonic_s()))
        device.heard_at_s = self._clock.monotonic_s()
        answered = len(self._answers)
        if isinstance(message, BlobOffer):
            self._take_offer(device_id, device, message)
        else:
            self._take_chunk(device_id, device, message)
        self._ask(device_id, device)
        if not device.owes or len(device.untold) >= TOLD_TOGETHER:
            self._tell_stored(device_id, device)
        if isinstance(message, BlobOffer) and len(self._answers) == answered:
            self._tell(device_id)

    def tick(self) -> None:
        """Do what time asks for: other devices in place of silent ones, and forgetting."""
        now_s = self._clock.monotonic_s()
        silent: set[str] = set()
        for digest in list(self._asked):
            blob = self._blobs[digest]
            if now_s - blob.asked_at_s >= SILENT_S:
                silent |= {blob.asked} if blob.owed else set()
                self._release(digest, blob)
        self.counters.silent += len(silent)
        for device_id in silent:
            self._shun(self._devices[device_id])
        for device_id, device in list(self._devices.items()):
            if now_s - device.heard_at_s >= _FORGOTTEN_S:
                for digest in list(device.offered):
                    self._forget_holder(digest, device_id)
                del self._devices[device_id]
            else:
                self._ask(device_id, device)
                if now_s - device.heard_at_s >= _QUIET_S:
                    self._tell_stored(device_id, device)

    def pause(self, paused: bool) -> None:  # noqa: FBT001 - a state's one value
        """Ask for nothing more while the cloud holds uploads back."""
        self._paused = paused

    def answers(self) -> list[tuple[str, BlobDownMessage]]:
        """(device, message) to send now, each once."""
        answers, self._answers = self._answers, []
        return answers

    def _take_offer(self, device_id: str, device: _Device, offer: BlobOffer) -> None:
        self.counters.offers += 1
        if device.silences < _PATIENCE:
            device.shunned_until_s = 0.0
        for digest in offer.lost[:OFFERED_MOST]:
            self._forget_holder(digest, device_id)
        have = {
            digest: size
            for digest, size in offer.have[:OFFERED_MOST]
            if len(digest) == DIGEST_BYTES
        }
        known = self._shelf.look(have) if have else {}
        stored: list[bytes] = []
        refused: list[tuple[bytes, str]] = []
        unknown: list[bytes] = []
        for digest, size in have.items():
            record = known.get(digest)
            if record is None:
                unknown.append(digest)
            elif record.state is BlobState.STORED:
                stored.append(digest)
            elif record.state is BlobState.REFUSED or record.size_bytes != size:
                refused.append((digest, record.reason or "size"))
            elif len(device.offered) < OFFERED_MOST or digest in device.offered:
                self._hold(digest, record, device_id, device)
        self.counters.shared += len(stored)
        self.counters.refused += len(refused)
        self.counters.unknown += len(unknown)
        if stored or refused or unknown:
            told = tuple(stored), tuple(refused), tuple(unknown)
            self._tell(device_id, stored=told[0], refused=told[1], unknown=told[2])

    def _hold(self, digest: bytes, record: BlobRecord, device_id: str, device: _Device) -> None:
        blob = self._blobs.get(digest)
        if blob is None:
            is_whole = record.received == all_chunks(record.size_bytes)  # and yet no blob: a crash
            received = 0 if is_whole else record.received
            blob = self._blobs[digest] = _Blob(record.size_bytes, received)
        elif blob.asked == device_id:  # it did not hear, or is another process: ask it again
            self._release(digest, blob)
        blob.holders.setdefault(device_id, 0)
        device.offered[digest] = None

    def _take_chunk(self, device_id: str, device: _Device, chunk: BlobChunk) -> None:
        blob = self._blobs.get(chunk.digest)
        if blob is None or blob.asked != device_id:
            self.counters.unasked += 1
            return
        try:
            index = check_chunk(chunk, blob.size_bytes)
        except RejectedError as error:
            _log.warning("blob_chunk_rejected", device_id=device_id, reason=error.reason)
            self._take_bad(chunk.digest, blob, device)
            return
        if not blob.owed >> index & 1:
            self.counters.unasked += 1
            return
        self._keep(device_id, device, blob, index, chunk)

    def _take_bad(self, digest: bytes, blob: _Blob, device: _Device) -> None:
        """A chunk was damaged on its way, most likely: ask again, at once a few times only."""
        self.counters.bad_chunks += 1
        self._release(digest, blob)
        device.bad_chunks += 1
        if device.bad_chunks >= _PATIENCE:
            device.bad_chunks = 0
            self._shun(device)

    def _keep(
        self, device_id: str, device: _Device, blob: _Blob, index: int, chunk: BlobChunk
    ) -> None:
        """Write a chunk that was asked for; the last one decides whether it is the blob."""
        received = blob.received | 1 << index
        is_whole = received == all_chunks(blob.size_bytes)
        try:
            self._shelf.write(chunk.digest, index, chunk.data, received=received)
            is_true = not is_whole or self._shelf.finish(chunk.digest, sender=device_id)
        except OSError as error:
            self.counters.store_errors += 1
            _log.warning("blob_not_kept", error=str(error))
            self._broken_until_s = self._clock.monotonic_s() + _BROKEN_S
            self._release(chunk.digest, blob)
            return
        self.counters.chunks += 1
        self.counters.chunk_bytes += len(chunk.data)
        self._pace(device, blob)
        blob.received = received
        self._pay(device, blob, 1 << index)
        if not is_true:
            self.counters.restarted += 1
            blob.received = 0
            self._blame(chunk.digest, blob, device_id)
        elif is_whole:
            self._stored(chunk.digest, blob, device_id)

    def _pace(self, device: _Device, blob: _Blob) -> None:
        """Ask for more at a time where chunks come quickly, for less where they do not."""
        now_s = self._clock.monotonic_s()
        took_s = now_s - blob.asked_at_s
        device.silences = device.bad_chunks = 0
        if took_s <= _QUICK_S:
            device.window = min(device.window + 1, LARGEST_WINDOW)
        elif took_s >= _SLOW_S:
            device.window = max(device.window // 2, 1)
        blob.asked_at_s = now_s

    def _stored(self, digest: bytes, blob: _Blob, sender: str) -> None:
        self.counters.stored += 1
        self.counters.shared += len(blob.holders) - 1
        for holder in blob.holders:
            if holder == sender:
                self._devices[holder].untold.append(digest)
            else:
                self._tell(holder, stored=(digest,))
        self._forget_blob(digest, blob)

    def _tell_stored(self, device_id: str, device: _Device) -> None:
        """Say in one message what came of several chunks."""
        if device.untold:
            self._tell(device_id, stored=tuple(device.untold))
            device.untold.clear()

    def _blame(self, digest: bytes, blob: _Blob, device_id: str) -> None:
        """A device sent all of what is not the blob: ask it again, but not for ever."""
        self._release(digest, blob)
        blob.holders[device_id] += 1
        if blob.holders[device_id] >= RESTARTS:
            self.counters.given_up += 1
            self._forget_holder(digest, device_id)
            self._tell(device_id, refused=((digest, "wrong_bytes"),))

    def _shun(self, device: _Device) -> None:
        """Ask a device for nothing for a while."""
        wait_s = min(_SHUNNED_S * 2.0**device.silences, _SHUNNED_MOST_S)
        device.shunned_until_s = self._clock.monotonic_s() + wait_s
        device.silences += 1
        device.window = 1

    def _ask(self, device_id: str, device: _Device) -> None:
        """Ask a device for chunks of what it offered, as far as its window goes."""
        now_s = self._clock.monotonic_s()
        if self._paused or max(device.shunned_until_s, self._broken_until_s) > now_s:
            return
        if device.owes > device.window // 2:
            return
        ranges: list[tuple[bytes, int, int]] = []
        for digest in device.offered:
            room = min(device.window - device.owes, OWED_MOST - self._owed)
            if room <= 0:
                break
            blob = self._blobs[digest]
            if blob.asked not in {"", device_id}:
                continue
            missing = missing_ranges(blob.received | blob.owed, blob.size_bytes, most=room)
            for first, count in missing:
                ranges.append((digest, first, count))
                self._owe(digest, blob, device, chunks_in(first, count, blob.size_bytes))
            if missing:
                blob.asked, blob.asked_at_s = device_id, now_s
        if ranges:
            want = BlobWant(ranges=tuple(ranges), store_id=self._shelf.store_id)
            self._answers.append((device_id, want))

    def _owe(self, digest: bytes, blob: _Blob, device: _Device, chunks: Iterable[int]) -> None:
        for index in chunks:
            blob.owed |= 1 << index
            device.owes += 1
            self._owed += 1
        self._asked[digest] = None

    def _pay(self, device: _Device, blob: _Blob, bits: int) -> None:
        paid = (blob.owed & bits).bit_count()
        blob.owed &= ~bits
        device.owes -= paid
        self._owed -= paid

    def _release(self, digest: bytes, blob: _Blob) -> None:
        """Nobody is asked for a blob any more."""
        if blob.asked:
            self._pay(self._devices[blob.asked], blob, blob.owed)
        blob.asked = ""
        self._asked.pop(digest, None)

    def _forget_holder(self, digest: bytes, device_id: str) -> None:
        device, blob = self._devices[device_id], self._blobs.get(digest)
        device.offered.pop(digest, None)
        if blob is None or blob.holders.pop(device_id, None) is None:
            return
        if blob.asked == device_id:
            self._release(digest, blob)
        if not blob.holders:
            self._forget_blob(digest, blob)

    def _forget_blob(self, digest: bytes, blob: _Blob) -> None:
        self._release(digest, blob)
        for holder in blob.holders:
            self._devices[holder].offered.pop(digest, None)
        del self._blobs[digest]

    def _tell(
        self,
        device_id: str,
        *,
        stored: tuple[bytes, ...] = (),
        refused: tuple[tuple[bytes, str], ...] = (),
        unknown: tuple[bytes, ...] = (),
    ) -> None:
        self._answers.append(
            (
                device_id,
                BlobAck(
                    stored=stored,
                    refused=refused,
                    unknown=unknown,
                    store_id=self._shelf.store_id,
                ),
            )
        )

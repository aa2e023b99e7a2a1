"""The cloud's half of the wire, without a thread: batches in, commit, then acknowledge.

    Incoming… ─► Received batch ─► handler commits ─► Acknowledgement per device ─► PUBACK

What cannot be read is a dead letter: counted, handed on, answered with its reason where the sender
is known, and never seen again. The device that the broker authenticated (the topic's) must be the
one that the envelope names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

import structlog

from sync import topics
from sync.acknowledger import Acknowledger, Outcome, Row
from sync.boot_watch import BootWatch, Double
from sync.clock import Clock
from sync.codec import (
    Envelope,
    Sender,
    decode_envelope,
    encode_body,
    read_message,
    sealed,
)
from sync.connection import Connection
from sync.errors import RejectedError, TransientError
from sync.messages import (
    KINDS,
    Birth,
    BlobChunk,
    BlobOffer,
    BlobUpMessage,
    DownMessage,
    FileChunk,
    FileRequest,
    Health,
    Message,
    Offline,
    ReleaseAnnouncement,
    kind_name,
)
from sync.ports import FileSource, Incoming, Sink, Transport, TransportEvent
from sync.settled import SenderKey
from sync.versions import MINOR, OLDEST_MINOR, understands

_log = structlog.get_logger()
CHUNK_BYTES: Final = 64 * 1024
IDLE_S: Final = 1.0
BATCH_BYTES: Final = 1 << 20
"""Most bytes of messages that are opened and stored together; they may unfold to far more."""
MOST_HELD: Final = 1_024
REPEAT_ANNOUNCEMENTS_AFTER_S: Final = 1.0
"""How long after a device's arrival the channels are announced again: a release that is published
while a subscription is being made can miss both the subscription and the retained messages."""

REVOKED: Final = "revoked"
"""The handler's reason for refusing what comes from a device that is let in no more."""
LOOK_AT_ONCE: Final = 200
LOOKS_PER_S: Final = 100
"""So many devices are told to look at an announced release at once, and so many a second of those
beyond: each asks for about 100 kB, which one broker and one service carry beside all else."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """In the place of a message that this process had committed before: it is not read again.

    Attributes:
        of: what it is a message of.
    """

    of: type[Message]


@dataclass(frozen=True, slots=True)
class Received:
    """One message from a device, checked and decoded.

    (device_id, install_id, seq) of the "outbox" stream names a row for ever: store it under that
    key with "on conflict do nothing" and a message that comes twice is committed once.

    Attributes:
        attempt: how often the device sent the row, this time included.
        redelivered: the device or the broker says that it was sent before.
    """

    device_id: str
    message: Message | Repeated
    install_id: str
    boot_id: str
    stream: str
    seq: int
    attempt: int
    sent_at_ms: int
    received_at_ms: int
    redelivered: bool


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A payload that was given up; `reason` is a code ("malformed", "wrong_device", …)."""

    topic: str
    payload: bytes
    reason: str


IngestHandler = Callable[[Sequence[Received]], Mapping[int, str]]
"""Commits a batch, then returns; messages are acknowledged when it has returned.

Returns: index into the batch → reason code, for messages that will never be accepted.
Raises: TransientError: nothing was committed; the devices are told to send again later.
"""


@dataclass(slots=True)
class CloudCounters:
    """What happened since the session was made.

    Attributes:
        unknown_fields: fields of a newer writer, which were left out.
        withheld: messages that their addressee's version does not know, or that cannot be written,
            which were not sent.
        postponed: messages that could not be stored at once.
        stale: messages of a connection that was lost before they were looked at.
        repeats: copies of messages that still waited here, which the broker sent again.
        shed: messages that nobody sends again, and that could not be kept until they were stored.
        emptied: messages without a byte, which take a retained one away and say nothing.
    """

    received: int = 0
    batches: int = 0
    acknowledged: int = 0
    rejected: int = 0
    redelivered: int = 0
    dead_lettered: int = 0
    malformed: int = 0
    wrong_device: int = 0
    postponed: int = 0
    stale_offline: int = 0
    doubles: int = 0
    chunks: int = 0
    unknown_fields: int = 0
    stale: int = 0
    withheld: int = 0
    repeats: int = 0
    shed: int = 0
    emptied: int = 0


@dataclass(frozen=True, slots=True)
class CloudOutlets:
    """Where a link hands on what arrives; called on the link's thread.

    Attributes:
        doubled: two processes use one device's name; told once an hour and device.
        blobs: takes what a device says of its blobs, and parts of them; must not block.
    """

    ingest: IngestHandler
    dead_letter: Callable[[DeadLetter], None]
    connected: Callable[[bool], None]
    doubled: Callable[[Double], None] = lambda _: None
    blobs: Callable[[str, BlobUpMessage], None] = lambda _device, _message: None


@dataclass(frozen=True, slots=True)
class _Opened:
    envelope: Envelope
    message: Message | Repeated


class CloudLink:
    """The service's connection; used by one thread.

    Attributes:
        holds_back: whether devices are told to send nothing right now.
    """

    def __init__(
        self,
        *,
        transport: Transport,
        sink: Sink,
        fleet: str,
        shards: tuple[int, ...] | None,
        files: FileSource,
        outlets: CloudOutlets,
        boot_id: str,
        clock: Clock,
        random: Random,
        credit: int = 64,
        queued: Callable[[], int] = lambda: 0,
    ) -> None:
        self.counters = CloudCounters()
        self.acknowledger = Acknowledger(clock=clock, credit=credit, queued=queued)
        self.connection = Connection(
            transport,
            sink=sink,
            will=lambda: None,
            changed=self._changed,
            clock=clock,
            random=random,
        )
        self._fleet = fleet
        self._shards = shards
        self._files = files
        self._outlets = outlets
        self._boot_id = boot_id
        self._clock = clock
        self._held: list[Received] = []
        self._retry_at_s = 0.0
        self._seq = 0
        self._births: dict[str, Birth] = {}
        self._boots = BootWatch()
        self._minors: dict[str, int] = {}
        self._announced: dict[str, ReleaseAnnouncement] = {}
        self._forgotten: set[str] = set()
        self._announce_at_s: float | None = None
        self.holds_back = False

    def pump(self) -> float:
        """Do what is due; seconds until there is something to do, if nothing happens before."""
        wait_s = self.connection.pump()
        if self._announce_at_s is not None and self._clock.monotonic_s() >= self._announce_at_s:
            self._announce_all()
        if self._held and self._clock.monotonic_s() >= self._retry_at_s:
            self._ingest(())
        grant = self.acknowledger.grant()
        self.holds_back = grant.backoff_ms > 0 or grant.credit == 0
        return IDLE_S if wait_s is None else min(wait_s, IDLE_S)

    def take(self, events: Sequence[TransportEvent]) -> None:
        """Take events of the transport, in order; messages between two others are batches.

        What still waits of a connection that is lost is passed over: nobody could be answered, its
        senders have it still, and behind it the news of the next connection waits.
        """
        batch: list[Incoming] = []
        size_bytes = 0
        for event in events:
            if not isinstance(event, Incoming):
                self._receive(batch)
                batch, size_bytes = [], 0
                self.connection.handle(event)
                continue
            if not self.connection.online:
                self.counters.stale += 1
                continue
            size_bytes += len(event.payload)
            is_full = size_bytes > BATCH_BYTES or len(batch) >= self.acknowledger.admission.batch()
            if batch and is_full:
                self._receive(batch)
                batch, size_bytes = [], len(event.payload)
            batch.append(event)
        self._receive(batch)

    def _receive(self, batch: Sequence[Incoming]) -> None:
        """Hand messages on in the order in which they came, and settle them together.

        The broker is told that they are dealt with even where they could not be stored: their
        senders keep them until we say that they are, and what the broker holds back for one message
        it holds back for all that come after.
        """
        received: list[Received] = []
        for incoming in batch:
            opened = self._open(incoming)
            if opened is not None and self._wants(opened):
                received.append(self._describe(incoming, opened))
        if received:
            self._ingest(received)
        for incoming in batch:
            self.connection.acknowledge(incoming)

    def send(self, device_id: str, message: DownMessage) -> bool:
        """Publish to one device; False where there is no connection, or it knows no such thing."""
        if not understands(self._minors.get(device_id, MINOR), kind_name(message)):
            self.counters.withheld += 1
            return False
        return self._publish(device_id, message)

    def announce(self, announcement: ReleaseAnnouncement) -> None:
        """Say what a channel points at; said again on each new connection, in case it was lost."""
        spread_s = max(0.0, (len(self._births) - LOOK_AT_ONCE) / LOOKS_PER_S)
        announcement = replace(announcement, spread_s=round(spread_s, 1))
        self._announced[announcement.channel] = announcement
        self._publish(announcement.channel, announcement)

    def forget(self, device_id: str) -> None:
        """Take away what the broker keeps of a device and for it; again on each new connection.

        A broker may come back with what it kept before, and a will may be published late: what is
        heard of the device from now on is taken away, too.
        """
        self._forgotten.add(device_id)
        self._clear(device_id)

    def _clear(self, device_id: str) -> None:
        for kind in topics.KEPT_OF_DEVICES:
            self._take_away(topics.build(self._fleet, kind, device_id))

    def _take_away(self, topic: str) -> None:
        self.connection.publish(topic, b"", qos=1, retain=True)

    def set_credit(self, credit: int) -> None:
        """How many rows each device may have outstanding from now on; 0 holds all uploads back."""
        self.acknowledger.ceiling = credit
        for device_id in self._births:
            self._answer(SenderKey(device_id))

    def close(self) -> None:
        """End the connection for good."""
        self.connection.close()

    @property
    def devices(self) -> tuple[str, ...]:
        """Devices that are connected as far as their presence says."""
        return tuple(sorted(self._births))

    def _changed(self) -> None:
        if self.connection.online:
            self._births.clear()
            self.connection.subscribe(topics.cloud_filters(self._fleet, self._shards))
            self._announce_all()
            for device_id in self._forgotten:
                self._clear(device_id)
        self._outlets.connected(self.connection.online)

    def _announce_all(self) -> None:
        self._announce_at_s = None
        for announcement in self._announced.values():
            self._publish(announcement.channel, announcement)

    def _open(self, incoming: Incoming) -> _Opened | None:
        envelope: Envelope | None = None
        try:
            topic = topics.parse(incoming.topic)
            if not incoming.payload:
                self.counters.emptied += 1
                return None
            self._check_kept(topic, incoming)
            envelope = decode_envelope(incoming.payload)
            _check_place(topic, envelope)
            if self._has(envelope):
                return _Opened(envelope, Repeated(KINDS[envelope.kind]))
            message, unknown = read_message(envelope)
            self.counters.unknown_fields += unknown
            self._minors[envelope.device] = envelope.minor
            return _Opened(envelope, message)
        except RejectedError as error:
            self._bury(incoming, envelope, error.reason)
            return None

    def _check_kept(self, topic: topics.Topic, incoming: Incoming) -> None:
        """Take away what the broker is not to keep: it would come again with each connection.

        Raises: RejectedError: a retained message where none may be (reason "retained").
        """
        is_misplaced = incoming.retained and not topic.kind.retain
        if is_misplaced or (topic.kind.retain and topic.owner in self._forgotten):
            self._take_away(incoming.topic)
        if is_misplaced:
            raise RejectedError("nothing is retained on this topic: drop it", reason="retained")

    def _has(self, envelope: Envelope) -> bool:
        """Whether a row was committed by this process: its sender waits for the answer only."""
        is_row = envelope.stream == "outbox"
        return is_row and self.acknowledger.has(_sender(envelope), envelope.seq)

    def _bury(self, incoming: Incoming, envelope: Envelope | None, reason: str) -> None:
        self.counters.dead_lettered += 1
        self.counters.malformed += reason == "malformed"
        self.counters.wrong_device += reason == "wrong_device"
        self._outlets.dead_letter(DeadLetter(incoming.topic, incoming.payload, reason))
        if envelope is not None and envelope.stream == "outbox" and reason != "wrong_device":
            self.counters.rejected += 1
            self._answer(_sender(envelope), Outcome(rejected=[(envelope.seq, reason)]))

    def _wants(self, opened: _Opened) -> bool:
        """Deal with what the link answers itself; True for what the handler is to see."""
        device_id = opened.envelope.device
        match opened.message:
            case FileRequest():
                self._publish(device_id, self._read(opened.message))
                return False
            case BlobOffer() | BlobChunk():
                self._outlets.blobs(device_id, opened.message)
                return False
            case Birth():
                return self._born(opened.envelope, opened.message)
            case Offline():
                return self._gone(device_id, opened.message)
            case Health():
                now_s = self._clock.monotonic_s()
                boot_id = opened.envelope.boot_id
                self._tell(self._boots.heard(device_id, boot_id, now_s=now_s))
                return True
            case _:
                return True

    def _born(self, envelope: Envelope, birth: Birth) -> bool:
        self._births[envelope.device] = birth
        self.acknowledger.admission.heard(envelope.device)
        now_s = self._clock.monotonic_s()
        self._tell(self._boots.born(envelope.device, birth.boot_id, birth.epoch, now_s=now_s))
        self._answer(_sender(envelope))
        if self._announce_at_s is None:
            self._announce_at_s = self._clock.monotonic_s() + REPEAT_ANNOUNCEMENTS_AFTER_S
        return True

    def _tell(self, double: Double | None) -> None:
        if double is not None:
            self.counters.doubles += 1
            self._outlets.doubled(double)
            if double.how == "side_by_side":
                self._answer(SenderKey(double.device_id))

    def _gone(self, device_id: str, offline: Offline) -> bool:
        """A will can arrive after the birth of the next connection: then it says nothing."""
        birth = self._births.get(device_id)
        if birth is not None and (birth.boot_id, birth.epoch) != (offline.boot_id, offline.epoch):
            self.counters.stale_offline += 1
            return False
        self._births.pop(device_id, None)
        return True

    def _describe(self, incoming: Incoming, opened: _Opened) -> Received:
        envelope = opened.envelope
        is_known = isinstance(opened.message, Repeated)
        redelivered = is_known or incoming.redelivered or envelope.attempt > 1
        if envelope.stream == "outbox":
            self.acknowledger.heard(_sender(envelope), envelope.oldest)
        self.counters.received += 1
        self.counters.redelivered += redelivered
        return Received(
            device_id=envelope.device,
            message=opened.message,
            install_id=envelope.install_id,
            boot_id=envelope.boot_id,
            stream=envelope.stream,
            seq=envelope.seq,
            attempt=envelope.attempt,
            sent_at_ms=envelope.sent_at_ms,
            received_at_ms=self._clock.wall_ms(),
            redelivered=redelivered,
        )

    def _ingest(self, received: Sequence[Received]) -> None:
        """Hand a batch to the handler, behind what is held, and answer the devices."""
        batch = [*self._held, *received]
        rows = {
            place: Row(SenderKey(one.device_id, one.install_id, one.boot_id), one.seq)
            for place, one in enumerate(batch)
            if one.stream == "outbox"
        }
        began_s = self._clock.monotonic_s()
        try:
            refused = self._outlets.ingest(batch)
        except TransientError:
            self.counters.postponed += len(received)
            self._hold(batch)
            self._answer_all(self.acknowledger.put_off(list(rows.values())))
            return
        self._held = []
        for place, reason in refused.items():
            if reason == REVOKED and batch[place].device_id not in self._forgotten:
                self.forget(batch[place].device_id)
        self.counters.batches += 1
        took_s = self._clock.monotonic_s() - began_s
        outcomes = self.acknowledger.settle(rows, refused, messages=len(batch), took_s=took_s)
        self.counters.acknowledged += sum(len(one.committed) for one in outcomes.values())
        self.counters.rejected += sum(len(one.rejected) for one in outcomes.values())
        self._answer_all(outcomes)

    def _hold(self, batch: Sequence[Received]) -> None:
        """Keep what nobody sends again (presence and the like) until the handler can take it."""
        live = [one for one in batch if one.stream != "outbox"]
        self.counters.shed += max(0, len(live) - MOST_HELD)
        self._held = live[-MOST_HELD:]
        self._retry_at_s = self._clock.monotonic_s() + IDLE_S

    def _answer_all(self, outcomes: Mapping[SenderKey, Outcome]) -> None:
        for sender, outcome in outcomes.items():
            self._answer(sender, outcome)

    def _answer(self, sender: SenderKey, outcome: Outcome | None = None) -> None:
        """Acknowledge rows; with none, tell a device its credit and which connection this is."""
        answer = self.acknowledger.acknowledgement(
            sender,
            outcome or Outcome(),
            server_epoch=f"{self._boot_id}:{self.connection.connects}",
            contended=self._boots.is_contended(sender.device_id, now_s=self._clock.monotonic_s()),
        )
        self._publish(sender.device_id, answer)

    def _read(self, request: FileRequest) -> FileChunk:
        length = min(max(request.length, 0), CHUNK_BYTES)
        part = self._files.read(request.path, max(request.offset, 0), length)
        self.counters.chunks += 1
        if part is None:
            return FileChunk(request_id=request.request_id, path=request.path, missing=True)
        return FileChunk(
            request_id=request.request_id,
            path=request.path,
            offset=request.offset,
            total=part.total,
            data=part.data,
            version=part.version,
        )

    def _publish(self, owner: str, message: DownMessage | ReleaseAnnouncement) -> bool:
        """Publish; False where there is no connection.

        A message that cannot be written is withheld: neither an order nor an answer to what one
        device said may end the wire for all.
        """
        kind = topics.kind_of(kind_name(message))
        try:
            body = encode_body(message)
        except RejectedError as error:
            self.counters.withheld += 1
            _log.warning("message_withheld", owner=owner, error=str(error))
            return False
        self._seq += 1
        sender = Sender(owner, install_id=self._boot_id, boot_id=self._boot_id)
        payload = sealed(
            body,
            sender,
            stream="live",
            seq=self._seq,
            sent_at_ms=self._clock.wall_ms(),
            reader=OLDEST_MINOR if kind.retain else self._minors.get(owner, OLDEST_MINOR),
        )
        topic = topics.build(self._fleet, kind, owner)
        return self.connection.publish(topic, payload, qos=kind.qos, retain=kind.retain)


def _sender(envelope: Envelope) -> SenderKey:
    return SenderKey(envelope.device, envelope.install_id, envelope.boot_id)


def _check_place(topic: topics.Topic, envelope: Envelope) -> None:
    if envelope.device != topic.owner:
        raise RejectedError("the envelope names another device: drop it", reason="wrong_device")
    if envelope.kind not in topic.kind.messages:
        raise RejectedError("the message is on the wrong topic: drop it", reason="wrong_topic")

"""The device's half of the wire, without a thread: outbox up, inbox down, presence beside them.

    outbox row ─► publish ─► … commit in the cloud … ─► Acknowledgement ─► row deleted
    AssignmentBatch ─► inbox table (commit) ─► PUBACK, AssignmentsAccepted ─► handed on once

`take` takes the driver's events, `pump` does what is due. `sync.session` runs it in a thread.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

import structlog

from sync import inbox, topics
from sync.blob_sender import BlobSender, BlobSettings
from sync.clock import Clock
from sync.codec import (
    Sender,
    decode_envelope,
    encode_body,
    encode_body_for,
    read_message,
    sealed,
)
from sync.connection import Connection
from sync.database import cannot_write, read_meta, transaction, write_meta
from sync.drop_rules import dropped_event, totals
from sync.errors import RejectedError
from sync.installation import SEQUENCE_TAKEN, Renaming, install_id
from sync.messages import (
    Acknowledgement,
    AssignmentBatch,
    AssignmentsAccepted,
    Birth,
    BlobAck,
    BlobWant,
    Cancel,
    ControlMessage,
    DesiredSettings,
    Event,
    FileChunk,
    InboxMessage,
    LiveMessage,
    Message,
    NewCredentials,
    Offline,
    OwnerAnswer,
    ReleaseAnnouncement,
    Start,
    Stop,
    kind_name,
)
from sync.outbox import Outbox, enqueue, names_rows
from sync.ports import (
    CredentialsHolder,
    Incoming,
    SettingsHolder,
    Sink,
    Transport,
    TransportEvent,
    Will,
)
from sync.server_clock import ServerClock
from sync.unkept import Unkept
from sync.versions import OLDEST_MINOR, understands
from sync.vocabulary import new_uuid7

FIRST_CREDIT = 2
"""Rows that may be outstanding until the cloud says how many."""
DROPS_EVERY_S = 10.0
"""How often the cloud is told of what was given up, where there is news."""
POLL_S = 1.0
"""How often the outbox is looked at without being told: another process may have written to it."""
KEEP_FLOOR_S = 60.0
"""How often the cloud's time is written down."""
SERVER_TIME = "server_time_ms"
"""Where it stands in the device's database."""

_log = structlog.get_logger()


@dataclass(slots=True)
class DeviceCounters:
    """What happened since the session was made.

    Attributes:
        unknown_fields: fields of a newer cloud, which were left out.
        withheld: messages that the cloud's version does not know, which were not sent.
        renamed: rows that were sent again because another device had used their numbers.
        unkept: times that the disk did not take what a message asked for; it is tried again.
    """

    sent: int = 0
    resent: int = 0
    acknowledged: int = 0
    rejected: int = 0
    malformed: int = 0
    postponed: int = 0
    duplicate_assignments: int = 0
    unknown_fields: int = 0
    withheld: int = 0
    renamed: int = 0
    unkept: int = 0


@dataclass(frozen=True, slots=True)
class DeviceOutlets:
    """Where a link hands on what arrives; called on the link's thread and must not block.

    Attributes:
        control: what the owner says: past the inbox, whose reader may be busy playing.
        heard: the cloud or the owner said anything that is no retained message of the broker's.
        settings: what can be set from afar; None where nothing can.
        credentials: what an enrolled device connects with; None where that is not its own.
    """

    inbox: Callable[[InboxMessage], None]
    chunk: Callable[[FileChunk], None]
    connected: Callable[[bool], None]
    acknowledged: Callable[[], None]
    control: Callable[[ControlMessage], None] = lambda _: None
    heard: Callable[[], None] = lambda: None
    settings: SettingsHolder | None = None
    credentials: CredentialsHolder | None = None


class DeviceLink:
    """One device's connection, outbox and inbox; used by one thread.

    Attributes:
        cloud_minor: the minor version that the cloud said last; the oldest until it was heard.
    """

    def __init__(
        self,
        *,
        transport: Transport,
        sink: Sink,
        conn: sqlite3.Connection,
        fleet: str,
        birth: Birth,
        boot_id: str,
        outlets: DeviceOutlets,
        clock: Clock,
        random: Random,
        server_clock: ServerClock | None = None,
        blobs: BlobSettings | None = None,
        new_id: Callable[[], str] = new_uuid7,
    ) -> None:
        self.counters = DeviceCounters()
        self.outbox = Outbox(conn, clock=clock, random=random)
        self.connection = Connection(
            transport,
            sink=sink,
            will=self._next_will,
            changed=self._changed,
            clock=clock,
            random=random,
        )
        self.blobs = (
            None
            if blobs is None
            else BlobSender(conn, blobs, publish=self._publish, clock=clock, random=random)
        )
        self._conn = conn
        self._fleet = fleet
        self._birth = birth
        self._boot_id = boot_id
        self._renaming = Renaming(conn, new_id=new_id)
        self._sender = Sender(birth.device_id, install_id(conn), boot_id)
        self._outlets = outlets
        self._clock = clock
        self.cloud_minor = OLDEST_MINOR
        self._server_clock = server_clock or ServerClock(clock)
        self._born_at_s: float | None = None
        self._floor_kept_at_s = clock.monotonic_s()
        self._epoch = 0
        self._live_seq = 0
        self._drops_due_s = 0.0
        self._credit = FIRST_CREDIT
        self._server_epoch = ""
        self._announced: dict[str, ReleaseAnnouncement] = {}
        self._unkept = Unkept(clock)

    def resume(self) -> None:
        """Hand on the assignments that an earlier process accepted and did not finish."""
        left = inbox.pending(self._conn)
        if left:
            self._outlets.inbox(AssignmentBatch(assignments=left))

    def pump(self) -> float:
        """Do what is due; seconds until there is something to do, if nothing happens before."""
        wait_s = self.connection.pump()
        self._keep_floor()
        for incoming in self._unkept.due():
            self._receive(incoming)
        if self.connection.online:
            self._tell_drops()
            self._send_rows()
            due_s = self.outbox.next_due_s()
            wait_s = POLL_S if due_s is None else due_s - self._clock.monotonic_s()
            if self.blobs is not None:
                is_free = not self.outbox.paused and self.outbox.outstanding < self._credit
                wait_s = min(wait_s, self.blobs.pump(is_free=is_free))
        return POLL_S if wait_s is None else min(max(wait_s, 0.0), POLL_S)

    def take(self, events: Sequence[TransportEvent]) -> None:
        """Take events of the transport, in order."""
        for event in events:
            if isinstance(event, Incoming):
                self._receive(event)
            else:
                self.connection.handle(event)

    def announce(self, birth: Birth) -> None:
        """Replace what the device says of itself; follow the new channel's last release."""
        moved = birth.channel != self._birth.channel
        self._birth = birth
        if self.connection.online:
            self._say_birth()
        if moved and birth.channel in self._announced:
            self._outlets.inbox(self._announced[birth.channel])

    def send(self, message: LiveMessage) -> bool:
        """Publish a message that nobody repeats; False where there is no connection."""
        return self._publish(message)

    def close(self) -> None:
        """Say goodbye and end the connection for good."""
        self._publish(
            Offline(
                device_id=self._birth.device_id,
                boot_id=self._boot_id,
                epoch=self._epoch,
                clean=True,
            )
        )
        self.connection.close()

    def _changed(self) -> None:
        if self.connection.online:
            self.connection.subscribe(topics.device_filters(self._fleet, self._birth.device_id))
            self._say_birth()
            self._say_settings()
        else:
            self._expect_nothing()
        self._outlets.connected(self.connection.online)

    def _expect_nothing(self) -> None:
        """Whoever had what was sent and not answered is gone."""
        self.outbox.expect_nothing()
        self._unkept.forget()
        if self.blobs is not None:
            self.blobs.expect_nothing()

    def _next_will(self) -> Will:
        """The will of the connection that is about to be made; counts the connection, durably."""
        self._epoch = max(self._epoch, int(read_meta(self._conn, "epoch") or 0)) + 1
        try:
            with transaction(self._conn):
                write_meta(self._conn, "epoch", str(self._epoch))
        except sqlite3.OperationalError as error:
            if not cannot_write(error):
                raise
            _log.warning("connection_not_counted", error=str(error))
        will = Offline(device_id=self._birth.device_id, boot_id=self._boot_id, epoch=self._epoch)
        return Will(self._topic(will), self._live_envelope(will))

    def _say_birth(self) -> None:
        holder = self._outlets.credentials
        self._born_at_s = self._clock.monotonic_s()
        self.outbox.ask(self._born_at_s)
        self._publish(
            replace(
                self._birth,
                boot_id=self._boot_id,
                epoch=self._epoch,
                sent_at_ms=self._clock.wall_ms(),
                credentials=0 if holder is None else holder.version(),
            )
        )

    def _keep_floor(self) -> None:
        """Remember the cloud's time now and then, for a process that starts without a network."""
        now_s = self._clock.monotonic_s()
        if now_s - self._floor_kept_at_s >= KEEP_FLOOR_S and self._server_clock.floor_ms:
            self._floor_kept_at_s = now_s
            with transaction(self._conn):
                write_meta(self._conn, SERVER_TIME, str(self._server_clock.floor_ms))

    def _say_settings(self) -> None:
        """Say what is set from afar: the broker may have forgotten it."""
        reported = None if self._outlets.settings is None else self._outlets.settings.report()
        if reported is not None:
            self._publish(reported)

    def _tell_drops(self) -> None:
        """Queue an event for each rule by which something was given up since it was last told."""
        now_s = self._clock.monotonic_s()
        if now_s < self._drops_due_s:
            return
        self._drops_due_s = now_s + DROPS_EVERY_S
        told = json.loads(read_meta(self._conn, "drops_told") or "{}")
        now = totals(self._conn)
        fresh = {rule: total for rule, total in now.items() if told.get(rule) != list(total)}
        if not fresh:
            return
        at_ms = self._clock.wall_ms()
        try:
            with transaction(self._conn):
                for rule, total in fresh.items():
                    event = dropped_event(rule, total, at_ms=at_ms)
                    enqueue(self._conn, event, created_at_ms=at_ms)
                write_meta(self._conn, "drops_told", json.dumps(now))
        except sqlite3.OperationalError as error:
            if not cannot_write(error):
                raise

    def _send_rows(self) -> None:
        rows = self.outbox.claim(self._credit)
        oldest = self.outbox.oldest() if rows else 0
        for row in rows:
            kind = topics.kind_of(row.body.kind)
            topic = topics.build(self._fleet, kind, self._birth.device_id)
            payload = sealed(
                encode_body_for(self.cloud_minor, row.body),
                replace(self._sender, install_id=row.install),
                stream="outbox",
                seq=row.seq,
                sent_at_ms=self._clock.wall_ms(),
                attempt=row.attempt,
                oldest=oldest,
                reader=self.cloud_minor,
            )
            if not self.connection.publish(topic, payload, qos=kind.qos, retain=kind.retain):
                return
            self.counters.sent += 1
            self.counters.resent += row.attempt > 1

    def _receive(self, incoming: Incoming) -> None:
        try:
            message = self._read(incoming)
        except RejectedError:
            self.counters.malformed += 1
        else:
            if topics.kind_of(kind_name(message)).retain:
                for older in self._unkept.superseded(incoming.topic):
                    self.connection.acknowledge(older)
            try:
                self._take(message)
            except (OSError, sqlite3.OperationalError) as error:
                self.counters.unkept += 1
                let_go = self._unkept.put(incoming, error)
                if let_go is not None:
                    self.connection.acknowledge(let_go)
                return
            if not incoming.retained:
                self._outlets.heard()
        self.connection.acknowledge(incoming)

    def _read(self, incoming: Incoming) -> Message:
        topic = topics.parse(incoming.topic)
        envelope = decode_envelope(incoming.payload)
        mine = topic.kind.direction is topics.Direction.BROADCAST or (
            topic.owner == envelope.device == self._birth.device_id
        )
        if not mine or envelope.kind not in topic.kind.messages:
            raise RejectedError("message for another device or topic: drop it", reason="misplaced")
        message, unknown = read_message(envelope)
        self.counters.unknown_fields += unknown
        if not incoming.retained:
            self.cloud_minor = envelope.minor
        return message

    def _take(self, message: Message) -> None:
        match message:
            case Acknowledgement():
                self._settle(message)
            case AssignmentBatch():
                self._accept(message)
            case Cancel():
                with transaction(self._conn, durable=True):
                    inbox.cancel(
                        self._conn, message.assignment_ids, received_at_ms=self._clock.wall_ms()
                    )
                self._outlets.inbox(message)
            case ReleaseAnnouncement():
                self._hear(message)
            case FileChunk():
                self._outlets.chunk(message)
            case BlobWant() | BlobAck() if self.blobs is not None:
                self.blobs.take(message)
            case Stop() | Start() | OwnerAnswer():
                self._outlets.control(message)
            case DesiredSettings() if self._outlets.settings is not None:
                self._publish(self._outlets.settings.take(message))
            case NewCredentials() if self._outlets.credentials is not None:
                self._store_credentials(self._outlets.credentials, message)
            case _:
                self.counters.malformed += 1

    def _hear(self, message: ReleaseAnnouncement) -> None:
        """Hand on what is news for this device's channel; a new connection repeats the old."""
        known = self._announced.get(message.channel)
        self._announced[message.channel] = message
        is_news = known is None or message != replace(known, spread_s=message.spread_s)
        if message.channel == self._birth.channel and is_news:
            self._outlets.inbox(message)

    def _settle(self, message: Acknowledgement) -> None:
        if not names_rows(message):
            self.counters.malformed += 1
            return
        if message.server_epoch != self._server_epoch:
            if self._server_epoch:
                self._expect_nothing()
            self._server_epoch = message.server_epoch
        self._credit = message.credit
        self.outbox.allow(credit_bytes=message.credit_bytes, backoff_s=message.backoff_ms / 1000)
        self._hear_time(message)
        if not self._boot_id.endswith(message.boot):
            return
        settled = self.outbox.acknowledge(
            message.sequences,
            install=message.install_id,
            cumulative=message.cumulative,
            selective=message.selective,
        )
        self.counters.acknowledged += settled
        kept = self._renamed(message)
        rejected = tuple(
            one for one in message.rejected if one[0] not in kept and not self._can_say_older(*one)
        )
        self.outbox.reject(rejected, install=message.install_id)
        self.outbox.postpone(seq for seq, _reason in message.postponed)
        self.counters.postponed += len(message.postponed)
        self.counters.rejected += len(rejected)
        if settled or message.sequences or message.rejected:
            self._outlets.acknowledged()
            if self.blobs is not None:
                self.blobs.look_soon()

    def _renamed(self, message: Acknowledgement) -> frozenset[int]:
        """Rows whose numbers are another device's: they are sent again under another name."""
        taken = frozenset(seq for seq, reason in message.rejected if reason == SEQUENCE_TAKEN)
        if not taken:
            return taken
        kept = taken - self._renaming.rename(taken, under=message.install_id)
        self._sender = replace(self._sender, install_id=install_id(self._conn))
        self.outbox.send_again(kept)
        self.counters.renamed += len(kept)
        return kept

    def _can_say_older(self, seq: int, reason: str) -> bool:
        """Whether a cloud of before, which cannot read a row, reads it in an older encoding."""
        return reason == "unknown_version" and self.outbox.needs_newer(seq, self.cloud_minor)

    def _hear_time(self, message: Acknowledgement) -> None:
        """Take the cloud's clock; the answer to a birth says how long it took, too."""
        first = self._server_clock.floor_ms == 0
        asked_s, self._born_at_s = self._born_at_s, None
        self.outbox.ask(None)
        if asked_s is not None:
            self.outbox.answered(self._clock.monotonic_s() - asked_s)
        self._server_clock.heard(message.server_at_ms, asked_s=asked_s)
        if first:
            self._floor_kept_at_s -= KEEP_FLOOR_S
        if message.contended != self.connection.contended:
            self.connection.set_contended(contended=message.contended)
            if message.contended:
                _log.warning("name_contended", device_id=self._birth.device_id)

    def _store_credentials(self, holder: CredentialsHolder, message: NewCredentials) -> None:
        """Store what to connect with from soon on, and say so durably; said again where known."""
        holder.take(message)
        now_ms = self._clock.wall_ms()
        stored = Event(
            kind="credentials_stored", fields={"version": str(message.version)}, at_ms=now_ms
        )
        with transaction(self._conn):
            enqueue(self._conn, stored, created_at_ms=now_ms)

    def _accept(self, message: AssignmentBatch) -> None:
        with transaction(self._conn, durable=True):
            fresh = inbox.accept(
                self._conn, message.assignments, received_at_ms=self._clock.wall_ms()
            )
        self.counters.duplicate_assignments += len(message.assignments) - len(fresh)
        ids = tuple(assignment.id for assignment in message.assignments)
        self._publish(AssignmentsAccepted(assignment_ids=ids))
        if fresh:
            self._outlets.inbox(AssignmentBatch(assignments=fresh))

    def _publish(self, message: Message) -> bool:
        if not understands(self.cloud_minor, kind_name(message)):
            self.counters.withheld += 1
            return False
        kind = topics.kind_of(kind_name(message))
        reader = OLDEST_MINOR if kind.retain else self.cloud_minor  # owners read what is retained
        payload = self._live_envelope(message, reader=reader)
        return self.connection.publish(
            self._topic(message), payload, qos=kind.qos, retain=kind.retain
        )

    def _topic(self, message: Message) -> str:
        return topics.build(self._fleet, topics.kind_of(kind_name(message)), self._birth.device_id)

    def _live_envelope(self, message: Message, *, reader: int = OLDEST_MINOR) -> bytes:
        self._live_seq += 1
        return sealed(
            encode_body(message),
            self._sender,
            stream="live",
            seq=self._live_seq,
            sent_at_ms=self._clock.wall_ms(),
            reader=reader,
        )

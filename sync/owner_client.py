"""The owner's end of the wire: stop, start, answer and set devices, read who they are and say.

A short-lived connection for a person at a prompt. What it publishes at QoS 1 is flushed by `close`;
a stop is retained, so a device that is away hears it when it comes back.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from sync import topics
from sync.clock import Clock, SystemClock
from sync.codec import Sender, decode_envelope, decode_message, encode_body, sealed
from sync.errors import LinkLostError, RejectedError
from sync.messages import (
    Birth,
    ControlMessage,
    DesiredSettings,
    Message,
    Offline,
    OwnerAnswer,
    OwnerQuestion,
    ReportedSettings,
    Start,
    Stop,
    kind_name,
)
from sync.ports import Connected, Disconnected, Incoming, Transport, TransportEvent
from sync.settings_change import SettingsChange, changed
from sync.vocabulary import new_uuid7

CONNECT_TIMEOUT_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class KnownSettings:
    """How a device is to be set and says that it is; version 0 where nobody said anything."""

    desired: DesiredSettings = field(default_factory=lambda: DesiredSettings(version=0))
    reported: ReportedSettings = field(default_factory=ReportedSettings)

    @property
    def is_taken(self) -> bool:
        """Whether the device goes by what is desired."""
        return self.reported.version == self.desired.version


class OwnerClient:
    """Speaks to the devices of one fleet as their owner; used by one thread.

    Args:
        transport: a connection with the owner's account, or the service's.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        fleet: str,
        clock: Clock | None = None,
        new_id: Callable[[], str] = new_uuid7,
    ) -> None:
        self._transport = transport
        self._fleet = fleet
        self._clock = clock or SystemClock()
        self._new_id = new_id
        self._events: queue.SimpleQueue[TransportEvent] = queue.SimpleQueue()
        self._sent = 0
        self._questions: dict[str, OwnerQuestion] = {}
        self._devices: set[str] = set()
        self._settings: dict[str, KnownSettings] = {}

    def connect(self, timeout_s: float = CONNECT_TIMEOUT_S) -> None:
        """Connect and begin to hear questions.

        Raises: LinkLostError: no broker answers, or it refuses the account.
        """
        self._transport.connect(self._events.put)
        event = self._next(timeout_s)
        if not isinstance(event, Connected):
            said = event.reason if isinstance(event, Disconnected) else "it did not answer in time"
            raise LinkLostError(f"the broker cannot be used ({said}): check address and account")
        self._transport.subscribe(topics.owner_filters(self._fleet))

    def stop(self, device_id: str, reason: str = "") -> None:
        """Stop a device, now or when it next connects."""
        self._publish(
            device_id, Stop(control_id=self._new_id(), reason=reason, at_ms=self._clock.wall_ms())
        )

    def start(self, device_id: str, *, until_ms: int = 0) -> None:
        """Let a device act again, for good or until a moment."""
        self._publish(
            device_id,
            Start(control_id=self._new_id(), until_ms=until_ms, at_ms=self._clock.wall_ms()),
        )

    def answer(self, device_id: str, question_id: str, *, agreed: bool) -> None:
        """Answer a device's question."""
        self._publish(
            device_id,
            OwnerAnswer(question_id=question_id, agreed=agreed, at_ms=self._clock.wall_ms()),
        )

    def questions(self, wait_s: float) -> dict[str, OwnerQuestion]:
        """Each device's latest question, asked or settled, as far as it comes within `wait_s`.

        Raises: LinkLostError: the connection ended.
        """
        self._listen(wait_s)
        return dict(self._questions)

    def devices(self, wait_s: float) -> tuple[str, ...]:
        """Every device that ever announced itself, as far as it comes within `wait_s`.

        Raises: LinkLostError: the connection ended.
        """
        self._transport.subscribe(topics.presence_filters(self._fleet))
        self._listen(wait_s)
        return tuple(sorted(self._devices))

    def settings(self, wait_s: float) -> dict[str, KnownSettings]:
        """What is known of each device's settings, as far as it comes within `wait_s`.

        Raises: LinkLostError: the connection ended.
        """
        self._transport.subscribe(topics.settings_filters(self._fleet))
        self._listen(wait_s)
        return dict(self._settings)

    def desire(self, device_id: str, values: SettingsChange) -> int:
        """Change some of a device's settings, now or when it next connects; ask `settings` before.

        Returns: the version that the device reports once it has taken them.
        """
        known = self._settings.get(device_id, KnownSettings())
        version = 1 + max(known.desired.version, known.reported.version)
        desired = DesiredSettings(
            version=version,
            values=changed(known.desired.values, values),
            at_ms=self._clock.wall_ms(),
        )
        self._publish(device_id, desired)
        self._settings[device_id] = replace(known, desired=desired)
        return version

    def close(self) -> None:
        """Send what waits and end the connection. Idempotent."""
        self._transport.close()

    def _listen(self, wait_s: float) -> None:
        deadline_s = self._clock.monotonic_s() + wait_s
        while (left_s := deadline_s - self._clock.monotonic_s()) > 0:
            event = self._next(left_s)
            if isinstance(event, Disconnected):
                raise LinkLostError(f"the broker ended the connection ({event.reason}): try again")
            if isinstance(event, Incoming):
                self._take(event)

    def _take(self, incoming: Incoming) -> None:
        try:
            topic = topics.parse(incoming.topic)
            envelope = decode_envelope(incoming.payload)
            message = decode_message(envelope)
        except RejectedError:
            return  # newer than this program, or none of ours
        finally:
            self._transport.acknowledge(incoming)
        if envelope.device != topic.owner:
            return
        if isinstance(message, OwnerQuestion):
            self._questions[topic.owner] = message
        elif isinstance(message, Birth | Offline):
            self._devices.add(topic.owner)
        else:
            self._note_settings(topic.owner, message)

    def _note_settings(self, device_id: str, message: Message) -> None:
        known = self._settings.get(device_id, KnownSettings())
        if isinstance(message, ReportedSettings):
            self._settings[device_id] = replace(known, reported=message)
        elif isinstance(message, DesiredSettings) and message.version >= known.desired.version:
            self._settings[device_id] = replace(known, desired=message)

    def _next(self, timeout_s: float) -> TransportEvent | None:
        try:
            return self._events.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def _publish(self, device_id: str, message: ControlMessage | DesiredSettings) -> None:
        kind = topics.kind_of(kind_name(message))
        body = encode_body(message)
        self._sent += 1
        sender = Sender(device_id, install_id="owner", boot_id="owner")
        payload = sealed(
            body, sender, stream="live", seq=self._sent, sent_at_ms=self._clock.wall_ms()
        )
        topic = topics.build(self._fleet, kind, device_id)
        self._transport.publish(topic, payload, qos=kind.qos, retain=kind.retain)

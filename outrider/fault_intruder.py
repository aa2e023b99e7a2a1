"""A device of the fleet that behaves badly: it sends what cannot be read, and meddles with others.

It connects with its own account, straight to the broker. What it hears of others is on record.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from random import Random
from types import TracebackType
from typing import Final, Self

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from outrider.fault_parts import FLEET
from sync import topics
from sync.codec import Sender, encode_body, sealed
from sync.messages import Acknowledgement, EpisodeUpload, Message, Stop
from sync.mqtt import MqttAddress
from sync.vocabulary import Assignment, AssignmentId, DeviceId, EndReason, Episode, EpisodeId

FORGED: Final = "forged"
"""Begins the name of each episode that it makes up in another's name."""
OVER_LIMIT_BYTES: Final = 5_000_000
_PATIENCE_S: Final = 3.0


class Intruder:
    """One connection of the device `address.username`; used as a context.

    Attributes:
        overheard: topics of other devices on which something came.
    """

    def __init__(self, address: MqttAddress) -> None:
        self.overheard: list[str] = []
        self._name = address.username
        self._address = address
        self._connected = threading.Event()
        self._client = paho.Client(
            CallbackAPIVersion.VERSION2, client_id=address.client_id, reconnect_on_failure=False
        )
        self._client.username_pw_set(address.username, address.password)
        self._client.on_connect = lambda *_: self._connected.set()
        self._client.on_message = lambda _client, _data, message: self._hear(message.topic)

    def __enter__(self) -> Self:
        with suppress(OSError):  # no broker at this moment: nothing to meddle with
            self._client.connect(self._address.host, self._address.port)
            self._client.loop_start()
            self._connected.wait(_PATIENCE_S)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connection. Idempotent."""
        self._client.disconnect()
        self._client.loop_stop()

    def send_poison(self, victim: str, random: Random) -> None:
        """On its own topics: garbage, nothing, and episodes in another's name."""
        mine = topics.build(FLEET, topics.EPISODE, self._name)
        payloads = (
            random.randbytes(300),
            b"",
            _sealed(self._name, forged_upload(victim), seq=1),
            _sealed(victim, forged_upload(victim), seq=2),
        )
        for payload in payloads:
            self._publish(mine, payload)

    def send_too_much(self) -> None:
        """A message over what any broker of ours takes."""
        self._publish(topics.build(FLEET, topics.EPISODE, self._name), bytes(OVER_LIMIT_BYTES))

    def meddle(self, victim: str) -> None:
        """On another's topics: an episode, an acknowledgement of rows, a stop; and listen there."""
        theirs = topics.build(FLEET, topics.EPISODE, victim)
        self._publish(theirs, _sealed(victim, forged_upload(victim), seq=3))
        self._publish(
            topics.build(FLEET, topics.ACK, victim),
            _sealed(victim, Acknowledgement(install_id="", sequences=tuple(range(1, 500))), seq=4),
        )
        self._publish(
            topics.build(FLEET, topics.CONTROL, victim),
            _sealed(victim, Stop(control_id=FORGED, reason="forged"), seq=5),
        )
        for wanted in (f"{theirs.rsplit('/', 1)[0]}/#", topics.device_filters(FLEET, victim)[0]):
            self._client.subscribe(wanted, qos=1)

    def _publish(self, topic: str, payload: bytes) -> None:
        with suppress(ValueError):  # paho's own limits
            self._client.publish(topic, payload, qos=1)

    def _hear(self, topic: str) -> None:
        if topics.parse(topic).owner != self._name:
            self.overheard.append(topic)


def forged_upload(victim: str) -> EpisodeUpload:
    """An episode that `victim` never played."""
    return EpisodeUpload(
        episode=Episode(
            id=EpisodeId(f"{FORGED}-{victim}"),
            assignment=Assignment(AssignmentId(f"{FORGED}-{victim}"), template=FORGED),
            device_id=DeviceId(victim),
            goal=FORGED,
            steps=(),
            end_reason=EndReason.FINISH,
        )
    )


def _sealed(device: str, message: Message, *, seq: int) -> bytes:
    sender = Sender(device, install_id=FORGED, boot_id=FORGED)
    return sealed(encode_body(message), sender, stream="outbox", seq=seq, sent_at_ms=1)

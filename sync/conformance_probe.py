"""A plain MQTT client for the conformance kit: what was granted, acknowledged and delivered."""

from __future__ import annotations

import queue
import secrets
import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from sync.broker_address import MqttAddress, MqttProtocol
from sync.errors import LinkLostError
from sync.mqtt import tls_context
from sync.ports import Incoming, Will

_KEPT_S: Final = 120
_POLL_S: Final = 0.05
_NO_MQTT: Final = "what listens there does not answer as an MQTT broker does"


class Refused(Exception):  # noqa: N818 - an answer, not an error
    """The broker did not let a client in; the text is its reason."""


class ProbeClient:
    """One connection; used in a `with` block, which ends it cleanly.

    Args:
        address: where, and as whom; the client id is a random one unless `client_id` is given.
        keep_session: whether the broker keeps what was subscribed when the connection is gone.
        wait_s: how long an answer of the broker is waited for.

    Raises:
        Refused: the broker refused the connection.
        LinkLostError: nobody answers.
    """

    def __init__(
        self,
        address: MqttAddress,
        *,
        client_id: str = "",
        keep_session: bool = False,
        will: Will | None = None,
        wait_s: float = 5.0,
    ) -> None:
        self._wait_s = wait_s
        self._answers: queue.SimpleQueue[ReasonCode] = queue.SimpleQueue()
        self._granted: queue.SimpleQueue[list[ReasonCode]] = queue.SimpleQueue()
        self._heard: queue.SimpleQueue[Incoming] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._client = self._made(address, client_id, keep_session=keep_session)
        if will is not None:
            self._client.will_set(will.topic, will.payload, qos=1, retain=True)
        self._connect(address, keep_session=keep_session)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def subscribe(self, *filters: str) -> bool:
        """Subscribe at QoS 1; whether the broker granted all of it and kept the connection."""
        self._client.subscribe([(one, 1) for one in filters])
        for _ in range(int(self._wait_s / _POLL_S)):
            with suppress(queue.Empty):
                return not any(reason.is_failure for reason in self._granted.get(timeout=_POLL_S))
            if self._ended.is_set():
                return False
        return False

    def publish(
        self, topic: str, payload: bytes, *, retain: bool = False, wait_s: float | None = None
    ) -> bool:
        """Publish at QoS 1; whether the broker acknowledged it."""
        sent = self._client.publish(topic, payload, qos=1, retain=retain)
        if sent.rc is not MQTTErrorCode.MQTT_ERR_SUCCESS:
            return False
        for _ in range(int((self._wait_s if wait_s is None else wait_s) / _POLL_S)):
            with suppress(RuntimeError, ValueError):  # the connection ended meanwhile
                sent.wait_for_publish(_POLL_S)
                if sent.is_published():
                    return True
            if self._ended.is_set():
                return False
        return False

    def next(self, timeout_s: float | None = None) -> Incoming | None:
        """The next message, unacknowledged; None where none comes."""
        with suppress(queue.Empty):
            return self._heard.get(timeout=self._wait_s if timeout_s is None else timeout_s)
        return None

    def until(self, payload: bytes) -> list[Incoming]:
        """Messages before the one with `payload`, all acknowledged.

        Raises: LinkLostError: that one never comes.
        """
        before: list[Incoming] = []
        while (message := self.next()) is not None:
            self.acknowledge(message)
            if message.payload == payload:
                return before
            before.append(message)
        raise LinkLostError(f"a message of {len(payload)} bytes that must arrive did not")

    def acknowledge(self, message: Incoming) -> None:
        """Tell the broker that a message is dealt with."""
        if isinstance(message.receipt, int):
            self._client.ack(message.receipt, 1)

    def cut(self) -> None:
        """Break the connection as a lost link does."""
        peer = self._client.socket()
        if isinstance(peer, socket.socket):
            with suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
        self._ended.wait(self._wait_s)
        self._client.loop_stop()

    def ended(self, timeout_s: float | None = None) -> bool:
        """Whether the connection ends within a while."""
        return self._ended.wait(self._wait_s if timeout_s is None else timeout_s)

    def close(self) -> None:
        """End the connection cleanly. Idempotent."""
        if not self._ended.is_set():
            self._client.disconnect()
            self._ended.wait(self._wait_s)
        self._client.loop_stop()

    def _connect(self, address: MqttAddress, *, keep_session: bool) -> None:
        properties = None
        if address.protocol is MqttProtocol.V5 and keep_session:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = _KEPT_S
        try:
            self._client.connect(
                address.host,
                address.port,
                clean_start=not keep_session
                if address.protocol is MqttProtocol.V5
                else paho.MQTT_CLEAN_START_FIRST_ONLY,
                properties=properties,
            )
        except (OSError, ValueError) as error:
            raise LinkLostError(
                f"no broker answers at {address.host}:{address.port} ({error}): "
                "start it or correct the address"
            ) from error
        self._client.loop_start()
        answer = self._answer()
        if answer is None or answer.is_failure:
            self._client.loop_stop()
            peer = self._client.socket()
            if isinstance(peer, socket.socket):  # paho keeps one that said nothing
                peer.close()
            raise Refused(_NO_MQTT if answer is None else str(answer))

    def _answer(self) -> ReasonCode | None:
        """What the broker says to a new client; None where it says nothing, or nothing of MQTT."""
        for _ in range(int(self._wait_s / _POLL_S)):
            is_last = self._ended.is_set()
            with suppress(queue.Empty):
                return self._answers.get(timeout=_POLL_S)
            if is_last:
                return None
        return None

    def _made(self, address: MqttAddress, client_id: str, *, keep_session: bool) -> paho.Client:
        is_5 = address.protocol is MqttProtocol.V5
        client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=client_id or f"kit-{secrets.token_hex(6)}",
            clean_session=None if is_5 else not keep_session,
            protocol=MQTTProtocolVersion.MQTTv5 if is_5 else MQTTProtocolVersion.MQTTv311,
            reconnect_on_failure=False,
            manual_ack=True,
        )
        if address.username:
            client.username_pw_set(address.username, address.password)
        if address.encrypted:
            client.tls_set_context(tls_context(address))
        client.connect_timeout = self._wait_s
        client.on_connect = lambda _c, _d, _f, reason, _p: self._answers.put(reason)
        client.on_subscribe = lambda _c, _d, _m, reasons, _p: self._granted.put(reasons)
        client.on_disconnect = self._on_disconnect
        client.on_message = self._on_message
        return client

    def _on_disconnect(self, *said: Any) -> None:  # Any: what paho says of it
        del said
        self._ended.set()

    def _on_message(self, client: paho.Client, data: object, message: paho.MQTTMessage) -> None:
        del client, data
        self._heard.put(
            Incoming(
                topic=message.topic,
                payload=bytes(message.payload),
                receipt=message.mid if message.qos else None,
                redelivered=message.dup,
                retained=message.retain,
            )
        )

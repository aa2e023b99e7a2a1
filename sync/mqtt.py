"""The Transport over paho-mqtt: MQTT 3.1.1, or MQTT 5 where the address asks for it.

A fresh paho client is made for each connection, with a clean session: paho's own queue and its
resend on reconnect (which ignores the in-flight limit) never come into play, the outbox owns both.
paho's callbacks only put events into the sink. Messages are acknowledged by hand, after the commit.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from sync.broker_address import MqttAddress, MqttProtocol
from sync.codec import MAX_WIRE_BYTES
from sync.errors import BrokerError, LinkLostError
from sync.ports import Connected, Disconnected, Incoming, Sink, Will

__all__ = ["MqttAddress", "PahoTransport"]

KEEPALIVE_S: Final = 30
CONNECT_TIMEOUT_S: Final = 5.0
FLUSH_TIMEOUT_S: Final = 2.0
SUBSCRIBE_TIMEOUT_S: Final = 10.0
PACKET_S: Final = 2.0 * KEEPALIVE_S
"""How long one packet may take to arrive: one that does not end swallows all that follow it."""
_MOST_PACKET_BYTES: Final = MAX_WIRE_BYTES + (1 << 17)
"""A payload, its topic, and what MQTT 5 may say of it."""
_FIRST_IN_FLIGHT: Final = 10
"""How many messages an MQTT 5 broker surely takes at once, until it said so itself."""


@dataclass(frozen=True, slots=True)
class _Receipt:
    client: paho.Client
    mid: int
    qos: int


class PahoTransport:
    """A `Transport` to an MQTT broker.

    Raises: BrokerError: a certificate or key of the address cannot be read.
    """

    def __init__(self, address: MqttAddress) -> None:
        self._address = address
        self._client: _Client | None = None
        self._last_sent: paho.MQTTMessageInfo | None = None
        self._sink: Sink | None = None
        self._patience: threading.Timer | None = None
        self._tls = tls_context(address) if address.encrypted else None
        self._in_flight = _FIRST_IN_FLIGHT if address.protocol is MqttProtocol.V5 else 0

    def connect(self, sink: Sink, will: Will | None = None) -> None:
        """See Transport."""
        self.close()
        client = self._new_client(sink, will)
        self._client, self._sink = client, sink
        try:
            client.connect(self._address.host, self._address.port, keepalive=KEEPALIVE_S)
        except (OSError, ValueError) as error:
            self._client = None
            raise LinkLostError(
                f"no broker answers at {self._address.host}:{self._address.port} ({error}): "
                "start it or correct the address"
            ) from error
        client.loop_start()

    def subscribe(self, filters: tuple[str, ...]) -> None:
        """See Transport; a broker that does not answer is lost, for nothing would ever be heard."""
        client = self._connection()
        self._begin_waiting()
        result, _mid = client.subscribe([(wanted, 1) for wanted in filters])
        _check(result)

    def publish(self, topic: str, payload: bytes, *, qos: int, retain: bool) -> None:
        """See Transport."""
        if len(payload) > MAX_WIRE_BYTES:
            raise ValueError(f"a payload has at most {MAX_WIRE_BYTES} bytes, got {len(payload)}")
        sent = self._connection().publish(topic, payload, qos=qos, retain=retain)
        _check(sent.rc)
        if qos:
            self._last_sent = sent

    def acknowledge(self, incoming: Incoming) -> None:
        """See Transport."""
        receipt = incoming.receipt
        if isinstance(receipt, _Receipt) and receipt.client is self._client:
            receipt.client.ack(receipt.mid, receipt.qos)

    def close(self) -> None:
        """See Transport."""
        client, self._client = self._client, None
        last_sent, self._last_sent = self._last_sent, None
        self._stop_waiting()
        if client is None:
            return
        client.on_message = None
        client.when_over = _nobody_asks
        if last_sent is not None and client.is_connected() and not client.is_over:
            # A socket that is closed over unread answers takes what it sent with it.
            with suppress(RuntimeError, ValueError):
                last_sent.wait_for_publish(FLUSH_TIMEOUT_S)
        ended = threading.Event()
        client.on_disconnect = lambda *_: ended.set()
        if client.is_over:  # until its thread is gone, nobody would write or close
            _stop_loop(client)
        if client.disconnect() is MQTTErrorCode.MQTT_ERR_SUCCESS:
            ended.wait(FLUSH_TIMEOUT_S)  # paho calls back when everything is written
        client.cut()  # a peer that reads nothing must not hold us up
        _stop_loop(client)

    def cut(self) -> None:
        """Break the connection as a lost link does: the broker learns of no end."""
        if self._client is not None:
            self._client.cut()

    def _begin_waiting(self) -> None:
        """Give the connection up where the broker does not answer a subscription in time."""
        self._stop_waiting()
        assert self._sink is not None
        unanswered = Disconnected("the broker did not take our subscriptions: connect again")
        self._patience = threading.Timer(SUBSCRIBE_TIMEOUT_S, self._sink, (unanswered,))
        self._patience.daemon = True
        self._patience.start()

    def _stop_waiting(self) -> None:
        patience, self._patience = self._patience, None
        if patience is not None:
            patience.cancel()

    def _connection(self) -> _Client:
        if self._client is None:
            raise LinkLostError("not connected to the broker: connect first")
        return self._client

    def _new_client(self, sink: Sink, will: Will | None) -> _Client:
        address = self._address
        is_5 = address.protocol is MqttProtocol.V5
        client = _Client(
            CallbackAPIVersion.VERSION2,
            client_id=address.client_id,
            clean_session=None if is_5 else True,
            protocol=MQTTProtocolVersion.MQTTv5 if is_5 else MQTTProtocolVersion.MQTTv311,
            reconnect_on_failure=False,
            manual_ack=True,
        )
        if address.username:
            client.username_pw_set(address.username, address.password)
        client.connect_timeout = CONNECT_TIMEOUT_S
        client.max_inflight_messages_set(self._in_flight)
        client.max_queued_messages_set(0)
        if self._tls is not None:
            client.tls_set_context(self._tls)
        if will is not None:
            client.will_set(will.topic, will.payload, qos=1, retain=True)
        _report_to(client, sink, learn=self._learn, answered=self._stop_waiting)
        return client

    def _learn(self, said: Properties | None) -> None:
        """Remember for the next connection how many messages the broker takes at once."""
        if self._address.protocol is MqttProtocol.V5 and said is not None:
            self._in_flight = getattr(said, "ReceiveMaximum", 0)


class _Client(paho.Client):
    """paho's client, which says how its thread ended.

    Where paho cannot read what came (a topic that is no UTF-8, a packet that lacks its end), its
    thread ends by an exception and tells nobody: the connection would look sound and stay deaf.
    Deaf, too, is one that waits for the end of a packet whose length is wrong.

    Attributes:
        when_over: called once the thread has ended, with why.
        is_over: whether it has.
    """

    when_over: Callable[[str], None]
    is_over = False
    _begun_s: float | None = None

    def loop_forever(
        self,
        timeout: float = 1.0,
        retry_first_connection: bool = False,  # noqa: FBT001, FBT002 - as inherited
    ) -> MQTTErrorCode:
        """What paho's thread runs."""
        why = "the connection ended"
        try:
            return super().loop_forever(timeout, retry_first_connection)
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing is heard any more
            why = f"the broker sent what cannot be read ({type(error).__name__}: {error})"
            return MQTTErrorCode.MQTT_ERR_PROTOCOL
        finally:
            self.is_over = True
            self.cut()
            self.when_over(why)

    def _packet_read(self) -> MQTTErrorCode:
        """Read on. paho's own, which has no bounds: a packet without an end is none (pinned)."""
        result = super()._packet_read()
        if not self._in_packet["command"]:
            self._begun_s = None
            return result
        now_s = time.monotonic()
        if self._begun_s is None:
            self._begun_s = now_s
        is_endless = now_s - self._begun_s > PACKET_S
        if is_endless or self._in_packet["remaining_length"] > _MOST_PACKET_BYTES:
            return MQTTErrorCode.MQTT_ERR_PROTOCOL
        return result

    def cut(self) -> None:
        """Break the connection, unless there is none (any more)."""
        peer = self.socket()
        if isinstance(peer, socket.socket):
            with suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)


def _stop_loop(client: _Client) -> None:
    with suppress(AttributeError):  # paho forgets its thread when that ends while we stop it
        client.loop_stop()


def _nobody_asks(_why: str) -> None:
    """What is done at the end of a client that we ended ourselves."""


class _TidySocket(ssl.SSLSocket):
    """Closes itself where its handshake fails; paho would leave it open."""

    def do_handshake(self, block: bool = False) -> None:  # noqa: FBT001, FBT002 - as inherited
        try:
            super().do_handshake(block)
        except BaseException:
            self.close()
            raise


def tls_context(address: MqttAddress) -> ssl.SSLContext:
    """How TLS is spoken with a broker.

    Raises: BrokerError: a file cannot be read.
    """
    try:
        cafile = None if address.certificates is None else str(address.certificates)
        context = ssl.create_default_context(cafile=cafile)
        context.sslsocket_class = _TidySocket
        if address.certificate is not None:
            context.load_cert_chain(address.certificate, address.key)
    except (OSError, ValueError) as error:
        raise BrokerError(
            f"the certificates for {address.host} cannot be read ({error}): correct their paths"
        ) from error
    return context


def _report_to(
    client: _Client,
    sink: Sink,
    *,
    learn: Callable[[Properties | None], None],
    answered: Callable[[], None],
) -> None:
    """Turn paho's callbacks into events; each runs under paho's locks and only calls the sink.

    Args:
        learn: takes what an MQTT 5 broker says of itself.
        answered: told that the broker answered a subscription.
    """

    def on_connect(
        _client: paho.Client,
        _data: object,
        _flags: object,
        reason: ReasonCode,
        said: Properties | None,
    ) -> None:
        learn(said)
        sink(Disconnected(f"the broker refused: {reason}") if reason.is_failure else Connected())

    def on_disconnect(
        _client: paho.Client, _data: object, _flags: object, reason: ReasonCode, _more: object
    ) -> None:
        if not client.is_over:
            client.when_over = _nobody_asks
            sink(Disconnected(f"the connection ended: {reason}"))

    def on_subscribe(
        _client: paho.Client, _data: object, _mid: int, reasons: list[ReasonCode], _more: object
    ) -> None:
        answered()
        if any(reason.is_failure for reason in reasons):
            sink(Disconnected("the broker refused a subscription: check the device's account"))

    def on_message(_client: paho.Client, _data: object, message: paho.MQTTMessage) -> None:
        receipt = _Receipt(client, message.mid, message.qos) if message.qos else None
        sink(
            Incoming(
                topic=message.topic,
                payload=bytes(message.payload),
                receipt=receipt,
                redelivered=message.dup,
                retained=message.retain,
            )
        )

    def on_socket_open(_client: paho.Client, _data: object, opened: object) -> None:
        if isinstance(opened, socket.socket):  # small packets must not wait for each other
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    client.when_over = lambda why: sink(Disconnected(f"{why}: connect again"))
    client.on_socket_open = on_socket_open
    client.on_connect = on_connect
    client.on_disconnect = on_disconnect
    client.on_subscribe = on_subscribe
    client.on_message = on_message


def _check(result: MQTTErrorCode) -> None:
    if result is not MQTTErrorCode.MQTT_ERR_SUCCESS:
        raise LinkLostError(f"the connection to the broker ended ({result.name}): connect again")

"""Bytes from a broker that are no MQTT: the connection ends and says so, it never falls silent."""

from __future__ import annotations

import queue
import socket
import struct
import threading
from contextlib import suppress
from enum import Enum
from random import Random

import pytest

from sync.broker_address import MqttAddress, MqttProtocol
from sync.mqtt import PahoTransport
from sync.ports import Connected, Disconnected, Incoming

pytestmark = pytest.mark.integration

WAIT_S = 20.0
CONNACK = {MqttProtocol.V3_1_1: b"\x20\x02\x00\x00", MqttProtocol.V5: b"\x20\x03\x00\x00\x00"}
TOPIC = b"or/1/home/u/05/phone-2/episode"


def publish(topic, payload, *, is_5=False, mid=None):
    """A PUBLISH as bytes; of quality 1 where it has an id."""
    body = struct.pack("!H", len(topic)) + topic
    body += b"" if mid is None else struct.pack("!H", mid)
    body += (b"\x00" if is_5 else b"") + payload
    return bytes([0x30 if mid is None else 0x32, len(body)]) + body


class Then(Enum):
    """What a broker does when it has said everything."""

    STAYS = "stays"
    ENDS = "ends"
    DRIPS = "goes on, byte by byte"


class Peer:
    """A broker that welcomes whoever connects, and says what it was given."""

    def __init__(self, words, protocol, *, then):
        self._words, self._welcome, self._then = words, CONNACK[protocol], then
        self._left = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = MqttAddress(
            host="127.0.0.1",
            port=self._listener.getsockname()[1],
            username="phone-1",
            password="",
            client_id="phone-1",
            protocol=protocol,
        )
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        link, _ = self._listener.accept()
        with link, suppress(OSError):
            link.recv(4096)
            link.sendall(self._welcome + self._words)
            if self._then is Then.ENDS:
                link.shutdown(socket.SHUT_WR)
            while self._then is Then.DRIPS and not self._left.wait(0.02):
                link.sendall(b"x")
            while link.recv(4096):
                pass

    def close(self):
        self._left.set()
        self._listener.close()
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()


def heard_of(words, protocol, *, then=None):
    """What a transport reports up to its end, when a broker says `words`."""
    peer = Peer(words, protocol, then=then or Then.STAYS)
    transport, events = PahoTransport(peer.address), queue.SimpleQueue()
    transport.connect(events.put)
    heard = []
    try:
        while not (heard and isinstance(heard[-1], Disconnected)):
            heard.append(events.get(timeout=WAIT_S))
    finally:
        transport.close()
        peer.close()
    return heard


UNREADABLE = {
    "topic that is no UTF-8": publish(TOPIC[:9] + b"\xaf" + TOPIC[10:], b"row"),
    "topic that is no UTF-8, to be acknowledged": publish(b"\xaf" + TOPIC, b"row", mid=7),
    "topic longer than its packet": b"\x30\x04\xff\xff" + b"ab",
    "message without anything": b"\x30\x00",
    "message without its id": b"\x32\x03\x00\x01a",
    "empty answer to a subscription": b"\x90\x00",
    "empty acknowledgement": b"\x40\x00",
    "packet of no kind": b"\x00\x00",
    "packet of a kind that is kept for later": b"\xf0\x00",
}


@pytest.mark.requirement("OR-CON-4")
@pytest.mark.parametrize("protocol", CONNACK)
@pytest.mark.parametrize("words", UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_ends_the_connection_and_that_is_told(words, protocol):
    first, *_, last = heard_of(words, protocol)

    assert first == Connected()
    assert isinstance(last, Disconnected)


def test_the_end_names_its_cause_and_what_came_before_is_delivered():
    words = publish(TOPIC, b"before") + UNREADABLE["topic that is no UTF-8"]

    _, message, end = heard_of(words, MqttProtocol.V3_1_1)

    assert (message.topic, message.payload) == (TOPIC.decode(), b"before")
    assert "cannot be read" in end.reason
    assert "UnicodeDecodeError" in end.reason


@pytest.mark.requirement("OR-CON-4")
@pytest.mark.parametrize("protocol", CONNACK)
def test_no_damage_to_the_bytes_of_a_broker_makes_a_connection_deaf(protocol):
    is_5 = protocol is MqttProtocol.V5
    suback = b"\x90\x04\x00\x01\x00\x01" if is_5 else b"\x90\x03\x00\x01\x01"
    sound = b"".join(
        (
            publish(TOPIC, b"first", is_5=is_5),
            suback,
            publish(TOPIC, b"second", is_5=is_5, mid=3),
            b"\x40\x02\x00\x01",
            b"\xd0\x00",
            publish(TOPIC, b"third", is_5=is_5),
        )
    )
    random = Random(int(is_5))
    for _ in range(150):
        words = bytearray(sound)
        for _ in range(random.randint(1, 3)):
            words[random.randrange(len(words))] = random.randrange(256)

        heard = heard_of(bytes(words), protocol, then=Then.ENDS)

        assert heard[0] == Connected()
        assert all(isinstance(event, Incoming | Disconnected) for event in heard[1:])


@pytest.mark.requirement("OR-CON-4")
@pytest.mark.parametrize("protocol", CONNACK)
def test_a_packet_that_claims_more_than_any_has_ends_the_connection(protocol):
    first, last = heard_of(b"\x40\x82\x80\x80\x7f" + b"x" * 100, protocol)

    assert first == Connected()
    assert isinstance(last, Disconnected)


@pytest.mark.requirement("OR-CON-4")
@pytest.mark.parametrize("protocol", CONNACK)
def test_a_packet_that_does_not_end_ends_the_connection(protocol, monkeypatch):
    monkeypatch.setattr("sync.mqtt.PACKET_S", 0.2)

    first, last = heard_of(b"\x30\xff\xff\x7f", protocol, then=Then.DRIPS)

    assert first == Connected()
    assert isinstance(last, Disconnected)

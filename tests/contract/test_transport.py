"""What every Transport promises: the in-process fake, and paho on a real broker."""

from __future__ import annotations

import queue
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

import pytest

from sync import topics
from sync.codec import MAX_WIRE_BYTES
from sync.errors import LinkLostError
from sync.loopback import LoopbackBroker
from sync.ports import Connected, Disconnected, Incoming, Will
from tests.brokers import WAYS, make_broker
from tests.conftest import require

FLEET = "home"
WAIT_S = 10.0
DEVICES = ("phone-1", "phone-2")


class LoopbackWorld:
    """The fake, with the same two devices and a service."""

    def __init__(self) -> None:
        self.broker = LoopbackBroker(fleet=FLEET)

    def transport(self, name):
        return self.broker.transport(name, service=name == "cloud")

    def cut(self, transport):
        self.broker.cut(transport._user)

    def stop(self):
        self.broker.kill()

    def redeliver(self):
        self.broker.redeliver()

    def close(self):
        pass


class PahoWorld:
    """paho against a broker of our own."""

    def __init__(self, way, folder) -> None:
        running = make_broker(way, folder / "broker", require, fleet=FLEET, ack_wait_s=1)
        self.transport = running.transport
        self.broker = running.process
        self.broker.add_devices(DEVICES)
        self.broker.start()

    def cut(self, transport):
        transport._client.socket().shutdown(socket.SHUT_RDWR)

    def stop(self):
        self.broker.stop()

    def redeliver(self):
        """The broker does so by itself, after `ack_wait_s`."""

    def close(self):
        self.broker.stop()


@dataclass
class Party:
    """A transport and what it reported."""

    transport: object
    events: queue.SimpleQueue = field(default_factory=queue.SimpleQueue)

    def connect(self, will=None):
        self.transport.connect(self.events.put, will)
        return self.next()

    def next(self):
        return self.events.get(timeout=WAIT_S)

    def subscribe(self, *filters):
        self.transport.subscribe(filters)

    def say(self, topic, payload, *, qos=1, retain=False):
        self.transport.publish(topic, payload, qos=qos, retain=retain)


@pytest.fixture(
    params=["loopback", *(pytest.param(way, marks=pytest.mark.integration) for way in WAYS)],
    scope="module",
)
def kind(request):
    return request.param


@pytest.fixture
def filters_only(kind):
    """Whether the broker grants every subscription and filters what it delivers."""
    return kind.startswith("mosquitto")


@pytest.fixture
def repeats(kind):
    """Whether the broker repeats on the same connection what was not acknowledged."""
    return not kind.startswith("mosquitto")


@pytest.fixture
def world(kind, tmp_path):
    world = LoopbackWorld() if kind == "loopback" else PahoWorld(kind, tmp_path)
    yield world
    world.close()


@pytest.fixture
def party(world):
    parties = []

    def make(name):
        one = Party(world.transport(name))
        parties.append(one)
        return one

    yield make
    for one in parties:
        one.transport.close()


def topic(row, owner="phone-1"):
    return topics.build(FLEET, row, owner)


@pytest.fixture
def cloud(party):
    """The service, connected and subscribed to everything that devices say."""
    cloud = party("cloud")
    assert cloud.connect() == Connected()
    subscribe_and_wait(cloud, cloud, topic(topics.HEALTH, "marker"), *topics.cloud_filters(FLEET))
    return cloud


def subscribe_and_wait(one, speaker, marker, *filters):
    """Subscribe, and let `speaker` publish a marker until it arrives: the subscription stands."""
    one.subscribe(*filters)
    sent = 0
    deadline_s = time.monotonic() + WAIT_S
    while time.monotonic() < deadline_s:
        speaker.say(marker, str(sent).encode(), qos=0)
        sent += 1
        try:
            event = one.events.get(timeout=0.05)
        except queue.Empty:
            continue
        while event.payload != str(sent - 1).encode():
            event = one.next()
        return
    pytest.fail("the subscription never stood")


@pytest.fixture
def phone(party):
    phone = party("phone-1")
    assert phone.connect() == Connected()
    return phone


def heard(one, count):
    """The next `count` messages as (topic, payload), acknowledged."""
    got = []
    while len(got) < count:
        event = one.next()
        assert isinstance(event, Incoming)
        one.transport.acknowledge(event)
        got.append((event.topic, event.payload))
    return got


@pytest.mark.requirement("OR-BRK-2", "OR-BRK-7")
def test_messages_of_one_sender_arrive_in_order(cloud, phone):
    sent = [(topic(topics.EPISODE), str(number).encode()) for number in range(50)]
    for name, payload in sent:
        phone.say(name, payload)
    assert heard(cloud, 50) == sent


@pytest.mark.requirement("OR-BRK-10")
def test_a_large_message_arrives_whole(cloud, phone):
    payload = Random(1).randbytes(MAX_WIRE_BYTES)
    phone.say(topic(topics.EPISODE), payload)
    assert heard(cloud, 1) == [(topic(topics.EPISODE), payload)]


@pytest.mark.requirement("OR-BRK-3")
def test_a_retained_message_waits_for_a_later_subscriber(phone, cloud):
    phone.say(topic(topics.PRESENCE), b"here", retain=True)
    heard(cloud, 1)
    cloud.transport.close()
    assert cloud.connect() == Connected()
    cloud.subscribe(*topics.cloud_filters(FLEET))
    event = cloud.next()
    assert (event.topic, event.payload, event.retained) == (
        topic(topics.PRESENCE),
        b"here",
        True,
    )


@pytest.mark.requirement("OR-BRK-4")
@pytest.mark.requirement("OR-BRK-5")
def test_an_empty_message_takes_the_retained_one_away(phone, cloud):
    phone.say(topic(topics.PRESENCE), b"here", retain=True)
    phone.say(topic(topics.PRESENCE), b"", retain=True)
    heard(cloud, 2)
    cloud.transport.close()
    assert cloud.connect() == Connected()
    cloud.subscribe(*topics.cloud_filters(FLEET))
    cloud.say(topic(topics.HEALTH, "marker"), b"subscribed")
    assert heard(cloud, 1) == [(topic(topics.HEALTH, "marker"), b"subscribed")]
    phone.say(topic(topics.EVENT), b"news")
    assert heard(cloud, 1) == [(topic(topics.EVENT), b"news")]


@pytest.mark.requirement("OR-CON-1")
def test_nothing_is_kept_for_a_client_that_is_away(phone, cloud):
    cloud.transport.close()
    phone.say(topic(topics.EVENT), b"missed")
    phone.transport.close()
    assert cloud.connect() == Connected()
    marker = topic(topics.HEALTH, "marker")
    subscribe_and_wait(cloud, cloud, marker, *topics.cloud_filters(FLEET))
    assert phone.connect() == Connected()
    phone.say(topic(topics.EVENT), b"heard")
    assert heard(cloud, 1) == [(topic(topics.EVENT), b"heard")]


def test_a_connection_that_breaks_leaves_its_will(world, cloud, party):
    phone = party("phone-1")
    phone.connect(Will(topic(topics.PRESENCE), b"gone"))
    world.cut(phone.transport)
    assert isinstance(phone.next(), Disconnected)
    assert heard(cloud, 1) == [(topic(topics.PRESENCE), b"gone")]


@pytest.mark.requirement("OR-BRK-6")
def test_a_connection_that_is_closed_leaves_no_will(cloud, party):
    phone = party("phone-1")
    phone.connect(Will(topic(topics.PRESENCE), b"gone"))
    phone.transport.close()
    phone.connect()
    phone.say(topic(topics.EVENT), b"back")
    assert heard(cloud, 1) == [(topic(topics.EVENT), b"back")]


def test_what_was_published_before_closing_still_arrives(cloud, phone):
    for number in range(20):
        phone.say(topic(topics.EVENT), str(number).encode())
    phone.transport.close()
    assert len(heard(cloud, 20)) == 20


@pytest.mark.requirement("OR-BRK-9")
def test_what_was_not_acknowledged_comes_again_and_says_so(world, cloud, phone, repeats):
    if not repeats:
        pytest.skip("this broker repeats only after a kept session connected again")
    phone.say(topic(topics.EVENT), b"once")
    first = cloud.next()
    world.redeliver()
    again = cloud.next()
    assert (again.payload, first.redelivered, again.redelivered) == (b"once", False, True)
    assert again.receipt == first.receipt
    cloud.transport.acknowledge(again)


def test_a_lower_quality_message_needs_no_acknowledgement(cloud, phone):
    phone.say(topic(topics.HEALTH), b"fine", qos=0)
    event = cloud.next()
    assert event.receipt is None
    cloud.transport.acknowledge(event)


def test_a_device_hears_its_own_messages_and_the_releases(cloud, phone, party):
    other = party("phone-2")
    assert other.connect() == Connected()
    for one, name in ((phone, "phone-1"), (other, "phone-2")):
        filters = topics.device_filters(FLEET, name)
        subscribe_and_wait(one, cloud, topic(topics.CHUNK, name), *filters)
    cloud.say(topic(topics.RELEASE, "stable"), b"release", retain=True)
    heard(phone, 1)
    heard(other, 1)
    cloud.say(topic(topics.ASSIGNMENT, "phone-1"), b"for one")
    cloud.say(topic(topics.ASSIGNMENT, "phone-2"), b"for two")
    assert heard(phone, 1) == [(topic(topics.ASSIGNMENT, "phone-1"), b"for one")]
    assert heard(other, 1) == [(topic(topics.ASSIGNMENT, "phone-2"), b"for two")]


@pytest.mark.requirement("OR-BRK-11", "OR-BRK-14")
def test_what_a_device_publishes_as_another_reaches_nobody(cloud, phone):
    phone.say(topic(topics.EPISODE, "phone-2"), b"forged")
    phone.say(topic(topics.ACK, "phone-2"), b"forged", qos=0)
    phone.say(topic(topics.RELEASE, "stable"), b"forged", retain=True)
    phone.say(topic(topics.EPISODE, "phone-1"), b"own")
    assert heard(cloud, 1) == [(topic(topics.EPISODE, "phone-1"), b"own")]


@pytest.mark.requirement("OR-BRK-18")
def test_what_a_device_publishes_on_made_up_topics_reaches_nobody_and_is_not_kept(cloud, phone):
    own = topic(topics.EVENT)
    parent = own.rpartition("/")[0]
    for made_up in (parent, f"{parent}/more", f"{own}/more", own.replace("home", "other")):
        phone.say(made_up, b"forged", retain=True)
    phone.say(own, b"own")
    assert heard(cloud, 1) == [(own, b"own")]
    cloud.transport.close()
    assert cloud.connect() == Connected()
    cloud.subscribe("or/1/home/#")
    cloud.say(topic(topics.HEALTH, "marker"), b"subscribed")
    assert heard(cloud, 1) == [(topic(topics.HEALTH, "marker"), b"subscribed")]


@pytest.mark.requirement("OR-BRK-11", "OR-BRK-14")
@pytest.mark.parametrize(
    "forbidden",
    [
        topics.build(FLEET, topics.PRESENCE, "phone-2"),
        topics.build(FLEET, topics.RELEASE, "stable"),
    ],
)
def test_a_will_on_a_topic_that_is_not_its_own_reaches_nobody(world, cloud, party, forbidden):
    cloud.subscribe(forbidden)
    phone = party("phone-1")
    phone.connect(Will(forbidden, b"forged"))
    world.cut(phone.transport)
    assert isinstance(phone.next(), Disconnected)
    assert phone.connect() == Connected()
    phone.say(topic(topics.EVENT), b"own")
    assert heard(cloud, 1) == [(topic(topics.EVENT), b"own")]


@pytest.mark.requirement("OR-BRK-12", "OR-BRK-13")
@pytest.mark.parametrize(
    "wanted",
    [
        "#",
        "or/1/home/c/phone-2/+",
        "or/1/home/c/+/+",
        "or/1/home/u/+/+/+",
        "+/+/+/+/+/+",
        "or/1/home/#",
        "$share/spy/or/1/home/c/phone-2/+",
        "$MQTT/sub/#",
    ],
)
def test_a_subscription_to_what_is_anothers_brings_nothing(cloud, phone, wanted, filters_only):
    cloud.say(topic(topics.PRESENCE, "phone-2"), b"kept for others", retain=True)
    heard(cloud, 1)
    phone.subscribe(wanted)
    if not filters_only:
        assert isinstance(phone.next(), Disconnected)
        return
    cloud.say(topic(topics.ASSIGNMENT, "phone-2"), b"for another")
    own = topic(topics.ASSIGNMENT, "phone-1")
    phone.subscribe(*topics.device_filters(FLEET, "phone-1"))
    got = set()
    deadline_s = time.monotonic() + WAIT_S
    while (own, b"own") not in got and time.monotonic() < deadline_s:
        cloud.say(topic(topics.ASSIGNMENT, "phone-2"), b"for another")
        cloud.say(own, b"own")  # again, until the subscription stands
        with suppress(queue.Empty):
            event = phone.events.get(timeout=0.1)
            phone.transport.acknowledge(event)
            got.add((event.topic, event.payload))
    assert got == {(own, b"own")}


@pytest.mark.requirement("OR-BRK-15")
def test_a_second_connection_of_the_same_device_ends_the_first(phone, party):
    second = party("phone-1")
    assert second.connect() == Connected()
    assert isinstance(phone.next(), Disconnected)


def test_a_broker_that_goes_away_is_noticed_and_publishing_then_fails(world, phone):
    world.stop()
    assert isinstance(phone.next(), Disconnected)
    with pytest.raises(LinkLostError):
        phone.say(topic(topics.EVENT), b"lost")
    with pytest.raises(LinkLostError):
        phone.connect()


def test_a_transport_that_was_never_connected_says_so(party):
    phone = party("phone-1")
    with pytest.raises(LinkLostError):
        phone.say(topic(topics.EVENT), b"lost")
    with pytest.raises(LinkLostError):
        phone.subscribe("or/1/home/c/phone-1/+")


def test_closing_twice_and_before_connecting_does_nothing(phone, party):
    phone.transport.close()
    phone.transport.close()
    party("phone-2").transport.close()
    with pytest.raises(LinkLostError):
        phone.say(topic(topics.EVENT), b"lost")


def test_a_receipt_of_an_earlier_connection_is_ignored(cloud, phone):
    phone.say(topic(topics.EVENT), b"one")
    old = cloud.next()
    cloud.transport.close()
    assert cloud.connect() == Connected()
    cloud.transport.acknowledge(old)
    marker = topic(topics.HEALTH, "marker")
    subscribe_and_wait(cloud, cloud, marker, *topics.cloud_filters(FLEET))
    phone.say(topic(topics.EVENT), b"two")
    assert heard(cloud, 1) == [(topic(topics.EVENT), b"two")]

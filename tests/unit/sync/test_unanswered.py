from __future__ import annotations

import threading

import pytest

from sync import topics
from sync.errors import TransientError
from sync.loopback import LoopbackBroker
from sync.messages import Event
from sync.ports import Incoming
from sync.session import CloudSession
from sync.unanswered import UnansweredOnce
from tests.wire import FLEET, MemoryFiles, World, event

TOPIC = topics.build(FLEET, topics.EVENT, "phone-1")
WAIT_S = 20.0


@pytest.fixture
def broker():
    return LoopbackBroker(fleet=FLEET)


@pytest.fixture
def world(tmp_path):
    with World(tmp_path) as world:
        yield world


@pytest.fixture
def heard(broker):
    """A transport that subscribed, and the messages that came through it."""
    transport, messages = UnansweredOnce(broker.transport("cloud", service=True)), []

    def sink(said):
        if isinstance(said, Incoming):
            messages.append(said)

    transport.connect(sink)
    transport.subscribe(topics.cloud_filters(FLEET, None))
    return transport, messages


def say(broker, *payloads, qos=1):
    for payload in payloads:
        broker.route(TOPIC, payload, qos=qos, retain=False)


def test_what_waits_here_is_not_heard_again(broker, heard):
    transport, messages = heard
    say(broker, b"one", b"two")
    broker.redeliver()
    broker.redeliver()
    assert [one.payload for one in messages] == [b"one", b"two"]
    assert transport.repeats == 4


def test_what_was_acknowledged_can_come_again(broker, heard):
    transport, messages = heard
    say(broker, b"one")
    transport.acknowledge(messages[0])
    copy = Incoming(TOPIC, b"one", receipt=messages[0].receipt, redelivered=True)
    broker._clients["cloud"].sink(copy)
    assert messages[1:] == [copy]


def test_a_new_connection_begins_with_nothing(broker, heard):
    transport, _ = heard
    say(broker, b"one")
    again = []
    transport.connect(again.append)
    copy = Incoming(TOPIC, b"one", receipt=1, redelivered=True)
    broker._clients["cloud"].sink(copy)
    assert copy in again


def test_messages_without_a_receipt_all_pass(broker, heard):
    _, messages = heard
    say(broker, b"one", b"one", qos=0)
    assert len(messages) == 2


def test_a_cloud_that_is_slower_than_the_brokers_patience_stores_each_message_once(world):
    device = world.device()
    stored, begun, may_store = [], threading.Event(), threading.Event()

    def ingest(batch):
        if not any(isinstance(one.message, Event) for one in batch):
            return {}
        begun.set()
        if not may_store.wait(WAIT_S):
            raise TransientError("the test ended")
        stored.extend(one for one in batch if isinstance(one.message, Event))
        return {}

    session = CloudSession(
        transport=world.broker.transport("cloud", service=True),
        fleet=FLEET,
        ingest=ingest,
        files=MemoryFiles(),
    )
    session.start()
    assert session.wait_connected(WAIT_S)
    device.enqueue(*map(event, range(40)))
    while not begun.wait(0.05):  # the session may not have subscribed yet
        world.clock.advance(5.0)
        device.turn()
    for _ in range(5):
        world.broker.redeliver()
    may_store.set()
    session.close()
    assert len(stored) == len({(one.seq, one.attempt) for one in stored}) > 0
    assert session.stats().counters.repeats

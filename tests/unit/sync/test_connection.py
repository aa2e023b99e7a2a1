from __future__ import annotations

from collections import deque
from random import Random

import pytest

from sync.clock import ManualClock
from sync.connection import Connection
from sync.errors import LinkLostError
from sync.ports import Connected, Disconnected, Will


class ScriptedTransport:
    """Answers to connect as told: an event, silence (None) or an error."""

    def __init__(self, *answers):
        self.answers = deque(answers)
        self.calls = []

    def connect(self, sink, will=None):
        self.calls.append(("connect", will))
        answer = self.answers.popleft()
        if isinstance(answer, Exception):
            raise answer
        if answer is not None:
            sink(answer)

    def subscribe(self, filters):
        raise LinkLostError("gone")

    def publish(self, topic, payload, *, qos, retain):
        if topic == "lost":
            raise LinkLostError("gone")
        self.calls.append(("publish", topic))

    def acknowledge(self, incoming):
        self.calls.append(("acknowledge", incoming))

    def close(self):
        self.calls.append(("close",))


@pytest.fixture
def clock():
    return ManualClock()


def connect(transport, clock, changes=None):
    events = deque()
    connection = Connection(
        transport,
        sink=events.append,
        will=lambda: Will("w", b"gone"),
        changed=(lambda: changes.append(connection.online)) if changes is not None else list,
        clock=clock,
        random=Random(1),
    )

    def turn():
        wait_s = connection.pump()
        while events:
            connection.handle(events.popleft())
        return wait_s

    return connection, turn


def go_online(connection, turn, clock):
    wait_s = turn()
    while not connection.online:
        clock.advance(wait_s)
        wait_s = turn()


def test_it_connects_at_once_with_a_will_and_says_so(clock):
    changes = []
    transport = ScriptedTransport(Connected())
    connection, turn = connect(transport, clock, changes)
    turn()
    assert connection.online
    assert changes == [True]
    assert transport.calls == [("connect", Will("w", b"gone"))]


@pytest.mark.parametrize(
    "answer", [LinkLostError("nobody there"), Disconnected("refused")], ids=["error", "refusal"]
)
def test_a_failed_try_is_repeated_after_a_wait(clock, answer):
    connection, turn = connect(ScriptedTransport(answer, Connected()), clock)
    turn()
    wait_s = turn()
    assert not connection.online
    assert 0.0 < wait_s <= 0.4
    clock.advance(wait_s)
    turn()
    assert connection.online


@pytest.mark.requirement("OR-CON-2")
def test_waits_grow_with_each_failure_up_to_half_a_minute(clock):
    failures = [LinkLostError("nobody there") for _ in range(12)]
    _connection, turn = connect(ScriptedTransport(*failures), clock)
    waits = []
    for _ in range(12):
        waits.append(turn())
        clock.advance(waits[-1])
    assert max(waits[:2]) <= 0.8
    assert max(waits) > 5.0
    assert max(waits) <= 30.0


def test_silence_counts_as_a_failure_after_ten_seconds(clock):
    connection, turn = connect(ScriptedTransport(None, Connected()), clock)
    assert turn() == pytest.approx(10.0)
    clock.advance(10.0)
    clock.advance(turn())
    turn()
    assert connection.online


def test_a_connection_that_held_long_starts_with_a_short_wait_again(clock):
    failures = [LinkLostError("nobody there") for _ in range(8)]
    connection, turn = connect(ScriptedTransport(*failures, Connected()), clock)
    go_online(connection, turn, clock)
    clock.advance(60.0)
    connection.handle(Disconnected("cut"))
    assert turn() <= 3.2


def test_a_connection_that_broke_at_once_does_not_reset_the_wait(clock):
    answers = [LinkLostError("nobody there") for _ in range(8)]
    connection, turn = connect(ScriptedTransport(*answers, Connected()), clock)
    go_online(connection, turn, clock)
    connection.handle(Disconnected("subscription refused"))
    assert turn() > 0.4


def test_a_publish_that_finds_the_connection_gone_reports_it_once(clock):
    changes = []
    connection, turn = connect(ScriptedTransport(Connected()), clock, changes)
    turn()
    assert connection.publish("topic", b"", qos=1, retain=False)
    assert not connection.publish("lost", b"", qos=1, retain=False)
    connection.handle(Disconnected("the same loss, told by the driver"))
    assert changes == [True, False]
    assert not connection.publish("topic", b"", qos=1, retain=False)


def test_a_subscription_that_finds_the_connection_gone_reports_it(clock):
    changes = []
    connection, turn = connect(ScriptedTransport(Connected()), clock, changes)
    turn()
    connection.subscribe(("a",))
    assert changes == [True, False]
    assert connection.last_error == "gone"


def test_after_close_it_stays_closed(clock):
    connection, turn = connect(ScriptedTransport(Connected()), clock)
    turn()
    connection.close()
    connection.handle(Connected())
    assert turn() is None
    assert not connection.online


@pytest.mark.requirement("OR-PRE-5")
def test_a_device_that_has_a_double_waits_long_and_ever_longer(clock):
    transport = ScriptedTransport(*[Connected()] * 8)
    connection = Connection(
        transport,
        sink=lambda event: connection.handle(event),  # noqa: PLW0108 - not made yet
        will=lambda: None,
        changed=list,
        clock=clock,
        random=Random(1),
    )
    connection.pump()
    connection.set_contended(contended=True)
    waits = []
    for _ in range(6):
        clock.advance(60.0)  # each connection holds: that makes the wait no shorter
        connection.handle(Disconnected("thrown off"))
        waits.append(connection.pump() or 0.0)
        clock.advance(waits[-1])
        connection.pump()

    assert min(waits) >= 30.0
    assert max(waits) > 60.0
    assert max(waits) <= 900.0

    connection.set_contended(contended=False)
    clock.advance(60.0)
    connection.handle(Disconnected("thrown off"))
    assert (connection.pump() or 0.0) < 10.0

"""A thousand phones lose one broker at once: they come back one after another, not all together."""

from __future__ import annotations

from collections import Counter, deque
from random import Random

import pytest

from sync.clock import ManualClock
from sync.connection import Connection
from sync.loopback import LoopbackBroker

pytestmark = pytest.mark.faults

PHONES = 1000
STEP_S = 0.1
MOST_PER_S = 500
"""Spread over 3.2 s there are 313 a second on average; without it, all would come in one."""
SPREAD_S = 3.2


class Storm:
    """Connections of simulated phones to one broker, on a clock that is turned by hand."""

    def __init__(self, phones, seed=0):
        self.clock = ManualClock()
        self.broker = LoopbackBroker()
        self.attempts = []
        self.phones = []
        for number in range(phones):
            transport = _Counted(self.broker.transport(f"phone-{number}"), self)
            self.phones.append(Phone(transport, self.clock, Random(f"{seed}:{number}")))

    def run(self, seconds):
        for _ in range(round(seconds / STEP_S)):
            now_s = self.clock.monotonic_s()
            for phone in self.phones:
                phone.turn(now_s)
            self.clock.advance(STEP_S)

    @property
    def online(self):
        return sum(phone.connection.online for phone in self.phones)


class Phone:
    """A connection that is turned when it wants to be."""

    def __init__(self, transport, clock, random):
        self._events = deque()
        self._due_s = 0.0
        self.connection = Connection(
            transport,
            sink=self._events.append,
            will=lambda: None,
            changed=lambda: None,
            clock=clock,
            random=random,
        )

    def turn(self, now_s):
        if not self._events and now_s < self._due_s:
            return
        while self._events:
            self.connection.handle(self._events.popleft())
        wait_s = self.connection.pump()
        self._due_s = now_s + (60.0 if wait_s is None else wait_s)


class _Counted:
    """Notes when a connection is tried."""

    def __init__(self, transport, storm):
        self._transport = transport
        self._storm = storm

    def connect(self, sink, will=None):
        self._storm.attempts.append(self._storm.clock.monotonic_s())
        self._transport.connect(sink, will)

    def close(self):
        self._transport.close()


@pytest.mark.parametrize("away_s", [0.0, 0.5, 4.0, 20.0])
def test_a_thousand_phones_come_back_at_a_bounded_rate(away_s):
    storm = Storm(PHONES)
    storm.run(1.0)
    storm.run(10.0)
    assert storm.online == PHONES
    storm.attempts.clear()
    storm.broker.kill()
    storm.run(away_s)
    storm.broker.restart()
    storm.run(40.0)
    assert storm.online == PHONES
    busiest = max(Counter(int(at_s) for at_s in storm.attempts).values())
    assert busiest <= MOST_PER_S


def test_a_phone_alone_is_back_within_the_spread():
    storm = Storm(1)
    storm.run(10.0)
    storm.broker.kill()
    storm.broker.restart()
    storm.run(SPREAD_S + 2 * STEP_S)
    assert storm.online == 1

from dataclasses import replace

import pytest

from device_runtime.conditions import ConditionRules, Conditions
from device_runtime.errors import PhoneLostError
from device_runtime.gate import Gate
from device_runtime.guard_rules import GuardRules
from device_runtime.stop import StopSwitch
from sync.clock import ManualClock

FINE = Conditions(80.0, 30.0, charging=True, wifi=True, idle_s=600.0)


class Phone:
    """Says `conditions`, or is lost; counts how often it was asked."""

    def __init__(self, conditions=FINE):
        self.conditions = conditions
        self.asked = 0

    def __call__(self):
        self.asked += 1
        if self.conditions is None:
            raise PhoneLostError("unplugged")
        return self.conditions


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def gate(clock):
    def make(phone=None, **rules):
        conditions = ConditionRules(**rules.pop("conditions", {}))
        guard = GuardRules(conditions=conditions, **rules)
        switch = StopSwitch(None, clock=clock)
        return Gate(guard, switch, clock=clock, read_conditions=phone or Phone())

    return make


def test_a_gate_without_rules_is_open(gate):
    assert gate().closed() is None


def test_the_owners_stop_closes_it(gate):
    closed = gate()
    closed.switch.stop("enough")

    assert closed.closed() is not None
    assert closed.wait_turn() is not None


def test_conditions_close_it_and_are_read_once_in_a_while(gate, clock):
    phone = Phone()
    watched = gate(phone, conditions={"battery_percent": 20.0})
    assert [watched.closed() for _ in range(5)] == [None] * 5
    assert phone.asked == 1

    phone.conditions = replace(FINE, battery_percent=5.0)
    clock.advance(31.0)

    assert watched.closed() == "battery_percent: 5 % are left, 20 % are needed"


def test_a_phone_that_does_not_say_is_not_fit(gate):
    assert "does not say" in gate(Phone(None), conditions={"wifi": True}).closed()


def test_the_agents_own_touches_are_not_its_owners(gate, clock):
    phone = Phone()
    watched = gate(phone, conditions={"idle_s": 300.0})
    assert watched.closed() is None
    watched.wait_turn()

    clock.advance(31.0)
    phone.conditions = replace(FINE, idle_s=31.0)
    assert watched.closed() is None
    clock.advance(31.0)
    phone.conditions = replace(FINE, idle_s=3.0)

    assert watched.closed() == "idle_s: the phone was touched 3 s ago, 300 s are needed"


def test_a_fast_agent_waits_for_its_turn(gate, clock):
    paced = gate(actions_a_minute=30)
    times = []
    for _ in range(5):
        assert paced.wait_turn() is None
        times.append(clock.monotonic_s())

    assert times == pytest.approx([0.0, 2.0, 4.0, 6.0, 8.0])


def test_a_slow_agent_does_not_wait(gate, clock):
    paced = gate(actions_a_minute=30)
    paced.wait_turn()
    clock.advance(5.0)

    paced.wait_turn()

    assert clock.monotonic_s() == 5.0


def test_a_stop_ends_the_wait(gate, clock, monkeypatch):
    paced = gate(actions_a_minute=1)
    paced.wait_turn()
    sleep = clock.sleep
    monkeypatch.setattr(clock, "sleep", lambda s: (sleep(s), paced.switch.stop("enough")))

    assert paced.wait_turn() is not None
    assert clock.monotonic_s() < 1.0

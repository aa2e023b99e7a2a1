"""Open assignments go to devices that can and should play them, within their capacity."""

from __future__ import annotations

from cloud_learner.dispatch import OpenAssignment, Player, share_out
from cloud_learner.settings import DispatchSettings
from sync.messages import Role
from sync.vocabulary import Purpose

LIMITS = DispatchSettings(farm_seats_factor=2, phone_capacity=1)


def player(name, role=Role.FARM, *, seats=2, outstanding=0, templates=("t",)):
    return Player(name, role, seats, outstanding, frozenset(templates))


def assignments(count, purpose=Purpose.TRAIN, **more):
    return [OpenAssignment(f"a{i}", "t", purpose, **more) for i in range(count)]


def test_a_farm_gets_twice_its_seats_and_no_more():
    shares = share_out(assignments(10), [player("farm", seats=3, outstanding=1)], LIMITS)

    assert shares == {"farm": ["a0", "a1", "a2", "a3", "a4"]}


def test_work_goes_to_the_device_with_most_room():
    shares = share_out(assignments(6), [player("a", seats=1), player("b", seats=2)], LIMITS)

    assert {name: len(ids) for name, ids in shares.items()} == {"a": 2, "b": 4}


def test_a_phone_trains_but_never_holds_up_an_evaluation():
    phone = player("phone", Role.PHONE, seats=1)

    assert share_out(assignments(3), [phone], LIMITS) == {"phone": ["a0"]}
    for purpose in (Purpose.EVALUATE, Purpose.GATE, Purpose.DEMONSTRATE):
        assert share_out(assignments(3, purpose), [phone], LIMITS) == {}


def test_what_is_reserved_goes_to_nobody_else():
    reserved = assignments(1, Purpose.EVALUATE, reserved_for="phone")
    farm, phone = player("farm"), player("phone", Role.PHONE)

    assert share_out(reserved, [farm], LIMITS) == {}
    assert share_out(reserved, [farm, phone], LIMITS) == {"phone": ["a0"]}


def test_unknown_templates_wait_without_holding_up_others():
    mixed = [OpenAssignment("x", "other", Purpose.TRAIN), *assignments(1)]

    assert share_out(mixed, [player("farm")], LIMITS) == {"farm": ["a0"]}


def test_most_urgent_assignments_are_shared_out_first():
    shares = share_out(assignments(4), [player("farm", seats=1)], LIMITS)

    assert shares == {"farm": ["a0", "a1"]}

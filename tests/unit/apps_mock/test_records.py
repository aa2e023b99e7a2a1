from __future__ import annotations

from dataclasses import dataclass, replace

from apps_mock.records import canonical, changed, find, flipped, fresh_id, tables_of, without


@dataclass(frozen=True)
class Lamp:
    id: str
    on: bool


@dataclass(frozen=True)
class House:
    lamps: tuple[Lamp, ...]
    street: str


HOUSE = House((Lamp("l0", on=True), Lamp("l1", on=False)), "Elm")


def test_changed_touches_one_record_and_without_drops_one():
    assert changed(HOUSE.lamps, "l1", on=True) == (Lamp("l0", on=True), Lamp("l1", on=True))
    assert without(HOUSE.lamps, "l0") == (Lamp("l1", on=False),)
    assert find(HOUSE.lamps, "l9") is None


def test_fresh_ids_never_collide_after_a_removal():
    assert fresh_id(without(HOUSE.lamps, "l0"), "l") != "l1"


def test_flipped_turns_one_field_and_leaves_unknown_ids_alone():
    assert flipped(HOUSE, "l0", "on").lamps[0].on is False
    assert flipped(HOUSE, "l7", "on") is HOUSE
    assert flipped(HOUSE, "l0", "colour") is HOUSE


def test_tables_are_the_fields_that_hold_records():
    assert [name for name, _ in tables_of(HOUSE)] == ["lamps"]


def test_canonical_bytes_differ_exactly_where_data_differ():
    same = House(tuple(HOUSE.lamps), "Elm")

    assert canonical(HOUSE) == canonical(same)
    assert canonical(HOUSE) != canonical(flipped(HOUSE, "l0", "on"))
    assert canonical(HOUSE) != canonical(replace(HOUSE, street="Oak"))

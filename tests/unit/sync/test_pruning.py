"""What of a crowded screen the policy is shown: what it needs to type, to choose and to confirm."""

from __future__ import annotations

import numpy as np
import pytest

from device_runtime.ui_tree import elements_of, parse
from sync.grammar import ACTION_TYPES
from sync.policy_io import MAX_ITEMS, encode
from sync.vocabulary import Element, Observation

WIDTH_PX, HEIGHT_PX = 1080, 100_000


def element(place, text="", *, class_name="android.widget.TextView", left=0, **flags):
    return Element(class_name, (left, 10 * place, WIDTH_PX, 10 * place + 9), text, **flags)


def rows(count, text="row {}", **flags):
    return [element(place, text.format(place), **flags) for place in range(count)]


def shown(elements, goal="open the settings"):
    """What of these elements a policy sees, in reading order."""
    seen = encode(Observation(WIDTH_PX, HEIGHT_PX, tuple(elements)), goal)
    assert len(seen.items) == min(len(elements), MAX_ITEMS)
    assert [one.element for one in seen.items] == sorted(one.element for one in seen.items)
    return seen, [elements[one.element] for one in seen.items]


@pytest.mark.parametrize("clickable", [False, True])
def test_the_only_field_is_seen_below_a_long_list_though_nothing_stands_in_it(clickable):
    field = element(300, class_name="android.widget.EditText", editable=True, clickable=True)
    _, seen = shown([*rows(300, clickable=clickable), field])

    assert field in seen


def test_a_focused_field_is_seen_among_many_so_that_typing_stays_possible():
    fields = [element(place, f"field {place}", editable=True) for place in range(100)]
    fields[90] = element(90, "", editable=True, focused=True)
    encoded, seen = shown(fields)

    assert fields[90] in seen
    assert encoded.type_mask[ACTION_TYPES.index("type_goal")]


def test_buttons_of_a_dialog_are_seen_below_a_long_list_of_choices():
    button = "android.widget.Button"
    buttons = [
        element(200, "Cancel", class_name=button, left=500, clickable=True),
        element(201, "OK", class_name=button, left=800, clickable=True),
    ]
    _, seen = shown([*rows(200, clickable=True), *buttons])

    assert [one for one in seen if one.class_name == button] == buttons


def test_an_icon_without_a_label_comes_before_texts_that_do_nothing():
    icon = element(100, class_name="android.widget.ImageButton", left=900, clickable=True)
    _, seen = shown([*rows(100), icon])

    assert icon in seen


def test_what_the_goal_names_is_seen_wherever_it_stands():
    elements = rows(500, clickable=True)
    elements[487] = element(487, "Berlin Hbf", clickable=True)
    _, seen = shown(elements, "buy a ticket to Berlin Hbf")

    assert elements[487] in seen


def test_many_rows_that_the_goal_names_leave_room_for_the_field():
    field = element(150, class_name="android.widget.EditText", editable=True)
    _, seen = shown([*rows(150, "train to Berlin", clickable=True), field], "train to Berlin")

    assert field in seen


def test_a_real_list_of_six_hundred_rows_keeps_what_the_goal_names(shared_data):
    roots = parse((shared_data / "ui_dumps" / "d_huge_list_700_rows.xml").read_bytes()).roots
    elements = elements_of(roots, WIDTH_PX, HEIGHT_PX)
    observation = Observation(WIDTH_PX, HEIGHT_PX, elements)
    everything = [one.text or one.description for one in elements]
    wanted = next(text for text in reversed(everything) if text and everything.count(text) == 1)
    encoded = encode(observation, f"open {wanted}")

    assert len(elements) > 600
    assert len(encoded.items) == MAX_ITEMS
    assert wanted in {one.label for one in encoded.items}
    assert len(np.flatnonzero(encoded.type_mask)) > 5

"""What was read in one app can be typed and answered in another."""

from __future__ import annotations

import numpy as np

from sync.decoding import action_of, choice_mask, choices_of
from sync.grammar import ACTION_TYPES
from sync.history import EMPTY_HISTORY, MAX_SCREENS, MAX_TEXTS, fold
from sync.policy_io import MAX_ITEMS, MAX_NOTES, encode
from sync.vocabulary import Element, Key, Observation, answer, press, tap_element, type_text


def element(text="", *, top=0, name="android.widget.TextView", **flags):
    return Element(class_name=name, text=text, bounds=(0, top, 500, top + 50), **flags)


def screen(package, *elements):
    return Observation(
        width_px=1080, height_px=2400, package=package, activity=".Main", elements=elements
    )


FIELD = element(
    "", top=900, name="android.widget.EditText", editable=True, focused=True, clickable=True
)


def left(*screens):
    history = EMPTY_HISTORY
    for seen in screens:
        history = fold(history, seen, press(Key.HOME), valid=True, screen_changed=True)
    return history


def details(package="org.example.people", number="0151 2345"):
    return screen(
        package,
        element("Judith Baepurk"),
        element("Mobile", top=100),
        element(number, top=150),
        element("Delete", top=200, name="android.widget.Button", clickable=True),
    )


def test_a_text_of_the_app_that_was_left_can_be_typed_in_the_next():
    seen = screen("org.example.notes", FIELD)
    encoded = encode(seen, "Write down Judith's number", left(details()))

    choices = choices_of(encoded, type_text("0151 2345"))

    assert choices is not None
    assert ACTION_TYPES[choices[0]] == "type_memory"
    assert action_of(encoded, seen, choices).text == "0151 2345"


def test_a_part_of_a_remembered_text_can_be_typed():
    message = screen("org.example.sms", element("Meet me at platform 9 tomorrow"))
    seen = screen("org.example.notes", FIELD)
    encoded = encode(seen, "Note where to meet", left(message))

    choices = choices_of(encoded, type_text("platform 9"))

    assert choices is not None
    assert action_of(encoded, seen, choices).text == "platform 9"


def test_buttons_and_the_app_in_front_are_not_remembered_as_texts():
    history = left(details())

    elsewhere = encode(screen("org.example.notes", FIELD), "goal", history)
    same = encode(details(), "goal", history)

    assert "Delete" not in elsewhere.memory
    assert "Mobile" in elsewhere.memory
    assert same.memory == ()


def test_the_home_screen_is_only_passed_through():
    home = screen("com.android.launcher3", element("Calculator"))

    encoded = encode(screen("org.example.notes", FIELD), "goal", left(details(), home))

    assert "Calculator" not in encoded.memory
    assert "0151 2345" in encoded.memory


def test_an_app_that_is_left_again_is_remembered_by_its_latest_screen():
    history = left(details(number="1"), screen("org.example.notes", FIELD), details(number="2"))

    encoded = encode(screen("org.example.notes", FIELD), "goal", history)

    assert "2" in encoded.memory
    assert "1" not in encoded.memory


def test_what_is_remembered_is_bounded():
    crowded = [
        screen(f"org.example.app{app}", *(element(f"text {app} {i}", top=i) for i in range(60)))
        for app in range(6)
    ]

    history = left(*crowded)
    encoded = encode(screen("org.example.notes", FIELD), "goal", history)

    assert len(history.screens) == MAX_SCREENS
    assert all(len(texts) == MAX_TEXTS for _, texts in history.screens)
    assert len(encoded.memory) == MAX_NOTES


def test_figures_and_what_the_goal_names_come_before_other_texts():
    texts = [f"plain {chr(97 + i)}" for i in range(20)]
    source = screen(
        "org.example.shop",
        *(element(text, top=i) for i, text in enumerate(texts)),
        element("12.90", top=30),
        element("Kettle", top=31),
    )

    encoded = encode(
        screen("org.example.notes", FIELD), "Note the price of the Kettle", left(source)
    )

    assert {"12.90", "Kettle"} <= set(encoded.memory)


def test_a_small_number_that_stands_nowhere_can_be_answered():
    seen = screen("org.example.notes", element("Milk"), element("Bread", top=60))
    encoded = encode(seen, "How many items are there")

    choices = choices_of(encoded, answer("2"))

    assert choices is not None
    assert ACTION_TYPES[choices[0]] == "answer_number"
    assert action_of(encoded, seen, choices) == answer("2")
    assert choices_of(encoded, answer("40")) is None


def test_a_number_that_stands_on_the_screen_is_read_off_it():
    seen = screen("org.example.notes", element("2 items left"))
    choices = choices_of(encode(seen, "How many items are left"), answer("2"))

    assert choices is not None
    assert ACTION_TYPES[choices[0]] == "answer_element"


def test_what_is_disabled_cannot_be_tapped_while_something_else_can():
    seen = screen(
        "org.example.notes",
        element("Save", clickable=True, enabled=False),
        element("Cancel", top=60, clickable=True),
    )
    encoded = encode(seen, "Save the note")

    mask = choice_mask(encoded, [ACTION_TYPES.index("tap")])

    assert np.flatnonzero(mask).tolist() == [encoded.item_start + 1]
    assert choices_of(encoded, tap_element(seen, 0)) is None


def test_a_month_of_days_fits_on_a_screen():
    days = [
        element(str(day), top=day * 10, name="android.widget.Button", clickable=True)
        for day in range(1, 43)
    ]
    rest = [element(f"entry {i}", top=1000 + i) for i in range(MAX_ITEMS)]
    seen = screen("org.example.calendar", *days, *rest)

    encoded = encode(seen, "Open the 12th")

    assert len(encoded.items) == MAX_ITEMS
    assert choices_of(encoded, tap_element(seen, 41)) is not None

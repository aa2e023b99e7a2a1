"""A phone whose screens are read from their pictures, on a clone that hides its tree."""

from __future__ import annotations

from dataclasses import replace

import pytest

from apps_mock.phone import MockPhone
from device_runtime.screen_reading_phone import ReadingPhone, reader_for, reading
from device_runtime.screen_reading_when import When
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    Direction,
    Element,
    Key,
    Split,
    open_app,
    press,
    scroll,
    tap_element,
    type_text,
)

ASSIGNMENT = Assignment(
    AssignmentId("a"), template="contacts_search", seed=1, split=Split.TRAIN, look=1
)


class HiddenTree(MockPhone):
    def observe(self):
        return replace(super().observe(), elements=())


class TreeAsPicture:
    """Reads a picture by asking the clone behind it; keeps what it was asked."""

    def __init__(self, phone: MockPhone) -> None:
        self._phone = phone
        self.asked = []

    def read(self, png, *, package="", touched=None, keyboard_shown=None):
        assert png.startswith(b"\x89PNG")
        self.asked.append((package, touched, keyboard_shown))
        return MockPhone.observe(self._phone).elements


@pytest.fixture
def hidden():
    phone = HiddenTree()
    reader = TreeAsPicture(phone)
    read = ReadingPhone(phone, reader)
    read.reset(ASSIGNMENT)
    return read, reader, phone


def field_of(observation):
    return next(n for n, each in enumerate(observation.elements) if each.editable)


def test_screen_without_a_tree_has_the_elements_of_its_picture(hidden):
    phone, _, clone = hidden

    assert phone.observe().elements == MockPhone.observe(clone).elements


def test_screen_with_a_tree_is_not_read_unless_always():
    clone = MockPhone()
    reader = TreeAsPicture(clone)
    for when in (When.NO_TREE, When.NEVER, When.ALWAYS):
        phone = ReadingPhone(clone, reader, when=when)
        phone.reset(ASSIGNMENT)
        assert phone.observe() == clone.observe()

    assert len(reader.asked) == 1


def test_text_is_typed_into_a_field_that_only_the_picture_shows(hidden):
    phone, reader, clone = hidden
    phone.act(open_app("Contacts"))
    seen = phone.observe()

    phone.act(tap_element(seen, field_of(seen)))
    phone.observe()
    outcome = phone.act(type_text("Ada"))
    phone.observe()

    assert outcome.valid
    left, top, right, bottom = seen.elements[field_of(seen)].bounds
    (_, touched, shown), (_, still, _) = reader.asked[-2:]
    assert shown
    assert left <= touched[0] < right
    assert top <= touched[1] < bottom
    assert still == touched
    assert clone.observe().package == reader.asked[-1][0]


def test_area_is_scrolled_that_only_the_picture_shows(hidden):
    phone, _, clone = hidden
    phone.act(open_app("Contacts"))
    phone.observe()
    before = clone.screenshot()

    outcome = phone.act(scroll(Direction.DOWN))

    assert outcome.valid
    assert clone.screenshot() != before


@pytest.mark.parametrize("action", [press(Key.HOME), open_app("Contacts"), scroll(Direction.UP)])
def test_touch_is_forgotten_once_something_else_was_done(hidden, action):
    phone, reader, _ = hidden
    phone.act(open_app("Contacts"))
    seen = phone.observe()
    phone.act(tap_element(seen, field_of(seen)))
    phone.observe()

    phone.act(action)
    phone.observe()

    assert [touched is None for _, touched, _ in reader.asked[-2:]] == [False, True]


def test_phone_that_is_never_read_is_left_as_it_is():
    clone = MockPhone()

    assert reader_for(When.NEVER) is None
    assert reading(clone, None, When.NEVER) is clone


@pytest.mark.parametrize(
    ("when", "labels", "is_read"),
    [
        (When.NEVER, 0, False),
        (When.NO_TREE, 0, True),
        (When.NO_TREE, 2, True),
        (When.NO_TREE, 3, False),
        (When.ALWAYS, 9, True),
    ],
)
def test_tree_decides_whether_the_picture_is_read(when, labels, is_read):
    elements = [Element("v", (0, 0, 1, 1), text="a")] * labels + [Element("v", (0, 0, 1, 1))] * 5

    assert when.includes(elements) == is_read

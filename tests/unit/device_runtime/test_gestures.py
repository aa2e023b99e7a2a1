"""What fingers and keys do for each action."""

from __future__ import annotations

import pytest

from device_runtime.errors import InvalidActionError
from device_runtime.gestures import KeyPress, Pause, StartApp, Swipe, Text, Touch, input_events
from sync.vocabulary import (
    Action,
    ActionKind,
    Direction,
    Element,
    Key,
    Observation,
    SlotRef,
    answer,
    ask_user,
    finish,
    open_app,
    press,
    scroll,
    tap,
    tap_element,
    type_text,
    wait,
)

FIELD = Element("android.widget.EditText", (0, 0, 100, 50), text="old", editable=True, focused=True)
SMALL_LIST = Element("android.widget.ListView", (0, 0, 50, 50), scrollable=True)
LARGE_LIST = Element("android.widget.ListView", (0, 100, 100, 300), scrollable=True)


def screen(*elements: Element) -> Observation:
    return Observation(100, 200, elements)


def test_fractions_become_pixels_inside_the_screen():
    assert input_events(tap(0.5, 1.0), screen()) == (Touch(50, 199),)
    assert input_events(tap(0.0, 0.0), screen()) == (Touch(0, 0),)


def test_tap_on_element_hits_the_middle_of_its_visible_part():
    observation = screen(LARGE_LIST)

    assert input_events(tap_element(observation, 0), observation) == (Touch(50, 150),)


def test_double_tap_is_two_touches_and_long_press_lasts():
    double = Action(ActionKind.DOUBLE_TAP, x=0.5, y=0.5)
    long = Action(ActionKind.LONG_PRESS, x=0.5, y=0.5)

    assert input_events(double, screen()) == (Touch(50, 100), Touch(50, 100))
    assert input_events(long, screen()) == (Touch(50, 100, 800),)


def test_drag_is_slower_than_swipe():
    where = {"x": 0.1, "y": 0.1, "x2": 0.9, "y2": 0.9}

    (swipe,) = input_events(Action(ActionKind.SWIPE, **where), screen())
    (drag,) = input_events(Action(ActionKind.DRAG, **where), screen())

    assert swipe == Swipe(10, 20, 90, 180, 300)
    assert drag == Swipe(10, 20, 90, 180, 1000)


@pytest.mark.parametrize(
    ("direction", "expected"),
    [
        (Direction.DOWN, Swipe(50, 180, 50, 120)),
        (Direction.UP, Swipe(50, 120, 50, 180)),
        (Direction.RIGHT, Swipe(80, 150, 20, 150)),
        (Direction.LEFT, Swipe(20, 150, 80, 150)),
    ],
)
def test_scroll_crosses_60_percent_of_the_largest_visible_list(direction, expected):
    assert input_events(scroll(direction), screen(SMALL_LIST, LARGE_LIST)) == (expected,)


def test_scroll_stays_in_the_element_that_is_named():
    observation = screen(SMALL_LIST, LARGE_LIST)

    assert input_events(scroll(Direction.DOWN, 0), observation) == (Swipe(25, 40, 25, 10),)


@pytest.mark.parametrize("action", [scroll(Direction.DOWN), scroll(Direction.DOWN, 7)])
def test_scroll_is_invalid_where_nothing_scrolls(action):
    with pytest.raises(InvalidActionError):
        input_events(action, screen(FIELD))


def test_typing_replaces_what_the_field_holds():
    events = input_events(type_text("new"), screen(FIELD))

    assert events == (KeyPress(123), KeyPress(67, times=3), Text("new"))


def test_typing_without_clear_only_types():
    assert input_events(type_text("new", clear=False), screen(FIELD)) == (Text("new"),)


def test_typing_nothing_only_clears():
    assert input_events(type_text(""), screen(FIELD)) == (KeyPress(123), KeyPress(67, times=3))


def test_line_feed_in_a_text_is_the_enter_key():
    events = input_events(type_text("two\nlines\n", clear=False), screen(FIELD))

    enter = KeyPress(66)
    assert events == (Text("two"), enter, Text("lines"), enter)


@pytest.mark.parametrize("text", ["a\ttab", "a bell\a", SlotRef("password")])
def test_text_that_nobody_can_type_is_invalid(text):
    with pytest.raises(InvalidActionError):
        input_events(type_text(text), screen(FIELD))


def test_typing_is_invalid_without_a_focused_field():
    with pytest.raises(InvalidActionError, match="focus"):
        input_events(type_text("x"), screen(LARGE_LIST))


@pytest.mark.parametrize(
    ("key", "code"),
    [(Key.BACK, 4), (Key.HOME, 3), (Key.RECENTS, 187), (Key.ENTER, 66), (Key.MENU, 82)],
)
def test_keys_have_androids_codes(key, code):
    assert input_events(press(key), screen()) == (KeyPress(code),)


def test_apps_are_started_and_waits_pause():
    assert input_events(open_app("Clock"), screen()) == (StartApp("Clock"),)
    assert input_events(wait(700), screen()) == (Pause(700),)


@pytest.mark.parametrize("action", [finish(), answer("x"), ask_user("x")])
def test_actions_that_touch_nothing_have_no_events(action):
    assert input_events(action, screen()) == ()

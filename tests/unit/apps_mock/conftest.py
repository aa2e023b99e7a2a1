from __future__ import annotations

from collections.abc import Callable

import pytest

from apps_mock.oracle import next_action
from apps_mock.phone import MockPhone
from apps_mock.widgets import Event
from sync.vocabulary import ActionKind, Rect, Split


@pytest.fixture
def phone_with() -> Callable[..., MockPhone]:
    """A phone with a task loaded."""

    def make(template: str, seed: int = 1, look: int = 1, split: Split = Split.TEST) -> MockPhone:
        phone = MockPhone()
        phone.load(template, seed, split, look)
        return phone

    return make


def send(phone: MockPhone, *events: Event) -> None:
    """Touch what sends each event; fails where it is not on the screen.

    Apps are opened by their name: a launcher has several pages.
    """
    for event in events:
        if event.name == "launch":
            assert phone.open_app(event.value)
            continue
        left, top, right, bottom = _bounds_of(phone, event)
        phone.touch((left + right) // 2, (top + bottom) // 2)


def _bounds_of(phone: MockPhone, event: Event) -> Rect:
    """The place of what sends an event, scrolled to where it lies below."""
    while True:
        for target in phone.laid_out.targets:
            if target.event == event:
                return target.bounds
        below = any(each.event == event and not each.above for each in phone.laid_out.hidden)
        assert below, f"nothing on this screen sends {event}"
        left, top, right, bottom = phone.laid_out.scroll_area
        middle = (left + right) // 2
        phone.swipe(middle, bottom - 20, middle, (top + bottom) // 2)


def fill(phone: MockPhone, field: str, text: str) -> None:
    """Touch a field and type into it."""
    target = next(each for each in phone.laid_out.targets if each.field == field)
    left, top, right, bottom = target.bounds
    phone.touch((left + right) // 2, (top + bottom) // 2)
    phone.type_text(text)


def solve(phone: MockPhone, limit: int = 40) -> int:
    """Let the oracle play to its finish; returns its steps."""
    for step in range(1, limit + 1):
        action = next_action(phone, phone.observe())
        if action.kind in {ActionKind.FINISH, ActionKind.ANSWER}:
            return step
        assert phone.act(action).valid
    raise AssertionError("the oracle did not finish")


@pytest.fixture(name="send")
def send_fixture():
    return send


@pytest.fixture(name="fill")
def fill_fixture():
    return fill


@pytest.fixture(name="solve")
def solve_fixture():
    return solve

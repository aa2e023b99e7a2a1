"""The oracle gets past whatever lies over its page, and goes on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from apps_mock.interruptions import past_interruption
from apps_mock.oracle import next_action
from apps_mock.phone import MockPhone
from apps_mock.phone_state import Overlay
from apps_mock.plans import Stage
from apps_mock.reaching import Scene
from apps_mock.wanted import Change
from sync.vocabulary import ActionKind, Key, Split, press


def loaded(name="clock_add") -> MockPhone:
    phone = MockPhone()
    phone.load(name, 4, Split.TEST, 0)
    return phone


def covered(phone, *overlays):
    state = phone.state
    for overlay in overlays:
        state = state.under(overlay)
    phone.restore(state)
    return phone


def scene_of(phone) -> Scene:
    return Scene(phone.state, phone.laid_out, phone.observe())


def touched(phone, action) -> str:
    return phone.observe().elements[action.element].label


@pytest.mark.parametrize(
    "overlay",
    [
        Overlay("shade"),
        Overlay("popup", text="Rate this app\nDo you like it?"),
        Overlay("permission", "clock/notifications"),
        Overlay("hung", "clock"),
        Overlay("crash", "clock"),
        Overlay("share", "contacts", "a text"),
        Overlay("text_menu", "label"),
        Overlay("lock"),
    ],
    ids=lambda overlay: overlay.kind,
)
def test_a_task_is_solved_past_it(overlay):
    phone = covered(loaded(), overlay)

    for _ in range(20):
        action = next_action(phone, phone.observe())
        if action.kind is ActionKind.FINISH:
            break
        phone.act(action)

    assert not phone.state.overlays
    assert not [check for check in phone.current_verdict().checks if not check.passed]


def test_nothing_is_done_about_nothing_and_about_a_text_menu():
    phone = loaded()
    assert past_interruption(phone.task, "clock", scene_of(phone)) is None

    covered(phone, Overlay("text_menu", "label"))
    assert past_interruption(phone.task, "clock", scene_of(phone)) is None


def test_a_permission_is_given_where_the_task_wants_it_or_does_not_mind():
    phone = covered(loaded(), Overlay("permission", "clock/notifications"))
    task = phone.task
    refused = past_interruption(task, "clock", scene_of(phone))
    assert refused == press(Key.BACK)

    change = Change("permissions", "clock/notifications", (("allowed", True),), app="system")
    for wanted in (
        replace(task.wanted, changes=(change,)),
        replace(task.wanted, free=(("system", "permissions"),)),
    ):
        given = past_interruption(replace(task, wanted=wanted), "clock", scene_of(phone))
        assert touched(phone, given) == "Allow"


def test_what_an_app_of_the_task_shares_goes_to_the_next_app():
    phone = covered(loaded("messages_send_alarm"), Overlay("share", "clock", "a text"))
    stage = Stage("clock", {}, page=("compose", ""), page_app="messages")
    task = replace(phone.task, stages=(stage,))

    assert past_interruption(task, "contacts", scene_of(phone)) == press(Key.BACK)
    phone.act(past_interruption(task, "clock", scene_of(phone)))

    assert phone.state.foreground == "messages"

"""An app that breaks is that app's crash dialog, and an env_error of the episode."""

from __future__ import annotations

import pytest
import structlog

from apps_mock.errors import AppCrashError
from apps_mock.farm import play
from apps_mock.phone import MockPhone
from apps_mock.phone_state import Overlay
from apps_mock.registry import APPS
from device_runtime.agent import EpisodeOrigin, run_episode
from device_runtime.scripted import FunctionPolicy
from device_runtime.seats import SeatPhone
from sync.clock import ManualClock
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    DeviceId,
    EndReason,
    Key,
    Split,
    new_uuid7,
    open_app,
    press,
)
from tests.probe import phone_of, probe

ASSIGNMENT = Assignment(
    AssignmentId("a"), template="contacts_open", seed=1, split=Split.TEST, step_budget=5
)


class BreakingPhone(MockPhone):
    """A clone that has the app "first" whatever the task."""

    def reset(self, assignment):
        outcome = super().reset(assignment)
        self.restore(phone_of("first"))
        return outcome


@pytest.fixture(params=["update", "view"])
def breaking(request, monkeypatch):
    """A phone with an app that breaks there."""
    monkeypatch.setitem(APPS, "first", probe("first", breaks=request.param))
    phone = BreakingPhone()
    phone.reset(ASSIGNMENT)
    return phone


def want(phone):
    """Touch the app's row, where its view got that far."""
    phone.open_app("First")
    for target in phone.laid_out.targets:
        if target.event is not None and target.event.name == "want":
            left, top, right, bottom = target.bounds
            phone.touch((left + right) // 2, (top + bottom) // 2)
            return


def test_fingers_see_the_dialog_and_nothing_is_raised(breaking):
    want(breaking)

    assert breaking.state.overlay == Overlay("crash", "first")
    assert "First keeps stopping" in [node.text for node in breaking.tree().children[0].children]
    assert breaking.screenshot().startswith(b"\x89PNG")


@pytest.mark.parametrize("breaks", ["update", "view"])
def test_the_page_lies_under_the_dialog_where_it_can_be_drawn(monkeypatch, breaks):
    monkeypatch.setitem(APPS, "first", probe("first", breaks=breaks))
    phone = BreakingPhone()
    phone.reset(ASSIGNMENT)

    want(phone)

    assert (phone.scene().below is None) == (breaks == "view")


def test_the_port_raises_the_error_once_and_the_dialog_stays(breaking):
    want(breaking)

    with pytest.raises(AppCrashError) as crash:
        breaking.observe()

    assert crash.value.app == "first"
    assert isinstance(crash.value.__cause__, (ZeroDivisionError, ValueError))
    assert any("keeps stopping" in element.text for element in breaking.observe().elements)


def test_closing_the_dialog_leads_home_and_everything_else_goes_on(breaking):
    want(breaking)
    with pytest.raises(AppCrashError):
        breaking.observe()

    breaking.act(press(Key.BACK))

    assert breaking.state.overlay is None
    assert breaking.state.foreground == ""
    assert breaking.act(open_app("Settings")).valid


def test_a_reset_forgets_the_crash(breaking):
    want(breaking)

    breaking.reset(ASSIGNMENT)

    assert breaking.observe().elements


def test_the_episode_is_an_env_error_in_both_loops_with_the_traceback_in_the_log(monkeypatch):
    monkeypatch.setitem(APPS, "first", probe("first", breaks="view"))
    policy = FunctionPolicy(lambda request: open_app("First"))

    alone = run_episode(
        BreakingPhone(),
        policy,
        ASSIGNMENT,
        origin=EpisodeOrigin(DeviceId("d")),
        clock=ManualClock(),
        new_id=new_uuid7,
    )
    with structlog.testing.capture_logs() as lines:
        phone = BreakingPhone()
        [seated] = play(
            [ASSIGNMENT],
            lambda assignment, phone: policy,
            phone_factory=lambda: SeatPhone(phone, phone),
            seats=1,
            clock=ManualClock(),
        )

    assert alone.end_reason is seated.episode.end_reason is EndReason.ENV_ERROR
    assert alone.end_detail == seated.episode.end_detail
    assert alone.end_detail.startswith("the app first broke in view of 'home': probe.py:")
    assert "ValueError" in alone.end_detail
    assert seated.verdict is None
    [broke] = [line for line in lines if line["event"] == "phone_broke"]
    assert isinstance(broke["exc_info"].__cause__, ValueError)

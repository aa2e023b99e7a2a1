from __future__ import annotations

import pytest

from apps_mock.errors import FaultInjectedError
from apps_mock.faults import FAULTS, FaultPlan, FaultyPhone, draw_faults
from apps_mock.phone import MockPhone
from apps_mock.widgets import Event
from device_runtime.errors import PhoneFaultError, PhoneLostError
from sync.vocabulary import Assignment, AssignmentId, Key, Split, open_app, press

WHOLE = FaultPlan(1, 0.0)


def assignment_of(number=0, template="contacts_open"):
    return Assignment(AssignmentId(f"a{number}"), template=template, seed=1, split=Split.TEST)


def phone_with(fault, *, rate=1.0):
    phone = FaultyPhone(MockPhone(), FaultPlan(7, rate, (fault,)))
    phone.reset(assignment_of())
    return phone


def faults_of(plan, number, acts=40):
    """Which faults befall an episode of harmless actions."""
    phone = FaultyPhone(MockPhone(), plan)
    phone.reset(assignment_of(number))
    for _ in range(acts):
        phone.act(press(Key.HOME))
    return phone.injected


def test_a_plan_gives_an_assignment_the_same_faults_each_time_and_others_other_ones():
    kinds = tuple(kind for kind in FAULTS if kind != "phone_lost")
    plan = FaultPlan(3, 0.3, kinds)

    drawn = [faults_of(plan, number) for number in range(6)]

    assert [faults_of(plan, number) for number in range(6)] == drawn
    assert len(set(drawn)) == 6
    assert faults_of(FaultPlan(4, 0.3, kinds), 0) != drawn[0]


def test_the_rate_is_the_share_of_actions_that_meet_a_fault():
    plan = FaultPlan(3, 0.25, ("dropped_tap",))

    assert 0.2 < len(faults_of(plan, 0, acts=800)) / 800 < 0.3


def test_without_a_rate_a_phone_is_as_it_would_be():
    plain, faulty = MockPhone(), FaultyPhone(MockPhone(), draw_faults(1, 0.0))
    for phone in (plain, faulty):
        phone.reset(assignment_of())
        phone.act(open_app("Contacts"))

    assert faulty.observe() == plain.observe()
    assert faulty.injected == ()


@pytest.mark.parametrize("rate", [-0.1, 1.1])
def test_a_rate_that_is_no_probability_is_refused(rate):
    with pytest.raises(ValueError, match=r"0\.\.1"):
        draw_faults(1, rate)


def test_a_plan_without_kinds_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        FaultPlan(1, 0.5, ())


def test_a_dropped_tap_reaches_nothing_but_counts_as_carried_out():
    phone = phone_with("dropped_tap")
    before = phone.observe()

    assert phone.act(open_app("Contacts")).valid

    assert phone.observe() == before


def test_a_slow_screen_shows_an_action_only_after_the_next_one():
    phone = FaultyPhone(MockPhone(), FaultPlan(7, 1.0, ("slow_screen",)))
    phone.reset(assignment_of())
    before = phone.observe()

    phone.act(open_app("Contacts"))
    assert phone.observe() == before

    phone.act(open_app("Settings"))
    assert phone.observe().package.endswith("contacts")


def test_a_stale_tree_shows_the_screen_before_once():
    phone = phone_with("stale_tree")
    before = phone.observe()

    phone.act(open_app("Contacts"))

    assert phone.observe() == before
    assert phone.observe().package.endswith("contacts")


@pytest.mark.parametrize(
    ("fault", "event"),
    [
        ("pop_up", Event("close")),
        ("permission_dialog", Event("deny")),
        ("app_crash", Event("close_app")),
        ("not_responding", Event("wait")),
    ],
)
def test_dialogs_lie_over_what_the_action_led_to(fault, event):
    phone = phone_with(fault)

    phone.act(open_app("Contacts"))

    events = {target.event for target in phone.phone.laid_out.targets}
    assert event in events
    assert phone.phone.state.foreground == "contacts"
    assert phone.observe().package.endswith("systemui")


def test_a_lost_phone_answers_nothing_until_it_is_reset():
    phone = phone_with("phone_lost")

    for call in (lambda: phone.act(press(Key.HOME)), phone.observe, phone.screenshot):
        with pytest.raises(PhoneLostError, match="phone_lost"):
            call()

    phone.reset(assignment_of())
    assert phone.observe().elements


def test_a_reset_forgets_the_faults_of_the_last_episode():
    phone = phone_with("stale_tree")
    phone.act(open_app("Contacts"))

    phone.reset(assignment_of())

    assert phone.injected == ()
    assert phone.observe().package.endswith("launcher")


def test_an_injected_fault_says_its_name_where_a_verdict_is_asked_for():
    error = FaultInjectedError(("pop_up", "pop_up", "stale_tree"))

    assert isinstance(error, PhoneFaultError)
    assert str(error) == "fault pop_up, stale_tree: injected by plan"

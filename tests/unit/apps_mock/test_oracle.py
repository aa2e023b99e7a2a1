from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from apps_mock.catalogue import LOCALES
from apps_mock.look import look_number
from apps_mock.oracle import OraclePolicy, next_action
from apps_mock.phone import MockPhone
from apps_mock.tasks import suites, templates
from device_runtime.ports import PolicyRequest
from sync.decoding import action_of, choices_of
from sync.history import EMPTY_HISTORY, fold, same_screen
from sync.policy_io import EncodedInput, encode
from sync.vocabulary import (
    Action,
    ActionKind,
    FinishStatus,
    Key,
    Observation,
    Split,
    press,
    tap_element,
    type_text,
)

IDS = [template.name for template in templates()]


ENDS = {ActionKind.FINISH, ActionKind.ANSWER}


def look_of(number: int) -> int:
    """A look, each in the next locale."""
    return look_number(LOCALES[number % len(LOCALES)], number)


@pytest.mark.parametrize("template", templates(), ids=IDS)
def test_the_oracle_takes_as_many_steps_as_its_template_says(phone_with, solve, template):
    first = sum(map(ord, template.name)) % 100
    steps = [
        solve(phone_with(template.name, seed=first + number, look=look_of(first + number)))
        for number in range(2)
    ]

    # Small screens and large fonts may cost a scroll, or the keyboard's hiding, more.
    assert min(steps) <= template.oracle_steps
    assert max(steps) <= min(template.step_budget, template.oracle_steps + 3)


def played(template) -> Iterator[tuple[Observation, Action, EncodedInput]]:
    """The oracle's episode as a policy sees it: screen, action and encoded request."""
    phone = MockPhone()
    number = sum(map(ord, template.name))
    phone.load(template.name, number, Split.VALIDATION, look_of(number))
    told = EMPTY_HISTORY
    for step in range(template.step_budget):
        seen = phone.observe()
        action = next_action(phone, seen)
        encoded = encode(
            seen, phone.task.goal, told, step_index=step, step_budget=template.step_budget
        )
        yield seen, action, encoded
        if action.kind in ENDS:
            return
        phone.act(action)
        changed = not same_screen(seen, phone.observe())
        told = fold(told, seen, action, valid=True, screen_changed=changed)


TEXTS = {ActionKind.TYPE, ActionKind.ANSWER}
COMPOSED = {
    "SimpleCalendarAnyEventsOnDate",
    "SimpleCalendarEventsInNextWeek",
    "SimpleCalendarEventsInTimeRange",
    "SimpleCalendarEventsOnDate",
    "SimpleCalendarNextMeetingWithPerson",
    "calendar_day_of",
}
"""Templates with texts that have to be put together of several, or written in another way."""


@pytest.mark.parametrize("template", templates(), ids=IDS)
def test_what_the_oracle_does_can_be_said_in_the_policys_grammar(template):
    for seen, action, encoded in played(template):
        choices = choices_of(encoded, action)
        if choices is None and template.name in COMPOSED:
            assert action.kind in TEXTS, action
            continue
        assert choices is not None, action
        said = action_of(encoded, seen, choices)
        assert (said.kind, said.x, said.y, said.text) == (
            action.kind,
            action.x,
            action.y,
            action.text,
        )


@pytest.mark.parametrize("template", templates(), ids=IDS)
def test_what_the_oracle_types_was_seen_before(template):
    phone = MockPhone()
    phone.load(template.name, 3, Split.TEST, look_of(3))
    known = phone.task.goal
    for _ in range(template.step_budget):
        seen = phone.observe()
        known = "\n".join((known, *(element.label for element in seen.elements)))
        action = next_action(phone, seen)
        if action.kind is ActionKind.TYPE:
            assert all(word in known for word in action.text.split()), action.text
        if action.kind in ENDS:
            return
        phone.act(action)


def stray(seen, random):
    """Something that nobody should do."""
    choice = random.randrange(3)
    if choice == 0:
        return tap_element(seen, random.randrange(len(seen.elements)))
    return press(random.choice(list(Key))) if choice == 1 else type_text("wrong", clear=False)


def recovers(template, seed, random) -> bool:
    """Whether the oracle arrives although 15 % of the actions are strayed ones."""
    phone = MockPhone()
    phone.load(template.name, seed, Split.TRAIN, look_of(seed))
    for _ in range(80):
        seen = phone.observe()
        action = next_action(phone, seen)
        if action.kind in ENDS:
            return phone.current_verdict(action).success
        phone.act(stray(seen, random) if random.random() < 0.15 else action)
    return False


@pytest.mark.parametrize("suite", suites())
def test_the_oracle_finds_back_from_where_noise_has_led(suite):
    random = Random(suite)
    chosen = [template for template in templates() if template.own_suite == suite]
    recovered = [
        (template.name, seed)
        for template in chosen
        for seed in range(2)
        if recovers(template, seed, random)
    ]

    assert len(recovered) >= 0.85 * 2 * len(chosen)


@pytest.mark.slow
@pytest.mark.parametrize("template", templates(), ids=IDS)
def test_the_oracle_of_each_template_nearly_always_finds_back(template):
    random = Random(template.name)

    assert sum(recovers(template, seed, random) for seed in range(12)) >= 9


def test_a_switch_that_was_turned_by_mistake_is_turned_back(phone_with, send, solve):
    phone = phone_with("clock_toggle")
    alarms = phone.state.app_state("clock").data.alarms
    wanted = phone.task.wanted.changes[0].record
    bystander = next(alarm.id for alarm in alarms if alarm.id != wanted)
    phone.open_app("Clock")
    toggle = next(
        target
        for target in phone.laid_out.targets
        if target.event and target.event[:2] == ("toggle", bystander)
    )
    phone.touch(toggle.bounds[0] + 20, toggle.bounds[1] + 20)
    assert phone.findings().side_effects

    solve(phone)

    assert phone.current_verdict().success


def test_the_policy_port_answers_each_request(phone_with):
    phone = phone_with("clock_add")
    policy = OraclePolicy(phone)
    request = PolicyRequest(
        observation=phone.observe(), goal=phone.task.goal, history=EMPTY_HISTORY, random=Random(1)
    )

    decided = policy.decide([request, request])

    assert policy.wants_encoding is False
    assert [each.action for each in decided] == [next_action(phone, phone.observe())] * 2


def test_the_oracle_claims_completion_only(phone_with, solve):
    phone = phone_with("tickets_orders")
    solve(phone)

    action = next_action(phone, phone.observe())

    assert action.status is FinishStatus.COMPLETE

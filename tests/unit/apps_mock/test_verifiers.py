from __future__ import annotations

from dataclasses import replace

import pytest

from apps_mock.records import changed, without
from apps_mock.tasks import templates
from apps_mock.verifiers import verify
from apps_mock.widgets import Event
from sync.clock import ManualClock
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    DeviceId,
    EndReason,
    Episode,
    EpisodeId,
    FinishStatus,
    Observation,
    Split,
    Step,
    VerdictSource,
    finish,
    wait,
)


def episode_of(phone, *, reason=EndReason.FINISH, action=None, seed=None):
    task = phone.task
    assignment = Assignment(
        AssignmentId("a"),
        template=task.template.name,
        seed=task.seed if seed is None else seed,
        split=task.split,
        look=task.look,
    )
    step = Step(0, Observation(1080, 2400), action or finish())
    now = ManualClock().wall_ms()
    return Episode(
        id=EpisodeId("e"),
        assignment=assignment,
        device_id=DeviceId("d"),
        goal=task.goal,
        steps=(step,),
        end_reason=reason,
        started_at_ms=now,
        ended_at_ms=now,
    )


@pytest.mark.parametrize("template", templates(), ids=lambda template: template.name)
def test_the_start_state_never_satisfies_and_the_oracles_end_state_does(
    phone_with, solve, template
):
    phone = phone_with(template.name)
    assert not phone.findings().reached

    solve(phone)

    verdict = phone.current_verdict()
    assert verdict.success
    assert verdict.progress == 1.0
    assert verdict.verifier == template.name
    assert verdict.source is VerdictSource.CODE


def test_success_needs_the_claim_of_completion(phone_with, solve):
    phone = phone_with("clock_add")
    solve(phone)

    claimed = phone.judge(episode_of(phone))
    infeasible = phone.judge(episode_of(phone, action=finish(FinishStatus.INFEASIBLE)))
    truncated = phone.judge(episode_of(phone, reason=EndReason.BUDGET, action=wait()))

    assert claimed.success
    for verdict in (infeasible, truncated):
        assert not verdict.success
        assert verdict.goal_reached


def test_an_episode_of_another_task_is_not_judged(phone_with):
    phone = phone_with("clock_add")

    assert phone.judge(episode_of(phone, seed=99)) is None


def test_a_change_in_another_app_is_a_side_effect(phone_with, solve):
    phone = phone_with("clock_add")
    solve(phone)
    settings = phone.state.app_state("settings")
    name = settings.data.switches[0].id
    was_on = settings.data.switches[0].on
    data = replace(settings.data, switches=changed(settings.data.switches, name, on=not was_on))

    phone.restore(phone.state.with_app("settings", settings.with_data(data)))

    verdict = phone.current_verdict()
    assert not verdict.success
    assert not verdict.goal_reached
    assert verdict.progress == 1.0
    assert verdict.side_effects == (f"settings.switches[{name}] on became {not was_on!r}",)


def test_a_page_goal_fails_where_the_state_was_changed_on_the_way(phone_with, solve):
    phone = phone_with("tickets_open_order")
    solve(phone)
    state = phone.state.app_state("tickets")
    data = replace(state.data, alerts=without(state.data.alerts, state.data.alerts[0].id))

    phone.restore(phone.state.with_app("tickets", state.with_data(data)))

    assert not phone.current_verdict().success
    assert "was removed" in phone.current_verdict().side_effects[0]


def test_progress_is_the_share_of_wanted_values(phone_with, send, fill):
    phone = phone_with("contacts_add", split=Split.VALIDATION)
    wanted = dict(phone.task.wanted.changes[0].values)
    send(phone, Event("launch", "contacts"), Event("go", "add"))
    fill(phone, "name", wanted["name"])
    send(phone, Event("save"))

    verdict = phone.current_verdict()

    assert verdict.progress == pytest.approx(2 / 3)
    failed = [check for check in verdict.checks if not check.passed]
    assert [check.name for check in failed] == ["contacts new phone"]
    assert wanted["phone"] in failed[0].reason


def test_a_new_record_may_have_any_id(phone_with, solve):
    phone = phone_with("tickets_add_passenger")
    solve(phone)
    state = phone.state.app_state("tickets")
    last = state.data.passengers[-1]
    people = (*state.data.passengers[:-1], replace(last, id="p77"))
    after = phone.state.with_app("tickets", state.with_data(replace(state.data, passengers=people)))

    assert verify(phone.task.state, after, phone.task.wanted).reached


def test_two_new_records_where_one_was_wanted_are_refused(phone_with, solve):
    phone = phone_with("tickets_add_passenger")
    solve(phone)
    state = phone.state.app_state("tickets")
    people = (*state.data.passengers, replace(state.data.passengers[-1], id="p77"))
    after = phone.state.with_app("tickets", state.with_data(replace(state.data, passengers=people)))

    findings = verify(phone.task.state, after, phone.task.wanted)

    assert [str(effect) for effect in findings.side_effects] == [
        "tickets.passengers[p77] was added"
    ]

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from apps_mock.oracle import next_action
from apps_mock.phone import MockPhone
from apps_mock.phone_state import Overlay
from apps_mock.records import changed, without
from apps_mock.tasks import templates
from apps_mock.verifiers import holds, verify
from apps_mock.wanted import Answer, Change, Wanted
from apps_mock.widgets import Event
from sync.clock import ManualClock
from sync.vocabulary import (
    ActionKind,
    Assignment,
    AssignmentId,
    DeviceId,
    EndReason,
    Episode,
    EpisodeId,
    FinishStatus,
    Observation,
    SlotRef,
    Split,
    Step,
    VerdictSource,
    answer,
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


@pytest.mark.parametrize("template", templates()[::5], ids=lambda template: template.name)
def test_the_start_state_never_satisfies_and_the_oracles_end_does(template):
    phone = MockPhone()
    phone.load(template.name, 1, Split.TEST, 1)
    assert phone.current_verdict().success == ("starts_satisfied" in template.tags)

    for _ in range(template.step_budget):
        action = next_action(phone, phone.observe())
        if action.kind in {ActionKind.FINISH, ActionKind.ANSWER}:
            break
        phone.act(action)

    verdict = phone.current_verdict(action)
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

    assert verdict.progress == pytest.approx(1 - 1 / len(wanted))
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


def asking(phone, **wanted):
    """The same task with something else wanted."""
    task = replace(phone.task, wanted=replace(phone.task.wanted, changes=(), **wanted))
    phone.load_task(task)
    return phone


def judged(phone, action):
    reason = EndReason.ANSWER if action.kind is ActionKind.ANSWER else EndReason.FINISH
    return phone.judge(episode_of(phone, reason=reason, action=action))


def test_an_answer_task_wants_the_right_answer_and_nothing_changed(phone_with):
    phone = asking(phone_with("clock_add"), answer=Answer("time", "17:00"))

    assert judged(phone, answer("5 pm")).success
    assert judged(phone, answer("5 pm")).progress == 1.0
    for wrong in (answer("6pm"), finish(), finish(FinishStatus.INFEASIBLE)):
        verdict = judged(phone, wrong)
        assert not verdict.success
        assert not verdict.goal_reached
        assert verdict.progress == 0.0
    assert not phone.judge(episode_of(phone, reason=EndReason.BUDGET, action=wait())).success


def test_a_right_answer_does_not_excuse_a_change(phone_with, send):
    phone = asking(phone_with("clock_toggle"), answer=Answer("name", "yes"))
    alarm = phone.state.app_state("clock").data.alarms[0].id
    send(phone, Event("launch", "clock"), Event("toggle", alarm, "on"))

    verdict = judged(phone, answer("yes"))

    assert not verdict.success
    assert "on became" in verdict.side_effects[0]


def test_a_redacted_text_answers_nothing(phone_with):
    phone = asking(phone_with("clock_add"), answer=Answer("name", "x"))

    assert not judged(phone, replace(answer("x"), text=SlotRef("password_1"))).success


def test_an_infeasible_task_wants_that_claim_and_nothing_changed(phone_with, send):
    phone = asking(phone_with("clock_toggle"), infeasible=True)
    assert judged(phone, finish(FinishStatus.INFEASIBLE)).success
    for wrong in (finish(), answer("it cannot be done")):
        assert not judged(phone, wrong).success
        assert judged(phone, wrong).progress == 0.0

    alarm = phone.state.app_state("clock").data.alarms[0].id
    send(phone, Event("launch", "clock"), Event("toggle", alarm, "on"))
    assert not judged(phone, finish(FinishStatus.INFEASIBLE)).success


def test_to_answer_is_no_way_to_end_another_task(phone_with, solve):
    phone = phone_with("clock_add")
    solve(phone)

    assert judged(phone, finish()).success
    assert not judged(phone, answer("done")).success
    assert not judged(phone, finish(FinishStatus.INFEASIBLE)).success


def other_label(phone, app, table, field):
    state = phone.state.app_state(app)
    record = getattr(state.data, table)[0]
    records = changed(getattr(state.data, table), record.id, **{field: "other"})
    return phone.state.with_app(app, state.with_data(replace(state.data, **{table: records})))


def test_what_is_free_may_differ(phone_with):
    phone = phone_with("clock_label")
    after = other_label(phone, "clock", "alarms", "label")
    wanted = Wanted("settings")

    assert verify(phone.task.state, after, wanted).side_effects
    assert verify(phone.task.state, after, replace(wanted, free=(("clock", "alarms"),))).reached


def test_changes_may_be_wanted_in_several_apps(phone_with):
    phone = phone_with("clock_label")
    alarm = phone.state.app_state("clock").data.alarms[0].id
    after = other_label(phone, "clock", "alarms", "label")
    change = Change("alarms", alarm, (("label", "other"),), app="clock")

    assert verify(phone.task.state, after, Wanted("settings", (change,))).reached
    assert holds(phone.task.state, after, "settings", (change,))
    assert not holds(phone.task.state, phone.task.state, "settings", (change,))
    assert not verify(phone.task.state, phone.state, Wanted("settings", (change,))).reached


def test_facts_beside_the_tables_may_not_change(phone_with):
    @dataclass(frozen=True)
    class Data:
        balance: int = 3
        rows: tuple = ()

    phone = phone_with("clock_label")
    name = phone.state.apps[-1][0]
    plain = phone.state.app_state(name)
    before = phone.state.with_app(name, plain.with_data(Data()))
    after = phone.state.with_app(name, plain.with_data(Data(balance=4)))

    effects = verify(before, after, Wanted("settings")).side_effects

    assert [str(effect) for effect in effects] == [f"{name}.balance[] became 4"]


@pytest.mark.parametrize("overlay", [Overlay("shade"), Overlay("text_menu", "x")])
def test_a_page_that_something_lies_over_does_not_show(phone_with, solve, overlay):
    phone = phone_with("tickets_open_order")
    solve(phone)
    assert phone.current_verdict().success

    phone.restore(phone.state.under(overlay))

    assert not phone.current_verdict().success

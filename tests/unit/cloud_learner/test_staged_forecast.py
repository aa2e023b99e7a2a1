"""What a plan can show is told before it begins, and agrees with what the gate asks for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cloud_learner.staged_forecast import forecast, shortfalls
from cloud_learner.staged_plan import DAY_S, Stage, StagedPlan, default_stages


def plan_for(phones):
    return StagedPlan(stages=default_stages(phones), seed="s")


def told(phones, rate=24.0, plan=None):
    plan = plan or plan_for(phones)
    cohorts = [round(phones * 0.95 * stage.share_bps / 10_000) for stage in plan.stages]
    return plan, forecast(plan, cohorts, phones=phones, tasks_per_phone_and_day=rate)


@pytest.mark.parametrize(("phones", "days"), [(100, (5, 9)), (1000, (4, 4.5)), (10_000, (4, 4))])
def test_a_good_release_takes_about_as_long_as_simulated_ones_do(phones, days):
    """Halves of simulated releases were promoted by then: see docs/staged-releases.md."""
    plan, stages = told(phones)

    assert days[0] <= sum(one.days for one in stages) <= days[1]
    assert shortfalls(plan, stages) == []


def test_larger_fleets_can_tell_smaller_losses_in_every_stage():
    small, middle, large = (told(phones)[1] for phones in (100, 1000, 10_000))

    for stages in zip(small, middle, large, strict=True):
        margins = [one.least_margin for one in stages]
        losses = [one.least_harm for one in stages]
        assert margins == sorted(margins, reverse=True)
        assert losses == sorted(losses, reverse=True)


def test_a_stage_that_cannot_show_its_margin_is_told_with_what_it_could_show():
    plan = plan_for(100)
    plan = replace(plan, stages=(replace(plan.stages[0], margin=0.02), *plan.stages[1:]))

    plan, stages = told(100, plan=plan)

    (line,) = shortfalls(plan, stages)
    assert stages[0].days is None
    assert stages[0].least_margin > 0.02
    assert f"stage 1 shows a margin of {stages[0].least_margin:.1%} at best" in line


def test_phones_that_play_nothing_show_nothing():
    plan, stages = told(100, rate=0.0)

    assert {(one.days, one.least_margin, one.least_harm) for one in stages} == {(None,) * 3}
    assert all("shows nothing" in line for line in shortfalls(plan, stages))
    assert len(shortfalls(plan, stages)) == len(plan.stages)


def test_too_few_tasks_are_told_where_the_margin_would_be_shown():
    stage = Stage(5000, margin=0.3, soak_s=DAY_S, give_up_s=2 * DAY_S, tasks=5000)

    plan, stages = told(100, plan=StagedPlan(stages=(stage,), seed="s"))

    assert "too few tasks" in shortfalls(plan, stages)[0]


def test_a_last_stage_without_a_hold_out_rests_on_the_stages_before():
    plan = replace(plan_for(1000), hold_out_bps=0)

    found = forecast(plan, [20, 100, 500, 1000], phones=1000, tasks_per_phone_and_day=24.0)

    assert found[-1].days == 1.0

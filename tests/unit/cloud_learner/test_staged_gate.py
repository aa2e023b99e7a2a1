"""The gate of a stage: nothing passes by default, one case never decides, harm must be shown."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import pytest

from cloud_learner.release_comparison import Comparison
from cloud_learner.staged_bounds import Share
from cloud_learner.staged_gate import Answer, Evidence, judge_stage
from cloud_learner.staged_plan import LIMITS, Limit, Stage, StagedPlan, default_stages

STAGE = Stage(1000, margin=0.05, phones=20, tasks=200)
PLAN = StagedPlan(stages=(STAGE,), seed="s")
GOOD = Evidence(
    new_phones=50,
    unanswered=Share(0, 50),
    comparison=Comparison(0.0, 1e-4, 4000, 4000, 50, 500),
    shares={name: Share(0, 10_000, 0, 10_000) for name in LIMITS},
)


def judged(**change):
    return judge_stage(PLAN, STAGE, replace(GOOD, **change))


def with_share(name, share):
    return judged(shares={**GOOD.shares, name: share})


def test_enough_of_everything_and_non_inferiority_shown_goes_on():
    assert judged().answer is Answer.GO_ON


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"new_phones": 19}, "19 of 20 new phones"),
        ({"unanswered": Share(20, 50)}, "20 of 50 phones have not answered"),
        ({"comparison": Comparison(0.02, 1e-4, 150, 4000, 50, 500)}, "150 of 200 tasks"),
        ({"comparison": Comparison(-0.03, 1e-4, 4000, 4000, 50, 500)}, "may be worse by at most"),
        ({"comparison": Comparison()}, "by how much is unknown"),
        ({"shares": {}}, "crashes 0 of 0"),
    ],
)
def test_what_is_missing_waits_and_is_named(change, said):
    judgement = judged(**change)

    assert judgement.answer is Answer.WAIT
    assert said in judgement.reason


def test_a_difference_that_is_not_significant_is_not_taken_for_good():
    """A fixed test would find nothing here, and so promote."""
    noisy = Comparison(-0.02, 0.02**2, 4000, 4000, 50, 500)

    assert judged(comparison=noisy).answer is Answer.WAIT


def test_harm_that_is_shown_stops_and_harm_that_may_be_chance_does_not():
    assert judged(comparison=Comparison(-0.15, 0.03**2, 300, 3000, 20, 500)).answer is Answer.STOP
    assert judged(comparison=Comparison(-0.15, 0.10**2, 300, 3000, 20, 500)).answer is Answer.WAIT


def test_few_tasks_or_one_phone_never_show_harm():
    sure = Comparison(-0.5, 1e-4, 99, 3000, 20, 500)

    assert judged(comparison=sure).answer is Answer.WAIT
    assert judged(comparison=replace(sure, tasks=100, phones=1)).answer is Answer.WAIT
    assert judged(comparison=replace(sure, tasks=100)).answer is Answer.STOP


def test_harm_on_one_model_stops_it_where_enough_phones_of_the_model_show_it():
    fine, bad = Comparison(0.0, 1e-4, 4000, 4000, 50, 500), Comparison(-0.3, 1e-3, 300, 300, 5, 50)

    judgement = judged(models={"old": bad, "new": fine})
    assert judgement.answer is Answer.STOP
    assert "on 'old' it is worse by 30.0%" in judgement.reason
    assert judged(models={"old": replace(bad, phones=4), "new": fine}).answer is Answer.GO_ON
    assert judged(models={"old": replace(bad, variance=0.01), "new": fine}).answer is Answer.GO_ON


def test_the_more_models_are_asked_the_more_each_must_show():
    nearly = Comparison(-0.15, 0.036**2, 300, 3000, 20, 500)

    assert judged(models={"m": nearly}).answer is Answer.STOP
    many = {f"m{at}": GOOD.comparison for at in range(40)}
    assert judged(models={**many, "m": nearly}).answer is Answer.GO_ON


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_each_bound_stops_a_release_that_is_far_beyond_it(name):
    judgement = with_share(name, Share(600, 1000, 0, 1000))

    assert judgement.answer is Answer.STOP
    assert name in judgement.reason


@pytest.mark.parametrize(
    "name", ["crashes", "reverts", "install_failures", "silent", "idle", "slowed"]
)
def test_one_phone_alone_decides_nothing_and_all_of_three_do(name):
    assert with_share(name, Share(1, 3)).answer is Answer.GO_ON
    assert with_share(name, Share(3, 3)).answer is Answer.STOP


def test_a_share_that_may_be_above_its_limit_by_chance_waits():
    assert with_share("crashes", Share(2, 20)).answer is Answer.WAIT


def test_what_also_happens_to_the_others_is_not_the_releases_fault():
    assert with_share("env_errors", Share(300, 1000, 300, 1000)).answer is Answer.GO_ON
    assert with_share("env_errors", Share(300, 1000, 10, 1000)).answer is Answer.STOP


def test_figures_are_finite_numbers():
    assert all(abs(value) < 1e9 for value in judge_stage(PLAN, STAGE, Evidence()).figures.values())


@pytest.mark.parametrize(("phones", "first"), [(100, 300), (1000, 200), (10_000, 100)])
def test_default_stages_begin_small_and_end_with_everybody(phones, first):
    stages = default_stages(phones)

    assert stages[0].share_bps == first
    assert stages[-1].share_bps == 10_000
    assert stages[-1].margin <= stages[0].margin


@pytest.mark.parametrize("give_up_s", [STAGE.soak_s, 366 * 86_400.0, inf, nan])
def test_a_stage_gives_up_after_its_soak_and_within_a_year(give_up_s):
    with pytest.raises(ValueError, match="within a year"):
        replace(STAGE, give_up_s=give_up_s)


@pytest.mark.parametrize(
    "change",
    [
        {"stages": ()},
        {"stages": (STAGE, STAGE)},
        {"stages": tuple(replace(STAGE, share_bps=one) for one in range(1, 102))},
        {"seed": ""},
        {"hold_out_bps": 10_000},
        {"alpha_worse": 0.5},
        {"limits": {"smell": Limit(0.1, 2)}},
    ],
)
def test_a_plan_that_cannot_be_is_refused(change):
    with pytest.raises(ValueError, match=r"plan|hold_out|alpha"):
        replace(PLAN, **change)


def test_a_plan_that_was_made_before_a_bound_was_added_has_it():
    old = {name: limit for name, limit in LIMITS.items() if name not in {"idle", "slowed"}}

    assert replace(PLAN, limits=old).limits == dict(LIMITS)

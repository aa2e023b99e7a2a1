"""The gate decides by the same instances, with the margin, and fails closed."""

from __future__ import annotations

import pytest

from cloud_learner.figures import Figures, wilson95
from cloud_learner.gate import GateOutcome, judge
from cloud_learner.settings import GateSettings

GATE = GateSettings(per_template=8, margin=0.05, env_error_limit=0.02, attempts=3)


@pytest.mark.parametrize(
    ("successes", "outcome"),
    [
        (60, GateOutcome.PROMOTE),
        (50, GateOutcome.PROMOTE),
        (45, GateOutcome.PROMOTE),
        (44, GateOutcome.REVERT),
        (0, GateOutcome.REVERT),
    ],
)
def test_candidate_may_be_worse_by_the_margin_and_no_more(successes, outcome):
    decision = judge(Figures(100, successes), Figures(100, 50), attempt=1, settings=GATE)

    assert decision.outcome is outcome


def test_first_release_needs_only_valid_figures():
    decision = judge(Figures(100, 0), None, attempt=1, settings=GATE)

    assert decision.outcome is GateOutcome.PROMOTE


@pytest.mark.parametrize(
    ("attempt", "outcome"),
    [(1, GateOutcome.REPEAT), (2, GateOutcome.REPEAT), (3, GateOutcome.REVERT)],
)
def test_invalid_figures_are_repeated_and_at_last_revert(attempt, outcome):
    figures = Figures(97, 97, env_errors=3)

    assert judge(figures, Figures(100, 1), attempt=attempt, settings=GATE).outcome is outcome


def test_env_errors_up_to_the_limit_are_left_out_of_the_rate():
    decision = judge(Figures(98, 49, env_errors=2), Figures(98, 53), attempt=1, settings=GATE)

    assert decision.outcome is GateOutcome.PROMOTE


def test_figures_without_any_episode_never_promote():
    assert judge(Figures(0, 0), None, attempt=3, settings=GATE).outcome is GateOutcome.REVERT


def test_wilson_interval_of_known_shares():
    assert wilson95(0, 0) is None
    low, high = wilson95(50, 100) or (0.0, 0.0)
    assert (round(low, 4), round(high, 4)) == (0.4038, 0.5962)
    assert (wilson95(0, 20) or (1.0, 1.0))[0] == 0.0


def test_wilson_interval_refuses_more_successes_than_trials():
    with pytest.raises(ValueError, match="successes"):
        wilson95(3, 2)

"""Terms of a policy's loss against numbers computed by hand."""

from __future__ import annotations

from dataclasses import replace
from math import log

import pytest
import torch

from cloud_learner.algorithm_settings import UpdateSettings
from cloud_learner.policy_terms import (
    clipped_surrogate_loss,
    imitation_loss,
    policy_gradient_loss,
    regularisers,
    scaled_advantages,
)
from cloud_learner.replayed import replayed
from tests.tabular import TablePolicy, played, table_step


def row(*values):
    return torch.tensor(values)


def test_the_policy_gradient_is_the_mean_of_weighted_log_probabilities():
    log_prob = row(-1.0, -2.0, -4.0).requires_grad_()

    loss = policy_gradient_loss(
        log_prob,
        ratio=row(1.0, 0.5, 9.0),
        advantages=row(0.3, -1.0, 9.0),
        weights=row(1.0, 1.0, 0.0),
    )
    loss.backward()

    assert loss.item() == pytest.approx(-(1 * 0.3 * -1 + 0.5 * -1 * -2) / 3)
    assert log_prob.grad.tolist() == pytest.approx([-0.1, 0.5 / 3, 0.0])


def test_imitation_is_the_mean_over_what_counts():
    assert imitation_loss(row(-1.0, -3.0, -9.0), row(1.0, 1.0, 0.0)).item() == 2.0
    assert imitation_loss(row(-1.0), row(0.0)).item() == 0.0


@pytest.mark.parametrize(
    ("ratio", "advantage", "counts", "moves"),
    [
        (1.0, 1.0, 1.0, True),
        (1.5, 1.0, 1.3, False),  # further up is not rewarded
        (1.5, -1.0, -1.5, True),  # and a wrong way up is undone
        (0.5, 1.0, 0.5, True),
        (0.5, -1.0, -0.8, False),
    ],
)
def test_the_surrogate_is_clipped_on_the_side_that_would_gain(ratio, advantage, counts, moves):
    log_ratio = row(log(ratio)).requires_grad_()

    loss = clipped_surrogate_loss(
        log_ratio, advantages=row(advantage), weights=row(2.0), clip_low=0.2, clip_high=0.3
    )
    loss.backward()

    assert loss.item() == pytest.approx(-2.0 * counts)
    assert bool(log_ratio.grad.any()) == moves


def test_advantages_are_scaled_clipped_and_damped_in_that_order():
    advantages = row(0.0, 2.0, -2.0, 50.0)

    scaled = scaled_advantages(advantages, row(1.0, 1.0, 1.0, 0.0), clip=0.8, negative_scale=0.5)

    assert scaled.tolist() == pytest.approx([0.0, 0.8, -0.4, 0.8])  # the deviation is 2


def test_without_a_clip_advantages_keep_their_size():
    scaled = scaled_advantages(row(2.0, -2.0), row(1.0, 1.0), clip=0.0, negative_scale=1.0)

    assert scaled.tolist() == [2.0, -2.0]


def test_a_single_step_is_not_divided_by_a_deviation_that_it_has_not():
    scaled = scaled_advantages(row(0.5), row(1.0), clip=3.0, negative_scale=1.0)

    assert scaled.tolist() == pytest.approx([0.5], rel=1e-4)


@pytest.fixture
def batch():
    """Two steps under an even choice of two, one of them invalid and likelier when it was made."""
    steps = [table_step(0, 0, log(0.5)), table_step(1, 1, log(0.8), valid=False)]
    policy = TablePolicy(2, 2)
    policy.remember_as_reference(steps)
    with torch.no_grad():
        policy.logits[0, 0] = log(3.0)  # 3/4 to 1/4
    return replayed([played(1, steps, success=True)], policy(steps))


def test_regularisers_are_those_computed_by_hand(batch):
    settings = UpdateSettings(entropy_weight=0.1, invalid_weight=0.2, kl_weight=0.3)

    terms = regularisers(batch, row(1.0, 1.0), settings)

    first = -(0.75 * log(0.75) + 0.25 * log(0.25))
    assert terms["entropy_loss"].item() == pytest.approx(-0.1 * (first + log(2)) / 2)
    assert terms["invalid_loss"].item() == pytest.approx(0.2 * (0.5 / 0.8) * log(0.5) / 2)
    assert terms["kl_loss"].item() == pytest.approx(0.3 * (log(2) - first) / 2, rel=1e-5)


@pytest.mark.parametrize("name", ["entropy_weight", "invalid_weight", "kl_weight"])
def test_a_regulariser_with_weight_zero_is_not_there(batch, name):
    terms = regularisers(batch, row(1.0, 1.0), replace(UpdateSettings(), **{name: 0.0}))

    assert name.replace("_weight", "_loss") not in terms
    assert len(terms) == 2


def test_making_an_invalid_action_less_likely_lowers_its_term(batch):
    settings = replace(UpdateSettings(), entropy_weight=0.0, kl_weight=0.0)

    (term,) = regularisers(batch, row(1.0, 1.0), settings).values()
    (gradient,) = torch.autograd.grad(term, batch.scores.log_prob)

    assert gradient[0] == 0.0
    assert gradient[1] > 0.0

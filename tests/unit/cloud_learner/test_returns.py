"""Returns and advantages against arrays computed by hand."""

from __future__ import annotations

from math import log

import pytest
import torch

from cloud_learner.returns import (
    ShapeError,
    digirl_advantages,
    monte_carlo_returns,
    repetition_penalties,
    retrace_advantages,
    retrace_corrections,
)

VALUES = torch.tensor([[0.5, 0.4, 0.2, 0.0]])
REWARDS = torch.tensor([[0.0, 0.0, 1.0]])
DISCOUNTS = torch.tensor([[0.5, 0.5, 0.0]])
LOG_RHO = torch.tensor([[log(3.0), log(0.5), log(2.0)]])
ERRORS = torch.tensor([[-0.3, -0.3, 0.8]])


@pytest.mark.parametrize(
    ("lambda_", "expected"),
    [
        (1.0, [-0.275, 0.1, 0.8]),  # c = 0.5, 1: ρ below 1 damps, above 1 is truncated
        (0.5, [-0.3125, -0.1, 0.8]),
        (0.0, [-0.3, -0.3, 0.8]),
    ],
)
def test_corrections_are_those_computed_by_hand(lambda_, expected):
    corrections = retrace_corrections(VALUES, REWARDS, DISCOUNTS, LOG_RHO, lambda_=lambda_)

    torch.testing.assert_close(corrections, torch.tensor([expected]))


def test_the_ratio_of_the_first_action_of_a_trace_does_not_enter_it():
    other = LOG_RHO.clone()
    other[0, 0] = -7.0

    torch.testing.assert_close(
        retrace_corrections(VALUES, REWARDS, DISCOUNTS, other),
        retrace_corrections(VALUES, REWARDS, DISCOUNTS, LOG_RHO),
    )


def test_advantages_are_those_computed_by_hand():
    corrections = retrace_corrections(VALUES, REWARDS, DISCOUNTS, LOG_RHO, lambda_=1.0)

    advantages = retrace_advantages(VALUES, corrections, REWARDS, DISCOUNTS)

    torch.testing.assert_close(advantages, torch.tensor([[-0.25, 0.1, 0.8]]))


def test_without_corrections_the_advantage_is_the_one_step_error():
    advantages = retrace_advantages(VALUES, torch.zeros(1, 3), REWARDS, DISCOUNTS)

    torch.testing.assert_close(advantages, ERRORS)


@pytest.mark.parametrize("gamma", [1.0, 0.97, 0.5])
def test_one_discount_reaches_from_reward_to_critic(gamma):
    """A critic that knows the discounted chance of success leaves nothing to correct."""
    to_go = gamma ** torch.arange(3, -1, -1.0)
    values = torch.cat([to_go, torch.zeros(1)])[None]
    rewards = torch.tensor([[0.0, 0.0, 0.0, 1.0]])
    discounts = torch.tensor([[gamma, gamma, gamma, 0.0]])

    corrections = retrace_corrections(values, rewards, discounts, torch.zeros(1, 4))
    advantages = retrace_advantages(values, corrections, rewards, discounts)

    torch.testing.assert_close(advantages, torch.zeros(1, 4), atol=1e-6, rtol=0)
    torch.testing.assert_close(monte_carlo_returns(rewards, discounts), to_go[None])


def test_on_policy_and_undamped_the_target_is_what_really_followed():
    targets = VALUES[:, :-1] + retrace_corrections(
        VALUES, REWARDS, DISCOUNTS, torch.zeros(1, 3), lambda_=1.0
    )

    torch.testing.assert_close(targets, torch.tensor([[0.25, 0.5, 1.0]]))


def test_monte_carlo_returns_are_those_computed_by_hand():
    returns = monte_carlo_returns(
        torch.tensor([[1.0, 2.0, 4.0], [0.0, 1.0, 0.0]]),
        torch.tensor([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]),
    )

    torch.testing.assert_close(returns, torch.tensor([[3.0, 4.0, 4.0], [1.0, 1.0, 0.0]]))


def test_digirls_advantages_are_those_computed_by_hand():
    values = torch.tensor([[0.5, 0.4, 0.2, 0.0], [0.5, 0.7, 0.2, 0.0]])
    rewards = torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    discounts = torch.tensor([[0.5, 0.5, 0.0]] * 2)

    advantages = digirl_advantages(values, rewards, discounts)

    won = [0.25 + 0.75 * -0.1, 0.5 + 0.5 * -0.2, 1.0]  # the reward is worth λ² and λ before
    torch.testing.assert_close(advantages, torch.tensor([won, [0.2, -0.5, -0.2]]))
    with pytest.raises(ShapeError):
        digirl_advantages(values, rewards[:, :2], discounts)


def test_repetition_penalties_add_up_and_are_capped():
    penalties = repetition_penalties(torch.tensor([[0, 1, 2, 3, 4, 0]]), per_repeat=0.4, cap=1.2)

    torch.testing.assert_close(penalties, torch.tensor([[0.0, -0.4, -0.8, -1.2, -1.2, 0.0]]))


def test_nothing_carries_a_gradient():
    values = VALUES.clone().requires_grad_()

    corrections = retrace_corrections(values, REWARDS, DISCOUNTS, LOG_RHO)
    advantages = retrace_advantages(values, corrections, REWARDS, DISCOUNTS)

    assert not corrections.requires_grad
    assert not advantages.requires_grad


@pytest.mark.parametrize("wrong", ["values", "discounts", "log_rho"])
def test_arguments_of_other_shapes_are_refused(wrong):
    arguments = {
        "values": VALUES,
        "rewards": REWARDS,
        "discounts": DISCOUNTS,
        "log_rho": LOG_RHO,
    }
    arguments[wrong] = arguments[wrong][:, 1:]

    with pytest.raises(ShapeError, match=wrong):
        retrace_corrections(**arguments)


def test_shapes_are_checked_by_every_function():
    with pytest.raises(ShapeError):
        retrace_advantages(VALUES, ERRORS[:, :2], REWARDS, DISCOUNTS)
    with pytest.raises(ShapeError):
        monte_carlo_returns(REWARDS, DISCOUNTS[:, :2])

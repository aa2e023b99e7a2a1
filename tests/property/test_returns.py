"""Retrace and advantages against a slow double loop that follows the published sum."""

from __future__ import annotations

from math import exp

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cloud_learner.returns import (
    digirl_advantages,
    monte_carlo_returns,
    retrace_advantages,
    retrace_corrections,
)

RATIOS = st.floats(-3, 3)
SHARES = st.floats(0, 1)
EPISODES = st.lists(st.tuples(SHARES, st.floats(-1.5, 1), RATIOS), min_size=1, max_size=7)
"""Steps of an episode: value, reward, log ρ."""


def grids(episodes, gamma, padding=0):
    """Values [B, T+1], rewards, discounts and log ρ [B, T], padded with zeros."""
    width = max(map(len, episodes)) + padding
    values = torch.zeros(len(episodes), width + 1, dtype=torch.float64)
    rewards, discounts, log_rho = (torch.zeros_like(values[:, :-1]) for _ in range(3))
    for row, steps in enumerate(episodes):
        for t, (value, reward, ratio) in enumerate(steps):
            values[row, t], rewards[row, t], log_rho[row, t] = value, reward, ratio
            discounts[row, t] = gamma if t + 1 < len(steps) else 0.0
    return values, rewards, discounts, log_rho


def slow_corrections(steps, gamma, lambda_):
    """Σ_{k≥t} γ^{k−t} (Π_{i=t+1..k} λ min(1, ρ_i)) δ_k, as it is printed."""
    count = len(steps)
    following = [*(value for value, _, _ in steps[1:]), 0.0]
    errors = [
        reward + gamma * (following[k] if k + 1 < count else 0.0) - value
        for k, (value, reward, _) in enumerate(steps)
    ]
    sums = []
    for t in range(count):
        total = 0.0
        for k in range(t, count):
            product = 1.0
            for i in range(t + 1, k + 1):
                product *= lambda_ * min(1.0, exp(steps[i][2]))
            total += gamma ** (k - t) * product * errors[k]
        sums.append(total)
    return sums


@given(st.lists(EPISODES, min_size=1, max_size=4), SHARES, SHARES, st.integers(0, 3))
def test_retrace_is_the_published_sum(episodes, gamma, lambda_, padding):
    values, rewards, discounts, log_rho = grids(episodes, gamma, padding)

    corrections = retrace_corrections(values, rewards, discounts, log_rho, lambda_=lambda_)

    for row, steps in enumerate(episodes):
        expected = slow_corrections(steps, gamma, lambda_)
        assert corrections[row, : len(steps)].tolist() == pytest.approx(expected, abs=1e-9)
        assert corrections[row, len(steps) :].tolist() == [0.0] * (len(values[0]) - 1 - len(steps))


@given(EPISODES, SHARES, SHARES)
def test_advantages_look_one_step_ahead_at_corrected_values(steps, gamma, lambda_):
    values, rewards, discounts, log_rho = grids([steps], gamma)
    corrections = retrace_corrections(values, rewards, discounts, log_rho, lambda_=lambda_)

    advantages = retrace_advantages(values, corrections, rewards, discounts)

    corrected = [
        value + change
        for (value, _, _), change in zip(
            steps, slow_corrections(steps, gamma, lambda_), strict=True
        )
    ]
    expected = [
        reward + (gamma * corrected[t + 1] if t + 1 < len(steps) else 0.0) - value
        for t, (value, reward, _) in enumerate(steps)
    ]
    assert advantages[0].tolist() == pytest.approx(expected, abs=1e-9)


@given(EPISODES, SHARES)
def test_lambda_zero_is_the_one_step_error(steps, gamma):
    values, rewards, discounts, log_rho = grids([steps], gamma)

    corrections = retrace_corrections(values, rewards, discounts, log_rho, lambda_=0.0)

    one_step = rewards + discounts * values[:, 1:] - values[:, :-1]
    torch.testing.assert_close(corrections, one_step)


@given(st.lists(EPISODES, min_size=1, max_size=3), SHARES, st.data())
def test_what_padding_holds_changes_no_step(episodes, gamma, data):
    values, rewards, discounts, log_rho = grids(episodes, gamma, padding=2)
    clean = retrace_corrections(values, rewards, discounts, log_rho)
    noisy = [tensor.clone() for tensor in (values, rewards, log_rho)]
    for row, steps in enumerate(episodes):
        for tensor in noisy:
            tensor[row, len(steps) + 1 :] = data.draw(st.floats(-5, 5))
        noisy[1][row, len(steps)] = noisy[2][row, len(steps)] = data.draw(st.floats(-5, 5))
        noisy[0][row, len(steps)] = data.draw(st.floats(-5, 5))

    dirty = retrace_corrections(noisy[0], noisy[1], discounts, noisy[2])

    for row, steps in enumerate(episodes):
        torch.testing.assert_close(dirty[row, : len(steps)], clean[row, : len(steps)])


@given(EPISODES, SHARES, st.booleans())
def test_digirls_advantages_are_the_published_formula(steps, lambda_, success):
    won = [(value, 0.0, 0.0) for value, _, _ in steps[:-1]]
    values, rewards, discounts, _ = grids([[*won, (steps[-1][0], float(success), 0.0)]], lambda_)

    advantages = digirl_advantages(values, rewards, discounts)

    expected = []
    for t, (value, _, _) in enumerate(steps):
        final = lambda_ ** (len(steps) - 1 - t) * success
        following = steps[t + 1][0] if t + 1 < len(steps) else float(success)
        expected.append(final + (1 - final) * (following - value))
    assert advantages[0].tolist() == pytest.approx(expected, abs=1e-9)


@given(EPISODES, SHARES)
def test_returns_are_discounted_sums(steps, gamma):
    _, rewards, discounts, _ = grids([steps], gamma)

    returns = monte_carlo_returns(rewards, discounts)

    expected = [
        sum(gamma ** (k - t) * steps[k][1] for k in range(t, len(steps))) for t in range(len(steps))
    ]
    assert returns[0].tolist() == pytest.approx(expected, abs=1e-9)

"""DigiRL: two filters, and who learns from which draw."""

from __future__ import annotations

from dataclasses import replace
from math import log

import pytest
import torch

from cloud_learner.algorithm_settings import DigiRLSettings
from cloud_learner.digirl import DigiRL
from tests.tabular import TablePolicy, played, table_step, trainee_of

PLAIN = DigiRLSettings(
    critic_warm_up_rounds=0,
    entropy_weight=0.0,
    kl_weight=0.0,
    invalid_weight=0.0,
    success_weight=0.0,
    trajectories_per_update=8,
)


def episode(row, *, success, states=(0,), policy_round=0):
    steps = [table_step(state, 0, log(0.5)) for state in states]
    return played(row, steps, success=success, policy_round=policy_round)


def made(settings, trajectories, *, states=3):
    policy = TablePolicy(states, 2)
    algorithm = DigiRL(trainee_of(policy), settings, seed=0)
    algorithm.add(trajectories)
    return algorithm, policy


def set_value(critic, chance):
    """Let a critic say the same of every state."""
    with torch.no_grad():
        critic.layers[-1].weight.zero_()
        critic.layers[-1].bias.fill_(log(chance / (1 - chance)))


def test_only_steps_that_pass_both_filters_are_imitated():
    settings = replace(PLAIN, instruction_share=0.5, lambda_=0.1)
    won, lost = episode(1, success=True, states=(0, 1, 2)), episode(2, success=False, states=(0,))
    algorithm, policy = made(settings, [won, lost])
    set_value(algorithm.step_critic, 0.5)  # A = 0.01, 0.1, 1 along the success
    set_value(algorithm.instruction_critic, 0.5)

    figures = algorithm.update()

    moved = policy.logits.detach()[:, 0]
    assert moved[0] == 0.0
    assert moved[1] > 0.0
    assert moved[2] > 0.0
    assert figures["policy_loss"] == pytest.approx(log(2))


def test_a_failure_is_imitated_where_the_value_rose():
    algorithm, policy = made(
        replace(PLAIN, instruction_share=1.0), [episode(1, success=False, states=(0, 1))]
    )
    with torch.no_grad():  # state 1 is likelier to succeed
        critic = algorithm.step_critic
        for one in critic.parameters():
            one.zero_()
        critic.layers[0].weight.fill_(1.0)
        critic.layers[1].weight[0] = torch.tensor([-1.0, 1.0, 0.0])
        critic.layers[3].weight[0, 0] = 1.0

    algorithm.update()

    assert policy.logits.detach()[0, 0] > 0.0
    assert policy.logits.detach()[1, 0] == 0.0  # V falls to nothing at the end of a failure


def test_the_instruction_filter_ranks_by_surprise_over_everything_kept():
    settings = replace(PLAIN, instruction_share=0.25, trajectories_per_update=200)
    outcomes = [True] * 3 + [False] * 9
    trajectories = [episode(row, success=success) for row, success in enumerate(outcomes)]
    algorithm, _ = made(settings, trajectories)

    drawn = algorithm._draw()

    assert len(drawn.trajectories) == 12 + 3
    assert drawn.for_values.tolist() == [1.0] * 12 + [0.0] * 3
    assert all(one.success for one in drawn.trajectories[12:])
    passed = dict(zip((one.row for one in drawn.trajectories), drawn.passed.tolist(), strict=True))
    assert {row for row, flag in passed.items() if flag} == {0, 1, 2}


def test_values_learn_from_the_even_draw_alone():
    settings = replace(PLAIN, instruction_share=0.1, trajectories_per_update=40)
    trajectories = [episode(row, success=row < 2) for row in range(20)]
    algorithm, _ = made(settings, trajectories)
    set_value(algorithm.step_critic, 0.1)
    set_value(algorithm.instruction_critic, 0.1)

    figures = algorithm.update()

    even = -(2 * log(0.1) + 18 * log(0.9)) / 20
    assert figures["critic_loss"] == pytest.approx(even, rel=1e-4)
    assert figures["instruction_loss"] == pytest.approx(even, rel=1e-4)


def test_first_states_are_scored_once_and_taken_from_updates_afterwards():
    algorithm, policy = made(PLAIN, [episode(row, success=True) for row in range(6)])

    algorithm.update()
    algorithm.update()
    algorithm.add([episode(9, success=True)])
    algorithm.update()

    sizes = [len(asked) for asked in policy.asked]
    assert sizes == [6, 8, 8, 1, 8]


def test_both_values_warm_up_before_the_policy_learns():
    algorithm, policy = made(
        replace(PLAIN, critic_warm_up_rounds=1), [episode(1, success=True, states=(0, 1))]
    )
    before = [one.clone() for one in algorithm.step_critic.parameters()]

    first = algorithm.update()
    assert "policy_loss" not in first
    assert not policy.logits.detach().any()
    assert any(
        not torch.equal(one, old)
        for one, old in zip(algorithm.step_critic.parameters(), before, strict=True)
    )

    algorithm.rounds = 1
    assert "policy_loss" in algorithm.update()


def test_the_pool_is_circular_and_forgets_old_weights():
    settings = replace(PLAIN, capacity=3, max_age_rounds=1, instruction_share=1.0)
    algorithm, _ = made(
        settings, [episode(row, success=True, policy_round=row) for row in range(5)]
    )

    assert {one.row for one in algorithm._draw().trajectories} == {2, 3, 4}
    algorithm.rounds = 4
    algorithm.add([])
    assert {one.row for one in algorithm._draw().trajectories} == {3, 4}

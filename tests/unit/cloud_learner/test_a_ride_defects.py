"""What the authors' released code gets wrong, as tests of ours (numbers as in docs/algorithm.md).

Numbers 6 (a broken evaluator makes every reward 0) and 8 (the queue is a pickle file) concern the
way into the learner: tests/integration/cloud_learner/test_learner.py has them.
"""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import pytest
import torch

from cloud_learner.algorithm_settings import STABILISED, ReplaySettings
from cloud_learner.batch import trajectory_of

PLAIN = replace(
    STABILISED,
    critic_warm_up_rounds=0,
    kl_weight=0.0,
    entropy_weight=0.0,
    invalid_weight=0.0,
    demo_weight=0.0,
    success_weight=0.0,
)


def test_defect_1_priorities_really_drive_what_actor_and_critic_learn_from(
    make_bench, make_trajectory
):
    dear, cheap = make_trajectory(1, steps=1), make_trajectory(2, steps=1)
    bench = make_bench(replace(PLAIN, trajectories_per_update=1), [dear, cheap])
    for _ in range(20):
        dear.priority, cheap.priority = 100.0, 1e-6
        bench.algorithm.update()

    drawn = [steps[0] for steps in bench.policy.asked]

    assert sum(step is dear.steps[0] for step in drawn) >= 19


def test_defect_2_the_last_transition_is_always_learnt_from(make_bench, make_trajectory):
    played = [make_trajectory(seed, steps=steps) for seed, steps in ((1, 1), (2, 2), (3, 6))]
    bench = make_bench(PLAIN, played)

    bench.algorithm.update()

    (asked,) = bench.policy.asked
    assert {id(step) for step in asked} == {id(step) for one in played for step in one.steps}


def test_defect_2_the_action_that_ends_a_success_becomes_likelier(make_bench, make_trajectory):
    one = make_trajectory(3, steps=2)
    bench = make_bench(replace(PLAIN, learning_rate=3e-3), [one], noise=0.0)
    with torch.no_grad():
        before = bench.policy(one.steps).log_prob

    for _ in range(10):
        bench.algorithm.update()

    with torch.no_grad():
        assert bench.policy(one.steps).log_prob[-1] > before[-1] + 0.1


def test_defect_3_priority_includes_the_terminal_reward(make_bench, make_trajectory):
    won, lost = make_trajectory(4, success=True), make_trajectory(4, success=False)
    bench = make_bench(replace(PLAIN, critic_learning_rate=0.0), [won, lost])
    with torch.no_grad():
        last = bench.algorithm.critic.layers[-1]
        last.weight.zero_()
        last.bias.fill_(-20.0)  # V is 0: only a reward can be a surprise

    bench.algorithm.update()

    assert won.priority - lost.priority == pytest.approx(1 / 3, abs=1e-4)  # 1 over three steps


def test_defect_4_the_critic_learns_from_corrected_values(make_bench, make_trajectory):
    bench = make_bench(
        replace(PLAIN, critic_learning_rate=1e-2), [make_trajectory(s, steps=2) for s in range(3)]
    )

    _, critic, first = bench.gradients()
    for _ in range(25):
        last = bench.algorithm.update()

    assert critic.any()
    assert last["critic_loss"] < 0.6 * first["critic_loss"]


def test_defect_5_valid_is_what_the_phone_said_and_not_what_a_text_contains(
    make_bench, make_episode, table
):
    episode = make_episode(5, steps=2)
    steps = (dataclasses.replace(episode.steps[0], valid=False), episode.steps[1])
    one = trajectory_of(
        dataclasses.replace(episode, steps=steps), table, row=1, app="tickets", success=False
    )
    settings = replace(PLAIN, policy_gradient=False, invalid_weight=1.0, learning_rate=3e-3)
    bench = make_bench(settings, [one], noise=0.0)
    with torch.no_grad():
        before = bench.policy(one.steps).log_prob

    for _ in range(10):
        bench.algorithm.update()

    assert [step.valid for step in one.steps] == [False, True]
    with torch.no_grad():
        assert bench.policy(one.steps).log_prob[0] < before[0] - 0.1


def test_defect_7_what_left_the_buffer_is_gone_for_actor_and_critic(make_bench, make_trajectory):
    played = [make_trajectory(seed, success=False, steps=1) for seed in range(5)]
    bench = make_bench(replace(PLAIN, replay=ReplaySettings(capacity=2)), played)

    for _ in range(5):
        bench.algorithm.update()

    learnt_from = {id(step) for asked in bench.policy.asked for step in asked}
    assert learnt_from == {id(one.steps[0]) for one in played[-2:]}


def test_defect_9_the_behaviour_policy_is_recorded_and_never_computed_again(
    make_bench, make_trajectory
):
    one = make_trajectory(6, steps=3)
    one.policy_round = 4
    stored = [step.log_mu for step in one.steps]
    bench = make_bench(replace(PLAIN, learning_rate=1e-2), [one], noise=0.0)

    first = bench.algorithm.update()
    for _ in range(10):
        last = bench.algorithm.update()

    assert first["ratio_mean"] == pytest.approx(1.0, abs=1e-3)
    assert abs(last["ratio_mean"] - 1.0) > 0.05
    assert [step.log_mu for step in one.steps] == stored
    assert one.policy_round == 4

"""Group optimisation: the proximal policy, stale weights, and what templates are asked for."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log

import pytest
import torch

from cloud_learner.algorithm_settings import GroupSettings
from cloud_learner.grpo import GroupPolicyOptimisation
from tests.tabular import TablePolicy, played, table_step, trainee_of

PLAIN = GroupSettings(
    group_size=2,
    epochs=9,
    shortest_path=0.0,
    replay_share=0.0,
    entropy_weight=0.0,
    kl_weight=0.0,
    invalid_weight=0.0,
    success_weight=0.0,
    max_grad_norm=100.0,
)


EVEN = log(0.5)


def pair(*, log_mu=EVEN, first_row=0, outcomes=(True, False), template="t"):
    """A group of two that chose the two actions of state 0."""
    return [
        played(
            first_row + action,
            [table_step(0, action, log_mu)],
            success=success,
            group_id=f"g{first_row}",
            template=template,
        )
        for action, success in enumerate(outcomes)
    ]


def made(settings, trajectories):
    policy = TablePolicy(1, 2)
    algorithm = GroupPolicyOptimisation(trainee_of(policy), settings, seed=0)
    algorithm.add(trajectories)
    return algorithm, policy


def test_the_first_pass_of_a_round_is_its_own_proximal_policy():
    algorithm, _ = made(replace(PLAIN, learning_rate=0.5), pair())

    first, second = algorithm.update(), algorithm.update()
    algorithm.rounds = 1
    third = algorithm.update()

    assert first["surrogate_clipped_share"] == 0.0
    assert first["policy_loss"] == pytest.approx(0.0, abs=1e-6)  # +1 and −1, both with r = 1
    assert second["surrogate_clipped_share"] == 1.0
    assert third["surrogate_clipped_share"] == 0.0


def test_what_moved_beyond_the_clip_moves_no_further_in_a_round():
    algorithm, policy = made(replace(PLAIN, learning_rate=0.5), pair())
    algorithm.update()
    moved = policy.logits.detach().clone()

    algorithm.update()

    assert policy.logits.grad.abs().max() < 1e-6
    algorithm.rounds = 1
    algorithm.update()
    assert policy.logits.grad.abs().max() > 1e-3
    assert not torch.equal(policy.logits, moved)


@pytest.mark.parametrize(
    ("shift", "clip", "weight"), [(1.0, 1.0, exp(-1)), (-1.0, 1.0, 1.0), (-1.0, 2.0, 2.0)]
)
def test_stale_weights_are_corrected_up_to_the_clip(shift, clip, weight):
    plain, policy = made(PLAIN, pair())
    plain.update()
    expected = policy.logits.grad * weight

    stale, policy = made(replace(PLAIN, ratio_clip=clip), pair(log_mu=EVEN + shift))
    stale.update()

    torch.testing.assert_close(policy.logits.grad, expected)


def test_a_skipped_update_is_nobodys_proximal_policy():
    algorithm, policy = made(PLAIN, pair())
    with torch.no_grad():
        policy.logits.fill_(torch.nan)
    assert algorithm.update()["skipped_updates"] == 1.0
    with torch.no_grad():
        policy.logits.zero_()

    figures = algorithm.update()

    assert figures["skipped_updates"] == 1.0
    assert figures["surrogate_clipped_share"] == 0.0


def test_templates_whose_groups_fail_are_asked_for_less():
    algorithm, _ = made(PLAIN, [])
    for number in range(3):
        failing = pair(first_row=10 * number, outcomes=(False, False), template="hard")
        algorithm.add([*failing, *pair(first_row=10 * number + 5, template="easy")])

    assert algorithm.template_weights() == {"hard": exp(-2)}


def test_failures_are_kept_over_a_restart():
    algorithm, _ = made(PLAIN, pair(outcomes=(False, False)))
    algorithm.add(pair(first_row=5, outcomes=(False, False)))
    resumed, _ = made(PLAIN, [])

    resumed.load_state_dict(algorithm.state_dict())

    assert resumed.template_weights() == algorithm.template_weights() == {"t": exp(-1)}


def test_groups_that_are_read_again_after_a_restart_are_not_counted_again():
    failing = [*pair(outcomes=(False, False)), *pair(first_row=5, outcomes=(False, False))]
    algorithm, _ = made(PLAIN, failing)
    resumed, _ = made(PLAIN, [])
    resumed.load_state_dict(algorithm.state_dict())

    resumed.add(failing)
    assert resumed.template_weights() == {"t": exp(-1)}
    resumed.add(pair(first_row=7, outcomes=(False, False)))
    assert resumed.template_weights() == {"t": exp(-2)}


def test_figures_count_what_could_not_be_compared():
    lonely = played(90, [table_step(0, 0, EVEN)], success=True)
    algorithm, _ = made(PLAIN, [*pair(), *pair(first_row=5, outcomes=(True, True)), lonely])

    figures = algorithm.update()

    assert figures["groups"] == 1.0
    assert figures["uninformative_groups"] == 1.0
    assert figures["ungrouped_trajectories"] == 1.0

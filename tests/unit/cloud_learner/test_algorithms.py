"""What holds for every algorithm: it finds a known optimum, learns from the last step, takes μ as
it was stored, survives what it cannot learn from, and goes on from its state.

The checks are functions of how an algorithm is made, so that the end of this file can hold broken
algorithms against them: a check that a broken one passes would be worth nothing.
"""

from __future__ import annotations

import io
from dataclasses import replace
from math import exp, inf, log, nan

import pytest
import torch

from cloud_learner import a_ride, adapter_training, digirl, grpo
from cloud_learner.a_ride import ARide
from cloud_learner.adapter_training import Trainee
from cloud_learner.algorithm import make_algorithm, mean_figures
from cloud_learner.algorithm_settings import ALGORITHMS
from cloud_learner.scoring import Scorer
from tests.tabular import (
    BANDIT,
    CHAIN,
    FINISH,
    ON,
    TablePolicy,
    learnt,
    played,
    table_step,
    trainee_of,
)

NAMES = sorted(ALGORITHMS)
COMMON = {
    "effective_sample_share",
    "ratio_mean",
    "ratio_max",
    "ratio_clipped_share",
    "entropy",
    "kl_to_release",
    "kl_to_reference",
    "replayed_lag_rounds",
    "replayed_success",
    "left_out_steps",
    "loss",
    "grad_norm",
    "skipped_updates",
}


def settings_of(name, **changes):
    """The algorithm as it ships, at the pace of a table; alone, where it has more than anchors."""
    pace = {"learning_rate": 0.05, "critic_learning_rate": 0.01, "critic_warm_up_rounds": 2}
    if name != "filtered_bc":
        pace["success_weight"] = 0.0
    known = {key: value for key, value in pace.items() if hasattr(ALGORITHMS[name], key)}
    return replace(ALGORITHMS[name], **(known | changes))


def maker(name, **changes):
    return lambda trainee: make_algorithm(settings_of(name, **changes), trainee, seed=0)


def warm(name):
    """Settings under which the policy learns at once."""
    instant = {"critic_warm_up_rounds": 0} if hasattr(ALGORITHMS[name], "lambda_") else {}
    return settings_of(name, **instant)


EVEN = log(0.5)


def fork(count=8, *, log_mu=EVEN, first_row=0, group="g0", **facts):
    """A group that differs in its last action only: going on succeeds, finishing fails."""
    made = []
    for index in range(count):
        success = index % 2 == 0
        actions = (ON, ON, ON if success else FINISH)
        steps = [table_step(t, action, log_mu, **facts) for t, action in enumerate(actions)]
        row = first_row + index
        made.append(played(row, steps, success=success, group_id=group, policy_round=0))
    return made


# the checks


def check_the_best_arm_is_found(make):
    chance = learnt(BANDIT, make, rounds=25)
    assert chance > 0.8, f"the best arm succeeds always, the policy {chance:.2f}"


def check_the_end_of_the_chain_is_reached(make):
    chance = learnt(CHAIN, make, rounds=25)
    assert chance > 0.6, f"five right steps succeed always, the policy {chance:.2f} (1/32 at first)"


def check_the_last_step_is_learnt_from(make):
    policy = TablePolicy(3, 2)
    algorithm = make(trainee_of(policy))
    for number in range(12):
        algorithm.add(fork(first_row=8 * number, group=f"g{number}"))
        algorithm.update()
        algorithm.rounds += 1
    chance = float(policy.probabilities()[2, ON])
    assert chance > 0.6, f"the last action decides, and has chance {chance:.2f}"


def check_the_ratio_is_to_the_stored_behaviour_policy(make):
    policy = TablePolicy(3, 2)
    algorithm = make(trainee_of(policy))
    algorithm.add(fork(log_mu=EVEN + 1.0))
    figures = algorithm.update()
    assert figures["ratio_mean"] == pytest.approx(exp(-1.0), rel=1e-4)


# the algorithms pass them


@pytest.mark.parametrize("name", NAMES)
def test_the_best_arm_is_found(name):
    check_the_best_arm_is_found(maker(name))


@pytest.mark.parametrize("name", NAMES)
def test_the_end_of_the_chain_is_reached(name):
    check_the_end_of_the_chain_is_reached(maker(name))


@pytest.mark.parametrize("name", NAMES)
def test_the_last_step_is_learnt_from(name):
    check_the_last_step_is_learnt_from(lambda trainee: make_algorithm(warm(name), trainee, seed=0))


@pytest.mark.parametrize("name", NAMES)
def test_the_ratio_is_to_the_stored_behaviour_policy(name):
    check_the_ratio_is_to_the_stored_behaviour_policy(maker(name))


@pytest.mark.parametrize(("name", "gamma"), [("a_ride", 0.5), ("a_ride_published", 1.0)])
def test_the_critic_learns_the_reward_under_the_discount_that_the_advantage_uses(name, gamma):
    """On the way to a sure success V is γ to the power of the steps behind it: nothing is left."""
    chosen = replace(
        warm(name), gamma=gamma, critic_learning_rate=0.1, learning_rate=0.0, advantage_clip=0.0
    )
    policy = TablePolicy(4, 2)
    algorithm = ARide(trainee_of(policy), chosen, seed=0)
    algorithm.add([played(1, [table_step(t, ON, EVEN) for t in range(4)], success=True)])

    for _ in range(100):
        figures = algorithm.update()

    values = algorithm.critic.value(torch.eye(4)).tolist()
    assert values == pytest.approx([gamma ** (3 - t) for t in range(4)], abs=0.03)
    assert abs(figures["policy_loss"]) < 0.03


@pytest.mark.parametrize("name", NAMES)
def test_internals_have_the_same_names_in_every_algorithm(name):
    algorithm = make_algorithm(warm(name), trainee_of(TablePolicy(3, 2)), seed=0)
    algorithm.add(fork())

    figures = algorithm.update()

    assert set(figures) >= COMMON
    assert ("positive_advantage_share" in figures) == (name != "filtered_bc")
    assert all(isinstance(value, float) and abs(value) < inf for value in figures.values())


@pytest.mark.parametrize("name", NAMES)
def test_the_network_learns_as_the_table_does(name, network, make_adapted, make_trajectory, table):
    adapted = make_adapted(0.1)
    trainable = [one for one in adapted.parameters() if one.requires_grad]
    trainee = Trainee(
        policy=Scorer(network, adapted, table),
        trainable=trainable,
        reference=Scorer(network, make_adapted(0.0), table),
        feature_dim=2 * network.config.d_model,
    )
    before = [one.detach().clone() for one in trainable]
    algorithm = make_algorithm(warm(name), trainee, seed=0)
    group = [make_trajectory(seed, success=seed % 2 == 0, steps=2) for seed in range(8)]
    algorithm.add([replace(one, group_id="g") for one in group])

    rows = [algorithm.update() for _ in range(2)]

    assert rows[-1]["skipped_updates"] == 0.0
    assert all(isinstance(value, float) and abs(value) < inf for value in rows[-1].values())
    assert any(not torch.equal(one, old) for one, old in zip(trainable, before, strict=True))


# what cannot be learnt from


class Broken:
    """A policy whose log-probabilities or gradients are no numbers while `poison` is set."""

    def __init__(self, policy, what):
        self.policy, self.what, self.poison = policy, what, True

    def __call__(self, samples):
        scores = self.policy(samples)
        if not self.poison:
            return scores
        if self.what == "loss":
            return replace(scores, log_prob=scores.log_prob * nan, entropy=scores.entropy * nan)
        # the square root of nothing has an infinite gradient and a finite value
        zero = (self.policy.logits * 0.0).sum().clamp(min=0.0).sqrt()
        return replace(scores, log_prob=scores.log_prob + zero, entropy=scores.entropy + zero)


def everything_of(algorithm, policy):
    """Copies of the table and of all that the algorithm would save."""
    state = algorithm.state_dict()
    kept = {name: value.clone() for name, value in state["critics"].items()}
    return policy.logits.detach().clone(), kept, len(state["optimiser"]["state"])


@pytest.mark.parametrize("what", ["loss", "gradient"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_number_changes_nothing_and_is_counted(name, what):
    policy = TablePolicy(3, 2)
    broken = Broken(policy, what)
    trainee = replace(trainee_of(policy), policy=broken)
    algorithm = make_algorithm(warm(name), trainee, seed=0)
    algorithm.add(fork())
    before, critics, _ = everything_of(algorithm, policy)

    figures = algorithm.update()

    after, same_critics, stepped = everything_of(algorithm, policy)
    assert torch.equal(after, before)
    assert all(torch.equal(same_critics[key], value) for key, value in critics.items())
    assert stepped == 0
    assert algorithm.skipped_updates == 1
    assert figures == {"skipped_updates": 1.0, "left_out_steps": 0.0}

    broken.poison = False
    algorithm.add(fork(first_row=8, group="g1"))
    assert algorithm.update()["skipped_updates"] == 1.0
    assert not torch.equal(policy.logits, before)


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_without_a_usable_step_is_skipped(name):
    policy = TablePolicy(3, 2)
    algorithm = make_algorithm(warm(name), trainee_of(policy), seed=0)
    algorithm.add(fork(usable=False))

    figures = algorithm.update()

    assert figures["skipped_updates"] == 1.0
    assert figures["left_out_steps"] > 0.0
    assert not policy.logits.detach().any()


@pytest.mark.parametrize("name", NAMES)
def test_an_update_without_any_trajectory_is_skipped(name):
    algorithm = make_algorithm(settings_of(name), trainee_of(TablePolicy(3, 2)), seed=0)

    assert algorithm.update() == {"skipped_updates": 1.0, "left_out_steps": 0.0}
    algorithm.add([played(1, [], success=True)])
    assert algorithm.update()["skipped_updates"] == 2.0


@pytest.mark.parametrize("log_mu", [nan, -inf, inf])
@pytest.mark.parametrize("name", NAMES)
def test_a_step_without_a_log_probability_is_left_out(name, log_mu):
    made = fork()
    made[0].steps[1].log_mu = log_mu
    algorithm = make_algorithm(warm(name), trainee_of(TablePolicy(3, 2)), seed=0)

    algorithm.add(made)
    figures = algorithm.update()

    assert not made[0].steps[1].usable
    assert made[0].left_out == 1
    assert figures["skipped_updates"] == 0.0
    assert figures["left_out_steps"] >= 1.0


@pytest.mark.parametrize("name", NAMES)
def test_a_step_that_was_all_but_impossible_gives_finite_figures(name):
    made = fork()
    for one in made:
        one.steps[0].log_mu = -400.0
    algorithm = make_algorithm(warm(name), trainee_of(TablePolicy(3, 2)), seed=0)

    algorithm.add(made)

    assert all(abs(value) < inf for value in algorithm.update().values())


# going on


@pytest.mark.parametrize("name", NAMES)
def test_an_algorithm_goes_on_from_its_state(name):
    first, second = TablePolicy(3, 2), TablePolicy(3, 2)
    algorithm = make_algorithm(warm(name), trainee_of(first), seed=0)
    algorithm.add(fork())
    algorithm.update()
    algorithm.rounds = 1
    buffer = io.BytesIO()
    torch.save(algorithm.state_dict(), buffer)
    buffer.seek(0)
    state = torch.load(buffer, weights_only=True)

    resumed = make_algorithm(warm(name), trainee_of(second), seed=99)
    resumed.load_state_dict(state)
    with torch.no_grad():
        second.logits.copy_(first.logits)
    for one in (algorithm, resumed):
        one.add(fork(first_row=8, group="g1"))
    if name not in {"grpo", "gigpo"}:
        resumed.add(fork())  # what is replayed is read again
    assert resumed.rounds == 1
    assert resumed.skipped_updates == 0
    assert set(resumed.update()) == set(algorithm.update())
    if name in {"grpo", "gigpo"}:
        torch.testing.assert_close(second.logits, first.logits, atol=0.02, rtol=0)


def test_the_state_of_another_algorithm_is_refused():
    one = make_algorithm(settings_of("a_ride"), trainee_of(TablePolicy(3, 2)), seed=0)
    other = make_algorithm(settings_of("digirl"), trainee_of(TablePolicy(3, 2)), seed=0)

    with pytest.raises(RuntimeError):
        one.load_state_dict(other.state_dict())


def test_rows_of_updates_become_their_mean_and_skips_count_up():
    rows = [{"a": 1.0, "skipped_updates": 0.0}, {"skipped_updates": 1.0}, {"a": 2.0, "b": 4.0}]

    assert mean_figures(rows) == {"a": 1.5, "b": 4.0, "skipped_updates": 1.0}
    assert mean_figures([]) == {}


# the tests of the tests

GRADIENT_TERMS = {
    "a_ride": (a_ride, "policy_gradient_loss"),
    "a_ride_published": (a_ride, "policy_gradient_loss"),
    "digirl": (digirl, "imitation_loss"),
    "grpo": (grpo, "clipped_surrogate_loss"),
    "gigpo": (grpo, "clipped_surrogate_loss"),
    "filtered_bc": (adapter_training, "anchor_losses"),
}


def negated(found):
    return {key: -value for key, value in found.items()} if isinstance(found, dict) else -found


@pytest.mark.parametrize("name", NAMES)
def test_a_flipped_sign_fails_the_checks(name, monkeypatch):
    module, term = GRADIENT_TERMS[name]
    right = getattr(module, term)
    monkeypatch.setattr(module, term, lambda *args, **more: negated(right(*args, **more)))

    with pytest.raises(AssertionError, match="the policy 0"):
        check_the_best_arm_is_found(maker(name))
    with pytest.raises(AssertionError, match="has chance 0"):
        check_the_last_step_is_learnt_from(
            lambda trainee: make_algorithm(warm(name), trainee, seed=0)
        )


@pytest.mark.parametrize("name", NAMES)
def test_a_skipped_last_step_fails_the_checks(name):
    class Forgetful:
        def __init__(self, trainee):
            self.right = make_algorithm(warm(name), trainee, seed=0)
            self.rounds, self.update = 0, self.right.update

        def add(self, made):
            self.right.rounds = self.rounds
            self.right.add([replace(one, steps=one.steps[:-1]) for one in made])

    with pytest.raises(AssertionError, match="has chance 0"):
        check_the_last_step_is_learnt_from(Forgetful)


@pytest.mark.parametrize("name", NAMES)
def test_a_behaviour_policy_that_is_computed_again_fails_the_checks(name):
    def make(trainee):
        def again(samples):
            scores = trainee.policy(samples)
            return replace(scores, log_mu=scores.log_prob.detach())

        return make_algorithm(warm(name), replace(trainee, policy=again), seed=0)

    with pytest.raises(AssertionError):
        check_the_ratio_is_to_the_stored_behaviour_policy(make)

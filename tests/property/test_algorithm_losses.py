"""Every term of every algorithm against a slow loop over single steps, in plain Python.

Batches of any shape: trajectories of different lengths, steps that cannot be used, that were
invalid or repeated, and behaviour policies far from the present one.
"""

from __future__ import annotations

from dataclasses import replace
from math import exp, log, sqrt
from statistics import mean, pstdev, stdev

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cloud_learner.a_ride import ARide
from cloud_learner.algorithm_settings import (
    STABILISED,
    DigiRLSettings,
    GroupSettings,
    ReplaySettings,
)
from cloud_learner.digirl import DigiRL
from cloud_learner.grpo import GroupPolicyOptimisation
from tests.tabular import TablePolicy, played, table_step, trainee_of

STATES, ACTIONS = 4, 3
FEW = settings(max_examples=25, deadline=None)

STEPS = st.fixed_dictionaries(
    {
        "state": st.integers(0, STATES - 1),
        "action": st.integers(0, ACTIONS - 1),
        "log_mu": st.floats(-4, 0),
        "usable": st.sampled_from([True, True, True, False]),
        "valid": st.booleans(),
        "repeats": st.integers(0, 4),
    }
)
EPISODES = st.lists(
    st.tuples(st.booleans(), st.lists(STEPS, min_size=1, max_size=5)), min_size=2, max_size=5
)
LOGITS = st.lists(st.floats(-2, 2), min_size=STATES * ACTIONS, max_size=STATES * ACTIONS).map(
    lambda values: torch.tensor(values).view(STATES, ACTIONS)
)


def trajectories_of(episodes):
    return [
        played(row, [table_step(**step) for step in steps], success=success, group_id="g")
        for row, (success, steps) in enumerate(episodes)
    ]


def trained(make, logits, made):
    """The algorithm with its trajectories, on a table with these logits."""
    policy = TablePolicy(STATES, ACTIONS)
    trainee = trainee_of(policy)
    with torch.no_grad():
        policy.logits.copy_(logits)
    algorithm = make(trainee)
    algorithm.add(made)
    return algorithm, policy


def table_of(policy):
    """Log π by state and action, as plain numbers."""
    return torch.log_softmax(policy.logits.detach().double(), dim=-1).tolist()


def values_of(critic):
    """V by state, as plain numbers."""
    return critic.value(torch.eye(STATES)).tolist()


def ratio(step, table):
    return exp(table[step.state][step.action] - step.log_mu) if step.usable else 1.0


def entropy(row):
    return -sum(exp(one) * one for one in row)


def divergence(row):
    return sum(exp(one) * (one + log(ACTIONS)) for one in row)


def cross_entropy(value, target):
    return -(target * log(value) + (1 - target) * log(1 - value))


def slow_regularisers(made, table, chosen):
    """Entropy, invalid and KL terms as they are printed, means over all steps."""
    steps = [step for one in made for step in one.steps]
    own = [step for step in steps if step.usable]
    rows = [table[step.state] for step in own]
    unlikely = [
        min(chosen.ratio_clip or 1e9, ratio(step, table)) * table[step.state][step.action]
        for step in own
        if not step.valid
    ]
    return {
        "entropy_loss": -chosen.entropy_weight * sum(map(entropy, rows)) / len(steps),
        "invalid_loss": chosen.invalid_weight * sum(unlikely) / len(steps),
        "kl_loss": chosen.kl_weight * sum(map(divergence, rows)) / len(steps),
    }


def slow_a_ride(made, table, value, chosen):
    """A-RIDE's terms, one step at a time."""
    critic, rows = [], []
    for one in made:
        count, v = len(one.steps), [value[step.state] for step in one.steps] + [0.0]
        rho = [ratio(step, table) for step in one.steps]
        gamma = [chosen.gamma] * (count - 1) + [0.0]
        reward = [0.0] * (count - 1) + [float(one.success)]
        error = [reward[t] + gamma[t] * v[t + 1] - v[t] for t in range(count)]
        delta = []
        for t in range(count):
            total, trace, discount = 0.0, 1.0, 1.0
            for k in range(t, count):
                if k > t:
                    trace *= chosen.lambda_ * (min(1.0, rho[k]) if chosen.retrace else 1.0)
                    discount *= chosen.gamma
                total += discount * trace * error[k]
            delta.append(total)
        for t, step in enumerate(one.steps):
            if chosen.retrace_critic:
                target = min(1.0, max(0.0, v[t] + delta[t]))
            else:
                target = float(one.success)
            critic.append(cross_entropy(v[t], target) if step.usable else 0.0)
            penalty = min(chosen.repetition_cap, step.repeats * chosen.repetition_penalty)
            later = delta[t + 1] if chosen.multi_step and t + 1 < count else 0.0
            advantage = reward[t] - penalty + gamma[t] * (v[t + 1] + later) - v[t]
            rows.append((step, rho[t], advantage))
    usable = [advantage for step, _, advantage in rows if step.usable]
    deviation = stdev(usable) if len(usable) > 1 else 1.0
    policy = 0.0
    for step, rho_t, advantage in rows:
        scaled = advantage
        if chosen.advantage_clip:
            scaled = advantage / (deviation + 1e-6)
            scaled = max(-chosen.advantage_clip, min(chosen.advantage_clip, scaled))
        scaled *= chosen.negative_scale if scaled < 0 else 1.0
        if step.usable:
            weight = min(chosen.ratio_clip or 1e9, rho_t)
            policy -= weight * scaled * table[step.state][step.action]
    return {
        "critic_loss": mean(critic),
        "policy_loss": policy / len(rows),
        **slow_regularisers(made, table, chosen),
    }


def agree(figures, expected):
    for name, value in expected.items():
        assert figures[name] == pytest.approx(value, rel=2e-3, abs=1e-4), name


@FEW
@given(
    EPISODES,
    LOGITS,
    st.fixed_dictionaries(
        {
            "gamma": st.floats(0.3, 1),
            "lambda_": st.floats(0, 1),
            "retrace": st.booleans(),
            "multi_step": st.booleans(),
            "retrace_critic": st.booleans(),
            "negative_scale": st.floats(0, 1),
            "ratio_clip": st.sampled_from([0.0, 0.5, 1.0, 2.0]),
            "advantage_clip": st.sampled_from([0.0, 1.0, 3.0]),
            "repetition_penalty": st.floats(0, 0.5),
        }
    ),
)
def test_a_ride_is_the_slow_loop(episodes, logits, changes):
    chosen = replace(
        STABILISED,
        **changes,
        critic_warm_up_rounds=0,
        success_weight=0.0,
        replay=ReplaySettings(prioritised=False),
    )
    made = trajectories_of(episodes)
    if not any(step.usable for one in made for step in one.steps):
        return
    algorithm, policy = trained(lambda trainee: ARide(trainee, chosen, seed=0), logits, made)
    expected = slow_a_ride(made, table_of(policy), values_of(algorithm.critic), chosen)

    agree(algorithm.update(), expected)


@FEW
@given(EPISODES, LOGITS)
def test_priorities_are_the_slow_loop(episodes, logits):
    weights = ReplaySettings(error_weight=1.0, ratio_weight=0.3, entropy_weight=0.5)
    chosen = replace(STABILISED, replay=weights)
    made = trajectories_of(episodes)
    if not any(step.usable for one in made for step in one.steps):
        return
    algorithm, policy = trained(lambda trainee: ARide(trainee, chosen, seed=0), logits, made)
    table, value = table_of(policy), values_of(algorithm.critic)

    algorithm.update()

    for one in made:
        v = [value[step.state] for step in one.steps] + [0.0]
        errors, last = [], len(one.steps) - 1
        for t in range(last + 1):
            following = float(one.success) if t == last else chosen.gamma * v[t + 1]
            errors.append(min(1.0, abs(following - v[t])))
        ratios = [min(1.0, ratio(step, table)) for step in one.steps]
        entropies = [min(1.0, entropy(table[step.state]) / 3.0) for step in one.steps]
        expected = mean(errors) + 0.3 * mean(ratios) + 0.5 * mean(entropies)
        assert one.priority == pytest.approx(expected, rel=1e-3)


@FEW
@given(EPISODES, LOGITS, st.floats(0, 1), st.floats(-0.5, 0.9), st.floats(0.1, 1))
def test_digirl_is_the_slow_loop(episodes, logits, lambda_, threshold, share):
    chosen = DigiRLSettings(
        lambda_=lambda_,
        step_threshold=threshold,
        instruction_share=share,
        critic_warm_up_rounds=0,
        success_weight=0.0,
        trajectories_per_update=2 * len(episodes),
    )
    made = trajectories_of(episodes)
    if not any(step.usable for one in made for step in one.steps):
        return
    algorithm, policy = trained(lambda trainee: DigiRL(trainee, chosen, seed=0), logits, made)
    table, value = table_of(policy), values_of(algorithm.step_critic)
    opening = values_of(algorithm.instruction_critic)
    surprises = [one.success - opening[one.steps[0].state] for one in made]
    limit = quantile(surprises, 1.0 - share)
    critic, imitated = [], []
    for one, surprise in zip(made, surprises, strict=True):
        v, last = [value[step.state] for step in one.steps] + [0.0], len(one.steps) - 1
        for t, step in enumerate(one.steps):
            final = lambda_ ** (last - t) * one.success
            reward = float(one.success) if t == last else 0.0
            advantage = final + (1 - final) * (v[t + 1] + reward - v[t])
            if abs(advantage - threshold) < 1e-5 or abs(surprise - limit) < 1e-6 < share < 1 - 1e-6:
                return  # rounding decides
            if step.usable:
                critic.append(cross_entropy(v[t], float(one.success)))
                if surprise >= limit and advantage > threshold:
                    imitated.append(-table[step.state][step.action])

    figures = algorithm.update()

    found = {"critic_loss": mean(critic), "policy_loss": mean(imitated or [0.0])}
    instructions = [cross_entropy(opening[one.steps[0].state], float(one.success)) for one in made]
    # a trajectory that passed is drawn twice, and its usable steps are imitated twice: same mean
    agree(figures, {**found, "instruction_loss": mean(instructions)})


def quantile(values, share):
    """Linear between the ordered values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def slow_group_advantages(made, chosen):
    """By step: among episodes, and among the steps of the group that started in one state."""
    shortest = min((len(one.steps) for one in made if one.success), default=1)
    rewards = [
        1 - chosen.shortest_path * (len(one.steps) - shortest) / len(one.steps)
        if one.success
        else 0.0
        for one in made
    ]
    spread = max(pstdev(rewards), chosen.deviation_floor)
    returns = [
        [chosen.gamma ** (len(one.steps) - 1 - t) * reward for t in range(len(one.steps))]
        for one, reward in zip(made, rewards, strict=True)
    ]
    found = []
    for index, one in enumerate(made):
        row = []
        for t, step in enumerate(one.steps):
            same = [
                returns[other][k]
                for other, two in enumerate(made)
                for k, there in enumerate(two.steps)
                if there.state_hash == step.state_hash
            ]
            among = (returns[index][t] - mean(same)) / max(pstdev(same), chosen.deviation_floor)
            row.append((rewards[index] - mean(rewards)) / spread + chosen.step_weight * among)
        found.append(row)
    return found


@FEW
@given(
    EPISODES,
    LOGITS,
    st.fixed_dictionaries(
        {
            "step_weight": st.sampled_from([0.0, 1.0, 0.5]),
            "shortest_path": st.floats(0, 1),
            "gamma": st.floats(0.5, 1),
            "ratio_clip": st.sampled_from([0.0, 1.0, 2.0]),
            "clip_low": st.floats(0.05, 0.5),
            "clip_high": st.floats(0.05, 0.5),
        }
    ),
)
def test_group_optimisation_is_the_slow_loop(episodes, logits, changes):
    chosen = GroupSettings(
        **changes,
        group_size=len(episodes),
        success_weight=0.0,
        replay_share=0.0,
        learning_rate=0.3,
        max_grad_norm=100.0,
    )
    made = trajectories_of(episodes)
    advantages = slow_group_advantages(made, chosen)
    usable = any(step.usable for one in made for step in one.steps)
    largest = max(abs(value) for row in advantages for value in row)
    if not usable or largest < 1e-6:
        return
    algorithm, policy = trained(
        lambda trainee: GroupPolicyOptimisation(trainee, chosen, seed=0), logits, made
    )
    proximal = table_of(policy)

    for _ in range(2):  # the first update of a round is its own proximal policy
        table, total, count = table_of(policy), 0.0, 0
        for one, row in zip(made, advantages, strict=True):
            for step, advantage in zip(one.steps, row, strict=True):
                count += 1
                if step.usable:
                    before = proximal[step.state][step.action]
                    r = exp(table[step.state][step.action] - before)
                    clipped = max(1 - chosen.clip_low, min(1 + chosen.clip_high, r))
                    weight = min(chosen.ratio_clip or 1e9, exp(before - step.log_mu))
                    total -= weight * min(r * advantage, clipped * advantage)
        figures = algorithm.update()
        agree(figures, {"policy_loss": total / count, **slow_regularisers(made, table, chosen)})


@FEW
@given(EPISODES, LOGITS, st.sampled_from([0.0, 0.7, 1.0]))
def test_internals_are_the_slow_loop(episodes, logits, clip):
    chosen = replace(
        STABILISED, ratio_clip=clip, success_weight=0.0, replay=ReplaySettings(prioritised=False)
    )
    made = trajectories_of(episodes)
    for row, one in enumerate(made):
        one.policy_round = row % 2
    if not any(step.usable for one in made for step in one.steps):
        return
    algorithm, policy = trained(lambda trainee: ARide(trainee, chosen, seed=0), logits, made)
    algorithm.rounds = 3
    table = table_of(policy)
    steps = [(one, step) for one in made for step in one.steps]
    rho = [ratio(step, table) for _, step in steps]
    weights = [min(clip or 1e9, one) for one in rho]
    newest = [
        ratio(step, table) - 1 - log(ratio(step, table))
        for one, step in steps
        if one.policy_round == 1 and step.usable
    ]

    figures = algorithm.update()

    agree(
        figures,
        {
            "effective_sample_share": sum(weights) ** 2
            / sum(one**2 for one in weights)
            / len(weights),
            "ratio_mean": mean(rho),
            "ratio_max": max(rho),
            "entropy": mean(entropy(table[step.state]) for _, step in steps),
            "kl_to_reference": mean(divergence(table[step.state]) for _, step in steps),
            "kl_to_release": mean(newest or [0.0]),
            "replayed_lag_rounds": 3 - mean(one.policy_round for one in made),
            "left_out_steps": sum(not step.usable for _, step in steps),
        },
    )
    assert figures["effective_sample_share"] <= 1 + 1e-6
    assert sqrt(figures["effective_sample_share"]) > 0

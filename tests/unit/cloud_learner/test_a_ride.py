"""A-RIDE's parts, one by one: what each switch changes, and that it changes nothing else."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from math import log

import pytest
import torch

from cloud_learner.algorithm_settings import PUBLISHED, STABILISED, ReplaySettings
from cloud_learner.replay import SuccessMemory

BARE = replace(
    STABILISED,
    critic_warm_up_rounds=0,
    policy_gradient=False,
    kl_weight=0.0,
    entropy_weight=0.0,
    invalid_weight=0.0,
    demo_weight=0.0,
    success_weight=0.0,
    max_grad_norm=1e9,
    replay=ReplaySettings(prioritised=False),
)
"""Only the critic learns; gradients are not clipped, and each update takes all there is."""

GRADIENT = replace(BARE, policy_gradient=True, advantage_clip=0.0, negative_scale=1.0)

WEIGHTS = {
    "policy_gradient": True,
    "kl_weight": 0.02,
    "entropy_weight": 0.02,
    "invalid_weight": 0.05,
    "demo_weight": 0.3,
    "success_weight": 0.3,
}


@pytest.fixture
def trajectories(make_trajectory):
    """`trajectories()`: fresh ones, a success of one step among failures, some steps invalid."""

    def make():
        made = [make_trajectory(seed, success=False, steps=2 + seed % 3) for seed in range(4)]
        for one in made[:2]:
            one.steps[0].valid = False
        return [*made, make_trajectory(9, success=True, steps=1)]

    return make


@pytest.fixture
def demonstrations(make_trajectory):
    memory = SuccessMemory()
    memory.add(make_trajectory(20, steps=1))
    return {"new": memory}


@pytest.fixture
def gradients(make_bench, trajectories, demonstrations):
    """`gradients(settings)`: adapter's, critic's and figures of one update on the same data."""

    def make(settings, played=None):
        bench = make_bench(
            settings, trajectories() if played is None else played, demonstrations=demonstrations
        )
        return bench.gradients()

    return make


def close(first, second):
    torch.testing.assert_close(first, second, atol=2e-6, rtol=1e-3)


def test_every_weight_adds_its_own_term_and_nothing_else(gradients):
    everything, critic, _ = gradients(replace(BARE, **WEIGHTS))
    total = torch.zeros_like(everything)
    for name, value in WEIGHTS.items():
        alone, same_critic, _ = gradients(replace(BARE, **{name: value}))
        assert float(alone.norm()) > 1e-6, name
        close(same_critic, critic)
        total += alone

    close(total, everything)


@pytest.mark.parametrize("name", sorted(WEIGHTS))
def test_a_weight_of_zero_takes_exactly_its_term_away(name, gradients):
    everything, _, _ = gradients(replace(BARE, **WEIGHTS))
    alone, _, _ = gradients(replace(BARE, **{name: WEIGHTS[name]}))

    without, _, metrics = gradients(replace(BARE, **{**WEIGHTS, name: 0}))

    close(without, everything - alone)
    term = {"policy_gradient": "policy_loss"}.get(name, name.replace("_weight", "_loss"))
    assert term not in metrics


def test_with_every_part_off_only_the_critic_learns(gradients):
    adapter, critic, _ = gradients(BARE)

    assert not adapter.any()
    assert critic.any()


def test_the_divergence_counts_beside_anchors(gradients):
    _, _, alone = gradients(replace(BARE, kl_weight=1.0))
    _, _, beside = gradients(replace(BARE, kl_weight=1.0, demo_weight=0.3, success_weight=0.3))

    assert alone["kl_loss"] > 0
    assert beside["kl_loss"] == pytest.approx(alone["kl_loss"], rel=1e-4)


def test_multi_step_changes_the_advantage_and_not_the_critic(gradients):
    many, critic, _ = gradients(GRADIENT)
    one, same_critic, _ = gradients(replace(GRADIENT, multi_step=False))

    close(critic, same_critic)
    assert not torch.allclose(many, one, rtol=1e-2)


def test_a_trace_of_length_zero_is_the_one_step_advantage(gradients):
    short, _, _ = gradients(replace(GRADIENT, lambda_=0.0, multi_step=False))
    one, _, _ = gradients(replace(GRADIENT, lambda_=0.95, multi_step=False))

    close(short, one)


def test_the_critics_target_changes_the_critic_and_not_the_policy(gradients):
    policy, critic, _ = gradients(GRADIENT)
    same_policy, other_critic, _ = gradients(replace(GRADIENT, retrace_critic=False))

    close(policy, same_policy)
    assert not torch.allclose(critic, other_critic, rtol=1e-2)


def test_the_published_critics_label_is_that_the_return_is_positive(gradients):
    settings = replace(BARE, retrace_critic=False)
    _, critic, _ = gradients(settings)

    for other in ({"gamma": 0.5}, {"lambda_": 0.0}, {"ratio_clip": 0.0}):
        close(gradients(replace(settings, **other))[1], critic)


def test_the_published_critics_loss_is_the_cross_entropy_of_success(make_bench, make_trajectory):
    played = [make_trajectory(1, steps=1), make_trajectory(2, success=False, steps=3)]
    bench = make_bench(replace(BARE, retrace_critic=False, gamma=0.5), played)
    with torch.no_grad():
        last = bench.algorithm.critic.layers[-1]
        last.weight.zero_()
        last.bias.fill_(log(0.2 / 0.8))  # V is 0.2 everywhere

    metrics = bench.algorithm.update()

    assert metrics["critic_loss"] == pytest.approx(-(log(0.2) + 3 * log(0.8)) / 4, rel=1e-4)


def test_the_value_filter_keeps_the_best_share_and_leaves_the_critic_alone(
    gradients, make_trajectory
):
    def both():
        return [make_trajectory(1, success=False, steps=2), make_trajectory(2, steps=3)]

    kept, critic, _ = gradients(replace(GRADIENT, value_filter=0.5), both())
    _, same_critic, _ = gradients(GRADIENT, both())
    best, _, _ = gradients(GRADIENT, both()[1:])

    close(kept * 5 / 3, best)  # means over five steps and over three
    close(critic, same_critic)


def test_the_value_filter_can_rank_by_how_a_trajectory_ended(make_bench, make_trajectory):
    played = [make_trajectory(1, steps=2), make_trajectory(2, success=False, steps=3)]
    settings = replace(GRADIENT, value_filter=0.5, trajectory_value=True)
    bench = make_bench(settings, played)
    ranks = torch.tensor([0.2, 0.8])  # V_traj prefers the failure
    bench.algorithm._trajectory_critic.value = lambda _features, kinds: ranks[
        [0, 1] if int(kinds[0]) == played[0].steps[-1].action_type else [1, 0]
    ]
    played[1].steps[-1].action_type = (played[0].steps[-1].action_type + 1) % 20

    best, _, _ = bench.gradients()

    alone, _, _ = make_bench(GRADIENT, [played[1]]).gradients()
    close(best * 5 / 3, alone)


def test_the_trajectory_critic_learns_which_endings_are_successes(make_bench, make_trajectory):
    played = [make_trajectory(1, steps=1), make_trajectory(2, success=False, steps=2)]
    played[0].steps[-1].action_type, played[1].steps[-1].action_type = 3, 5
    settings = replace(BARE, trajectory_value=True, critic_learning_rate=1e-2)
    bench = make_bench(settings, played)

    losses = [bench.algorithm.update()["trajectory_critic_loss"] for _ in range(30)]

    assert losses[0] > 0.5
    assert losses[-1] < 0.1


def test_importance_weights_scale_what_a_trajectory_teaches(make_bench, make_trajectory):
    def both():
        return [make_trajectory(1, success=False, steps=2), make_trajectory(2, steps=2)]

    corrected = ReplaySettings(prioritised=True, exponent=1.0, importance_exponent=1.0)
    gradients = {}
    for name, replay in (("plain", ReplaySettings(prioritised=False)), ("corrected", corrected)):
        played = both()
        bench = make_bench(replace(GRADIENT, replay=replay), played)
        played[0].priority, played[1].priority = 1.0, 4.0
        gradients[name] = bench.gradients()[0]
    alone = make_bench(GRADIENT, both()[:1]).gradients()[0] / 2
    other = make_bench(GRADIENT, both()[1:]).gradients()[0] / 2

    close(gradients["plain"], alone + other)
    close(gradients["corrected"], alone + other / 4)


def test_penalties_enter_the_advantage_and_never_the_critics_labels(gradients, trajectories):
    for retrace_critic in (True, False):
        settings = replace(GRADIENT, retrace_critic=retrace_critic)
        played = trajectories(), trajectories()
        for one in (*played[0], *played[1]):
            one.steps[-1].repeats = 2
        plain, critic, _ = gradients(settings, played[0])
        punished, same_critic, _ = gradients(replace(settings, repetition_penalty=0.4), played[1])

        close(critic, same_critic)
        assert not torch.allclose(plain, punished, rtol=1e-2)


def test_repetitions_are_punished_up_to_the_cap(gradients, make_trajectory):
    def punished(repeats, cap):
        one = make_trajectory(1, success=False, steps=1)
        one.steps[0].repeats = repeats
        settings = replace(GRADIENT, repetition_penalty=0.4, repetition_cap=cap)
        return gradients(settings, [one])[0]

    close(punished(3, 10.0), punished(9, 1.2))
    assert float(punished(9, 10.0).norm()) > 1.5 * float(punished(9, 1.2).norm())


def test_negative_advantages_are_damped(gradients, make_trajectory):
    failures = [[make_trajectory(seed, success=False) for seed in range(3)] for _ in range(2)]

    full, _, metrics = gradients(GRADIENT, failures[0])
    damped, _, _ = gradients(replace(GRADIENT, negative_scale=0.2), failures[1])

    assert metrics["positive_advantage_share"] == 0.0
    close(damped, 0.2 * full)


def test_advantages_are_divided_by_their_deviation_and_not_centred(gradients):
    raw, _, _ = gradients(GRADIENT)
    scaled, _, _ = gradients(replace(GRADIENT, advantage_clip=1e9))

    ratio = scaled.norm() / raw.norm()
    assert float(ratio) > 1.0
    close(scaled / ratio, raw)


def test_the_ratio_is_clipped_where_a_clip_is_set(gradients, make_trajectory):
    def likely(log_mu):
        one = make_trajectory(2, steps=1)
        one.steps[0].log_mu = log_mu
        return [one]

    clipped, _, metrics = gradients(replace(GRADIENT, ratio_clip=1.0), likely(-5.0))
    unclipped, _, _ = gradients(replace(GRADIENT, ratio_clip=0.0), likely(-5.0))

    assert metrics["ratio_clipped_share"] == 1.0
    close(unclipped, clipped * metrics["ratio_max"])


def test_the_policy_waits_until_the_critic_is_warm(make_bench, trajectories):
    settings = replace(BARE, **WEIGHTS, critic_warm_up_rounds=2)
    settings = replace(settings, demo_weight=0.0, success_weight=0.0)
    bench = make_bench(settings, trajectories())

    moved = []
    for _ in range(3):
        adapter, critic, metrics = bench.gradients()
        bench.algorithm.rounds += 1
        moved.append((bool(adapter.any()), bool(critic.any()), "policy_loss" in metrics))

    assert moved == [(False, True, False), (False, True, False), (True, True, True)]


def test_anchors_hold_while_the_critic_is_warmed(make_bench, trajectories, demonstrations):
    settings = replace(BARE, critic_warm_up_rounds=9, demo_weight=0.3)
    bench = make_bench(settings, trajectories(), demonstrations=demonstrations)

    adapter, _, _ = bench.gradients()

    assert adapter.any()


def test_own_successes_of_the_new_app_alone_become_an_anchor(make_bench, make_trajectory):
    bench = make_bench(BARE)
    bench.algorithm.add(
        [
            make_trajectory(1),
            make_trajectory(2, success=False),
            make_trajectory(3, app="settings"),
        ],
        anchored_app="tickets",
    )

    assert [one.row for one in bench.algorithm.successes.trajectories()] == [1]
    assert len(bench.algorithm.replay) == 3


def test_steps_that_are_left_out_teach_nothing(gradients, make_trajectory):
    def played():
        return [make_trajectory(seed, steps=2) for seed in range(3)]

    broken = played()
    for one in broken:
        for step in one.steps:
            step.usable = False
    adapter, critic, metrics = gradients(replace(GRADIENT, kl_weight=0.02), broken)

    assert metrics["left_out_steps"] == 6.0
    assert not adapter.any()
    assert not critic.any()


def test_only_adapter_and_critic_change(make_bench, trajectories, network):
    base = {name: value.clone() for name, value in network.state_dict().items()}
    bench = make_bench(replace(STABILISED, critic_warm_up_rounds=0), trajectories())
    before = {name: value.clone() for name, value in bench.adapted.state_dict().items()}
    critic = [value.clone() for value in bench.algorithm.critic.parameters()]

    for _ in range(3):
        bench.algorithm.update()

    changed = {
        name
        for name, value in bench.adapted.state_dict().items()
        if not torch.equal(value, before[name])
    }
    assert changed == {name for name in before if ".lora_" in name}
    assert all(torch.equal(value, base[name]) for name, value in network.state_dict().items())
    assert all(
        not torch.equal(one, old)
        for one, old in zip(bench.algorithm.critic.parameters(), critic, strict=True)
    )


def test_successful_actions_become_likelier_and_failed_ones_less_likely(
    make_bench, make_trajectory
):
    good, bad = make_trajectory(1, steps=3), make_trajectory(2, success=False, steps=3)
    settings = replace(GRADIENT, learning_rate=3e-3)
    bench = make_bench(settings, [good, bad], noise=0.0)
    with torch.no_grad():
        before = bench.policy([*good.steps, *bad.steps]).log_prob.view(2, 3).sum(1)

    for _ in range(25):
        bench.algorithm.update()

    with torch.no_grad():
        after = bench.policy([*good.steps, *bad.steps]).log_prob.view(2, 3).sum(1)
    assert after[0] > before[0] + 0.5
    assert after[1] < before[1] - 0.5


def test_published_and_stabilised_are_settings_of_one_implementation(make_bench, trajectories):
    for settings in (PUBLISHED, STABILISED):
        bench = make_bench(replace(settings, critic_warm_up_rounds=0), trajectories())
        adapter, critic, metrics = bench.gradients()
        assert adapter.any()
        assert critic.any()
        assert all(torch.isfinite(torch.tensor(value)) for value in metrics.values())

    off = {"kl_weight", "demo_weight", "success_weight", "ratio_clip", "advantage_clip"}
    assert {name for name in off if getattr(PUBLISHED, name)} == set()
    assert (PUBLISHED.gamma, PUBLISHED.negative_scale, PUBLISHED.value_filter) == (1.0, 1.0, 0.1)
    assert type(PUBLISHED) is type(STABILISED)


def test_no_setting_is_without_effect(make_bench, trajectories, demonstrations):
    """Every field of the settings changes an update, or the test above that names it does."""
    tested_elsewhere = {
        "replay",
        "repetition_cap",
        "critic_warm_up_rounds",
        "max_grad_norm",
        "trajectory_value",
        "successes_per_template",
    }
    other = {
        "gamma": 0.5,
        "lambda_": 0.0,
        "learning_rate": 1e-2,
        "critic_learning_rate": 1e-2,
        "trajectories_per_update": 2,
        "repetition_penalty": 0.4,
        "demo_steps_new": 3,
        "demo_steps_old": 3,
        "success_steps": 3,
        "value_filter": 0.2,
        "advantage_clip": 0.0,
        "ratio_clip": 0.0,
        "negative_scale": 1.0,
        "multi_step": False,
        "retrace": False,
        "retrace_critic": False,
        **dict.fromkeys(WEIGHTS, 0),
    }
    names = {field.name for field in dataclasses.fields(STABILISED)}
    assert set(other) == names - tested_elsewhere
    plain = _after(make_bench, trajectories, demonstrations, {})
    for name, value in other.items():
        changed = _after(make_bench, trajectories, demonstrations, {name: value})
        assert not torch.equal(changed, plain), name


def _after(make_bench, trajectories, demonstrations, changes):
    """All parameters after one update: the demonstrations count as both groups."""
    played = trajectories()[-3:]
    for one in played:
        one.steps[-1].repeats = 1
        one.steps[0].valid = False
        one.steps[len(one.steps) // 2].log_mu += 0.5
        one.steps[-1].log_mu -= 1.0
    both = {"new": demonstrations["new"], "old": demonstrations["new"]}
    settings = replace(STABILISED, critic_warm_up_rounds=0, **changes)
    bench = make_bench(settings, played, demonstrations=both)
    bench.algorithm.update()
    parameters = [*bench.adapted.parameters(), *bench.algorithm.critic.parameters()]
    return torch.cat([one.detach().flatten() for one in parameters])


def test_the_gradients_norm_is_clipped(make_bench, trajectories):
    bench = make_bench(replace(BARE, policy_gradient=True, max_grad_norm=1e-3), trajectories())

    adapter, critic, metrics = bench.gradients()

    assert metrics["grad_norm"] > 1e-3
    assert float(adapter.norm()) == pytest.approx(1e-3, rel=1e-3)
    assert float(critic.norm()) == pytest.approx(1e-3, rel=1e-3)


def test_figures_say_what_happened(gradients, make_trajectory):
    played = [make_trajectory(seed, success=seed == 0, steps=2) for seed in range(3)]

    _, _, metrics = gradients(replace(GRADIENT, **WEIGHTS), played)

    assert 0.0 < metrics["effective_sample_share"] <= 1.0
    assert metrics["ratio_max"] >= metrics["ratio_mean"] > 0.0
    assert 0.0 <= metrics["ratio_clipped_share"] <= 1.0
    assert 0.0 <= metrics["positive_advantage_share"] <= 1.0
    assert metrics["entropy"] > 0.0
    assert metrics["left_out_steps"] == 0.0


def test_refactoring_leaves_a_seeded_run_as_it_was(make_bench, trajectories, demonstrations):
    """A fingerprint of three updates; change it only together with what the algorithm does.

    Projections and figures with a tolerance, where a hash would depend on the machine's rounding.
    Every setting is given here, so that tuning a default changes nothing.
    """
    settings = replace(
        BARE,
        **WEIGHTS,
        trajectories_per_update=3,
        demo_steps_new=2,
        demo_steps_old=0,
        success_steps=2,
        max_grad_norm=1.0,
        repetition_penalty=0.4,
        replay=ReplaySettings(prioritised=True, exponent=0.5),
    )
    bench = make_bench(settings, trajectories(), demonstrations=demonstrations, seed=4)
    for _ in range(3):
        adapter, critic, metrics = bench.gradients()

    found = [
        *(
            float(torch.dot(one, torch.linspace(-1, 1, len(one)).sign()))
            for one in (adapter, critic)
        ),
        *(
            metrics[name]
            for name in ("grad_norm", "policy_loss", "kl_loss", "entropy_loss", "critic_loss")
        ),
    ]
    assert found == pytest.approx(FINGERPRINT, rel=2e-3, abs=1e-5)


FINGERPRINT = [-1.00615, 5.72001, 2.63247, 0.00178999, 0.00358083, -0.0281076, 0.698554]

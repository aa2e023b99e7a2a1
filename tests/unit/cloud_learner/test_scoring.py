"""Scores of steps: in buckets as one by one, as the phone's decoding, against a reference."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest
import torch

from cloud_learner.scoring import Scorer


@pytest.fixture
def samples(make_trajectory):
    return [step for seed in range(12) for step in make_trajectory(seed, steps=4).steps]


@pytest.fixture
def scorer(network, make_adapted, table):
    return Scorer(network, make_adapted(0.1), table)


@pytest.fixture
def reference(network, make_adapted, table):
    return Scorer(network, make_adapted(0.0), table)


def test_scoring_in_buckets_equals_scoring_one_by_one(scorer, reference, samples):
    reference.remember_as_reference(samples)

    together = scorer(samples)
    alone = [scorer([sample]) for sample in samples]

    for field in dataclasses.fields(together):
        expected = torch.cat([getattr(one, field.name) for one in alone])
        torch.testing.assert_close(getattr(together, field.name), expected, atol=2e-5, rtol=1e-4)


def test_the_network_that_acted_gives_the_log_probability_that_was_stored(
    network, make_adapted, make_trajectory, table
):
    actor = make_adapted(0.1)
    steps = [one for seed in range(6) for one in make_trajectory(seed, actor=actor).steps]

    scores = Scorer(network, actor, table)(steps)

    torch.testing.assert_close(scores.log_prob, scores.log_mu, atol=1e-4, rtol=0)


def test_another_network_changes_log_pi_and_never_log_mu(scorer, network, make_trajectory, table):
    steps = make_trajectory(3, steps=5).steps
    stored = torch.tensor([step.log_mu for step in steps])

    before, after = Scorer(network, None, table)(steps), scorer(steps)

    assert not torch.allclose(before.log_prob, after.log_prob, atol=1e-3)
    assert torch.equal(before.log_mu, stored)
    assert torch.equal(after.log_mu, stored)


def test_the_divergence_is_zero_at_the_reference_and_positive_after_a_change(
    scorer, reference, samples
):
    reference.remember_as_reference(samples)

    same, moved = reference(samples).divergence, scorer(samples).divergence

    torch.testing.assert_close(same, torch.zeros_like(same), atol=1e-5, rtol=0)
    assert (moved > 0).all()


def test_a_step_without_a_reference_leaves_the_divergence_of_the_others_alone(
    scorer, reference, samples
):
    known, unknown = samples[::2], samples[1::2]
    reference.remember_as_reference(known)

    mixed = scorer(samples).divergence

    torch.testing.assert_close(mixed[::2], scorer(known).divergence, atol=1e-5, rtol=1e-4)
    assert torch.equal(mixed[1::2], torch.zeros(len(unknown)))


def test_a_reference_that_is_known_stays(scorer, reference, samples):
    reference.remember_as_reference(samples[:3])
    kept = [sample.reference for sample in samples[:3]]

    scorer.remember_as_reference(samples)

    assert all(one.reference is old for one, old in zip(samples, kept, strict=False))
    assert all(sample.reference is not None for sample in samples)


def test_an_unusable_step_has_no_log_probability(scorer, samples):
    sample = samples[0]
    sample.masks[:], sample.usable, sample.count = False, False, 1
    sample.masks[:, 0], sample.choices[:] = True, 0

    with torch.no_grad():
        scores = scorer([sample])

    assert float(scores.log_prob) == 0.0
    assert float(scores.entropy) == 0.0
    assert float(scores.usable) == 0.0


def test_entropy_is_the_mean_over_the_decisions_of_a_step(network, make_trajectory, table):
    (sample,) = make_trajectory(1, steps=1).steps
    sample.masks[:] = False
    sample.masks[:, [0, 5]] = True
    sample.choices[:], sample.count = 0, 2
    flat = Scorer(_without_preferences(network), None, table)

    assert float(flat([sample]).entropy) == pytest.approx(0.6931, abs=1e-3)
    assert float(flat([sample]).log_prob) == pytest.approx(-2 * 0.6931, abs=1e-3)


def _without_preferences(network):
    flat = copy.deepcopy(network)
    with torch.no_grad():
        flat.type_head.weight.zero_()
    return flat


def test_only_the_adapter_gets_gradients(network, make_adapted, table, make_trajectory):
    adapted = make_adapted(0.1)
    scores = Scorer(network, adapted, table)(make_trajectory(2).steps)

    scores.log_prob.sum().backward()

    assert all(value.grad is None for value in network.parameters())
    assert {name for name, value in adapted.named_parameters() if value.grad is not None} == {
        name for name, value in adapted.named_parameters() if ".lora_" in name
    }


def test_allowed_choices_share_all_probability_and_forbidden_ones_have_none(scorer, samples):
    scorer.remember_as_reference(samples)

    for sample in samples:
        for position in range(sample.count):
            allowed, log_probs = sample.masks[position], sample.reference[position]
            assert np.exp(log_probs[allowed]).sum() == pytest.approx(1.0, abs=1e-5)
            assert not log_probs[~allowed].any()


def test_gradients_are_finite_where_actions_are_short(network, reference, table, make_trajectory):
    steps = [step for seed in range(12) for step in make_trajectory(seed, steps=4).steps]
    short = [step for step in steps if step.count == 1]
    trained = copy.deepcopy(network).requires_grad_(requires_grad=True)
    reference.remember_as_reference(short)

    scores = Scorer(trained, None, table)(short)
    (scores.log_prob.sum() + scores.entropy.sum() + scores.divergence.sum()).backward()

    gradients = [one.grad for one in trained.parameters() if one.grad is not None]
    assert len(short) > 3
    assert all(torch.isfinite(one).all() for one in gradients)
    assert trained.type_head.weight.grad.abs().sum() > 0

"""Behaviour cloning: it learns what was shown, on its schedule, and leaves dropout off."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from torch import nn

from cloud_learner.imitation import Imitation, ImitationSettings
from cloud_learner.replay import SuccessMemory
from cloud_learner.scoring import Scorer
from exporters.dropout import dropping

QUICK = ImitationSettings(updates=20, batch_steps=8, dropout=0.0, learning_rate=5e-3)


@pytest.fixture
def demonstrations(make_trajectory):
    groups = {"new": SuccessMemory(), "old": SuccessMemory()}
    groups["new"].extend(make_trajectory(seed, steps=2) for seed in range(3))
    groups["old"].extend(make_trajectory(seed, steps=2, template="s") for seed in range(5, 7))
    return groups


@pytest.fixture
def make_imitation(network, make_adapted, table, demonstrations):
    def make(settings=QUICK, groups=None, seed=0):
        adapted = make_adapted()
        imitation = Imitation(
            Scorer(network, adapted, table),
            [one for one in adapted.parameters() if one.requires_grad],
            network=network,
            settings=settings,
            demonstrations=demonstrations if groups is None else groups,
            seed=seed,
        )
        return imitation, adapted

    return make


def parameters(network):
    return torch.cat([value.detach().flatten() for value in network.parameters()])


def test_what_was_shown_becomes_likelier(make_imitation, demonstrations, network, table):
    imitation, adapted = make_imitation()
    steps = [step for one in demonstrations["new"].trajectories() for step in one.steps]
    with torch.no_grad():
        before = Scorer(network, adapted, table)(steps).log_prob.mean()

    while not imitation.finished:
        imitation.update()

    with torch.no_grad():
        assert Scorer(network, adapted, table)(steps).log_prob.mean() > before + 0.3


def test_the_learning_rate_falls_to_a_tenth_along_a_cosine(make_imitation):
    imitation, _ = make_imitation(replace(QUICK, updates=4))

    rates = [imitation.update()["learning_rate"] / 5e-3 for _ in range(5)]

    assert rates == pytest.approx(
        [1.0, 0.1 + 0.45 * 1.70711, 0.55, 0.1 + 0.45 * 0.29289, 0.1], 1e-4
    )
    assert imitation.finished


def test_a_batch_is_shared_between_the_groups(make_imitation, demonstrations):
    imitation, _ = make_imitation(replace(QUICK, shares={"new": 0.75, "old": 0.25}))
    old = {id(step) for one in demonstrations["old"].trajectories() for step in one.steps}
    asked = []
    inner = imitation._policy
    imitation._policy = lambda steps: (asked.extend(steps), inner(steps))[1]

    imitation.update()

    assert len(asked) == 8
    assert sum(id(step) in old for step in asked) == 2


def test_a_group_without_demonstrations_is_left_out(make_imitation, demonstrations):
    imitation, _ = make_imitation(groups={"new": demonstrations["new"], "old": SuccessMemory()})

    assert imitation.update()["imitation_loss"] > 0


def test_the_same_seed_learns_the_same(make_imitation):
    settings = replace(QUICK, dropout=0.2)
    results = []
    for _ in range(2):
        imitation, adapted = make_imitation(settings, seed=3)
        imitation.update()
        imitation.update()
        results.append(parameters(adapted))

    assert torch.equal(*results)


def test_dropout_changes_what_is_learnt_and_nothing_of_the_base(make_imitation, network):
    base = parameters(network).clone()
    plain, dry = make_imitation()
    dropped, wet = make_imitation(replace(QUICK, dropout=0.3))
    for one in (plain, dropped):
        one.update()

    assert not torch.equal(parameters(dry), parameters(wet))
    assert torch.equal(parameters(network), base)


def _dropouts(network):
    shares = [module.p for module in network.modules() if isinstance(module, nn.Dropout)]
    return shares + [
        module.dropout
        for module in network.modules()
        if hasattr(module, "dropout") and isinstance(module.dropout, float)
    ]


def test_dropping_ends_with_the_block_whatever_happens_in_it(network, make_trajectory, table):
    one = copy.deepcopy(network)
    steps = make_trajectory(1).steps
    scorer = Scorer(one, None, table)
    torch.manual_seed(1)
    generator = torch.get_rng_state()
    before = scorer(steps).log_prob

    def broken():
        with dropping(one, 0.5, seed=1):
            seen.append((scorer(steps).log_prob, one.training, set(_dropouts(one))))
            raise KeyError

    seen = []
    with pytest.raises(KeyError):
        broken()

    ((inside, was_training, shares),) = seen
    assert (was_training, shares) == (True, {0.5})
    assert not torch.equal(inside, before)
    assert set(_dropouts(one)) == {0.0}
    assert not any(module.training for module in one.modules())
    assert torch.equal(torch.get_rng_state(), generator)
    assert torch.equal(scorer(steps).log_prob, before)

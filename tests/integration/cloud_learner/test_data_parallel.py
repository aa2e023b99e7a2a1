"""Two processes that score together: the numbers and the gradients of one, on a real group."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest
import torch
from torch import nn

from apps_mock.baselines import RandomPolicy
from apps_mock.farm import play
from apps_mock.tasks import templates
from cloud_learner.batch import trajectory_of
from cloud_learner.data_parallel import sharing
from cloud_learner.process_group import Place
from exporters.dropout import dropping
from sync.vocabulary import Assignment, AssignmentId, Purpose
from tests.learner_ranks import ROOT, made_replica, two_ranks

pytestmark = [pytest.mark.integration]


@pytest.fixture(scope="module")
def episodes():
    """What an actor played that acts at random."""
    known = [one for one in templates() if one.app == "tickets"]
    assignments = [
        Assignment(
            AssignmentId(f"a-{index}"),
            template=known[index % len(known)].name,
            suite="tickets",
            seed=index,
            look=index,
            actor="random",
            purpose=Purpose.TRAIN,
            step_budget=5,
        )
        for index in range(6)
    ]
    policy = RandomPolicy()
    return [one.episode for one in play(assignments, lambda *_: policy, seats=4)]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """The scorer of two processes, and what rank 0 has of it."""
    replica, place = made_replica(), Place(0, 2)
    with two_ranks(tmp_path_factory.mktemp("ranks") / "store"), sharing(place) as share:
        assert share is not None
        yield share(replica), replica


def trajectories(episodes, replica):
    return [
        trajectory_of(one, replica.scorer._table, row=row, app="tickets", success=row % 2 == 0)
        for row, one in enumerate(episodes, start=1)
    ]


def steps_of(episodes, replica):
    return [step for one in trajectories(episodes, replica) for step in one.steps]


def flat_gradient(replica):
    return torch.cat([one.grad.flatten() for one in replica.trainable])


def weighed(scores):
    """A loss that no mean over ranks could give: it divides by the deviation of the whole batch."""
    centred = scores.log_prob - scores.log_prob.mean()
    return (centred / scores.log_prob.std()).pow(3).sum() - scores.entropy.max()


def forget_gradients(replica):
    for one in replica.trainable:
        one.grad = None


def test_two_processes_score_as_one(shared, episodes):
    scorer, replica = shared
    steps = steps_of(episodes, replica)

    scores = scorer(steps)

    single = made_replica()
    expected = single.scorer(steps_of(episodes, single))
    for item in fields(expected):
        torch.testing.assert_close(
            getattr(scores, item.name), getattr(expected, item.name), atol=1e-5, rtol=1e-5
        )


def test_the_gradient_is_that_of_one_process_whatever_the_loss_divides_by(shared, episodes):
    scorer, replica = shared
    forget_gradients(replica)

    weighed(scorer(steps_of(episodes, replica))).backward()

    single = made_replica()
    weighed(single.scorer(steps_of(episodes, single))).backward()
    expected = flat_gradient(single)
    assert expected.norm() > 1.0
    torch.testing.assert_close(flat_gradient(replica), expected, atol=1e-3, rtol=1e-3)


def test_passes_that_never_come_back_and_two_that_do_are_kept_apart(shared, episodes):
    scorer, replica = shared
    forget_gradients(replica)
    steps = steps_of(episodes, replica)
    scorer(steps[:4])  # nobody asks for its gradient
    with torch.no_grad():
        assert not scorer(steps).log_prob.requires_grad

    first, second = scorer(steps[:6]), scorer(steps[6:])
    (first.log_prob.sum() + 2.0 * second.log_prob.sum()).backward()

    single = made_replica()
    both = single.scorer(steps_of(episodes, single)).log_prob
    (both[:6].sum() + 2.0 * both[6:].sum()).backward()
    torch.testing.assert_close(flat_gradient(replica), flat_gradient(single), atol=1e-3, rtol=1e-3)


def test_every_process_scores_under_the_newest_weights(shared, episodes):
    scorer, replica = shared
    steps = steps_of(episodes, replica)
    before = scorer(steps).log_prob.detach()
    kept = nn.utils.parameters_to_vector(replica.trainable).detach().clone()

    with torch.no_grad():
        for one in replica.trainable:
            one.mul_(1.5)
    after = scorer(steps).log_prob.detach()
    with torch.no_grad():
        nn.utils.vector_to_parameters(kept, replica.trainable)

    moved = (after - before).abs() > 1e-3
    assert moved[0::2].any()
    assert moved[1::2].any()  # the second process's share


def test_dropout_acts_in_every_process_and_differs_from_step_to_step(shared, episodes):
    scorer, replica = shared
    steps = steps_of(episodes, replica)
    plain = scorer(steps).log_prob.detach()

    with dropping(replica.network, 0.2, seed=1), torch.no_grad():
        dropped = scorer(steps).log_prob
    afterwards = scorer(steps).log_prob.detach()

    changed = (dropped - plain).abs() > 1e-6
    assert changed[0::2].any()
    assert changed[1::2].any()
    torch.testing.assert_close(afterwards, plain)


def test_fewer_steps_than_processes_are_scored_by_rank_0(shared, episodes):
    scorer, replica = shared
    (step,) = steps_of(episodes, replica)[:1]
    torch.testing.assert_close(scorer([step]).log_prob, replica.scorer([step]).log_prob)


def test_learning_gives_the_same_curve(shared, episodes):
    scorer, replica = shared
    before = nn.utils.parameters_to_vector(replica.trainable).detach().clone()

    def curve(policy, side):
        steps = steps_of(episodes, side)
        optimiser = torch.optim.Adam(side.trainable, lr=3e-3)
        losses = []
        for _ in range(6):
            loss = weighed(policy(steps))
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
            losses.append(float(loss.detach()))
        return losses

    single = made_replica()
    expected = curve(single.scorer, single)
    found = curve(scorer, replica)
    with torch.no_grad():
        nn.utils.vector_to_parameters(before, replica.trainable)

    assert max(expected) - min(expected) > 0.5
    np.testing.assert_allclose(found, expected, atol=1e-2, rtol=1e-3)


@pytest.mark.slow
def test_a_process_that_is_gone_is_noticed_and_said_in_one_line(tmp_path, episodes):
    script = GONE.format(store=tmp_path / "store")
    ended = subprocess.run(
        [sys.executable, "-c", script],
        check=False,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ended.stdout.strip() == "refused: start all of them anew with torchrun", ended.stderr


GONE = """
from pathlib import Path
import torch
from cloud_learner.errors import ProcessGroupError
from cloud_learner.process_group import gathered
from tests.learner_ranks import two_ranks

with two_ranks(Path("{store}")) as peer:
    peer.kill()
    peer.wait()
    try:
        gathered("anybody there?")
    except ProcessGroupError as error:
        print("refused:", str(error).rpartition("; ")[2])
"""

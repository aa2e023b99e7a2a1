"""A base from demonstrations: the same seed gives the same weights."""

import pytest
import torch

from apps_mock.actors import Actors
from apps_mock.evaluation import instances, templates_of
from apps_mock.farm import play
from cloud_learner.base_training import BaseTraining, BaseTrainingSettings
from exporters.base import base_digest
from exporters.families.layout_t5 import LayoutT5Config
from sync.vocabulary import Split

SMALL = LayoutT5Config(d_model=16, d_ff=16, heads=2, encoder_layers=1)


@pytest.fixture(scope="module")
def episodes():
    """Two oracle episodes of two templates each."""
    wanted = instances(
        templates_of("clock")[:2], count=4, seed_base=0, split=Split.TRAIN, actor="oracle"
    )
    return [one.episode for one in play(wanted, Actors().policy_for, seats=4)]


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def trained(episodes, *, updates=4, **changes):
    options = {"updates": updates, "batch_steps": 8, "config": SMALL, **changes}
    training = BaseTraining(BaseTrainingSettings(**options))
    for episode in episodes:
        training.add(episode, app="clock")
    losses = []
    network = training.train(lambda _, loss: losses.append(loss))
    return training, network, losses


def test_same_seed_gives_the_same_weights_whatever_else_drew_numbers(episodes):
    first = base_digest(trained(episodes)[1])
    torch.rand(7)
    assert base_digest(trained(episodes)[1]) == first
    assert base_digest(trained(episodes, seed=1)[1]) != first


def test_demonstrations_are_learnt_and_the_texts_with_them(episodes):
    training, network, losses = trained(episodes, updates=60, learning_rate=1e-2)
    untrained = BaseTraining(BaseTrainingSettings(config=SMALL))._network
    assert training.steps == sum(len(episode.steps) for episode in episodes)
    assert sum(losses[-5:]) < 0.7 * sum(losses[:5])
    assert not torch.equal(network.text_table, untrained.text_table)


def test_network_that_comes_out_drops_nothing(episodes):
    _, network, _ = trained(episodes, dropout=0.5)
    assert not network.training
    assert network.config.dropout == 0.0
    assert {one.p for one in network.modules() if isinstance(one, torch.nn.Dropout)} <= {0.0}


def test_training_without_demonstrations_is_refused():
    with pytest.raises(ValueError, match="nothing to learn"):
        BaseTraining(BaseTrainingSettings(config=SMALL)).train(lambda *_: None)

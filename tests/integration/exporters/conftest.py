"""A base exported once for all workers, and observations logged on a mock phone."""

import copy
from random import Random

import numpy as np
import pytest
import torch

from apps_mock.baselines import RandomPolicy
from apps_mock.phone import MockPhone
from apps_mock.tasks import templates
from cloud_learner.base_training import BaseTraining, BaseTrainingSettings
from device_runtime.ports import PolicyRequest
from exporters import lora
from exporters.base import ensure_exported, load_base, save_base
from sync.decoding import action_of, choice_mask
from sync.grammar import ACTION_TYPES, heads_of
from sync.history import EMPTY_HISTORY, fold
from sync.policy_io import encode
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    Decision,
    DeviceId,
    EndReason,
    Episode,
    EpisodeId,
    Split,
    Step,
)


@pytest.fixture(scope="session")
def base_source(tmp_path_factory, logged):
    """A base that learnt arbitrary actions by heart, so that its choices are varied and no ties."""
    torch.set_num_threads(1)
    training = BaseTraining(
        BaseTrainingSettings(seed=11, updates=60, batch_steps=50, learning_rate=4e-3, dropout=0.0)
    )
    random = Random(3)
    for request in logged[::4]:
        training.add(_arbitrarily_played(request, random), app="")
    source = tmp_path_factory.mktemp("base")
    network = training.train(lambda update, loss: None)
    save_base(network, source, {"note": "arbitrary, for tests"})
    return source


def _arbitrarily_played(request, random):
    """An episode of one step, and in it any action that the grammar allows."""
    encoded = encode(request.observation, request.goal)
    choices = _arbitrary(encoded, random)
    heads = heads_of(ACTION_TYPES[choices[0]])
    return Episode(
        id=EpisodeId(""),
        assignment=Assignment(AssignmentId("")),
        device_id=DeviceId(""),
        goal=request.goal,
        steps=(
            Step(
                0,
                request.observation,
                action_of(encoded, request.observation, choices),
                decisions=tuple(
                    Decision(head, choice, 0.0, b"")
                    for head, choice in zip(heads, choices, strict=True)
                ),
            ),
        ),
        end_reason=EndReason.FINISH,
    )


def _arbitrary(item, random):
    """Choices that the grammar allows, each drawn evenly."""
    chosen = []
    while not chosen or len(chosen) < len(heads_of(ACTION_TYPES[chosen[0]])):
        chosen.append(random.choice(np.flatnonzero(choice_mask(item, chosen)).tolist()))
    return chosen


@pytest.fixture(scope="session")
def base_dir(base_source, tmp_path_factory):
    """Its graphs; workers of one run share them."""
    return ensure_exported(base_source, tmp_path_factory.getbasetemp().parent / "exported")


@pytest.fixture(scope="session")
def network(base_source):
    return load_base(base_source)


@pytest.fixture(scope="session")
def adapted(network):
    """The base with an adapter that changes every layer."""
    adapted = lora.attach(copy.deepcopy(network), rank=16)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, value in adapted.named_parameters():
            if ".lora_" in name:
                value.add_(torch.randn(value.shape, generator=generator) * 0.05)
    return adapted.eval()


@pytest.fixture(scope="session")
def tensors(adapted):
    return lora.adapter_tensors(adapted)


@pytest.fixture(scope="session")
def logged():
    """200 requests from random play over all templates, as a seat would make them."""
    requests = []
    phone, policy = MockPhone(), RandomPolicy()
    names = [template.info().name for template in templates()]
    for episode in range(200):
        goal = phone.load(names[episode % len(names)], 1000 + episode, Split.TRAIN, episode).goal
        random, history = Random(episode), EMPTY_HISTORY
        for step in range(8):
            seen = phone.observe()
            if not seen.elements:
                break
            encoded = encode(seen, goal, history, step_index=step)
            request = PolicyRequest(seen, goal, history, random, 1.0, "", encoded)
            requests.append(request)
            action = policy.decide([request])[0].action
            outcome = phone.act(action)
            changed = phone.observe() != seen
            history = fold(history, seen, action, valid=outcome.valid, screen_changed=changed)
        if len(requests) >= 400:
            break
    return requests[::2][:200]


@pytest.fixture(scope="session")
def encoded(logged):
    return [request.encoded for request in logged]


@pytest.fixture
def noise():
    """`noise(tensors, seed)`: other tensors of the same names and shapes."""

    def make(tensors, seed):
        random = np.random.default_rng(seed)
        return {
            name: random.normal(0, 0.1, value.shape).astype(np.float32)
            for name, value in tensors.items()
        }

    return make

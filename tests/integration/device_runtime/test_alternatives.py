"""What a policy would have done instead: the same probabilities that the learner computes."""

import math
from random import Random

import pytest

from apps_mock.phone import MockPhone
from device_runtime.alternatives import alternatives
from device_runtime.policy import OnnxPolicy
from device_runtime.ports import PolicyRequest
from exporters.shipped import DEFAULT_BASE_DIR, graphs_beside
from sync import decoding, policy_io
from sync.history import EMPTY_HISTORY
from sync.vocabulary import Split


@pytest.fixture(scope="module")
def policy():
    return OnnxPolicy(graphs_beside(DEFAULT_BASE_DIR))


def a_request(seed, *, opens=""):
    phone = MockPhone()
    task = phone.load("settings_switch", seed, Split.TEST, seed)
    if opens:
        phone.open_app(opens)
    seen = phone.observe()
    encoded = policy_io.encode(seen, task.goal)
    return PolicyRequest(
        observation=seen,
        goal=task.goal,
        history=EMPTY_HISTORY,
        random=Random(0),
        temperature=0.0,
        encoded=encoded,
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("opens", ["", "Settings", "Messages"])
def test_probabilities_are_those_of_the_policy(policy, seed, opens):
    request = a_request(seed, opens=opens)
    found = alternatives(policy, request, most=3)
    shares = [one.probability for one in found]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) <= 1.0 + 1e-6
    graphs = policy.graphs_for("")
    for one in found:
        choices = decoding.choices_of(request.encoded, one.action)
        if choices is None:
            continue
        [log_prob] = decoding.log_prob_of(
            [request.encoded], [choices], graphs.encoder, graphs.decoder, table=policy.table
        )
        assert one.probability == pytest.approx(math.exp(log_prob), rel=1e-4, abs=1e-6)


def test_the_greedy_action_is_among_the_likeliest(policy):
    for seed in range(4):
        request = a_request(seed, opens="Settings")
        [chosen] = policy.decide([request])
        assert chosen.action in [one.action for one in alternatives(policy, request, most=9)]


def test_a_request_without_an_encoding_has_none(policy):
    request = a_request(1)
    bare = PolicyRequest(request.observation, request.goal, EMPTY_HISTORY, Random(0))
    assert alternatives(policy, bare) == ()

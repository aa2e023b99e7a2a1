"""Shadow scoring on the real graphs: a sound adapter passes, a broken one is named as it is."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from device_runtime.candidate import CandidateFolder
from device_runtime.errors import InstallError
from device_runtime.policies import Policies
from device_runtime.shadow import Screen, ShadowLimits
from device_runtime.shadow_run import Shadow
from device_runtime.shadow_sides import sides_of
from sync.adapter_file import pack, unpack
from sync.clock import SystemClock
from sync.grammar import ACTION_TYPES
from sync.releases import Reason

pytestmark = pytest.mark.integration
LIMITS = ShadowLimits(slow_ms=60_000.0, slowest_ms=120_000.0)  # a busy machine is not the question


@pytest.fixture(scope="module")
def policy(base_dir):
    return Policies(base_dir)


@pytest.fixture
def score(policy, encoded, tmp_path):
    """`score(tensors, active)`: the outcome for a candidate of these tensors."""

    def adapter(tensors):
        data = pack(
            tensors, base_digest=policy.base_digest, policy_io_version="1", quantisation="fp32"
        )
        return unpack(data)

    def make(tensors, active=None):
        shadow = Shadow(
            CandidateFolder(tmp_path / "phone"),
            lambda count: (Screen(str(row), one) for row, one in enumerate(encoded[:count])),
            sides_of(policy, threading.Lock()),
            limits=LIMITS,
            clock=SystemClock(),
        )
        return shadow(adapter(tensors), None if active is None else adapter(active))

    return make


def test_an_adapter_that_changes_nothing_agrees_with_the_factory(score, policy, tensors):
    still = {
        name: value if name.endswith("lora_a") else np.zeros_like(value)
        for name, value in tensors.items()
    }
    outcome = score(still)

    assert outcome.reason is None
    assert outcome.figures.screens == 16
    assert outcome.figures.agreement == 1.0
    assert outcome.figures.log_prob_difference_p95 < 1e-4
    assert outcome.figures.latency_ms_p50 > 0.0
    with pytest.raises(InstallError):
        policy.base_policy("shadow-candidate").graphs_for(
            "shadow-candidate"
        )  # nothing stays loaded


def test_a_trained_adapter_is_told_apart_by_its_figures_and_passes(score, tensors):
    outcome = score(tensors)
    assert outcome.reason is None
    assert outcome.figures.log_prob_difference_p50 > 1e-3


def test_a_candidate_is_compared_with_the_release_that_acts(score, tensors):
    assert score(tensors, active=tensors).figures.agreement == 1.0


def test_an_adapter_whose_outcome_is_no_number_is_refused(score, tensors):
    huge = {name: np.full_like(value, 1e12) for name, value in tensors.items()}
    assert score(huge).reason is Reason.NOT_FINITE


@pytest.mark.slow
def test_an_adapter_that_does_one_thing_only_is_refused(score, tensors):
    """Its type head shouts "back" whatever the decoder says."""
    collapsed = {
        name: value if name.endswith("lora_a") else np.zeros_like(value)
        for name, value in tensors.items()
    }
    (head,) = [name for name in tensors if name.endswith("type_head.lora_b")]
    first = head.replace("lora_b", "lora_a")
    loud = np.zeros_like(tensors[head])
    loud[0, ACTION_TYPES.index("back")] = 100.0
    reasons = set()
    for width in range(len(tensors[first])):  # along a part of the state that hardly changes sign
        collapsed[first] = np.zeros_like(tensors[first])
        collapsed[first][width, 0] = 1.0
        reasons |= {score({**collapsed, head: sign * loud}).reason for sign in (1.0, -1.0)}
        if reasons - {None}:
            break
    assert Reason.ONE_ACTION in reasons


def test_an_adapter_of_another_base_is_refused_by_the_loaders_reason(score, tensors):
    foreign = {f"other.{name}": value for name, value in tensors.items()}
    assert score(foreign).reason is Reason.BASE_MISMATCH

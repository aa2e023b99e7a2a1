"""Shadow scoring of a policy that writes texts, on the log and the pictures of a phone."""

from __future__ import annotations

import threading
from contextlib import closing

import numpy as np
import pytest
import torch

from apps_mock.actors import Actors
from apps_mock.farm import play
from device_runtime.candidate import CandidateFolder
from device_runtime.picture_keeper import PictureKeeper
from device_runtime.policies import Policies
from device_runtime.recent_pictures import RecentPictures
from device_runtime.shadow import ShadowLimits
from device_runtime.shadow_run import Shadow, logged_screens
from device_runtime.shadow_sides import shown_in, sides_of
from device_runtime.trajectory_log import TrajectoryLog
from exporters.opened_base import open_base
from sync.adapter_file import pack, unpack
from sync.clock import SystemClock
from sync.releases import Reason
from sync.vocabulary import Assignment, AssignmentId, new_uuid7
from tests.vlm_checkpoints import tiny_t5

pytestmark = pytest.mark.integration
LIMITS = ShadowLimits(screens=4, enough=2, slow_ms=60_000.0, slowest_ms=120_000.0)
STEPS = 3


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    torch.set_num_threads(1)
    checkpoint = tiny_t5(tmp_path_factory.mktemp("checkpoint") / "t5")
    return Policies(open_base(checkpoint, tmp_path_factory.mktemp("graphs")).graphs)


@pytest.fixture(scope="module")
def phone(policy, tmp_path_factory):
    """The folder of a phone on which the policy played two episodes and saw the screens."""
    folder = tmp_path_factory.mktemp("phone")
    seen = RecentPictures(folder / "seen", most=64)
    actors = Actors(policy)
    assignments = [
        Assignment(
            AssignmentId(f"a{index}"),
            template="contacts_open",
            seed=index,
            actor="release",
            step_budget=STEPS,
        )
        for index in range(5)
    ]
    played = play(
        assignments, lambda one, screen: PictureKeeper(actors.policy_for(one, screen), seen)
    )
    log = TrajectoryLog.open(folder / "phone.db", clock=SystemClock(), new_id=new_uuid7)
    with closing(log):
        for one in played:
            log.append(one.episode, [])
    return folder


@pytest.fixture
def score(policy, phone, tmp_path):
    """`score(tensors, most=…)`: the outcome where so many of the pictures are still there."""

    def adapter(tensors):
        data = pack(
            tensors,
            base_digest=policy.base_digest,
            policy_io_version=policy.policy_io_version,
            quantisation="fp32",
        )
        return unpack(data)

    def make(tensors, *, pictures=None, active=None):
        read = RecentPictures(phone / "seen", most=64).read if pictures is None else pictures
        shadow = Shadow(
            CandidateFolder(tmp_path / "phone"),
            logged_screens(
                phone / "phone.db", SystemClock(), shown_in(policy.policy_io_version, read)
            ),
            sides_of(policy, threading.Lock()),
            limits=LIMITS,
            clock=SystemClock(),
        )
        return shadow(adapter(tensors), None if active is None else adapter(active))

    return make


@pytest.fixture
def tensors(policy):
    """An adapter that changes every layer."""
    random = np.random.default_rng(5)
    shapes = policy.base_policy("factory").adapter_shapes(4)
    return {
        name: (0.2 * random.standard_normal(shape)).astype(np.float32)
        for name, shape in shapes.items()
    }


def test_an_adapter_that_changes_nothing_writes_what_the_factory_writes(score, tensors):
    still = {
        name: value if name.endswith("lora_a") else np.zeros_like(value)
        for name, value in tensors.items()
    }
    outcome = score(still)

    assert outcome.reason is None
    assert outcome.figures.screens == LIMITS.screens
    assert outcome.figures.agreement == 1.0
    assert outcome.figures.log_prob_difference_p95 < 1e-4
    assert outcome.figures.latency_ms_p50 > 0.0


def test_a_trained_adapter_is_told_apart_by_its_figures(score, tensors):
    figures = score(tensors).figures
    assert figures.log_prob_difference_p50 > 1e-2
    assert score(tensors, active=tensors).figures.agreement == 1.0


def test_an_adapter_whose_logits_are_no_numbers_is_refused(score, tensors):
    huge = {name: np.full_like(value, 1e12) for name, value in tensors.items()}
    assert score(huge).reason is Reason.NOT_FINITE


def test_steps_whose_picture_is_gone_are_left_out(score, tensors):
    assert score(tensors, pictures=lambda _digest: None).figures.screens == 0


def test_a_phone_keeps_its_latest_pictures_only(tmp_path):
    kept = RecentPictures(tmp_path / "seen", most=2)
    digests = [kept.keep(bytes([number])) for number in range(3)]

    again = RecentPictures(tmp_path / "seen", most=2)
    fourth = again.keep(b"fourth")

    assert again.read(digests[0]) is None
    assert again.read(digests[1]) is None
    assert [again.read(digests[2]), again.read(fourth)] == [bytes([2]), b"fourth"]

"""A vision-language checkpoint learns an app from one demonstration and plays it without torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from apps_mock.oracle import OraclePolicy
from apps_mock.phone import MockPhone
from cloud_learner.imitation import Imitation, ImitationSettings
from cloud_learner.replay import SuccessMemory
from cloud_learner.text_batch import text_trajectory_of
from cloud_learner.text_scoring import TextScorer
from device_runtime.agent import EpisodeOrigin, run_episode
from device_runtime.picture_keeper import PictureKeeper
from exporters.families.hf_checkpoint import load_checkpoint
from exporters.fused_t5_graph import export_fused_t5
from exporters.lora import adapter_tensors, attach, zero_adapter
from sync.adapter_file import pack
from sync.clock import SystemClock
from sync.codec import decode_episode
from sync.picture_folder import PictureFolder
from sync.vocabulary import Assignment, AssignmentId, DeviceId, new_uuid7
from tests.vlm_checkpoints import tiny_t5

pytestmark = pytest.mark.integration

TEMPLATE = "contacts_open"
UPDATES = 32

# What a phone does: no torch, no transformers, no exporters.
PLAYER = """
import json, sys
from pathlib import Path
from apps_mock.phone import MockPhone
from device_runtime.agent import EpisodeOrigin, judge_end, run_episode
from device_runtime.picture_keeper import PictureKeeper
from device_runtime.text_graphs import TextBase
from device_runtime.text_policy import TextPolicy
from sync.adapter_file import unpack
from sync.clock import SystemClock
from sync.codec import encode_episode
from sync.picture_folder import PictureFolder
from sync.vocabulary import Assignment, AssignmentId, DeviceId, ReleaseId, new_uuid7

graphs, adapter, pictures, log = map(Path, sys.argv[1:5])
base = TextBase(graphs)
policy = TextPolicy(base.network())
policy.load("learnt", base.network(unpack(adapter.read_bytes()).tensors))
phone = MockPhone()
keeper = PictureKeeper(policy, PictureFolder(pictures))

def play(release, temperature):
    assignment = Assignment(
        id=AssignmentId("a"), template=sys.argv[5], seed=1, temperature=temperature, step_budget=6
    )
    episode = run_episode(
        phone, keeper, assignment, clock=SystemClock(), new_id=new_uuid7,
        origin=EpisodeOrigin(DeviceId("d"), release_id=ReleaseId(release)),
    )
    return episode, judge_end(phone, episode)

greedy, verdict = play("learnt", 0.0)
_, untaught = play("factory", 0.0)
sampled, _ = play("factory", 1.0)
log.write_bytes(encode_episode(sampled))
print(json.dumps({
    "success": verdict.success,
    "untaught": untaught.success,
    "actions": [step.action.kind for step in greedy.steps],
    "loaded": sorted({"torch", "transformers", "peft", "onnx", "exporters"} & set(sys.modules)),
}))
"""


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory):
    """The oracle's episode, and the folder with the pictures of its screens."""
    folder = PictureFolder(tmp_path_factory.mktemp("pictures"))
    phone = MockPhone()
    assignment = Assignment(
        id=AssignmentId("a"), template=TEMPLATE, seed=1, actor="oracle", temperature=0.0
    )
    episode = run_episode(
        phone,
        PictureKeeper(OraclePolicy(phone), folder),
        assignment,
        origin=EpisodeOrigin(DeviceId("d")),
        clock=SystemClock(),
        new_id=new_uuid7,
    )
    return episode, folder


def test_a_checkpoint_learns_one_demonstration_and_plays_it_without_torch(
    demonstration, tmp_path: Path
):
    torch.set_num_threads(1)
    episode, folder = demonstration
    checkpoint = tiny_t5(tmp_path / "checkpoint")
    digest = export_fused_t5(load_checkpoint(checkpoint), tmp_path / "graphs")
    network = load_checkpoint(checkpoint)
    attach(network, 8, targets=network.lora_targets)
    trajectory = text_trajectory_of(
        episode, network, folder.read, row=0, app="contacts", success=True
    )
    assert trajectory.left_out == 0
    shown = SuccessMemory()
    shown.add(trajectory)
    imitation = Imitation(
        TextScorer(network),
        [one for one in network.parameters() if one.requires_grad],
        network=network,
        settings=ImitationSettings(
            learning_rate=1e-2, updates=UPDATES, batch_steps=4, shares={"new": 1.0}, dropout=0.0
        ),
        demonstrations={"new": shown},
        seed=0,
    )
    losses = [imitation.update()["imitation_loss"] for _ in range(UPDATES)]
    assert losses[0] > 5.0
    assert losses[-1] < 0.05

    data = pack(
        adapter_tensors(network),
        base_digest=digest,
        policy_io_version=network.language.version,
    )
    (tmp_path / "adapter").write_bytes(data)
    found = _play_without_torch(tmp_path)

    assert found["loaded"] == []
    assert found["success"]
    assert not found["untaught"]
    assert found["actions"] == [step.action.kind for step in episode.steps]
    zero_adapter(network)  # what the factory release is
    _assert_ratios_are_one(network, tmp_path)


def _play_without_torch(directory: Path) -> dict[str, object]:
    parts = ("graphs", "adapter", "played", "episode")
    done = subprocess.run(
        [sys.executable, "-c", PLAYER, *(str(directory / part) for part in parts), TEMPLATE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def _assert_ratios_are_one(network, directory: Path) -> None:
    """At equal weights log π is the log μ that the phone recorded."""
    sampled = decode_episode((directory / "episode").read_bytes())
    pictures = PictureFolder(directory / "played")
    trajectory = text_trajectory_of(
        sampled, network, pictures.read, row=1, app="contacts", success=False
    )
    assert trajectory.left_out == 0
    scores = TextScorer(network)(trajectory.steps)
    assert scores.log_mu.max() < -1.0
    assert (scores.log_prob.detach() - scores.log_mu).abs().max() <= 1e-3

"""Both architectures of vision-language networks under the learner's own algorithms."""

from __future__ import annotations

import copy
import io
from dataclasses import replace
from functools import cache
from math import exp
from random import Random

import numpy as np
import pytest
import torch
from PIL import Image

from cloud_learner.adapter_training import Trainee
from cloud_learner.algorithm import make_algorithm
from cloud_learner.algorithm_settings import ARideSettings, FilteredBCSettings
from cloud_learner.replay import SuccessMemory
from cloud_learner.scoring import Scorer
from cloud_learner.text_batch import text_trajectory_of
from cloud_learner.text_scoring import TextScorer
from exporters.families.hf_checkpoint import load_checkpoint
from exporters.families.layout_t5 import text_table_of
from exporters.lora import attach
from sync.picture_folder import PictureFolder
from sync.text_decoding import decide_text
from sync.text_policy_io import input_digest
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    DeviceId,
    EndReason,
    Episode,
    EpisodeId,
    Observation,
    Step,
    open_app,
    tap,
)
from tests.vlm_checkpoints import tiny_qwen, tiny_t5

KINDS = ("t5", "qwen2_vl")


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    root = tmp_path_factory.mktemp("checkpoints")
    made = {"t5": tiny_t5(root / "t5"), "qwen2_vl": tiny_qwen(root / "qwen2_vl")}
    return {name: load_checkpoint(folder) for name, folder in made.items()}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = PictureFolder(tmp_path_factory.mktemp("pictures"))
    digests = []
    for shade in (0, 200):
        data = io.BytesIO()
        Image.new("RGB", (60, 120), (shade, 40, 255 - shade)).save(data, "PNG")
        digests.append(folder.keep(data.getvalue()))
    return folder, digests


@pytest.fixture(scope="module")
def make_played(bases, pictures):
    """`make_played(kind)`: an episode that the base itself played."""
    folder, digests = pictures

    @cache
    def make(kind: str) -> Episode:
        network, random, steps = bases[kind], Random(1), []
        for index, digest in enumerate(digests):
            prompt = network.language.prompt("Call Ada", [one.action for one in steps])
            rgb = _rgb(folder.read(digest))
            choice = decide_text(
                network.writer(prompt, rgb), network.masks, temperature=1.0, random=random
            )
            steps.append(
                Step(
                    index=index,
                    observation=Observation(60, 120, screenshot=digest, state_hash=f"s{index}"),
                    action=network.language.action_of(network.vocabulary.text(choice.tokens)),
                    decisions=choice.decisions,
                    log_prob=choice.log_prob,
                    temperature=1.0,
                    policy_io_version=network.language.version,
                    input_digest=input_digest(network.language, prompt, digest),
                )
            )
        return Episode(
            id=EpisodeId("e"),
            assignment=Assignment(id=AssignmentId("a"), template="call"),
            device_id=DeviceId("d"),
            goal="Call Ada",
            steps=tuple(steps),
            end_reason=EndReason.BUDGET,
        )

    return make


def _rgb(png):
    with Image.open(io.BytesIO(png)) as image:
        return np.asarray(image.convert("RGB"))


def adapted(base, rank=4):
    return attach(copy.deepcopy(base), rank, targets=base.lora_targets)


def trajectory(base, pictures, episode, *, success=True, **options):
    return text_trajectory_of(
        episode, base, pictures[0].read, row=0, app="phone", success=success, **options
    )


@pytest.mark.parametrize("kind", KINDS)
def test_at_equal_weights_the_ratio_is_one(bases, pictures, make_played, kind):
    shown = trajectory(bases[kind], pictures, make_played(kind))
    assert shown.left_out == 0
    scores = TextScorer(adapted(bases[kind]))(shown.steps)
    assert (scores.log_prob.detach() - scores.log_mu).abs().max() <= 1e-3
    assert scores.log_mu.max() < 0.0
    assert scores.entropy.min() > 0.0
    assert scores.features.shape == (2, bases[kind].feature_dim)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "settings",
    [
        FilteredBCSettings(learning_rate=2e-2, success_steps=2, demo_weight=0.0),
        ARideSettings(
            learning_rate=2e-2,
            success_steps=2,
            demo_weight=0.0,
            trajectories_per_update=2,
            critic_warm_up_rounds=0,
        ),
    ],
    ids=["filtered_bc", "a_ride"],
)
def test_the_learners_algorithms_bring_the_loss_down(bases, pictures, make_played, kind, settings):
    network = adapted(bases[kind])
    trainee = Trainee(
        policy=TextScorer(network),
        trainable=[one for one in network.parameters() if one.requires_grad],
        reference=TextScorer(bases[kind]),
        feature_dim=network.feature_dim,
        demonstrations={"new": SuccessMemory()},
    )
    algorithm = make_algorithm(settings, trainee, seed=0)
    played = trajectory(network, pictures, make_played(kind))
    algorithm.add([played])
    before = float(trainee.policy(played.steps).log_prob.detach().sum())
    rows = [algorithm.update() for _ in range(6)]
    after = float(trainee.policy(played.steps).log_prob.detach().sum())
    assert algorithm.skipped_updates == 0
    assert -after < -0.8 * before
    assert rows[0]["kl_to_reference"] == pytest.approx(0.0, abs=1e-5)
    assert rows[-1]["kl_to_reference"] > 0.0


def test_the_divergence_is_estimated_at_the_answers_tokens(bases, pictures, make_played):
    base = bases["t5"]
    steps = trajectory(base, pictures, make_played("t5")).steps
    scorer = TextScorer(base)
    scorer.remember_as_reference(steps)
    assert scorer(steps).divergence.abs().max() <= 1e-5
    first = steps[0]
    moved = int(np.argmax([mask.sum() for mask in first.masks]))
    first.reference[moved] -= 0.5
    expected = exp(-0.5) - 1.0 + 0.5
    assert float(scorer(steps).divergence[0]) == pytest.approx(expected, abs=1e-4)


def test_a_teachers_action_is_learnt_where_it_can_be_said(bases, pictures, make_played):
    base, episode = bases["t5"], make_played("t5")
    taught = [replace(episode.steps[0], taught_action=tap(0.5, 0.5))]
    taught += [replace(episode.steps[1], taught_action=open_app("Clock"))]
    changed = replace(episode, steps=tuple(taught))
    first, second = trajectory(base, pictures, changed, taught=True).steps
    assert base.vocabulary.text(first.tokens) == base.language.text_of(tap(0.5, 0.5))
    assert first.usable
    assert not second.usable, "AutoUI cannot open an app by its name"


@pytest.mark.parametrize(
    "change",
    [
        {"input_digest": "0" * 64},
        {"policy_io_version": "hf_vlm/autoui/0"},
        {"observation": Observation(60, 120, screenshot="0" * 64)},
    ],
    ids=["other input", "other version", "picture is not here"],
)
def test_steps_that_cannot_be_shown_again_are_left_out(bases, pictures, make_played, change):
    episode = make_played("t5")
    changed = replace(episode, steps=(replace(episode.steps[0], **change), *episode.steps[1:]))
    shown = trajectory(bases["t5"], pictures, changed)
    assert [step.usable for step in shown.steps] == [False, True]
    assert shown.left_out == 1
    scores = TextScorer(bases["t5"])(shown.steps)
    assert torch.isfinite(scores.log_prob).all()
    assert scores.usable.tolist() == [0.0, 1.0]


def test_steps_of_another_family_are_refused_by_both(
    bases, pictures, make_played, network, make_trajectory
):
    ours = trajectory(bases["t5"], pictures, make_played("t5"))
    theirs = make_trajectory(1)
    with pytest.raises(TypeError, match="another family"):
        TextScorer(bases["t5"])(theirs.steps)
    with pytest.raises(TypeError, match="another family"):
        Scorer(network, None, text_table_of(network))(ours.steps)

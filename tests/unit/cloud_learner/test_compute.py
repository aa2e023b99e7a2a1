"""Where the learner computes: exactly as ever on a processor, nearly the same in bf16."""

from __future__ import annotations

import os

import pytest
import torch

from apps_mock.farm import play
from apps_mock.oracle import OraclePolicy
from cloud_learner.compute import CPU, Compute, compute_on
from cloud_learner.errors import SettingsError
from cloud_learner.families import LayoutFamily
from cloud_learner.imitation import Imitation, ImitationSettings
from cloud_learner.replay import SuccessMemory
from exporters.families.layout_t5 import LayoutT5, LayoutT5Config
from exporters.lora import adapter_tensors
from sync.vocabulary import Assignment, AssignmentId, Purpose

UPDATES = 12
TOLERANCE = 0.05
"""Largest difference of a loss in bf16 from that in float32, as a share of the first loss."""

GPU = pytest.mark.skipif(
    not torch.cuda.is_available() or os.environ.get("CI") == "true", reason="no GPU can be used"
)


@pytest.fixture(scope="module")
def base():
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        small = LayoutT5(LayoutT5Config(d_model=32, d_ff=64, heads=2, encoder_layers=1))
    return small.eval().requires_grad_(requires_grad=False)


@pytest.fixture(scope="module")
def demonstrations():
    wanted = [
        Assignment(
            AssignmentId(f"d-{seed}"),
            template="contacts_open",
            suite="contacts",
            seed=seed,
            actor="oracle",
            purpose=Purpose.DEMONSTRATE,
        )
        for seed in range(4)
    ]
    return [one.episode for one in play(wanted, lambda _, phone: OraclePolicy(phone), seats=2)]


def learnt(base, demonstrations, compute):
    """The losses of a short imitation, and the adapter that came of it."""
    family = LayoutFamily(base, compute=compute)
    adapted = family.adapted(4)
    replica = family.replica(adapted)
    memory = SuccessMemory()
    for row, one in enumerate(demonstrations):
        memory.add(family.trajectory(one, row=row, app="contacts", success=True))
    imitation = Imitation(
        replica.scorer,
        replica.trainable,
        network=replica.network,
        settings=ImitationSettings(
            learning_rate=1e-2, updates=UPDATES, batch_steps=8, shares={"new": 1.0}, dropout=0.0
        ),
        demonstrations={"new": memory},
        seed=0,
    )
    losses = [imitation.update()["imitation_loss"] for _ in range(UPDATES)]
    return losses, adapter_tensors(adapted), replica.trainable[0].device.type


def require_same_curve(losses, exact):
    assert exact[-1] < 0.7 * exact[0]
    apart = [abs(one - other) for one, other in zip(losses, exact, strict=True)]
    assert 0.0 < max(apart) <= TOLERANCE * exact[0]


def test_the_processor_is_what_auto_means_without_a_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert compute_on("auto") == compute_on("cpu") == CPU
    assert not CPU.in_bf16
    with pytest.raises(SettingsError, match="auto or cpu"):
        compute_on("cuda")


def test_a_gpu_is_used_in_bf16_where_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert compute_on("auto") == compute_on("cuda") == Compute(torch.device("cuda"), in_bf16=True)
    assert compute_on("cpu") == CPU


def test_forward_passes_in_bf16_give_the_loss_curve_of_float32(base, demonstrations):
    exact, _, _ = learnt(base, demonstrations, CPU)
    losses, adapter, _ = learnt(base, demonstrations, Compute(in_bf16=True))
    require_same_curve(losses, exact)
    assert all(one.dtype == "float32" for one in adapter.values())


@pytest.mark.gpu
@GPU
def test_a_gpu_gives_the_loss_curve_of_the_processor(base, demonstrations):
    exact, _, _ = learnt(base, demonstrations, CPU)
    losses, adapter, place = learnt(base, demonstrations, compute_on("cuda"))
    assert place == "cuda"
    require_same_curve(losses, exact)
    assert all(one.dtype == "float32" for one in adapter.values())


@pytest.mark.gpu
@GPU
def test_batches_go_to_a_gpu_from_pinned_memory():
    compute = compute_on("cuda")
    sent = compute.sent(torch.arange(4.0))
    assert sent.device.type == "cuda"
    assert sent.cpu().tolist() == [0.0, 1.0, 2.0, 3.0]

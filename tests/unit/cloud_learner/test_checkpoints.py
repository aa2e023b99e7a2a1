"""A checkpoint is read back whole, the one before it stands in, or it is refused in one line."""

from __future__ import annotations

from dataclasses import replace

import pytest
import structlog
import torch

from cloud_learner.checkpoints import (
    Checkpoint,
    NetworkIdentity,
    load_checkpoint,
    save_checkpoint,
)
from cloud_learner.errors import CheckpointError

NETWORK = NetworkIdentity("layout_t5", {"d_model": 96, "dropout": 0.0}, "a" * 64, 16)


def checkpoint(**changes):
    fields = {
        "adapter": {"layer.lora_A": torch.arange(6.0).view(2, 3)},
        "reference": {"layer.lora_A": torch.ones(2, 3)},
        "algorithm": {"weight": torch.zeros(2)},
        "warm_up_updates": 7,
        "round_index": 3,
        "consumed_row": 41,
        "delivered": ["warm-up", "round-00002"],
        "cpu_s": 1.5,
    }
    return Checkpoint(NETWORK, **{**fields, **changes})


def damage(path, length):
    path.write_bytes(path.read_bytes()[:length])


def test_what_was_saved_is_loaded(tmp_path):
    network = torch.nn.Linear(2, 1)
    optimiser = torch.optim.Adam(network.parameters())
    network(torch.ones(1, 2)).sum().backward()
    optimiser.step()
    saved = checkpoint(learner="grpo", algorithm={"optimiser": optimiser.state_dict()})

    save_checkpoint(tmp_path / "new" / "folder", saved)
    loaded = load_checkpoint(tmp_path / "new" / "folder", network=NETWORK)

    for name in Checkpoint.__slots__:
        if name not in {"adapter", "reference", "algorithm"}:
            assert getattr(loaded, name) == getattr(saved, name)
    for name in ("adapter", "reference"):
        for key, value in getattr(saved, name).items():
            assert torch.equal(getattr(loaded, name)[key], value)
    again = torch.optim.Adam(network.parameters())
    again.load_state_dict(loaded.algorithm["optimiser"])
    assert again.state_dict()["state"][0]["step"] == 1


def test_there_may_be_none(tmp_path):
    assert load_checkpoint(tmp_path, network=NETWORK) is None
    assert load_checkpoint(tmp_path / "no folder", network=NETWORK) is None


def test_a_new_one_replaces_the_old_and_keeps_just_that_beside_it(tmp_path):
    for number in (1, 2, 3):
        save_checkpoint(tmp_path, checkpoint(round_index=number))

    assert load_checkpoint(tmp_path, network=NETWORK).round_index == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "learner.previous.pt",
        "learner.pt",
    ]
    (tmp_path / "learner.pt").unlink()
    assert load_checkpoint(tmp_path, network=NETWORK).round_index == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"family": "hf_vlm"}, "another family of networks"),
        ({"size": {"d_model": 176, "dropout": 0.0}}, "another size of network"),
        ({"base_digest": "b" * 64}, "another base"),
        ({"rank": 8}, "an adapter of another rank"),
    ],
)
def test_a_checkpoint_of_another_network_is_refused_in_one_line(tmp_path, changes, said):
    save_checkpoint(tmp_path, checkpoint())

    with pytest.raises(CheckpointError, match=said) as caught:
        load_checkpoint(tmp_path, network=replace(NETWORK, **changes))
    assert "\n" not in str(caught.value)
    assert "own base" in str(caught.value)


@pytest.mark.parametrize("length", [0, 4, 10, 40, 400, -1])
def test_the_previous_one_stands_in_for_a_damaged_one_and_that_is_said(tmp_path, length):
    save_checkpoint(tmp_path, checkpoint(round_index=1))
    save_checkpoint(tmp_path, checkpoint(round_index=2))
    damage(tmp_path / "learner.pt", length)

    with structlog.testing.capture_logs() as lines:
        loaded = load_checkpoint(tmp_path, network=NETWORK)

    assert loaded.round_index == 1
    assert [(line["event"], line["file"]) for line in lines] == [
        ("checkpoint_damaged", str(tmp_path / "learner.pt"))
    ]


def test_one_changed_bit_is_damage(tmp_path):
    save_checkpoint(tmp_path, checkpoint())
    file = tmp_path / "learner.pt"
    data = bytearray(file.read_bytes())
    data[-200] ^= 1
    file.write_bytes(data)

    with pytest.raises(CheckpointError, match="damaged"):
        load_checkpoint(tmp_path, network=NETWORK)


def test_a_damaged_one_never_takes_the_place_of_the_previous_one(tmp_path):
    save_checkpoint(tmp_path, checkpoint(round_index=1))
    save_checkpoint(tmp_path, checkpoint(round_index=2))
    damage(tmp_path / "learner.pt", 50)

    save_checkpoint(tmp_path, checkpoint(round_index=3))

    assert load_checkpoint(tmp_path, network=NETWORK).round_index == 3
    (tmp_path / "learner.pt").unlink()
    assert load_checkpoint(tmp_path, network=NETWORK).round_index == 1


@pytest.mark.parametrize("length", [0, 10, 200])
def test_damage_to_all_there_are_is_refused_in_one_line(tmp_path, length):
    save_checkpoint(tmp_path, checkpoint(round_index=1))
    save_checkpoint(tmp_path, checkpoint(round_index=2))
    damage(tmp_path / "learner.pt", length)
    damage(tmp_path / "learner.previous.pt", length)

    with pytest.raises(CheckpointError, match="away to start anew") as caught:
        load_checkpoint(tmp_path, network=NETWORK)
    assert "\n" not in str(caught.value)


def test_a_file_of_the_first_format_is_refused_and_says_what_to_do(tmp_path):
    torch.save({"format": 1, "base_digest": "a" * 64}, tmp_path / "learner.pt")

    with pytest.raises(CheckpointError, match=r"older program.*move it away"):
        load_checkpoint(tmp_path, network=NETWORK)


def test_a_file_of_unknown_content_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(torch, "save", _saving_more(torch.save))
    save_checkpoint(tmp_path, checkpoint())

    with pytest.raises(CheckpointError, match="cannot be read") as caught:
        load_checkpoint(tmp_path, network=NETWORK)
    assert "\n" not in str(caught.value)


def _saving_more(save):
    return lambda content, stream: save({**content, "unknown": 2}, stream)


def test_what_a_killed_process_left_behind_is_swept_up(tmp_path):
    save_checkpoint(tmp_path, checkpoint())
    (tmp_path / ".learner.pt.x7yz").write_bytes(b"half")

    load_checkpoint(tmp_path, network=NETWORK)

    assert [path.name for path in tmp_path.iterdir()] == ["learner.pt"]

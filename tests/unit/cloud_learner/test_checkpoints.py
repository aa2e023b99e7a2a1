"""A checkpoint is read back whole, or refused in one line."""

from __future__ import annotations

import pytest
import torch

from cloud_learner.checkpoints import Checkpoint, load_checkpoint, save_checkpoint
from cloud_learner.errors import CheckpointError

BASE = "a" * 64


def checkpoint(**changes):
    fields = {
        "base_digest": BASE,
        "adapter": {"layer.lora_A": torch.arange(6.0).view(2, 3)},
        "reference": {"layer.lora_A": torch.ones(2, 3)},
        "critic": {"weight": torch.zeros(2)},
        "warm_up_updates": 7,
        "round_index": 3,
        "consumed_row": 41,
        "delivered": ["warm-up", "round-00002"],
        "cpu_s": 1.5,
    }
    return Checkpoint(**{**fields, **changes})


def test_what_was_saved_is_loaded(tmp_path):
    network = torch.nn.Linear(2, 1)
    optimiser = torch.optim.Adam(network.parameters())
    network(torch.ones(1, 2)).sum().backward()
    optimiser.step()
    saved = checkpoint(optimiser=optimiser.state_dict())

    save_checkpoint(tmp_path / "new" / "folder", saved)
    loaded = load_checkpoint(tmp_path / "new" / "folder", base_digest=BASE)

    for name in Checkpoint.__slots__:
        if name not in {"adapter", "reference", "critic", "optimiser"}:
            assert getattr(loaded, name) == getattr(saved, name)
    for name in ("adapter", "reference", "critic"):
        for key, value in getattr(saved, name).items():
            assert torch.equal(getattr(loaded, name)[key], value)
    again = torch.optim.Adam(network.parameters())
    again.load_state_dict(loaded.optimiser)
    assert again.state_dict()["state"][0]["step"] == 1


def test_there_may_be_none(tmp_path):
    assert load_checkpoint(tmp_path, base_digest=BASE) is None


def test_a_new_one_replaces_the_old_and_leaves_nothing_beside_it(tmp_path):
    save_checkpoint(tmp_path, checkpoint(round_index=1))
    save_checkpoint(tmp_path, checkpoint(round_index=2))

    assert load_checkpoint(tmp_path, base_digest=BASE).round_index == 2
    assert len(list(tmp_path.iterdir())) == 1


def test_another_base_is_refused(tmp_path):
    save_checkpoint(tmp_path, checkpoint())

    with pytest.raises(CheckpointError, match="another base"):
        load_checkpoint(tmp_path, base_digest="b" * 64)


@pytest.mark.parametrize("length", [0, 10, 200])
def test_a_damaged_file_is_refused_in_one_line(tmp_path, length):
    save_checkpoint(tmp_path, checkpoint())
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:length])

    with pytest.raises(CheckpointError, match="move it away") as caught:
        load_checkpoint(tmp_path, base_digest=BASE)
    assert "\n" not in str(caught.value)


def test_a_file_of_another_kind_is_refused(tmp_path):
    save_checkpoint(tmp_path, checkpoint())
    (file,) = tmp_path.iterdir()
    torch.save({"format": 1, "unknown": 2}, file)

    with pytest.raises(CheckpointError):
        load_checkpoint(tmp_path, base_digest=BASE)

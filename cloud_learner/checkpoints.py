"""Resumable learner state on disk: written whole or not at all.

A checkpoint holds what cannot be read back from the store: weights, optimiser, critic and how far
the learner has come. Replay and demonstrations are read from the store again.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from cloud_learner.errors import CheckpointError
from sync.durable_file import write_durably

_FORMAT = 1
_FILE = "learner.pt"


@dataclass(slots=True)
class Checkpoint:
    """Everything that a restarted learner needs.

    Attributes:
        base_digest: base network that the adapter belongs to.
        adapter, reference: adapter tensors by parameter name (float32); the reference is empty
            until the warm-up is over.
        critic, optimiser: state dictionaries; empty before the warm-up is over.
        warm_up_updates: optimiser steps of the warm-up so far.
        round_index: rounds of learning so far.
        consumed_row: highest episode row that was read.
        delivered: names of the adapters that were delivered, in order.
        cpu_s: CPU seconds of learning after the warm-up; warm_up_cpu_s: of the warm-up.
    """

    base_digest: str
    adapter: dict[str, Tensor]
    reference: dict[str, Tensor] = field(default_factory=dict)
    critic: dict[str, Tensor] = field(default_factory=dict)
    optimiser: dict[str, Any] = field(default_factory=dict)  # torch's own nested state
    warm_up_updates: int = 0
    round_index: int = 0
    consumed_row: int = 0
    delivered: list[str] = field(default_factory=list)
    cpu_s: float = 0.0
    warm_up_cpu_s: float = 0.0
    settled: bool = False


def save_checkpoint(directory: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint in `directory`; a crash leaves the old one or the new one."""
    directory.mkdir(parents=True, exist_ok=True)
    fields = {name: getattr(checkpoint, name) for name in Checkpoint.__slots__}
    buffer = io.BytesIO()
    torch.save({"format": _FORMAT, **fields}, buffer)
    write_durably(directory / _FILE, buffer.getvalue())


def load_checkpoint(directory: Path, *, base_digest: str) -> Checkpoint | None:
    """The checkpoint in `directory`; None where there is none.

    Raises:
        CheckpointError: it is damaged, of another format, or belongs to another base.
    """
    path = directory / _FILE
    if not path.exists():
        return None
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        found = content.pop("format")
        checkpoint = Checkpoint(**content)
    except Exception as error:  # torch raises many kinds on damaged files; all mean the same
        raise CheckpointError(
            f"{path} cannot be read ({error}): move it away to start anew"
        ) from error
    if found != _FORMAT or checkpoint.base_digest != base_digest:
        raise CheckpointError(
            f"{path} belongs to another base or version: use the data folder with its own base"
        )
    return checkpoint

"""Resumable learner state on disk: whole or not at all, and the one before it beside it.

A checkpoint holds what cannot be read back from the store: weights, optimiser, critics and how far
the learner has come. Replay and demonstrations are read from the store again.

    8 bytes   ORCKPT02
    4 bytes   length of the header, little-endian
    header    JSON: the network that it belongs to, the round, size and SHA-256 of the body
    body      torch's own file of tensors and plain values

`learner.pt` is the newest, `learner.previous.pt` the one before. Both are only ever replaced by one
rename, so whatever dies leaves two whole files. A file that was damaged later is noticed by its
digest, and the one before it is used.
"""

from __future__ import annotations

import io
import json
import os
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import structlog
import torch
from torch import Tensor

from cloud_learner.errors import CheckpointError
from sync.durable_file import write_durably

_LOG = structlog.get_logger()
_MAGIC: Final = b"ORCKPT02"
_LENGTH_BYTES: Final = 4
_NEWEST, _PREVIOUS = "learner.pt", "learner.previous.pt"
_LEFTOVERS: Final = ".learner.*"
"""What `write_durably` leaves behind of a process that was killed in it."""


@dataclass(frozen=True, slots=True)
class NetworkIdentity:
    """Which network a checkpoint's tensors belong to.

    Attributes:
        family: of the network, such as "layout_t5".
        size: the shape of its parts by name.
        base_digest: SHA-256 (hex) of the frozen base.
        rank: of the adapter.
    """

    family: str
    size: dict[str, int | float]
    base_digest: str
    rank: int


@dataclass(slots=True)
class Checkpoint:
    """Everything that a restarted learner needs.

    Attributes:
        network: what the tensors belong to.
        adapter, reference: adapter tensors by parameter name (float32); the reference is empty
            until the warm-up is over.
        learner: name of what learnt it; empty before anything was.
        algorithm: its own state (critics, optimiser, counters); empty before it began.
        warm_up_updates: optimiser steps of the warm-up so far.
        round_index: rounds of learning so far.
        consumed_row: highest episode row that was learnt from, with all before it.
        delivered: names of the adapters that were delivered, in order.
        learnt_rows: episode rows that were learnt from since the last delivery.
        cpu_s: CPU seconds of learning after the warm-up; warm_up_cpu_s: of the warm-up.
    """

    network: NetworkIdentity
    adapter: dict[str, Tensor] = field(default_factory=dict)
    reference: dict[str, Tensor] = field(default_factory=dict)
    learner: str = ""
    algorithm: dict[str, Any] = field(default_factory=dict)  # torch's own nested state
    warm_up_updates: int = 0
    round_index: int = 0
    consumed_row: int = 0
    delivered: list[str] = field(default_factory=list)
    learnt_rows: list[int] = field(default_factory=list)
    cpu_s: float = 0.0
    warm_up_cpu_s: float = 0.0
    settled: bool = False


def save_checkpoint(directory: Path, checkpoint: Checkpoint) -> None:
    """Make `checkpoint` the newest in `directory`, and the newest so far the previous one."""
    directory.mkdir(parents=True, exist_ok=True)
    data = _encoded(checkpoint)
    newest = directory / _NEWEST
    if newest.exists() and _body(newest.read_bytes()) is not None:
        # a link first: the newest is in place at every moment
        spare = directory / f".{_PREVIOUS}.link"
        spare.unlink(missing_ok=True)
        os.link(newest, spare)
        spare.replace(directory / _PREVIOUS)
    write_durably(newest, data)


def load_checkpoint(directory: Path, *, network: NetworkIdentity) -> Checkpoint | None:
    """The newest whole checkpoint in `directory`; None where there is none.

    Where the newest is damaged, the previous one is used, and a warning says so.

    Raises:
        CheckpointError: all there are damaged, or it is of another format, family, size, base or
            rank than `network`.
    """
    for leftover in directory.glob(_LEFTOVERS):
        leftover.unlink(missing_ok=True)
    newest, previous = directory / _NEWEST, directory / _PREVIOUS
    present = [path for path in (newest, previous) if path.exists()]
    for path in present:
        body = _body(_read(path))
        if body is None:
            _LOG.warning("checkpoint_damaged", file=str(path))
            continue
        header, content = body
        _require_same(path, header, network)
        return _decoded(path, content, network)
    if present:
        raise CheckpointError(
            f"{present[0]} is damaged, and so is what was there before it: "
            f"move {directory} away to start anew"
        )
    return None


def _encoded(checkpoint: Checkpoint) -> bytes:
    names = [name for name in Checkpoint.__slots__ if name != "network"]
    buffer = io.BytesIO()
    torch.save({name: getattr(checkpoint, name) for name in names}, buffer)
    body = buffer.getvalue()
    header = {
        "network": asdict(checkpoint.network),
        "round": checkpoint.round_index,
        "size_bytes": len(body),
        "sha256": sha256(body).hexdigest(),
    }
    head = json.dumps(header, sort_keys=True).encode()
    return b"".join([_MAGIC, len(head).to_bytes(_LENGTH_BYTES, "little"), head, body])


def _read(path: Path) -> bytes:
    data = path.read_bytes()
    if data.startswith(b"PK"):  # torch's file without a header: format 1
        raise CheckpointError(
            f"{path} was written by an older program: finish with that one, or move it away "
            "to start anew"
        )
    return data


def _body(data: bytes) -> tuple[dict[str, Any], bytes] | None:  # JSON has no one type
    """Header and body, or None where the file is not what was written."""
    start = len(_MAGIC) + _LENGTH_BYTES
    length = int.from_bytes(data[len(_MAGIC) : start], "little")
    head, body = data[start : start + length], data[start + length :]
    try:
        header: dict[str, Any] = json.loads(head)
        whole = header["sha256"] == sha256(body).hexdigest()
    except (ValueError, KeyError, TypeError):
        return None
    return (header, body) if whole and data.startswith(_MAGIC) else None


def _require_same(path: Path, header: dict[str, Any], network: NetworkIdentity) -> None:
    found, wanted = header["network"], asdict(network)
    for name, what in _DIFFERENCES.items():
        if found.get(name) != wanted[name]:
            raise CheckpointError(
                f"{path} belongs to {what} ({_told(found.get(name))}, not {_told(wanted[name])}): "
                "use the data folder with its own base, or move the file away to start anew"
            )


_DIFFERENCES: Final = {
    "family": "another family of networks",
    "size": "another size of network",
    "base_digest": "another base",
    "rank": "an adapter of another rank",
}
"""Parts of the identity in the order in which they are compared, as an error calls them."""


def _told(value: object) -> str:
    """A part of an identity, short enough for one line."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {one}" for name, one in sorted(value.items()))
    return str(value)[:12]


def _decoded(path: Path, body: bytes, network: NetworkIdentity) -> Checkpoint:
    try:
        content = torch.load(io.BytesIO(body), map_location="cpu", weights_only=True)
        return Checkpoint(network=network, **content)
    except Exception as error:  # torch raises many kinds, which all mean the same
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise CheckpointError(
            f"{path} cannot be read ({reason[0]}): move it away to start anew"
        ) from error

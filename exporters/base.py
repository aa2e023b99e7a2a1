"""Base networks as files: fp16 weights and a card; and their exported graphs, made once.

A base is two files: `weights.safetensors` (fp16) and `card.json` (family, sizes, versions, digest,
and how it was trained). Everybody reads the weights back from fp16, so everybody has the same
base. Its digest names it wherever an adapter says what it belongs to. Graphs may lie beside them
(`exporters.shipped`), for phones that have no torch.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from exporters.errors import BaseFilesError
from exporters.families.layout_t5 import FAMILY, LayoutT5, LayoutT5Config
from exporters.graph_cache import exported_once
from exporters.onnx_graph import export_base
from exporters.shipped import CARD_FILE, DEFAULT_BASE_DIR, GRAPH_VERSION, GRAPHS_DIR
from sync.durable_file import write_durably
from sync.policy_io import POLICY_IO_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

__all__ = [
    "DEFAULT_BASE_DIR",
    "base_digest",
    "ensure_exported",
    "load_base",
    "read_card",
    "save_base",
    "save_graphs",
]

_WEIGHTS_FILE = "weights.safetensors"


def base_digest(network: LayoutT5) -> str:
    """SHA-256 (hex) over fp16 weights, sizes and the encoding's version."""
    digest = hashlib.sha256()
    digest.update(_canonical(_identity(network.config)))
    for name, value in sorted(_half(network).items()):
        digest.update(f"{name} {tuple(value.shape)}".encode())
        digest.update(value.numpy().tobytes())
    return digest.hexdigest()


def save_base(network: LayoutT5, directory: Path, card: Mapping[str, Any]) -> str:
    """Write `network` (without adapters) to `directory`, and return its digest.

    Args:
        card: how it was made: data, seeds, command, test figures; kept as it is.
    """
    digest = base_digest(network)
    weights = save(_half(network))
    write_durably(directory / _WEIGHTS_FILE, weights)
    text = json.dumps({**card, **_identity(network.config), "digest": digest}, indent=2)
    write_durably(directory / CARD_FILE, f"{text}\n".encode())
    return digest


def save_graphs(directory: Path) -> Path:
    """Put the graphs of the base in `directory` beside its weights; returns their folder.

    Raises:
        BaseFilesError: the base cannot be read.
        GraphError: the export failed.
    """
    graphs = directory / GRAPHS_DIR
    export_base(load_base(directory), graphs, digest=str(read_card(directory)["digest"]))
    return graphs


def read_card(directory: Path) -> dict[str, Any]:
    """The card of the base in `directory`.

    Raises:
        BaseFilesError: there is none, or it is of another family or encoding.
    """
    path = directory / CARD_FILE
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
        config = LayoutT5Config(**card["config"])
    except FileNotFoundError as error:
        raise BaseFilesError(
            f"{directory} holds no base's card ({CARD_FILE}) and no checkpoint's config.json that "
            "names a model_type: name another folder"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BaseFilesError(f"{path} is no base's card ({error}): train one anew") from error
    for name, wanted in _identity(config).items():
        if card.get(name) != wanted:
            raise BaseFilesError(
                f"{path} has {name} {card.get(name)!r}, not {wanted!r}: train the base anew"
            )
    return dict(card)


def load_base(directory: Path) -> LayoutT5:
    """The base in `directory`: frozen, in evaluation mode, float32 values read from fp16.

    Raises:
        BaseFilesError: files are missing, damaged, or not those that the card describes.
    """
    card = read_card(directory)
    network = LayoutT5(LayoutT5Config(**card["config"]))
    try:
        weights = load_file(directory / _WEIGHTS_FILE)
        network.load_state_dict({name: value.float() for name, value in weights.items()})
    except (OSError, SafetensorError, RuntimeError) as error:
        raise BaseFilesError(
            f"{directory / _WEIGHTS_FILE} cannot be read: fetch the base again"
        ) from error
    if base_digest(network) != card.get("digest"):
        raise BaseFilesError(f"the weights in {directory} are not the card's: fetch the base again")
    return network.eval().requires_grad_(requires_grad=False)


def ensure_exported(source: Path, cache: Path) -> Path:
    """The directory in `cache` with the graphs of the base in `source`, exported if need be.

    Raises:
        BaseFilesError: the base cannot be read.
        GraphError: the export failed.
    """
    digest = str(read_card(source)["digest"])
    return exported_once(
        cache / f"{digest[:16]}-{GRAPH_VERSION}",
        lambda folder: export_base(load_base(source), folder, digest=digest),
    )


def _identity(config: LayoutT5Config) -> dict[str, Any]:
    return {
        "family": FAMILY,
        "policy_io_version": POLICY_IO_VERSION,
        "config": config.as_dict(),
    }


def _canonical(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _half(network: LayoutT5) -> dict[str, Tensor]:
    """The weights as they are kept: fp16, contiguous."""
    weights = network.state_dict()
    if any(".lora_" in name for name in weights):
        raise ValueError("a base is saved without adapters: keep the network you attached to")
    return {name: value.detach().to(torch.float16).contiguous() for name, value in weights.items()}

"""LoRA on a network: attach, read out, load, and train through merged weights.

An adapter's tensors leave this module ready for the ONNX graphs: for a linear layer y = W x,

    y = W x + (x A) B      A: float32 [in, r], "<module path>.lora_a"
                           B: float32 [r, out], "<module path>.lora_b", α/r folded in

α is always 2 r, so folding multiplies by a power of two and `load_tensors` is an exact inverse.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from peft import LoraConfig, inject_adapter_in_model
from peft.tuners.lora import Linear as LoraLinear
from torch import Tensor, nn

from exporters.errors import AdapterMismatchError
from exporters.families.layout_t5 import LORA_TARGETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

DEFAULT_RANK = 16
_SCALING = 2.0
_NAME = "default"

Network = TypeVar("Network", bound=nn.Module)


def attach(
    network: Network,
    rank: int = DEFAULT_RANK,
    *,
    seed: int = 0,
    targets: Sequence[str] = LORA_TARGETS,
) -> Network:
    """Put a fresh adapter on `network` in place; it changes nothing until it is trained.

    Afterwards only the adapter's tensors require gradients.

    Args:
        seed: of the A factors; the B factors start at zero.
        targets: last parts of the names of the linear layers that it changes.
    """
    if next(_layers(network), None) is not None:
        raise ValueError("the network has an adapter already; attach to a fresh base")
    config = LoraConfig(
        r=rank,
        lora_alpha=int(_SCALING * rank),
        lora_dropout=0.0,
        target_modules=list(targets),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        inject_adapter_in_model(config, network, adapter_name=_NAME)
    return network


def adapted_copy(
    base: Network, rank: int = DEFAULT_RANK, *, targets: Sequence[str] = LORA_TARGETS
) -> Network:
    """A copy of `base` with a fresh adapter (see `attach`).

    Its frozen tensors and what hangs on the network (a tokenizer, a table of masks) are the base's
    own, not copies: a base of gigabytes is in memory once.
    """
    shared: list[object] = [*base.parameters(), *base.buffers()]
    shared += [value for name, value in vars(base).items() if not name.startswith("_")]
    return attach(copy.deepcopy(base, {id(one): one for one in shared}), rank, targets=targets)


def adapter_tensors(network: nn.Module) -> dict[str, npt.NDArray[np.float32]]:
    """The adapter as float32 arrays by name, as phones apply it (copies)."""
    tensors = {}
    for path, layer in _layers(network):
        a, b = _factors(layer)
        tensors[f"{path}.lora_a"] = np.ascontiguousarray(a.detach().cpu().numpy().T)
        tensors[f"{path}.lora_b"] = np.ascontiguousarray(b.detach().cpu().numpy().T * _SCALING)
    return tensors


def load_tensors(network: nn.Module, tensors: Mapping[str, npt.NDArray[np.float32]]) -> None:
    """Overwrite the adapter of `network` with `tensors`; none at all means the base as it is.

    Raises:
        AdapterMismatchError: names or shapes are not those of this network ("base_mismatch").
    """
    if not tensors:
        zero_adapter(network)
        return
    expected = {name: value.shape for name, value in adapter_tensors(network).items()}
    found = {name: value.shape for name, value in tensors.items()}
    if expected != found:
        names = sorted(expected.items() ^ found.items())
        raise AdapterMismatchError(
            f"the adapter does not fit the network at {names[0][0]} and {len(names) - 1} more: "
            "export it from the same base and rank",
            reason="base_mismatch",
        )
    with torch.no_grad():
        for path, layer in _layers(network):
            a, b = _factors(layer)
            a.copy_(torch.from_numpy(np.ascontiguousarray(tensors[f"{path}.lora_a"].T)))
            b.copy_(torch.from_numpy(np.ascontiguousarray(tensors[f"{path}.lora_b"].T) / _SCALING))


def zero_adapter(network: nn.Module) -> None:
    """Make the adapter of `network` change nothing, and leave its A factors for training."""
    with torch.no_grad():
        for _, layer in _layers(network):
            _factors(layer)[1].zero_()


def adapted_layers(network: nn.Module) -> list[tuple[str, LoraLinear]]:
    """Path and layer of everything in `network` that has an adapter."""
    return list(_layers(network))


def merged_weights(layers: Iterable[tuple[str, LoraLinear]]) -> dict[str, Tensor]:
    """W + B A of `adapted_layers` by "<module path>.weight", with gradients to the factors."""
    merged = {}
    for path, layer in layers:
        a, b = _factors(layer)
        base: Any = layer.get_base_layer()  # peft types it as any module
        merged[f"{path}.weight"] = torch.addmm(base.weight, b, a, alpha=_SCALING)
    return merged


def _layers(network: nn.Module) -> Iterator[tuple[str, LoraLinear]]:
    for path, module in network.named_modules():
        if isinstance(module, LoraLinear):
            yield path, module


def _factors(layer: LoraLinear) -> tuple[Tensor, Tensor]:
    a: Any = layer.lora_A[_NAME]  # peft keeps the factors in untyped module tables
    b: Any = layer.lora_B[_NAME]
    return a.weight, b.weight

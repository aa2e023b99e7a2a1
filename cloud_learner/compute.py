"""Where the learner computes: on the processor as it is, or on a GPU in bf16.

On a GPU the forward pass runs under autocast: products in bf16, sums, softmaxes and everything that
is kept (weights, optimiser, scores) in float32. Batches go there from pinned memory while it still
works on the one before. Scores come back to the processor, where the algorithms are; on the
processor nothing of this does anything.
"""

from __future__ import annotations

import copy
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Literal, TypeVar, get_args

import torch
from torch import Tensor, nn

from cloud_learner.errors import SettingsError

Device = Literal["auto", "cpu", "cuda"]
DEVICES: tuple[Device, ...] = get_args(Device)

_Network = TypeVar("_Network", bound=nn.Module)


@dataclass(frozen=True, slots=True)
class Compute:
    """A place to compute.

    Attributes:
        in_bf16: run forward passes in bf16 where that is safe.
    """

    torch_device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    in_bf16: bool = False

    @property
    def is_here(self) -> bool:
        """Whether it is the processor, where everything is already."""
        return self.torch_device.type == "cpu"

    def holding(self, network: _Network) -> _Network:
        """`network` itself where it is here; else a copy of it there."""
        return network if self.is_here else copy.deepcopy(network).to(self.torch_device)

    def sent(self, value: Tensor) -> Tensor:
        """A tensor of the processor's, there; on its way while the next thing is done here."""
        if self.is_here:
            return value
        return value.pin_memory().to(self.torch_device, non_blocking=True)

    def forward(self) -> AbstractContextManager[object]:
        """Forward passes in the block run as precisely as they have to."""
        if not self.in_bf16:
            return nullcontext()
        return torch.autocast(self.torch_device.type, torch.bfloat16)


CPU = Compute()


def compute_on(device: Device) -> Compute:
    """The place that a setting names; "auto" takes a GPU where there is one.

    Raises: SettingsError: there is no such device here.
    """
    has_gpu = torch.cuda.is_available()
    if device == "cuda" and not has_gpu:
        raise SettingsError("no GPU can be used here: set device to auto or cpu")
    if device == "cpu" or not has_gpu:
        return CPU
    return Compute(torch.device("cuda"), in_bf16=True)


def back(value: Tensor) -> Tensor:
    """`value` on the processor in float32, with its gradient; itself where it is that already."""
    return value.float().cpu()

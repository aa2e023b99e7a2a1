"""Dropout for as long as something imitates; acting, A-RIDE and export never drop anything."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import nn
from transformers.models.t5.modeling_t5 import T5Attention

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def dropping(network: nn.Module, share: float, *, seed: int) -> Iterator[None]:
    """Drop a share of the network's activations while the block runs, then none again.

    Args:
        share: probability in 0..1 that an activation is dropped.
        seed: of what is dropped; torch's own generator is left as it was.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        _set(network, share)
        network.train()
        try:
            yield
        finally:
            _set(network, 0.0)
            network.eval()


def share_of(network: nn.Module) -> float:
    """The share that is being dropped now; 0 outside of `dropping`."""
    shares = [module.p for module in network.modules() if isinstance(module, nn.Dropout)]
    return max(shares, default=0.0) if network.training else 0.0


def _set(network: nn.Module, share: float) -> None:
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.p = share
        elif isinstance(module, T5Attention):
            module.dropout = share

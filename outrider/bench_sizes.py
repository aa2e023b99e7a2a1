"""What one action costs by size of the network and length of the input, beside its floor.

Networks have random weights and inputs are random numbers: time depends on neither. One action is
one run of the encoder and two of the decoder (a tap: its type, then its element). Times are thread
CPU time, the median of runs that take turns, so that whatever else the machine does meets all.

The floor is what the action's matrix products alone would take at the rate that this machine
reaches on square ones in the same process: floating-point operations, counted by torch as it runs
the network, over operations a second.
"""

from __future__ import annotations

import copy
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from device_runtime.policy import QUANTISATIONS, OnnxPolicy
from exporters import lora
from exporters.families.layout_t5 import SIZES, LayoutT5
from exporters.onnx_graph import export_base
from exporters.parity import torch_side
from sync.decoding import Batch
from sync.tokens import BIT_COLUMNS, ID_COLUMNS

if TYPE_CHECKING:
    from sync.decoding import Decoder, Encoder

RANK = 16
_RELEASE = "bench"
_DECISIONS = 2
_SIDE = 768
_SPREAD = 0.02
"""Of the adapters' values; any will do."""

Action = Callable[[], object]


def sgemm_rate(repeats: int = 5) -> float:
    """Floating-point operations a second of one thread on square matrices, at best."""
    a = torch.rand(_SIDE, _SIDE)
    return 2.0 * _SIDE**3 / min(_cpu_s(lambda: a @ a) for _ in range(repeats))


def size_rows(
    sizes: Sequence[str], lengths: Sequence[int], *, repeats: int, rate: float
) -> Iterator[dict[str, Any]]:  # figures of several kinds
    """A row for each size and length.

    Args:
        sizes: names of `exporters.families.layout_t5.SIZES`.
        lengths: tokens of the input.
        repeats: of each way to act.
        rate: what `sgemm_rate` found.
    """
    torch.set_num_threads(1)
    for size in sizes:
        torch.manual_seed(0)
        network = LayoutT5(SIZES[size]).eval().requires_grad_(requires_grad=False)
        ways = _ways(network)
        for length in lengths:
            batch = _batch(network.config.d_model, length)
            flops = operations(network, batch)
            actions = {name: _action(*way, batch) for name, way in ways.items()}
            times = _medians_ms(actions, repeats)
            floor_ms = flops / rate * 1000
            yield {
                "size": size,
                "parameters": sum(one.numel() for one in network.parameters()),
                "tokens": length,
                **{f"{name}_ms": round(value, 3) for name, value in times.items()},
                "speedup": round(times["torch"] / times["fp32_lora"], 2),
                "int8_speedup": round(times["torch"] / times["int8_lora"], 2),
                "mflop": round(flops / 1e6, 1),
                "floor_ms": round(floor_ms, 3),
                "of_floor": round(times["fp32_lora"] / floor_ms, 2),
            }


def operations(network: LayoutT5, batch: Batch) -> int:
    """Floating-point operations in the matrix products of one action."""
    side = torch_side(network)
    with FlopCounterMode(display=False) as counter:
        _action(side.encoder, side.decoder, batch)()
    return int(counter.get_total_flops())


def _ways(network: LayoutT5) -> dict[str, tuple[Encoder, Decoder]]:
    """Ways to act: torch and both kinds of graphs, each without and with an adapter."""
    adapted = lora.attach(copy.deepcopy(network), RANK)
    random = np.random.default_rng(0)
    tensors = {
        name: random.normal(0, _SPREAD, one.shape).astype(np.float32)
        for name, one in lora.adapter_tensors(adapted).items()
    }
    lora.load_tensors(adapted, tensors)
    sides = {"torch": torch_side(network), "torch_lora": torch_side(adapted)}
    ways = {name: (side.encoder, side.decoder) for name, side in sides.items()}
    with tempfile.TemporaryDirectory(prefix="outrider-bench-") as folder:
        export_base(network, Path(folder), digest="")
        for quantisation in QUANTISATIONS:
            policy = OnnxPolicy(Path(folder), quantisation=quantisation)
            base = policy.graphs_for("")
            policy.load_adapter(_RELEASE, tensors)
            graphs = policy.graphs_for(_RELEASE)
            ways[quantisation] = (base.encoder, base.decoder)
            ways[f"{quantisation}_lora"] = (graphs.encoder, graphs.decoder)
    return ways


def _action(encoder: Encoder, decoder: Decoder, batch: Batch) -> Action:
    prefix = np.zeros((1, _DECISIONS, 2), dtype=np.int64)

    def act() -> None:
        memory = encoder(batch)
        for position in range(1, _DECISIONS + 1):
            decoder(memory, prefix[:, :position])

    return act


def _batch(width: int, length: int) -> Batch:
    random = np.random.default_rng(length)
    return Batch(
        text=random.normal(size=(1, length, width)).astype(np.float32),
        ids=np.ones((1, length, len(ID_COLUMNS)), dtype=np.int64),
        bits=random.integers(0, 2, (1, length, len(BIT_COLUMNS))).astype(np.float32),
        mask=np.ones((1, length), dtype=np.float32),
    )


def _medians_ms(actions: Mapping[str, Action], repeats: int) -> dict[str, float]:
    for act in actions.values():
        act()
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(repeats):
        for name, act in actions.items():
            times[name].append(_cpu_s(act))
    return {name: statistics.median(some) * 1000 for name, some in times.items()}


def _cpu_s(work: Action) -> float:
    started = time.thread_time()
    work()
    return time.thread_time() - started

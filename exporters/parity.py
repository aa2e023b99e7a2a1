"""Do the phone's graphs act as the network does? Nothing is published where they do not.

Both sides run `sync.decoding` on the same encoded observations: once over the torch network with
its adapter, once over the phone's policy class with the exported base and the adapter's tensors.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from device_runtime.policy import OnnxGraphs, OnnxPolicy
from exporters.errors import ParityError
from exporters.families.layout_t5 import TorchCallables, text_table_of
from sync.decoding import decide, log_prob_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from exporters.families.layout_t5 import LayoutT5
    from sync.policy_io import EncodedInput
    from sync.text_table import TextTable

LOG_PROB_TOLERANCE = 1e-3
"""Largest difference of an action's log-probability, nats."""

_RELEASE = "parity"
_BATCH = 32


@dataclass(frozen=True, slots=True)
class ParityReport:
    """What a parity check found.

    Attributes:
        n: observations compared.
        agreements: observations with the same greedy action.
        max_difference: largest difference of log-probability, nats, over the greedy actions and one
            sampled action per observation.
    """

    n: int
    agreements: int
    max_difference: float


def check(
    network: LayoutT5,
    base_dir: Path,
    adapter: Mapping[str, npt.NDArray[np.float32]],
    inputs: Sequence[EncodedInput],
) -> ParityReport:
    """Compare `network` with the graphs in `base_dir` under `adapter`.

    Args:
        network: with the adapter attached and loaded; a base where `adapter` is empty.
        inputs: encoded observations, best logged ones.

    Raises:
        ParityError: a greedy decision differs, or a log-probability differs by more than the
            tolerance or is not a number.
        InstallError: the adapter does not fit the graphs.
    """
    if not inputs:
        raise ValueError("parity is checked on at least one observation")
    policy = OnnxPolicy(base_dir)
    policy.load_adapter(_RELEASE, adapter)
    phone = policy.graphs_for(_RELEASE)
    torch_side = TorchCallables(network)
    table = text_table_of(network)
    agreements, differences = 0, []
    for batch in _batches(inputs):
        ours = _chosen(batch, torch_side, table, temperature=0.0)
        theirs = _chosen(batch, phone, policy.table, temperature=0.0)
        agreements += sum(one == other for one, other in zip(ours, theirs, strict=True))
        for chains in (ours, _chosen(batch, phone, policy.table, temperature=1.0)):
            first = log_prob_of(batch, chains, torch_side.encoder, torch_side.decoder, table=table)
            second = log_prob_of(batch, chains, phone.encoder, phone.decoder, table=policy.table)
            differences.append(np.abs(first - second))
    report = ParityReport(len(inputs), agreements, float(np.concatenate(differences).max()))
    _refuse(report)
    return report


def _refuse(report: ParityReport) -> None:
    if report.agreements != report.n:
        raise ParityError(
            f"torch and ONNX agree on {report.agreements} of {report.n} greedy actions: "
            "export the base again, and publish nothing until they agree"
        )
    if not report.max_difference <= LOG_PROB_TOLERANCE:  # also true of NaN
        raise ParityError(
            f"log-probabilities of torch and ONNX differ by {report.max_difference:.2g} nats, "
            f"allowed are {LOG_PROB_TOLERANCE}: export the base again"
        )


def _batches(inputs: Sequence[EncodedInput]) -> Iterator[list[EncodedInput]]:
    for start in range(0, len(inputs), _BATCH):
        yield list(inputs[start : start + _BATCH])


def _chosen(
    batch: list[EncodedInput],
    side: TorchCallables | OnnxGraphs,
    table: TextTable,
    *,
    temperature: float,
) -> list[tuple[int, ...]]:
    choices = decide(
        batch,
        side.encoder,
        side.decoder,
        table=table,
        temperatures=[temperature] * len(batch),
        randoms=[Random(index) for index in range(len(batch))],
    )
    return [choice.choices for choice in choices]

"""Do the phone's graphs act as the network does? Nothing is published where they do not.

Both sides run `sync.decoding` on the same encoded observations: once over the torch network with
its adapter, once over the phone's policy class with the exported base and the adapter's tensors.
Log-probabilities are compared at temperature 1 over the network's greedy actions and over one
action per observation that the phone's side samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from device_runtime.policy import OnnxPolicy, Quantisation
from exporters.errors import ParityError
from exporters.families.layout_t5 import TorchCallables, text_table_of
from sync.decoding import Decoder, Encoder, decide, log_prob_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

    from exporters.families.layout_t5 import LayoutT5
    from sync.policy_io import EncodedInput
    from sync.text_table import TextTable

LOG_PROB_TOLERANCE = 1e-3
"""Largest difference of an action's log-probability under fp32 graphs, nats."""

LEAST_INT8_AGREEMENT = 0.97
"""Least share of observations on which int8 graphs take the network's greedy action."""

_RELEASE = "parity"
_BATCH = 32


@dataclass(frozen=True, slots=True)
class Side:
    """A policy as `sync.decoding` runs it."""

    encoder: Encoder
    decoder: Decoder
    table: TextTable


@dataclass(frozen=True, slots=True)
class ParityReport:
    """How far two sides agree.

    Attributes:
        n: observations compared.
        agreements: observations with the same greedy action.
        decisions: decisions of the first side's greedy actions.
        agreed_decisions: of these, those that the second side takes, up to where they part.
        max_difference, p99_difference, median_difference: of an action's log-probability, nats.
    """

    n: int
    agreements: int
    decisions: int
    agreed_decisions: int
    max_difference: float
    p99_difference: float
    median_difference: float

    @property
    def agreement(self) -> float:
        """Share of observations with the same greedy action."""
        return self.agreements / self.n


def torch_side(network: LayoutT5) -> Side:
    """The network, read at every call."""
    callables = TorchCallables(network)
    return Side(callables.encoder, callables.decoder, text_table_of(network))


def phone_side(
    base_dir: Path,
    adapter: Mapping[str, npt.NDArray[np.float32]],
    quantisation: Quantisation = "fp32",
) -> Side:
    """What a phone runs of the graphs in `base_dir` under `adapter`.

    Raises:
        PolicyFilesError: the graphs cannot be opened.
        InstallError: the adapter does not fit them.
    """
    policy = OnnxPolicy(base_dir, quantisation=quantisation)
    policy.load_adapter(_RELEASE, adapter)
    graphs = policy.graphs_for(_RELEASE)
    return Side(graphs.encoder, graphs.decoder, policy.table)


def compare(first: Side, second: Side, inputs: Sequence[EncodedInput]) -> ParityReport:
    """How far `second` acts as `first` does.

    Args:
        inputs: encoded observations, best logged ones.
    """
    if not inputs:
        raise ValueError("parity is checked on at least one observation")
    same, decisions, agreed, differences = 0, 0, 0, []
    for batch in _batches(inputs):
        ours = _chosen(batch, first, temperature=0.0)
        theirs = _chosen(batch, second, temperature=0.0)
        for one, other in zip(ours, theirs, strict=True):
            same += one == other
            decisions += len(one)
            agreed += _agreed(one, other)
        differences += [
            np.abs(_scores(batch, chains, first) - _scores(batch, chains, second))
            for chains in (ours, _chosen(batch, second, temperature=1.0))
        ]
    found = np.concatenate(differences)
    return ParityReport(
        n=len(inputs),
        agreements=same,
        decisions=decisions,
        agreed_decisions=agreed,
        max_difference=float(found.max()),
        p99_difference=float(np.quantile(found, 0.99)),
        median_difference=float(np.median(found)),
    )


def check(
    network: LayoutT5,
    base_dir: Path,
    adapter: Mapping[str, npt.NDArray[np.float32]],
    inputs: Sequence[EncodedInput],
    *,
    quantisation: Quantisation = "fp32",
) -> ParityReport:
    """Compare `network` with the graphs in `base_dir` under `adapter`.

    Args:
        network: with the adapter attached and loaded; a base where `adapter` is empty.
        inputs: encoded observations, best logged ones.
        quantisation: which of the graphs.

    Raises:
        ParityError: they act too differently, see `require_parity`.
        InstallError: the adapter does not fit the graphs.
    """
    report = compare(torch_side(network), phone_side(base_dir, adapter, quantisation), inputs)
    require_parity(report, quantisation)
    return report


def require_parity(report: ParityReport, quantisation: Quantisation) -> None:
    """Nothing where the graphs may be published.

    Raises:
        ParityError: under fp32 a greedy action differs, or a log-probability by more than
            `LOG_PROB_TOLERANCE`; under int8 more greedy actions differ than
            `LEAST_INT8_AGREEMENT` allows; or a log-probability is not a number.
    """
    least = 1.0 if quantisation == "fp32" else LEAST_INT8_AGREEMENT
    if report.agreement < least:
        raise ParityError(
            f"torch and {quantisation} ONNX agree on {report.agreements} of {report.n} greedy "
            f"actions, wanted are {least:.0%}: export the base again, and publish nothing until "
            "they do"
        )
    most = LOG_PROB_TOLERANCE if quantisation == "fp32" else np.inf
    if not report.max_difference <= most:  # also true of NaN
        raise ParityError(
            f"log-probabilities of torch and {quantisation} ONNX differ by "
            f"{report.max_difference:.2g} nats, allowed are {most}: export the base again"
        )


def _batches(inputs: Sequence[EncodedInput]) -> Iterator[list[EncodedInput]]:
    for start in range(0, len(inputs), _BATCH):
        yield list(inputs[start : start + _BATCH])


def _chosen(batch: list[EncodedInput], side: Side, *, temperature: float) -> list[tuple[int, ...]]:
    choices = decide(
        batch,
        side.encoder,
        side.decoder,
        table=side.table,
        temperatures=[temperature] * len(batch),
        randoms=[Random(index) for index in range(len(batch))],
    )
    return [choice.choices for choice in choices]


def _scores(
    batch: list[EncodedInput], chains: list[tuple[int, ...]], side: Side
) -> npt.NDArray[np.float64]:
    return log_prob_of(batch, chains, side.encoder, side.decoder, table=side.table)


def _agreed(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """How many decisions two actions share before they part."""
    for place, (ours, theirs) in enumerate(zip(one, other, strict=False)):
        if ours != theirs:
            return place
    return min(len(one), len(other))

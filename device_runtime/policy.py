"""The policy that a phone runs: two ONNX graphs, a text table, and adapters that are swapped in.

A release is an adapter, and the graphs are opened anew with the weights that it makes of the base's
(`device_runtime.adapter_merging`). Choosing itself is `sync.decoding`, as it is for the learner.

8-bit graphs quantise what they read with one scale for a whole batch, so in a batch a decision
would depend on its neighbours and on padding. There every observation runs alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import structlog

from device_runtime.adapter_merging import adapter_shapes, merged
from device_runtime.base_files import (
    BASE_FILE,
    DECODER,
    ENCODER,
    QUANTISATIONS,
    TABLE_FILE,
    WEIGHTS_FILE,
    Graph,
    Quantisation,
    graph_file,
    open_graphs,
    read_base,
    weight_places,
)
from device_runtime.errors import InstallError
from device_runtime.graph_plans import Plans, open_planned, plans_of
from device_runtime.loaded_releases import LoadedReleases
from device_runtime.ports import Decided, PolicyRequest
from sync.decoding import Batch, Logits, action_of, decide
from sync.policy_io import POLICY_IO_VERSION, EncodedInput
from sync.text_table import TextTable
from sync.tokens import BIT_COLUMNS, ID_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

__all__ = [
    "BASE_FILE",
    "DECODER",
    "ENCODER",
    "QUANTISATIONS",
    "TABLE_FILE",
    "WEIGHTS_FILE",
    "OnnxGraphs",
    "OnnxPolicy",
    "Quantisation",
    "batches",
    "graph_file",
    "weight_places",
]

_log = structlog.get_logger()

_LOGITS = ["types", "pointers", "words"]
_PROBE_TOKENS = 5
_PROBE_DECISIONS = np.array([[[0, 0], [1, 0], [2, 0], [3, 0]]], dtype=np.int64)

_MOST_TOKENS = 1024
"""Most tokens in one run, padding included: with more, the states leave the processor's cache."""

_RUN_TOKENS = 70
"""What starting another run costs, in tokens (`batches` weighs it against padding)."""

_MOST_TEXTS = 16_384
"""Strings whose vectors are kept, some ten megabytes: a phone shows a few thousand in a day, a
farm of a thousand seats that many between two turns, and none of them for ever."""

_Memory = dict[str, "npt.NDArray[np.float32]"]


class OnnxGraphs:
    """The two graphs under one adapter, as the callables of `sync.decoding`."""

    def __init__(self, graphs: tuple[Graph, Graph], *, alone: bool) -> None:
        """Use `graphs` (encoder, decoder).

        Args:
            alone: run every row of a batch alone and unpadded.
        """
        self._encoder, self._decoder = graphs
        self._alone = alone

    def encoder(self, batch: Batch) -> list[_Memory]:
        """Memory of a batch: the decoder's inputs but for the prefix, for each run of it."""
        return [self._encoded(part) for part in (_rows(batch) if self._alone else (batch,))]

    def decoder(
        self,
        memory: list[_Memory],
        prefix: npt.NDArray[np.int64],
        rows: Sequence[int] | None = None,
    ) -> Logits:
        """Logits of the decision after `prefix`, for some rows of the memory or for all."""
        if not self._alone:
            return self._decoded(_taken(memory[0], rows), prefix)
        chosen = memory if rows is None else [memory[row] for row in rows]
        return _stacked(
            [self._decoded(one, prefix[row : row + 1]) for row, one in enumerate(chosen)]
        )

    def _encoded(self, batch: Batch) -> _Memory:
        feed: dict[str, npt.NDArray[Any]] = {
            "text": batch.text,
            "ids": batch.ids,
            "bits": batch.bits,
            "mask": batch.mask,
        }
        names = self._encoder.outputs
        outputs = self._encoder.run(names, feed)
        return {"mask": batch.mask, **dict(zip(names, outputs, strict=True))}

    def _decoded(self, memory: _Memory, prefix: npt.NDArray[np.int64]) -> Logits:
        feed: dict[str, npt.NDArray[Any]] = {"prefix": prefix, **memory}
        return Logits(*self._decoder.run(_LOGITS, feed))


class OnnxPolicy(LoadedReleases[OnnxGraphs]):
    """Chooses actions with an exported base and any number of loaded adapters.

    Implements `device_runtime.ports.Policy`.
    """

    policy_io_version = POLICY_IO_VERSION
    wants_encoding = True
    wants_picture = False

    def __init__(
        self,
        base_dir: Path,
        *,
        quantisation: Quantisation = "fp32",
        threads: int = 1,
        planned: bool = True,
    ) -> None:
        """Open the graphs in `base_dir`; only the factory policy is loaded.

        Args:
            quantisation: which graphs; every step says it.
            threads: threads within one operation.
            planned: work out once how fp32 graphs are computed: releases are opened sooner then,
                the base 40 ms later and with some megabytes more.

        Raises:
            PolicyFilesError: files are missing, damaged, or of another version of the encoding.
        """
        self.quantisation: Quantisation = quantisation
        self._base = read_base(base_dir)
        self._threads = threads
        self._table = TextTable(self._base.table, most_texts=_MOST_TEXTS)
        self._plans: Plans = {}
        factory = self._opened({})
        super().__init__(factory)
        if planned and quantisation == "fp32":
            self._plans = self._sound_plans(factory)

    @property
    def base_digest(self) -> str:
        """SHA-256 (hex) of the base that adapters must belong to."""
        return self._base.digest

    @property
    def table(self) -> TextTable:
        """The base's text table."""
        return self._table

    def adapter_shapes(self, rank: int) -> dict[str, tuple[int, int]]:
        """Shapes of a whole adapter of one rank, by name of its tensors."""
        return adapter_shapes(self._base, rank)

    def load_adapter(self, release_id: str, tensors: Mapping[str, npt.NDArray[np.float32]]) -> None:
        """Make `release_id` available; one that is loaded already under this name is replaced.

        Args:
            tensors: float32 2-D by name, "<module path>.lora_a" [in, r] and ".lora_b" [r, out].
                Layers that are not named stay as in the base.

        Raises:
            InstallError: the tensors fit another base ("base_mismatch"), or they or what the graphs
                make of them are not finite ("not_finite"). What was loaded before is unchanged.
            PolicyFilesError: without plans: the base's graphs have gone or changed since then.
        """
        graphs = self._opened(tensors)
        if not all(np.isfinite(one).all() for one in self._probed(graphs)):
            raise InstallError(
                "the adapter's outcome is not finite: train it again", reason="not_finite"
            )
        self.load(release_id, graphs)

    def graphs_for(self, release_id: str) -> OnnxGraphs:
        """The callables of one release.

        Raises:
            InstallError: it is not loaded ("unknown_release").
        """
        return self.acting(release_id)

    def decide(self, requests: Sequence[PolicyRequest]) -> list[Decided]:
        """One decision per request, in order.

        Requests of one release run together, see `batches`.
        """
        decided: dict[int, Decided] = {}
        groups: dict[str, list[int]] = {}
        for row, request in enumerate(requests):
            groups.setdefault(request.release_id or self.current, []).append(row)
        for release_id, rows in groups.items():
            for batch in batches(rows, [_encoded(requests[row]).length for row in rows]):
                chosen = self._decide_batch(release_id, [requests[row] for row in batch])
                decided.update(zip(batch, chosen, strict=True))
        return [decided[row] for row in range(len(requests))]

    def _decide_batch(self, release_id: str, requests: list[PolicyRequest]) -> list[Decided]:
        graphs = self.graphs_for(release_id)
        inputs = [_encoded(request) for request in requests]
        choices = decide(
            inputs,
            graphs.encoder,
            graphs.decoder,
            table=self._table,
            temperatures=[request.temperature for request in requests],
            randoms=[request.random for request in requests],
        )
        return [
            Decided(
                action=action_of(item, request.observation, choice.choices),
                decisions=choice.decisions,
                log_prob=choice.log_prob,
                policy_version=release_id,
                quantisation=self.quantisation,
            )
            for item, request, choice in zip(inputs, requests, choices, strict=True)
        ]

    def _opened(self, tensors: Mapping[str, npt.NDArray[np.float32]]) -> OnnxGraphs:
        weights = merged(self._base, tensors)
        if self._plans:
            graphs = open_planned(self._base, self._plans, weights, threads=self._threads)
        else:
            graphs = open_graphs(self._base, weights, self.quantisation, threads=self._threads)
        return OnnxGraphs((graphs[ENCODER], graphs[DECODER]), alone=self.quantisation != "fp32")

    def _sound_plans(self, factory: OnnxGraphs) -> Plans:
        """The base's plans; none where the base does not act by them as by its files."""
        base, threads = self._base, self._threads
        try:
            plans = plans_of(base, threads=threads)
            graphs = open_planned(base, plans, base.weights, threads=threads)
            planned = OnnxGraphs((graphs[ENCODER], graphs[DECODER]), alone=False)
            is_same = _same(self._probed(planned), self._probed(factory))
        except Exception as error:  # noqa: BLE001 - without them it is as slow as ever
            _log.warning("base_without_plans", base=str(base.directory), error=str(error))
            return {}
        return plans if is_same else {}

    def _probed(self, graphs: OnnxGraphs) -> list[npt.NDArray[np.float32]]:
        """What one made-up screen gives in every slot: huge values only show in the outcome.

        After decisions of several types, so that every weight of a base has a say in it.
        """
        shape = (1, _PROBE_TOKENS)
        batch = Batch(
            text=np.ones((*shape, self._table.dim), dtype=np.float32),
            ids=np.ones((*shape, len(ID_COLUMNS)), dtype=np.int64),
            bits=np.ones((*shape, len(BIT_COLUMNS)), dtype=np.float32),
            mask=np.ones(shape, dtype=np.float32),
        )
        logits = graphs.decoder(graphs.encoder(batch), _PROBE_DECISIONS)
        return [logits.types, logits.pointers, logits.words]


def batches(rows: Sequence[int], lengths: Sequence[int]) -> list[list[int]]:
    """`rows` in the batches that cost least: padding costs what tokens cost, and so does each run.

    Args:
        lengths: tokens of each row.
    """
    ordered = sorted(zip(lengths, rows, strict=True))
    costs, starts = [0], [0]  # of the cheapest way to run what comes before each place
    for end, (longest, _) in enumerate(ordered, start=1):
        first = max(0, end - max(1, _MOST_TOKENS // longest))
        ways = [costs[start] + (end - start) * longest for start in range(first, end)]
        least = min(ways)
        costs.append(least + _RUN_TOKENS)
        starts.append(first + ways.index(least))
    parts: list[list[int]] = []
    end = len(ordered)
    while end:
        parts.append([row for _, row in ordered[starts[end] : end]])
        end = starts[end]
    return parts[::-1]


def _encoded(request: PolicyRequest) -> EncodedInput:
    if request.encoded is None:
        raise ValueError("requests to this policy carry the encoded observation")
    return request.encoded


def _rows(batch: Batch) -> Iterator[Batch]:
    """Each row of a batch as a batch of its own, without padding."""
    for row, length in enumerate(batch.mask.sum(axis=1).astype(int).tolist()):
        one = slice(row, row + 1)
        yield Batch(
            batch.text[one, :length],
            batch.ids[one, :length],
            batch.bits[one, :length],
            batch.mask[one, :length],
        )


def _taken(memory: _Memory, rows: Sequence[int] | None) -> _Memory:
    if rows is None:
        return memory
    return {name: value.take(rows, axis=0) for name, value in memory.items()}


def _stacked(parts: list[Logits]) -> Logits:
    """Rows of logits as one; pointers to tokens that a row does not have are zero."""
    if len(parts) == 1:
        return parts[0]
    pointers = np.zeros((len(parts), max(one.pointers.shape[1] for one in parts)), np.float32)
    for row, one in enumerate(parts):
        pointers[row, : one.pointers.shape[1]] = one.pointers[0]
    return Logits(
        np.concatenate([one.types for one in parts]),
        pointers,
        np.concatenate([one.words for one in parts]),
    )


def _same(
    outcome: Sequence[npt.NDArray[np.float32]], other: Sequence[npt.NDArray[np.float32]]
) -> bool:
    return all(np.array_equal(one, two) for one, two in zip(outcome, other, strict=True))

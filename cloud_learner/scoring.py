"""One teacher-forced pass of the policy over steps, and what every loss needs of it.

The adapter is merged into the weights once a pass (W + B A), and steps of about the same length
share a padded batch: together half the time of side paths over one batch
(`benchmarks/bench_learner.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from cloud_learner.batch import (
    LayoutSample,
    StepBatch,
    StepSample,
    layout_samples,
    step_batch,
)
from cloud_learner.compute import CPU, Compute, back
from exporters.families.layout_t5 import LayoutT5
from exporters.lora import adapted_layers, merged_weights
from sync.text_table import TextTable

_BUCKETS = 4
_SMALLEST_BUCKET = 16
_LARGEST_REFERENCE_BUCKET = 64
"""Steps that are scored at once without a gradient, however many there are."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What the current policy says about S steps.

    Attributes:
        log_prob: float32 [S], log π of the whole action, nats.
        entropy: float32 [S], mean entropy of its decisions, nats.
        divergence: float32 [S], KL(π ‖ reference) summed over the decisions, nats; 0 where a step
            has no reference.
        features: float32 [S, 2d], for the critic: the state token's memory and the mean memory.
        log_mu, usable, valid: float32 [S], as in `StepSample`.
    """

    log_prob: Tensor
    entropy: Tensor
    divergence: Tensor
    features: Tensor
    log_mu: Tensor
    usable: Tensor
    valid: Tensor


class Scorer:
    """Scores steps under a base network with an adapter.

    Args:
        base: the frozen base, without adapter.
        adapted: a copy of the base with the adapter attached; None scores the base itself.
        table: the base's text table.
        trains_texts: embed texts by the network, with a gradient to its table (base training).
        buckets: padded batches that steps are parted into, by their length.
        compute: where `base` and `adapted` are.
    """

    def __init__(
        self,
        base: LayoutT5,
        adapted: LayoutT5 | None,
        table: TextTable,
        *,
        trains_texts: bool = False,
        buckets: int = _BUCKETS,
        compute: Compute = CPU,
    ) -> None:
        self._network = _Forward(base)
        self._layers = [] if adapted is None else adapted_layers(adapted)
        self._table = table
        self._trains_texts = trains_texts
        self._buckets = buckets
        self._compute = compute

    def __call__(self, samples: Sequence[StepSample]) -> Scores:
        """Scores of `samples`, in their order, with gradients to the adapter."""
        own = layout_samples(samples)
        weights = self._weights()
        texts = self._embedded(own) if self._trains_texts else None
        order, parts = [], []
        for bucket in _buckets(own, self._buckets):
            batch = step_batch([own[index] for index in bucket], self._table)
            if texts is not None:
                batch = replace(batch, text=texts(batch.text_rows))
            batch = batch.sent_by(self._compute.sent)
            parts.append((self._pass(batch, weights), batch))
            order.extend(bucket)
        places = torch.empty(len(order), dtype=torch.int64)
        places[torch.tensor(order)] = torch.arange(len(order))

        def in_order(values: Iterable[Tensor]) -> Tensor:
            return back(torch.cat(list(values)))[places]

        return Scores(
            log_prob=in_order(raw.log_prob for raw, _ in parts),
            entropy=in_order(raw.entropy for raw, _ in parts),
            divergence=in_order(_divergence(raw, batch) for raw, batch in parts),
            features=in_order(raw.features for raw, _ in parts),
            log_mu=in_order(batch.log_mu for _, batch in parts),
            usable=in_order(batch.usable for _, batch in parts),
            valid=in_order(batch.valid for _, batch in parts),
        )

    def _pass(self, batch: StepBatch, weights: dict[str, Tensor]) -> _Raw:
        with self._compute.forward():
            raw: _Raw = functional_call(self._network, weights, (batch,))
        return raw

    @torch.no_grad()
    def remember_as_reference(self, samples: Sequence[StepSample]) -> None:
        """Keep this policy's log-probabilities with the samples that have none yet."""
        missing = [one for one in layout_samples(samples) if one.reference is None]
        weights = self._weights() if missing else {}
        count = max(self._buckets, -(-len(missing) // _LARGEST_REFERENCE_BUCKET))
        for bucket in _buckets(missing, count):
            chosen = [missing[index] for index in bucket]
            batch = step_batch(chosen, self._table).sent_by(self._compute.sent)
            log_probs = back(self._pass(batch, weights).log_probs).numpy()
            for sample, rows in zip(chosen, log_probs, strict=True):
                sample.reference = _kept(rows, sample)

    def _weights(self) -> dict[str, Tensor]:
        return {f"network.{name}": value for name, value in merged_weights(self._layers).items()}

    def _embedded(self, samples: Sequence[LayoutSample]) -> Callable[[Tensor], Tensor]:
        """From text rows (-1 for padding) to vectors with a gradient to the network's table.

        Every text is embedded once an update, however often it is shown.
        """
        rows = np.unique(np.concatenate([sample.text_rows for sample in samples]))
        known = self._table.texts
        vectors = self._network.network.embed_texts(["", *(known[row] for row in rows)])
        places = np.zeros(len(known) + 1, dtype=np.int64)
        places[rows] = np.arange(1, len(rows) + 1)
        by_row = torch.from_numpy(places)  # its last entry, which -1 names, is that of ""
        return lambda text_rows: functional.embedding(by_row[text_rows], vectors)


@dataclass(frozen=True, slots=True)
class _Raw:
    """One batch's outputs; log_probs: float32 [B, D, N], 0 where a choice was not allowed."""

    log_prob: Tensor
    entropy: Tensor
    log_probs: Tensor
    features: Tensor


class _Forward(nn.Module):
    """The pass as a module, so that merged weights can stand in for the network's own."""

    def __init__(self, network: LayoutT5) -> None:
        super().__init__()
        self.network = network

    def forward(self, batch: StepBatch) -> Any:  # functional_call hands it through untyped
        network = self.network
        memory = network.encode_tokens(batch.text, batch.ids, batch.bits, batch.mask)
        hidden = network.decode(memory, batch.mask, batch.prefix)
        types, pointers, words = network.head_logits(hidden, network.pointer_key(memory))
        logits = torch.cat([types, words, pointers], dim=-1)
        log_probs = torch.log_softmax(logits.masked_fill(~batch.choice_masks, -1e9), dim=-1)
        chosen = log_probs.gather(-1, batch.choices.unsqueeze(-1)).squeeze(-1)
        log_probs = log_probs.masked_fill(~batch.choice_masks, 0.0)
        entropies = -(log_probs.exp() * log_probs * batch.choice_masks).sum(-1)
        weights = batch.mask / batch.mask.sum(1, keepdim=True)
        mean = torch.einsum("bl,bld->bd", weights, memory)
        return _Raw(
            log_prob=(chosen * batch.decided).sum(-1),
            entropy=(entropies * batch.decided).sum(-1) / batch.decided.sum(-1).clamp(min=1.0),
            log_probs=log_probs,
            features=torch.cat([memory[:, 0], mean], dim=-1),
        )


def _divergence(raw: _Raw, batch: StepBatch) -> Tensor:
    difference = raw.log_probs - batch.reference
    each = (raw.log_probs.exp() * difference * batch.choice_masks).sum(-1)
    return (each * batch.decided).sum(-1) * batch.has_reference


def _kept(rows: npt.NDArray[np.float32], sample: LayoutSample) -> npt.NDArray[np.float32]:
    """The part of a padded row that belongs to the sample's own choices."""
    return rows[:, : sample.masks.shape[1]].copy()


def _buckets(samples: Sequence[LayoutSample], count: int) -> Iterator[list[int]]:
    """Indices of samples of about the same length, in at most `count` parts."""
    order = sorted(range(len(samples)), key=lambda index: len(samples[index].text_rows))
    size = max(_SMALLEST_BUCKET, -(-len(order) // count))
    for start in range(0, len(order), size):
        yield order[start : start + size]

"""Scores of steps under a vision-language policy: what every loss needs, as `Scorer` gives it.

An answer's tokens are its decisions. A vocabulary is too large to keep a reference's whole
distribution with each step, so the divergence is estimated at the answer's own tokens:

    KL(π ‖ reference) ≈ Σ_d (r_d − 1 − log r_d),   r_d = reference(token_d) / π(token_d)

which is never negative, 0 where both agree, and without bias where π itself wrote the answer.

Source of the estimate: Schulman 2020, Approximating KL divergence (k3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from cloud_learner.batch import StepSample
from cloud_learner.compute import CPU, Compute, back
from cloud_learner.scoring import Scores
from cloud_learner.text_batch import TextSample, text_samples
from exporters.families.vision_language import VisionLanguage

_MOST_ROWS = 16
"""Steps of one pass: logits take 4 bytes for each step, token and word of the vocabulary."""

_FARTHEST = 20.0
"""Largest log r, nats: one token that is all but forgotten must not be all that is learnt."""


class TextScorer:
    """Scores steps under a network, with gradients to the adapter that is attached to it."""

    def __init__(self, network: VisionLanguage, *, compute: Compute = CPU) -> None:
        self._network = network
        self._compute = compute

    def __call__(self, samples: Sequence[StepSample]) -> Scores:
        """Scores of `samples`, in their order."""
        own = text_samples(samples)
        order, parts = [], []
        for rows in _batches(own):
            chosen = [own[row] for row in rows]
            parts.append((self._raw(chosen), chosen))
            order.extend(rows)
        places = torch.empty(len(order), dtype=torch.int64)
        places[torch.tensor(order)] = torch.arange(len(order))
        divergences = [_divergence(raw, chosen) for raw, chosen in parts]
        return Scores(
            log_prob=torch.cat([raw.log_probs.sum(-1) for raw, _ in parts])[places],
            entropy=torch.cat([raw.entropy for raw, _ in parts])[places],
            divergence=torch.cat(divergences)[places],
            features=torch.cat([raw.features for raw, _ in parts])[places],
            log_mu=torch.tensor([one.log_mu for one in own], dtype=torch.float32),
            usable=torch.tensor([float(one.usable) for one in own]),
            valid=torch.tensor([float(one.valid) for one in own]),
        )

    @torch.no_grad()
    def remember_as_reference(self, samples: Sequence[StepSample]) -> None:
        """Keep this policy's log-probabilities with the samples that have none yet."""
        missing = [one for one in text_samples(samples) if one.reference is None]
        for rows in _batches(missing):
            chosen = [missing[row] for row in rows]
            kept = self._raw(chosen).log_probs.cpu().numpy()
            for sample, log_probs in zip(chosen, kept, strict=True):
                sample.reference = log_probs[: len(sample.tokens)].copy()

    def _raw(self, samples: Sequence[TextSample]) -> _Raw:
        with self._compute.forward():
            answered = self._network.score(
                [one.shown for one in samples], [one.tokens for one in samples]
            )
        masks, tokens = map(self._compute.sent, _padded(samples, answered.logits.shape[-1]))
        logits = answered.logits.float()
        log_probs = torch.log_softmax(logits.masked_fill(~masks, -1e9), dim=-1)
        chosen = log_probs.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
        entropies = -(log_probs.exp() * log_probs * masks).sum(-1)
        decided = (masks.sum(-1) > 1).to(torch.float32)
        entropy = (entropies * decided).sum(-1) / decided.sum(-1).clamp(min=1.0)
        return _Raw(back(chosen), back(entropy), back(answered.features))


@dataclass(frozen=True, slots=True)
class _Raw:
    """One batch's outputs; log_probs: float32 [B, D] of the answers' tokens, 0 for padding."""

    log_probs: Tensor
    entropy: Tensor
    features: Tensor


def _padded(samples: Sequence[TextSample], size: int) -> tuple[Tensor, Tensor]:
    """Masks bool [B, D, V] and tokens int64 [B, D]; padding allows token 0 alone."""
    longest = max(len(one.tokens) for one in samples)
    masks = np.zeros((len(samples), longest, size), dtype=np.bool_)
    tokens = np.zeros((len(samples), longest), dtype=np.int64)
    for row, sample in enumerate(samples):
        count = len(sample.tokens)
        tokens[row, :count] = sample.tokens
        masks[row, :count] = np.stack(sample.masks)
        masks[row, count:, 0] = True
    return torch.from_numpy(masks), torch.from_numpy(tokens)


def _divergence(raw: _Raw, samples: Sequence[TextSample]) -> Tensor:
    reference = raw.log_probs.detach().clone()
    for row, sample in enumerate(samples):
        if sample.reference is not None:
            reference[row, : len(sample.reference)] = torch.from_numpy(sample.reference)
    has_reference = torch.tensor([float(one.reference is not None) for one in samples])
    log_r = (reference - raw.log_probs).clamp(max=_FARTHEST)
    return (log_r.exp() - 1.0 - log_r).sum(-1) * has_reference


def _batches(samples: Sequence[TextSample]) -> Iterator[list[int]]:
    """Indices of samples of about the same length."""
    order = sorted(
        range(len(samples)),
        key=lambda row: len(samples[row].shown.prompt) + len(samples[row].tokens),
    )
    for start in range(0, len(order), _MOST_ROWS):
        yield order[start : start + _MOST_ROWS]

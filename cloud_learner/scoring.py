"""One teacher-forced pass of the policy over a batch of steps, and what every loss needs of it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from cloud_learner.batch import StepBatch
from exporters.families.layout_t5 import LayoutT5


@dataclass(frozen=True, slots=True)
class Scores:
    """What the current policy says about a batch (notation of `cloud_learner.batch`).

    Attributes:
        log_prob: float32 [B], log π of the whole action, nats.
        entropy: float32 [B], mean entropy of its decisions, nats.
        log_probs: float32 [B, D, N], of every choice; 0 where it was not allowed.
        features: float32 [B, 2d], for the critic: the state token's memory and the mean memory.
    """

    log_prob: Tensor
    entropy: Tensor
    log_probs: Tensor
    features: Tensor


def score(network: LayoutT5, batch: StepBatch) -> Scores:
    """Log π, entropy and features of `batch` under `network`."""
    memory = network.encode_tokens(batch.text, batch.ids, batch.bits, batch.mask)
    hidden = network.decode(memory, batch.mask, batch.prefix)
    types, pointers, words = network.head_logits(hidden, network.pointer_key(memory))
    logits = torch.cat([types, words, pointers], dim=-1)
    log_probs = torch.log_softmax(logits.masked_fill(~batch.choice_masks, -1e9), dim=-1)
    chosen = log_probs.gather(-1, batch.choices.unsqueeze(-1)).squeeze(-1)
    log_probs = log_probs.masked_fill(~batch.choice_masks, 0.0)
    entropies = -(log_probs.exp() * log_probs * batch.choice_masks).sum(-1)
    count = batch.decided.sum(-1).clamp(min=1.0)
    weights = batch.mask / batch.mask.sum(1, keepdim=True)
    mean = torch.einsum("bl,bld->bd", weights, memory)
    return Scores(
        log_prob=(chosen * batch.decided).sum(-1),
        entropy=(entropies * batch.decided).sum(-1) / count,
        log_probs=log_probs,
        features=torch.cat([memory[:, 0], mean], dim=-1),
    )


def kl_to_reference(scores: Scores, batch: StepBatch) -> Tensor:
    """KL(π ‖ reference) summed over an action's decisions, float32 [B], nats.

    Raises:
        ValueError: the batch has no reference log-probabilities.
    """
    if batch.reference is None:
        raise ValueError("the batch carries no reference log-probabilities")
    difference = scores.log_probs - batch.reference
    divergence = (scores.log_probs.exp() * difference * batch.choice_masks).sum(-1)
    return (divergence * batch.decided).sum(-1)

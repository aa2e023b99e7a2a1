"""Given actions as tensors, for one teacher-forced pass over all their decisions.

Notation: B batch, D decisions (MAX_DECISIONS), N choices: the most that any head has here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from sync.decoding import masks_of, packed, prefix_of
from sync.grammar import ACTION_TYPES, MAX_DECISIONS, MAX_WORDS, heads_of
from sync.vocabulary import Decision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sync.policy_io import EncodedInput

HEADS = ("type", "pointer", "word")
"""Heads by the number that `ForcedActions.heads` holds."""


@dataclass(frozen=True, slots=True)
class ForcedActions:
    """B actions, decision by decision.

    Attributes:
        prefix: int64 [B, D, 2], what the decoder reads before each decision.
        heads: int64 [B, D], index into `HEADS`; -1 beyond the end of the action.
        choices: int64 [B, D], what was chosen; 0 beyond the end.
        masks: bool [B, D, N], what was allowed; all False beyond the end.
    """

    prefix: Tensor
    heads: Tensor
    choices: Tensor
    masks: Tensor


def force(actions: Sequence[Sequence[Decision]], *, tokens: int) -> ForcedActions:
    """Logged or demonstrated decisions as tensors, under the masks that they carry.

    Args:
        actions: B actions, each with at least one decision.
        tokens: length L of the padded batch that they go with.
    """
    width = max(len(ACTION_TYPES), MAX_WORDS, tokens)
    prefix = np.zeros((len(actions), MAX_DECISIONS, 2), dtype=np.int64)
    heads = np.full((len(actions), MAX_DECISIONS), -1, dtype=np.int64)
    choices = np.zeros((len(actions), MAX_DECISIONS), dtype=np.int64)
    masks = np.zeros((len(actions), MAX_DECISIONS, width), dtype=np.bool_)
    for row, decisions in enumerate(actions):
        prefix[row, : len(decisions)] = prefix_of([one.choice for one in decisions])
        for position, one in enumerate(decisions):
            heads[row, position] = HEADS.index(one.head)
            choices[row, position] = one.choice
            bits = np.unpackbits(np.frombuffer(one.mask, dtype=np.uint8))[:width]
            masks[row, position, : len(bits)] = bits
    return ForcedActions(*map(torch.from_numpy, (prefix, heads, choices, masks)))


def decisions_of(item: EncodedInput, choices: Sequence[int]) -> tuple[Decision, ...]:
    """Choices as decisions with their masks, as `force` takes them; log-probabilities are 0."""
    heads = heads_of(ACTION_TYPES[choices[0]])
    return tuple(
        Decision(head, choice, 0.0, packed(mask))
        for head, choice, mask in zip(heads, choices, masks_of(item, choices), strict=True)
    )

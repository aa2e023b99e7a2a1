"""Filtered behaviour cloning: the warm-up on demonstrations, the control arm, and base training.

Maximises the log-probability of demonstrated (or successful own) actions. Steps are drawn by group,
then template, then trajectory, so that rare templates weigh as much as frequent ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor, nn

from cloud_learner.batch import StepSample, step_batch
from cloud_learner.replay import SuccessMemory
from cloud_learner.scoring import score
from exporters.families.layout_t5 import LayoutT5
from sync.text_table import TextTable


@dataclass(frozen=True, slots=True)
class ImitationSettings:
    """How demonstrations are learnt.

    Attributes:
        learning_rate: Adam's, falling to a tenth along a cosine over `updates`.
        updates: optimiser steps of the whole schedule.
        batch_steps: demonstrated steps an update.
        shares: share of the batch by group of demonstrations.
        max_grad_norm: global clip of the gradient.
    """

    learning_rate: float = 1e-3
    updates: int = 600
    batch_steps: int = 64
    shares: Mapping[str, float] = field(default_factory=lambda: {"new": 0.5, "old": 0.5})
    max_grad_norm: float = 1.0


class Imitation:
    """Behaviour cloning on groups of demonstrations; `update` until `finished`.

    Args:
        trains_texts: base training only: the text table learns too, so texts are embedded by the
            network instead of being looked up.
    """

    def __init__(
        self,
        network: LayoutT5,
        trainable: Sequence[nn.Parameter],
        *,
        table: TextTable,
        settings: ImitationSettings,
        demonstrations: Mapping[str, SuccessMemory],
        seed: int,
        trains_texts: bool = False,
    ) -> None:
        self.settings = settings
        self.updates = 0
        self._network = network
        self._trainable = list(trainable)
        self._table = table
        self._demonstrations = demonstrations
        self._generator = np.random.default_rng(seed)
        self._trains_texts = trains_texts
        self.optimiser = torch.optim.Adam(self._trainable, lr=settings.learning_rate)

    @property
    def finished(self) -> bool:
        """Whether the schedule has run out."""
        return self.updates >= self.settings.updates

    def update(self) -> dict[str, float]:
        """One optimiser step; its loss and accuracy."""
        progress = min(self.updates / max(self.settings.updates, 1), 1.0)
        rate = self.settings.learning_rate * (0.1 + 0.45 * (1.0 + float(np.cos(np.pi * progress))))
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        loss = self._loss()
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]  # torch ships no type here
        nn.utils.clip_grad_norm_(self._trainable, self.settings.max_grad_norm)
        self.optimiser.step()
        self.updates += 1
        return {"imitation_loss": float(loss.detach()), "learning_rate": rate}

    def _loss(self) -> Tensor:
        batch = step_batch(self._steps(), self._table)
        if self._trains_texts:
            batch = replace(batch, text=self._embedded(batch.text_rows))
        scores = score(self._network, batch)
        return -(scores.log_prob * batch.usable).sum() / batch.usable.sum().clamp(min=1.0)

    def _steps(self) -> list[StepSample]:
        steps: list[StepSample] = []
        for group, share in self.settings.shares.items():
            memory = self._demonstrations.get(group)
            if memory is not None and len(memory):
                count = max(1, round(share * self.settings.batch_steps))
                steps += memory.sample_steps(count, self._generator)
        return steps

    def _embedded(self, rows: Tensor) -> Tensor:
        """float32 [B, L, d]: the texts of `rows` with a gradient to the text table."""
        unique, places = torch.unique(rows, return_inverse=True)
        texts = self._table.texts
        vectors = self._network.embed_texts([texts[row] if row >= 0 else "" for row in unique])
        return vectors[places]

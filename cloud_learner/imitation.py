"""Filtered behaviour cloning: the warm-up on demonstrations, the control arm, and base training.

Maximises the log-probability of demonstrated (or successful own) actions. Steps are drawn by group,
then template, then trajectory, so that rare templates weigh as much as frequent ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn

from cloud_learner.batch import StepSample
from cloud_learner.ports import StepScorer
from exporters.dropout import dropping


@dataclass(frozen=True, slots=True)
class ImitationSettings:
    """How demonstrations are learnt.

    Attributes:
        learning_rate: Adam's, falling to a tenth along a cosine over `updates`.
        updates: optimiser steps of the whole schedule.
        batch_steps: demonstrated steps an update.
        shares: share of the batch by group of demonstrations.
        dropout: of the network while it imitates; few demonstrations are soon known by heart.
        max_grad_norm: global clip of the gradient.
    """

    learning_rate: float = 1e-3
    updates: int = 900
    batch_steps: int = 64
    shares: Mapping[str, float] = field(default_factory=lambda: {"new": 0.5, "old": 0.5})
    dropout: float = 0.1
    max_grad_norm: float = 1.0


class StepSource(Protocol):
    """Where demonstrated steps come from: `replay.SuccessMemory`, or a window over a stream."""

    def __len__(self) -> int:
        """How many demonstrations there are to draw from."""
        ...

    def sample_steps(self, count: int, generator: np.random.Generator) -> list[StepSample]:
        """`count` usable steps, with replacement."""
        ...


class Imitation:
    """Behaviour cloning on groups of demonstrations; `update` until `finished`.

    Args:
        policy: scores steps under what is trained.
        trainable: the parameters that learn.
        network: where dropout acts while an update is made.
        demonstrations: by the names that `settings.shares` uses.
    """

    def __init__(
        self,
        policy: StepScorer,
        trainable: Sequence[nn.Parameter],
        *,
        network: nn.Module,
        settings: ImitationSettings,
        demonstrations: Mapping[str, StepSource],
        seed: int,
    ) -> None:
        self.settings = settings
        self.updates = 0
        self._policy = policy
        self._trainable = list(trainable)
        self._network = network
        self._demonstrations = demonstrations
        self._generator = np.random.default_rng(seed)
        self._noise = torch.Generator().manual_seed(seed)
        self.optimiser = torch.optim.Adam(self._trainable, lr=settings.learning_rate, fused=True)

    @property
    def finished(self) -> bool:
        """Whether the schedule has run out."""
        return self.updates >= self.settings.updates

    @property
    def progress(self) -> float:
        """Share of the schedule that has run, 0..1."""
        return min(self.updates / max(self.settings.updates, 1), 1.0)

    def update(self, progress: float | None = None) -> dict[str, float]:
        """One optimiser step; its loss and learning rate.

        Args:
            progress: where on the learning rate's schedule this step stands, 0..1; `progress` of
                the updates themselves where not given.
        """
        settings = self.settings
        progress = self.progress if progress is None else progress
        rate = settings.learning_rate * (0.1 + 0.45 * (1.0 + float(np.cos(np.pi * progress))))
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        with dropping(self._network, settings.dropout, seed=self._noise_seed()):
            scores = self._policy(self._steps())
            loss = -(scores.log_prob * scores.usable).sum() / scores.usable.sum().clamp(min=1.0)
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]  # torch ships no type here
        nn.utils.clip_grad_norm_(self._trainable, settings.max_grad_norm)
        self.optimiser.step()
        self.updates += 1
        return {"imitation_loss": float(loss.detach()), "learning_rate": rate}

    def state(self) -> dict[str, Any]:  # Any: torch's and numpy's own nested states
        """What a later process needs to go on as if nothing had happened, beside the weights."""
        return {
            "updates": self.updates,
            "optimiser": self.optimiser.state_dict(),
            "generator": self._generator.bit_generator.state,
            "noise": self._noise.get_state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` once said; the weights are the caller's to restore."""
        self.updates = int(state["updates"])
        self.optimiser.load_state_dict(dict(state["optimiser"]))
        self._generator.bit_generator.state = state["generator"]
        self._noise.set_state(state["noise"])

    def _noise_seed(self) -> int:
        return int(torch.randint(2**31, (1,), generator=self._noise))

    def _steps(self) -> list[StepSample]:
        steps: list[StepSample] = []
        for group, share in self.settings.shares.items():
            memory = self._demonstrations.get(group)
            if memory is not None and len(memory):
                count = max(1, round(share * self.settings.batch_steps))
                steps += memory.sample_steps(count, self._generator)
        return steps

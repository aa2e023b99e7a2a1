"""DigiRL: a step value and an instruction value, two hard filters, imitation of what passes both.

A_step = w + (1 − w) (V_step(s_{t+1}) − V_step(s_t)) with w = λ^(H−t) r_H; a step passes with
A_step > threshold. A_instr = r_H − V_instr(goal); the best share of all kept trajectories passes.
Both values are learnt by cross-entropy with "the trajectory succeeded". No importance ratio.

The values learn from trajectories drawn evenly; the policy from as many drawn among those that
passed. V_instr is asked about every kept trajectory before each draw, as published; the features
that it reads are kept, so that this is one small product.

Source: Bai et al. 2024, DigiRL (arXiv 2406.11896), eq. 4.3 to 4.6. Deviations: V reads detached
features of the policy, and the share that passes is a setting (docs/algorithm.md).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from cloud_learner.adapter_training import AdapterTraining, Draw, Terms, Trainee, seeded
from cloud_learner.algorithm_settings import DigiRLSettings
from cloud_learner.batch import Trajectory
from cloud_learner.critics import Critic
from cloud_learner.policy_terms import imitation_loss, regularisers
from cloud_learner.replayed import Replayed
from cloud_learner.returns import digirl_advantages


@dataclass(slots=True)
class _Kept:
    """A kept trajectory, and the features of its first state once they are known: [feature_dim]."""

    trajectory: Trajectory
    opening: Tensor | None = None


@dataclass(frozen=True, slots=True)
class FilteredDraw(Draw):
    """Trajectories for the values, then those for the policy.

    Attributes:
        kept: what is kept of each.
        for_values: float32 [B], 1 for those that the values learn from.
        passed: float32 [B], 1 for those that passed the filter of instructions.
    """

    kept: list[_Kept]
    for_values: Tensor
    passed: Tensor


class DigiRL(AdapterTraining[FilteredDraw]):
    """The algorithm: holds both values and the trajectories that they rank."""

    def __init__(self, trainee: Trainee, settings: DigiRLSettings, *, seed: int) -> None:
        self.settings = settings
        self.step_critic = seeded(seed, lambda: Critic(trainee.feature_dim))
        self.instruction_critic = seeded(seed + 1, lambda: Critic(trainee.feature_dim))
        self._pool: deque[_Kept] = deque(maxlen=settings.capacity)
        super().__init__(
            trainee,
            settings,
            seed=seed,
            critics={"step": self.step_critic, "instruction": self.instruction_critic},
            critic_learning_rate=settings.critic_learning_rate,
        )

    def _keep(self, trajectory: Trajectory) -> None:
        self._pool.append(_Kept(trajectory))

    def _forget(self, rows: Collection[int]) -> None:
        left = [one for one in self._pool if one.trajectory.row not in rows]
        self._pool = deque(left, maxlen=self.settings.capacity)

    def _forget_stale(self) -> None:
        limit = self.rounds - self.settings.max_age_rounds
        fresh = [one for one in self._pool if (one.trajectory.policy_round or 0) >= limit]
        self._pool = deque(fresh, maxlen=self.settings.capacity)

    def _draw(self) -> FilteredDraw:
        pool = list(self._pool)
        surprises = self._surprises(pool)
        threshold = np.quantile(surprises, 1.0 - self.settings.instruction_share) if pool else 0.0
        passing = surprises >= threshold
        for_policy = max(1, self.settings.trajectories_per_update // 2)
        for_values = max(1, self.settings.trajectories_per_update - for_policy)
        evenly = self._picked(np.arange(len(pool)), for_values)
        best = self._picked(np.flatnonzero(passing), for_policy)
        places = [*evenly, *best]
        return FilteredDraw(
            [pool[place].trajectory for place in places],
            [pool[place] for place in places],
            torch.tensor([1.0] * len(evenly) + [0.0] * len(best)),
            torch.from_numpy(passing[places].astype(np.float32)),
        )

    def _picked(self, places: npt.NDArray[np.intp], count: int) -> list[int]:
        chosen = self._generator.choice(places, size=min(count, len(places)), replace=False)
        return [int(place) for place in chosen]

    def _surprises(self, pool: Sequence[_Kept]) -> npt.NDArray[np.float64]:
        """A_instr = r_H − V_instr(goal) of everything that is kept."""
        if not pool:
            return np.zeros(0)
        unknown = [one for one in pool if one.opening is None]
        if unknown:
            with torch.no_grad():
                scores = self._trainee.policy([one.trajectory.steps[0] for one in unknown])
            for one, features in zip(unknown, scores.features, strict=True):
                one.opening = features.detach()
        openings = torch.stack([one.opening for one in pool if one.opening is not None])
        success = torch.tensor([float(one.trajectory.success) for one in pool])
        surprises = success - self.instruction_critic.value(openings)
        return np.asarray(surprises.numpy(), dtype=np.float64)

    def _terms(self, batch: Replayed, drawn: FilteredDraw) -> Terms:
        settings, grid, features = self.settings, batch.grid, batch.scores.features
        usable, opening = batch.usable, features[grid.first]
        losses = {
            "critic_loss": _value_loss(
                self.step_critic(features),
                grid.each(batch.success),
                usable * grid.each(drawn.for_values),
            ),
            "instruction_loss": _value_loss(
                self.instruction_critic(opening), batch.success, drawn.for_values
            ),
        }
        values = grid.values(self.step_critic.value(features))
        rewards, discounts = grid.outcome(batch.success, settings.lambda_)
        advantages = grid.gather(digirl_advantages(values, rewards, discounts))
        passed = (advantages > settings.step_threshold) * grid.each(drawn.passed)
        if self.rounds >= settings.critic_warm_up_rounds:
            losses.update(regularisers(batch, usable, settings))
            losses["policy_loss"] = imitation_loss(batch.scores.log_prob, passed * usable)
        figures = {
            "positive_advantage_share": float((advantages > 0).float().mean()),
            "passed_share": float(passed.mean()),
            "value_mean": float(grid.gather(values).mean()),
        }
        return Terms(losses, figures, lambda: _remember_openings(drawn.kept, opening))


def _value_loss(logits: Tensor, success: Tensor, counted: Tensor) -> Tensor:
    """Cross-entropy with "it succeeded", mean over what is counted: a scalar."""
    errors = functional.binary_cross_entropy_with_logits(logits, success, reduction="none")
    return (errors * counted).sum() / counted.sum().clamp(min=1.0)


def _remember_openings(kept: list[_Kept], openings: Tensor) -> None:
    for one, features in zip(kept, openings.detach(), strict=True):
        one.opening = features

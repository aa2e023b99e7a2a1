"""The replayed part of an update: trajectories, where their steps stand, what π says of them.

Here ρ = π/μ is taken, once for every algorithm: π from the pass that is being differentiated, μ as
the phone stored it with the step. A step that cannot be used keeps its place with ρ = 1.

Notation: B trajectories, S steps in one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from cloud_learner.batch import Trajectory
from cloud_learner.scoring import Scores
from cloud_learner.trajectory_grid import TrajectoryGrid

_MOST_NATS = 20.0
"""|log ρ| counts up to here, so that one far-off step is a large number and not infinity."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """Replayed steps under the present policy.

    Attributes:
        scores: of the S steps, with gradient. log_rho, rho: float32 [S], without.
        success: float32 [B], 1 for a success.
    """

    trajectories: Sequence[Trajectory]
    grid: TrajectoryGrid
    scores: Scores
    log_rho: Tensor
    rho: Tensor
    success: Tensor

    @property
    def usable(self) -> Tensor:
        """float32 [S], 0 for a step that teaches nothing."""
        return self.scores.usable

    def truncated_rho(self, largest: float) -> Tensor:
        """ρ, at most `largest` (0: as it is): float32 [S]."""
        return self.rho.clamp(max=largest) if largest else self.rho


def replayed(trajectories: Sequence[Trajectory], scores: Scores) -> Replayed:
    """The steps of `trajectories`, which stand first in `scores`."""
    grid = TrajectoryGrid([len(one.steps) for one in trajectories])
    own = Scores(
        **{entry.name: getattr(scores, entry.name)[: grid.count] for entry in fields(Scores)}
    )
    difference = (own.log_prob - own.log_mu).detach()
    log_rho = torch.where(own.usable > 0, difference, 0.0).clamp(-_MOST_NATS, _MOST_NATS)
    return Replayed(
        trajectories=trajectories,
        grid=grid,
        scores=own,
        log_rho=log_rho,
        rho=log_rho.exp(),
        success=torch.tensor([float(one.success) for one in trajectories]),
    )


def internals(batch: Replayed, *, ratio_clip: float, rounds: int) -> dict[str, float]:
    """What every algorithm reports of what it replays; the names are docs/algorithm.md's.

    Args:
        ratio_clip: largest ρ that counts (0: unclipped). rounds: of the learner so far.
    """
    rho, scores = batch.rho, batch.scores
    weights = batch.truncated_rho(ratio_clip)
    effective = weights.sum() ** 2 / (weights**2).sum().clamp(min=1e-9) / max(len(weights), 1)
    known = [one.policy_round for one in batch.trajectories if one.policy_round is not None]
    return {
        "effective_sample_share": float(effective),
        "ratio_mean": float(rho.mean()),
        "ratio_max": float(rho.max()),
        "ratio_clipped_share": float((rho > (ratio_clip or torch.inf)).float().mean()),
        "entropy": float(scores.entropy.detach().mean()),
        "kl_to_release": _divergence_from_newest(batch),
        "kl_to_reference": float(scores.divergence.detach().mean()),
        "replayed_lag_rounds": rounds - sum(known) / len(known) if known else 0.0,
        "replayed_success": float(batch.success.mean()),
        "left_out_steps": float((1.0 - scores.usable).sum()),
    }


def _divergence_from_newest(batch: Replayed) -> float:
    """KL(μ ‖ π) on steps of the newest weights of the batch, estimated by ρ − 1 − log ρ, nats.

    Source: Schulman 2020, Approximating KL divergence: unbiased, and never negative.
    """
    newest = max(one.policy_round or 0 for one in batch.trajectories)
    own = torch.tensor([float((one.policy_round or 0) == newest) for one in batch.trajectories])
    counted = batch.grid.each(own) * batch.usable
    estimate = (batch.rho - 1.0 - batch.log_rho) * counted
    return float(estimate.sum() / counted.sum().clamp(min=1.0))

"""GRPO with AdaGRPO's additions, and GiGPO: groups compared among themselves, no critic.

L = −E[w min(r Â, clip(r, 1 − ε, 1 + ε') Â)], r = π/π_prox, w = min(C, π_prox/μ)

π_prox is the policy at the first update of the round that saw the trajectory: its log-probability
is that pass's own, so no second forward is needed. w corrects for weights that were stale when the
phone acted. The mean is over all steps, not over trajectories first: failures are longer, and would
count less a step.

Source: Shao et al. 2024 (GRPO); Hilton et al. 2022, Batch size-invariance for policy optimization
(the proximal policy apart from the behaviour policy); groups: `cloud_learner.groups`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cloud_learner.adapter_training import AdapterTraining, Draw, Terms, Trainee
from cloud_learner.algorithm_settings import GroupSettings
from cloud_learner.batch import Trajectory
from cloud_learner.failure_cooldown import FailureCooldown
from cloud_learner.groups import GroupBuffer, Member
from cloud_learner.policy_terms import clipped_surrogate_loss, regularisers
from cloud_learner.replayed import Replayed


@dataclass(frozen=True, slots=True)
class GroupDraw(Draw):
    """Trajectories of whole groups, and replayed successes behind them."""

    members: list[Member]


class GroupPolicyOptimisation(AdapterTraining[GroupDraw]):
    """The algorithm: groups that are learnt from a few times, and successes for longer."""

    def __init__(self, trainee: Trainee, settings: GroupSettings, *, seed: int) -> None:
        super().__init__(trainee, settings, seed=seed)
        self.settings = settings
        self.groups = GroupBuffer(settings)
        self.cooldown = FailureCooldown(settings)
        self._newest_row = self._observed_row = -1

    def template_weights(self) -> Mapping[str, float]:
        """Templates whose groups fail are asked for less."""
        return self.cooldown.weights()

    def state_dict(self) -> dict[str, Any]:  # Any: torch's own nested state
        """With the failures of each template, and up to which row they were counted."""
        failed = self.cooldown.counts()
        return {**super().state_dict(), "failed_groups": failed, "newest_row": self._newest_row}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from `state_dict`; groups are gathered again, their failures not counted again."""
        super().load_state_dict(state)
        self.cooldown.restore(state["failed_groups"])
        self._newest_row = self._observed_row = state["newest_row"]

    def _keep(self, trajectory: Trajectory) -> None:
        self._newest_row = max(self._newest_row, trajectory.row)
        completed = self.groups.add(trajectory, rounds=self.rounds)
        if completed is not None:
            self._observe(completed)

    def _forget(self, rows: Collection[int]) -> None:
        self.groups.forget(rows, rounds=self.rounds)

    def _forget_stale(self) -> None:
        for completed in self.groups.forget_stale(self.rounds):
            self._observe(completed)

    def _observe(self, completed: Sequence[Trajectory]) -> None:
        if max(one.row for one in completed) <= self._observed_row:
            return
        solved = any(one.success for one in completed)
        self.cooldown.observe(completed[0].template, solved=solved)

    def _draw(self) -> GroupDraw:
        members = self.groups.draw(self._generator)
        return GroupDraw([one.trajectory for one in members], members)

    def _terms(self, batch: Replayed, drawn: GroupDraw) -> Terms:
        settings = self.settings
        parts = self._proximal(batch, drawn.members)
        proximal = torch.cat(parts)
        stale = torch.where(batch.usable > 0, proximal - batch.scores.log_mu, 0.0)
        weights = stale.clamp(-_MOST_NATS, _MOST_NATS).exp()
        if settings.ratio_clip:
            weights = weights.clamp(max=settings.ratio_clip)
        advantages = torch.from_numpy(np.concatenate([one.advantages for one in drawn.members]))
        log_ratio = (batch.scores.log_prob - proximal).clamp(-_MOST_NATS, _MOST_NATS)
        losses = regularisers(batch, batch.usable, settings)
        losses["policy_loss"] = clipped_surrogate_loss(
            log_ratio,
            advantages=advantages,
            weights=weights * batch.usable,
            clip_low=settings.clip_low,
            clip_high=settings.clip_high,
        )
        moved = log_ratio.detach().exp()
        outside = (moved < 1.0 - settings.clip_low) | (moved > 1.0 + settings.clip_high)
        figures = {
            "positive_advantage_share": float((advantages > 0).float().mean()),
            "surrogate_clipped_share": float(outside.float().mean()),
            "groups": float(len(self.groups)),
            "uninformative_groups": float(self.groups.uninformative),
            "ungrouped_trajectories": float(self.groups.ungrouped),
        }
        return Terms(losses, figures, lambda: self._remember_proximal(drawn.members, parts))

    def _proximal(self, batch: Replayed, members: Sequence[Member]) -> list[Tensor]:
        """Each member's log π_prox: this pass's own where the round sees it first, [T] each."""
        lengths = [len(one.steps) for one in batch.trajectories]
        passed = torch.split(batch.scores.log_prob.detach(), lengths)
        return [
            member.proximal
            if member.proximal is not None and member.proximal_round == self.rounds
            else now
            for member, now in zip(members, passed, strict=True)
        ]

    def _remember_proximal(self, members: Sequence[Member], parts: Sequence[Tensor]) -> None:
        for member, proximal in zip(members, parts, strict=True):
            member.proximal, member.proximal_round = proximal, self.rounds


_MOST_NATS = 20.0
"""Differences of log-probabilities count up to here, so that a ratio is never infinite."""

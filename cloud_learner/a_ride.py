"""A-RIDE: asynchronous off-policy learning of the adapter, published and stabilised.

One update, in the order of the paper: sample by DPER, correct values by Retrace, fit the critic,
take the ρ-weighted policy gradient with entropy and invalid-action terms. The stabilised mode adds
what a small policy needs (critic warm-up, damped negative advantages, clipped ρ, KL to the warm-up
policy, anchors on demonstrations and on own successes). Both are settings of one implementation;
every part has an off switch.

Conventions: reward 1 on success with the last action; γ reaches from reward to critic (V is the
discounted chance of success; targets are clipped to 0..1). Penalties enter the advantage only.

Source: Wang et al. 2024, DistRL (arXiv 2410.14803), section 5. Deviations are listed in
docs/algorithm.md with the reason of each.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from cloud_learner.adapter_training import AdapterTraining, Draw, Terms, Trainee, seeded
from cloud_learner.algorithm_settings import ARideSettings
from cloud_learner.batch import Trajectory
from cloud_learner.critics import Critic, TrajectoryCritic
from cloud_learner.policy_terms import policy_gradient_loss, regularisers, scaled_advantages
from cloud_learner.replay import Replay, SuccessMemory
from cloud_learner.replayed import Replayed
from cloud_learner.returns import (
    monte_carlo_returns,
    repetition_penalties,
    retrace_advantages,
    retrace_corrections,
)


@dataclass(frozen=True, slots=True)
class PrioritisedDraw(Draw):
    """Trajectories by priority; importance: float32 [B], what undoes the priorities' bias."""

    importance: Tensor


class ARide(AdapterTraining[PrioritisedDraw]):
    """The algorithm: holds critic, optimiser and replay; changes the adapter it was given."""

    def __init__(self, trainee: Trainee, settings: ARideSettings, *, seed: int) -> None:
        self.settings = settings
        self.replay = Replay(settings.replay)
        self.critic = seeded(seed, lambda: Critic(trainee.feature_dim))
        critics: dict[str, nn.Module] = {"state": self.critic}
        self._trajectory_critic: TrajectoryCritic | None = None
        if settings.trajectory_value:
            self._trajectory_critic = seeded(seed, lambda: TrajectoryCritic(trainee.feature_dim))
            critics["trajectory"] = self._trajectory_critic
        super().__init__(
            trainee,
            settings,
            seed=seed,
            critics=critics,
            critic_learning_rate=settings.critic_learning_rate,
        )

    @property
    def successes(self) -> SuccessMemory:
        """Own recent successes, by template."""
        return self.anchors.successes

    def _keep(self, trajectory: Trajectory) -> None:
        self.replay.add(trajectory)

    def _forget(self, rows: Collection[int]) -> None:
        self.replay.forget(rows)

    def _forget_stale(self) -> None:
        self.replay.drop_older_than(self.rounds)

    def _draw(self) -> PrioritisedDraw:
        drawn = self.replay.sample(self.settings.trajectories_per_update, self._generator)
        importance = torch.from_numpy(self.replay.importance(drawn)).to(torch.float32)
        return PrioritisedDraw(drawn, importance)

    def _terms(self, batch: Replayed, drawn: PrioritisedDraw) -> Terms:
        settings, grid = self.settings, batch.grid
        view = self._view(batch)
        counted = batch.usable * grid.each(drawn.importance)
        logits = self.critic(batch.scores.features)
        errors = functional.binary_cross_entropy_with_logits(
            logits, grid.gather(self._targets(view)), reduction="none"
        )
        losses = {"critic_loss": (errors * counted).mean()}
        ranks = batch.success - view.values[:, 0]
        if self._trajectory_critic is not None:
            losses["trajectory_critic_loss"], ranks = self._judged(batch, self._trajectory_critic)
        if self.rounds >= settings.critic_warm_up_rounds:
            kept = counted * grid.best(ranks, settings.value_filter)
            losses.update(self._policy_losses(batch, view.advantages, kept))
        figures = {
            "positive_advantage_share": float((view.advantages > 0).float().mean()),
            "value_mean": float(grid.gather(view.values).mean()),
        }
        return Terms(losses, figures, lambda: self._refresh_priorities(batch, view))

    def _view(self, batch: Replayed) -> _View:
        """Everything about the replayed steps that carries no gradient."""
        settings, grid = self.settings, batch.grid
        rewards, discounts = grid.outcome(batch.success, settings.gamma)
        values = grid.values(self.critic.value(batch.scores.features))
        log_rho = batch.log_rho if settings.retrace else torch.zeros_like(batch.log_rho)
        corrections = retrace_corrections(
            values, rewards, discounts, grid.spread(log_rho), lambda_=settings.lambda_
        )
        repeats = [step.repeats for one in batch.trajectories for step in one.steps]
        penalised = rewards + repetition_penalties(
            grid.spread(torch.tensor(repeats)),
            per_repeat=settings.repetition_penalty,
            cap=settings.repetition_cap,
        )
        following = corrections if settings.multi_step else torch.zeros_like(corrections)
        advantages = retrace_advantages(values, following, penalised, discounts)
        return _View(
            values=values,
            rewards=rewards,
            discounts=discounts,
            corrections=corrections,
            advantages=grid.gather(advantages),
        )

    def _targets(self, view: _View) -> Tensor:
        """What the critic learns: V + Δ, or (published) whether the return is positive: [B, T]."""
        if self.settings.retrace_critic:
            return (view.values[:, :-1] + view.corrections).clamp(0.0, 1.0)
        return (monte_carlo_returns(view.rewards, view.discounts) > 0).to(torch.float32)

    def _judged(self, batch: Replayed, critic: TrajectoryCritic) -> tuple[Tensor, Tensor]:
        """V_traj's loss on the terminal steps, and its values: a scalar and [B]."""
        last = batch.grid.last
        features = batch.scores.features[last]
        kinds = torch.tensor([one.steps[-1].action_type for one in batch.trajectories])
        errors = functional.binary_cross_entropy_with_logits(
            critic(features, kinds), batch.success, reduction="none"
        )
        return (errors * batch.usable[last]).mean(), critic.value(features, kinds)

    def _policy_losses(
        self, batch: Replayed, advantages: Tensor, kept: Tensor
    ) -> dict[str, Tensor]:
        settings = self.settings
        losses = regularisers(batch, kept, settings)
        if settings.policy_gradient:
            scaled = scaled_advantages(
                advantages,
                kept,
                clip=settings.advantage_clip,
                negative_scale=settings.negative_scale,
            )
            losses["policy_loss"] = policy_gradient_loss(
                batch.scores.log_prob,
                ratio=batch.truncated_rho(settings.ratio_clip),
                advantages=scaled,
                weights=kept,
            )
        return losses

    def _refresh_priorities(self, batch: Replayed, view: _View) -> None:
        """Give trajectories the priorities that they had in this update."""
        grid, values = batch.grid, view.values
        errors = (view.rewards + view.discounts * values[:, 1:] - values[:, :-1]).abs()
        error_means = grid.mean(grid.gather(errors.clamp(max=1.0)))
        ratio_means = grid.mean(batch.rho.clamp(max=1.0))
        entropies = batch.scores.entropy.detach() / _HIGH_ENTROPY
        entropy_means = grid.mean(entropies.clamp(max=1.0))
        for index, trajectory in enumerate(batch.trajectories):
            self.replay.refresh(
                trajectory,
                mean_error=float(error_means[index]),
                mean_ratio=float(ratio_means[index]),
                mean_entropy=float(entropy_means[index]),
            )


_HIGH_ENTROPY = 3.0
"""Entropy of a decision, in nats, that counts as 1 in a priority: about twenty equal choices."""


@dataclass(frozen=True, slots=True)
class _View:
    """The replayed steps without gradient: grids [B, T] (values [B, T+1]), advantages [S]."""

    values: Tensor
    rewards: Tensor
    discounts: Tensor
    corrections: Tensor
    advantages: Tensor

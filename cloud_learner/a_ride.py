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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from cloud_learner.batch import StepSample, Trajectory
from cloud_learner.critics import Critic
from cloud_learner.replay import Replay, ReplaySettings, SuccessMemory
from cloud_learner.returns import (
    monte_carlo_returns,
    repetition_penalties,
    retrace_advantages,
    retrace_corrections,
)
from cloud_learner.scoring import Scorer, Scores


@dataclass(frozen=True, slots=True)
class ARideSettings:
    """Every part of the algorithm and its switch (0 or False turns a part off).

    Attributes:
        gamma: discount of a step. lambda_: Retrace's trace decay.
        learning_rate, critic_learning_rate: Adam's.
        trajectories_per_update: drawn from replay.
        critic_warm_up_rounds: rounds in which only the critic and the anchors learn.
        multi_step: Retrace advantage; False takes the one-step error.
        retrace_critic: the critic's target is v + Δ; False takes "the return is positive".
        negative_scale: factor of negative advantages. ratio_clip: largest ρ (0: unclipped).
        advantage_clip: largest |A| after division by the batch's deviation (0: as it is).
        kl_weight, entropy_weight, invalid_weight: of the terms with those names.
        repetition_penalty, repetition_cap: per repeated action, and at most.
        value_filter: keep the best share of a batch by return − V(start) (1 keeps all).
        policy_gradient: False leaves anchors, entropy and KL alone (filtered self-imitation).
        demo_weight, demo_steps_new, demo_steps_old: anchor on demonstrations.
        success_weight, success_steps: anchor on own recent successes.
        max_grad_norm: global clip of the gradient.
    """

    gamma: float = 0.97
    lambda_: float = 0.95
    learning_rate: float = 1e-3
    critic_learning_rate: float = 1e-3
    trajectories_per_update: int = 16
    critic_warm_up_rounds: int = 8
    multi_step: bool = True
    retrace_critic: bool = True
    negative_scale: float = 0.2
    ratio_clip: float = 1.0
    advantage_clip: float = 3.0
    kl_weight: float = 0.02
    entropy_weight: float = 0.05
    invalid_weight: float = 0.05
    repetition_penalty: float = 0.0
    repetition_cap: float = 1.2
    value_filter: float = 1.0
    policy_gradient: bool = True
    demo_weight: float = 0.3
    demo_steps_new: int = 16
    demo_steps_old: int = 16
    success_weight: float = 0.3
    success_steps: int = 24
    max_grad_norm: float = 1.0
    replay: ReplaySettings = field(default_factory=ReplaySettings)


STABILISED = ARideSettings()
"""What learns on a small policy; see docs/algorithm.md."""

PUBLISHED = replace(
    STABILISED,
    gamma=1.0,
    retrace_critic=False,
    critic_warm_up_rounds=0,
    negative_scale=1.0,
    ratio_clip=0.0,
    advantage_clip=0.0,
    kl_weight=0.0,
    repetition_penalty=0.4,
    value_filter=0.1,
    demo_weight=0.0,
    success_weight=0.0,
)
"""The formulas as published."""


class ARide:
    """The algorithm: holds critic, optimiser and replay; changes the adapter it was given.

    Args:
        policy: scores steps under the adapter that is trained.
        trainable: the adapter's parameters.
        reference: scores steps under the policy to stay close to (the warm-up), frozen.
        feature_dim: width of the features that `policy` gives.
        demonstrations: by group: "new" (the app that is being learnt) and "old".
    """

    def __init__(
        self,
        policy: Scorer,
        trainable: Sequence[nn.Parameter],
        *,
        reference: Scorer,
        feature_dim: int,
        settings: ARideSettings,
        demonstrations: Mapping[str, SuccessMemory],
        seed: int,
    ) -> None:
        self.settings = settings
        self.replay = Replay(settings.replay)
        self.successes = SuccessMemory()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.critic = Critic(feature_dim)
        self.rounds = 0
        self._policy = policy
        self._reference = reference
        self._demonstrations = demonstrations
        self._trainable = list(trainable)
        self._generator = np.random.default_rng(seed)
        self.optimiser = torch.optim.Adam(
            [
                {"params": self._trainable, "lr": settings.learning_rate},
                {"params": list(self.critic.parameters()), "lr": settings.critic_learning_rate},
            ]
        )

    def add(self, trajectories: Sequence[Trajectory], *, anchored_app: str) -> None:
        """Take in what was played; successes of `anchored_app` join the own-success anchor."""
        for trajectory in trajectories:
            self._reference.remember_as_reference(trajectory.steps)
            self.replay.add(trajectory)
            if trajectory.success and trajectory.app == anchored_app:
                self.successes.add(trajectory)

    def update(self) -> dict[str, float]:
        """One optimiser step on replayed trajectories and anchors; its internals as figures."""
        trajectories = self.replay.sample(self.settings.trajectories_per_update, self._generator)
        replayed = [step for one in trajectories for step in one.steps]
        anchors = self._anchor_steps()
        scores = self._policy(replayed + [step for _, steps in anchors for step in steps])
        grid = _Grid([len(one.steps) for one in trajectories])
        loss, metrics = self._losses(trajectories, scores, grid)
        start = len(replayed)
        for weight, steps in anchors:
            part = slice(start, start + len(steps))
            imitation = -(scores.log_prob[part] * scores.usable[part]).mean()
            loss = loss + weight * imitation
            start += len(steps)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]  # torch ships no type here
        norm = nn.utils.clip_grad_norm_(self._trainable, self.settings.max_grad_norm)
        nn.utils.clip_grad_norm_(self.critic.parameters(), self.settings.max_grad_norm)
        self.optimiser.step()
        return {**metrics, "loss": float(loss.detach()), "grad_norm": float(norm)}

    def _anchor_steps(self) -> list[tuple[float, list[StepSample]]]:
        settings = self.settings
        wanted: list[tuple[float, list[StepSample]]] = []
        if settings.demo_weight:
            demos: list[StepSample] = []
            for group, count in (
                ("new", settings.demo_steps_new),
                ("old", settings.demo_steps_old),
            ):
                memory = self._demonstrations.get(group)
                if memory is not None:
                    demos += memory.sample_steps(count, self._generator)
            wanted.append((settings.demo_weight, demos))
        if settings.success_weight:
            own = self.successes.sample_steps(settings.success_steps, self._generator)
            wanted.append((settings.success_weight, own))
        return [(weight, steps) for weight, steps in wanted if steps]

    def _losses(
        self, trajectories: Sequence[Trajectory], scores: Scores, grid: _Grid
    ) -> tuple[Tensor, dict[str, float]]:
        settings = self.settings
        view = self._view(trajectories, scores, grid)
        value_logits = self.critic(scores.features[: grid.count])
        if settings.retrace_critic:
            targets = (view.values[:, :-1] + view.corrections).clamp(0.0, 1.0)
        else:
            targets = (monte_carlo_returns(view.rewards, view.discounts) > 0).to(torch.float32)
        errors = functional.binary_cross_entropy_with_logits(
            value_logits, grid.gather(targets), reduction="none"
        )
        loss = (errors * view.usable).mean()
        metrics = _internals(view, scores.entropy[: grid.count], settings)
        metrics["critic_loss"] = float(loss.detach())
        self._refresh_priorities(trajectories, view, scores, grid)
        if self.rounds >= settings.critic_warm_up_rounds:
            policy_loss, terms = self._policy_loss(scores, view)
            loss = loss + policy_loss
            metrics.update(terms)
        return loss, metrics

    def _view(self, trajectories: Sequence[Trajectory], scores: Scores, grid: _Grid) -> _View:
        """Everything about the replayed steps that carries no gradient."""
        settings, count = self.settings, grid.count
        usable = scores.usable[:count]
        log_rho = ((scores.log_prob[:count] - scores.log_mu[:count]) * usable).detach()
        success = torch.tensor([float(one.success) for one in trajectories])
        rewards, discounts = grid.outcome(success, settings.gamma)
        values = grid.values(self.critic.value(scores.features[:count]))
        corrections = retrace_corrections(
            values, rewards, discounts, grid.spread(log_rho), lambda_=settings.lambda_
        )
        repeats = torch.tensor([step.repeats for one in trajectories for step in one.steps])
        penalised = rewards + repetition_penalties(
            grid.spread(repeats),
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
            rho=log_rho.exp(),
            usable=usable,
            valid=scores.valid[:count],
            kept=usable * grid.kept(success, values, settings.value_filter),
        )

    def _policy_loss(self, scores: Scores, view: _View) -> tuple[Tensor, dict[str, float]]:
        settings, kept = self.settings, view.kept
        count = len(view.advantages)
        log_prob, entropy = scores.log_prob[:count], scores.entropy[:count]
        ratio = view.rho.clamp(max=settings.ratio_clip) if settings.ratio_clip else view.rho
        terms: dict[str, Tensor] = {}
        if settings.policy_gradient:
            scaled = _scaled(view.advantages, kept, settings)
            terms["policy_loss"] = -(ratio * scaled * log_prob * kept).mean()
        if settings.entropy_weight:
            terms["entropy_loss"] = -settings.entropy_weight * (entropy * kept).mean()
        if settings.invalid_weight:
            unlikely = ratio * log_prob * (1.0 - view.valid) * kept
            terms["invalid_loss"] = settings.invalid_weight * unlikely.mean()
        if settings.kl_weight:
            terms["kl_loss"] = settings.kl_weight * (scores.divergence[:count] * kept).mean()
        total = sum(terms.values(), start=torch.zeros(()))
        return total, {name: float(term.detach()) for name, term in terms.items()}

    def _refresh_priorities(
        self, trajectories: Sequence[Trajectory], view: _View, scores: Scores, grid: _Grid
    ) -> None:
        values = view.values
        errors = (view.rewards + view.discounts * values[:, 1:] - values[:, :-1]).abs()
        error_means = grid.mean(grid.gather(errors.clamp(max=1.0)))
        ratio_means = grid.mean(view.rho.clamp(max=1.0))
        entropies = scores.entropy[: grid.count].detach() / _HIGH_ENTROPY
        entropy_means = grid.mean(entropies.clamp(max=1.0))
        for index, trajectory in enumerate(trajectories):
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
    """The replayed steps without gradient: grids [B, T] (values [B, T+1]) and flat rows [S]."""

    values: Tensor
    rewards: Tensor
    discounts: Tensor
    corrections: Tensor
    advantages: Tensor
    rho: Tensor
    usable: Tensor
    valid: Tensor
    kept: Tensor


class _Grid:
    """Between a flat row of steps [S] and trajectories [B, T]."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = torch.tensor(lengths)
        self.count = int(self.lengths.sum())
        self._row = torch.repeat_interleave(torch.arange(len(lengths)), self.lengths)
        self._column = torch.cat([torch.arange(length) for length in lengths])

    def spread(self, flat: Tensor) -> Tensor:
        """[S] → [B, T], padded with 0."""
        grid = torch.zeros(len(self.lengths), int(self.lengths.max()), dtype=flat.dtype)
        grid[self._row, self._column] = flat
        return grid

    def gather(self, grid: Tensor) -> Tensor:
        """[B, T] → [S]."""
        return grid[self._row, self._column]

    def mean(self, flat: Tensor) -> Tensor:
        """Mean over each trajectory: [S] → [B]."""
        return self.spread(flat).sum(1) / self.lengths

    def outcome(self, success: Tensor, gamma: float) -> tuple[Tensor, Tensor]:
        """Rewards (1 with the last action of a success) and discounts (0 there): [B, T] each."""
        discounts = self.spread(torch.full((self.count,), gamma))
        rewards = torch.zeros_like(discounts)
        rows = torch.arange(len(self.lengths))
        rewards[rows, self.lengths - 1] = success
        discounts[rows, self.lengths - 1] = 0.0
        return rewards, discounts

    def values(self, flat: Tensor) -> Tensor:
        """State values with a last column of 0 (the episode is over there): [S] → [B, T+1]."""
        return functional.pad(self.spread(flat), (0, 1))

    def kept(self, success: Tensor, values: Tensor, share: float) -> Tensor:
        """1 for the steps of the best `share` of trajectories by success − V(start): [S]."""
        if share >= 1.0:
            return torch.ones(self.count)
        surprise = success - values[:, 0]
        threshold = torch.quantile(surprise, 1.0 - share)
        return (surprise >= threshold).to(torch.float32)[self._row]


def _scaled(advantages: Tensor, kept: Tensor, settings: ARideSettings) -> Tensor:
    """Advantages by the batch's deviation (not centred), clipped, negatives damped: [S]."""
    scaled = advantages
    if settings.advantage_clip:
        counted = advantages[kept > 0]
        deviation = counted.std() if len(counted) > 1 else torch.ones(())
        scaled = (advantages / (deviation + 1e-6)).clamp(
            -settings.advantage_clip, settings.advantage_clip
        )
    return torch.where(scaled < 0, scaled * settings.negative_scale, scaled)


def _internals(view: _View, entropy: Tensor, settings: ARideSettings) -> dict[str, float]:
    rho = view.rho
    weights = rho.clamp(max=settings.ratio_clip) if settings.ratio_clip else rho
    effective = weights.sum() ** 2 / (weights**2).sum().clamp(min=1e-9) / max(len(weights), 1)
    return {
        "effective_sample_share": float(effective),
        "ratio_mean": float(rho.mean()),
        "ratio_max": float(rho.max()),
        "ratio_clipped_share": float((rho > (settings.ratio_clip or np.inf)).float().mean()),
        "entropy": float(entropy.detach().mean()),
        "positive_advantage_share": float((view.advantages > 0).float().mean()),
        "left_out_steps": float((1.0 - view.usable).sum()),
    }

"""One optimiser step of any algorithm: draw, score once, add up the terms, check, step.

An algorithm says what it draws and which terms it adds; anchors, clipping, figures, and what
happens to a batch that cannot be learnt from are the same for all. Only the adapter and the
algorithm's own critics change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from cloud_learner.algorithm_settings import UpdateSettings
from cloud_learner.anchors import Anchors, anchor_losses
from cloud_learner.batch import StepSample, Trajectory
from cloud_learner.ports import StepScorer
from cloud_learner.replay import SuccessMemory
from cloud_learner.replayed import Replayed, internals, replayed
from cloud_learner.scoring import Scores


class Reference(Protocol):
    """The policy to stay close to."""

    def remember_as_reference(self, samples: Sequence[StepSample]) -> None:
        """Keep its log-probabilities with the samples that have none yet."""
        ...


@dataclass(frozen=True, slots=True)
class Trainee:
    """What an algorithm trains, and what it is given to go by.

    Attributes:
        policy: scores steps under the adapter that is trained.
        trainable: the adapter's parameters.
        reference: the policy to stay close to (the warm-up), frozen.
        feature_dim: width of the features that `policy` gives.
        demonstrations: by group: "new" (the app that is being learnt) and "old".
    """

    policy: StepScorer
    trainable: Sequence[nn.Parameter]
    reference: Reference
    feature_dim: int
    demonstrations: Mapping[str, SuccessMemory] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Draw:
    """Trajectories of one update; algorithms say more about them in subclasses."""

    trajectories: Sequence[Trajectory]


@dataclass(frozen=True, slots=True)
class Terms:
    """What an algorithm adds to a loss.

    Attributes:
        losses: scalars by name (`…_loss`). figures: what it reports beside the common ones.
        remember: called once the step has been made, and not where it was skipped.
    """

    losses: dict[str, Tensor]
    figures: dict[str, float] = field(default_factory=dict)
    remember: Callable[[], None] = lambda: None


Drawn = TypeVar("Drawn", bound=Draw)
_Module = TypeVar("_Module", bound=nn.Module)


class AdapterTraining(ABC, Generic[Drawn]):
    """What the algorithms have in common.

    Args:
        critics: networks of the algorithm's own that learn beside the adapter, by name.
        critic_learning_rate: Adam's, of `critics`.

    Attributes:
        rounds: of the learner so far; whoever drives the algorithm counts them up.
        skipped_updates: updates so far that changed nothing, because no step was usable or a loss
            or gradient was not finite.
    """

    def __init__(
        self,
        trainee: Trainee,
        settings: UpdateSettings,
        *,
        seed: int,
        critics: Mapping[str, nn.Module] | None = None,
        critic_learning_rate: float = 0.0,
    ) -> None:
        self.rounds = 0
        self.skipped_updates = 0
        self.anchors = Anchors(settings, trainee.demonstrations)
        self._shared = settings
        self._trainee = trainee
        self._trainable = list(trainee.trainable)
        self._critics = nn.ModuleDict(critics or {})
        self._generator = np.random.default_rng(seed)
        groups: list[dict[str, Any]] = [  # Any: torch's parameter groups
            {"params": self._trainable, "lr": settings.learning_rate}
        ]
        if critics:
            groups.append({"params": list(self._critics.parameters()), "lr": critic_learning_rate})
        self.optimiser = torch.optim.Adam(groups)

    # what an algorithm says

    @abstractmethod
    def _keep(self, trajectory: Trajectory) -> None:
        """Take in one trajectory that was played."""

    @abstractmethod
    def _forget(self, rows: Collection[int]) -> None:
        """Learn no more from the trajectories of these rows."""

    @abstractmethod
    def _draw(self) -> Drawn:
        """Trajectories of the next update; none is allowed."""

    @abstractmethod
    def _terms(self, batch: Replayed, drawn: Drawn) -> Terms:
        """What the algorithm learns from `drawn`, which is not empty."""

    def _forget_stale(self) -> None:
        """Drop what is too old to be learnt from, by `rounds`."""

    # what is the same for all

    def add(self, trajectories: Sequence[Trajectory], *, anchored_app: str = "") -> None:
        """Take in what was played; what is too old leaves.

        Args:
            anchored_app: its successes join the own-success anchor; empty: those of every app.
        """
        self._forget_stale()
        played = [one for one in trajectories if one.steps]
        for trajectory in played:
            _leave_out_unreadable(trajectory)
        if self._shared.kl_weight:
            steps = [step for trajectory in played for step in trajectory.steps]
            self._trainee.reference.remember_as_reference(steps)
        for trajectory in played:
            self._keep(trajectory)
            if anchored_app in {"", trajectory.app}:
                self.anchors.add(trajectory)

    def forget(self, rows: Collection[int]) -> None:
        """Leave the trajectories of these rows of the store out of all that follows."""
        self._forget(rows)
        self.anchors.forget(rows)

    def update(self) -> dict[str, float]:
        """One optimiser step on replayed trajectories and anchors; its internals as figures.

        Where nothing can be learnt, weights and optimiser stay as they are, and the figures say so.
        """
        drawn = self._draw()
        anchors = self.anchors.draw(self._generator)
        steps = [step for one in drawn.trajectories for step in one.steps]
        samples = steps + [step for anchor in anchors for step in anchor.steps]
        if not any(step.usable for step in samples):
            return self._skipped(steps)
        scores = self._trainee.policy(samples)
        terms = self._scored(drawn, scores)
        losses = {**terms.losses, **anchor_losses(anchors, scores, start=len(steps))}
        loss = sum(losses.values(), start=torch.zeros(()))
        norm = self._step(loss)
        if norm is None:
            return self._skipped(steps)
        terms.remember()
        return {
            **terms.figures,
            **{name: float(term.detach()) for name, term in losses.items()},
            "loss": float(loss.detach()),
            "grad_norm": norm,
            "skipped_updates": float(self.skipped_updates),
        }

    def template_weights(self) -> Mapping[str, float]:
        """How often a template is asked for, where 1 is normal; none is named that is normal."""
        return {}

    def state_dict(self) -> dict[str, Any]:  # Any: torch's own nested state
        """What cannot be read from the store again: critics, optimiser and counters."""
        return {
            "critics": self._critics.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "generator": self._generator.bit_generator.state,
            "rounds": self.rounds,
            "skipped_updates": self.skipped_updates,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from `state_dict`; what is replayed is added again by whoever reads the store."""
        self._critics.load_state_dict(state["critics"])
        self.optimiser.load_state_dict(state["optimiser"])
        self._generator.bit_generator.state = state["generator"]
        self.rounds = state["rounds"]
        self.skipped_updates = state["skipped_updates"]

    def _scored(self, drawn: Drawn, scores: Scores) -> Terms:
        if not drawn.trajectories:
            return Terms({})
        batch = replayed(drawn.trajectories, scores)
        common = internals(batch, ratio_clip=self._shared.ratio_clip, rounds=self.rounds)
        terms = self._terms(batch, drawn)
        return replace(terms, figures={**common, **terms.figures})

    def _step(self, loss: Tensor) -> float | None:
        """The gradient's norm before clipping; None where nothing was changed."""
        if not loss.requires_grad or not bool(torch.isfinite(loss)):
            return None
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]  # torch ships no type here
        limit = self._shared.max_grad_norm
        norm = float(nn.utils.clip_grad_norm_(self._trainable, limit))
        critics = list(self._critics.parameters())
        critic_norm = float(nn.utils.clip_grad_norm_(critics, limit)) if critics else 0.0
        if not isfinite(norm + critic_norm):
            self.optimiser.zero_grad(set_to_none=True)
            return None
        self.optimiser.step()
        return norm

    def _skipped(self, steps: Sequence[StepSample]) -> dict[str, float]:
        self.skipped_updates += 1
        return {
            "skipped_updates": float(self.skipped_updates),
            "left_out_steps": float(sum(not step.usable for step in steps)),
        }


def seeded(seed: int, make: Callable[[], _Module]) -> _Module:
    """What `make` builds from a seed, leaving torch's own randomness as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def _leave_out_unreadable(trajectory: Trajectory) -> None:
    """A step whose log μ is no number teaches nothing."""
    for step in trajectory.steps:
        if step.usable and not isfinite(step.log_mu):
            step.usable = False
            trajectory.left_out += 1

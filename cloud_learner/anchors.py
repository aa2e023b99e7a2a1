"""What every algorithm may hold on to while it learns: demonstrations and own recent successes.

An anchor is imitation, −E[log π], on steps drawn by template first. Which algorithm has which
anchor is a setting, so that a comparison can give all of them the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from cloud_learner.algorithm_settings import UpdateSettings
from cloud_learner.batch import StepSample, Trajectory
from cloud_learner.replay import SuccessMemory
from cloud_learner.scoring import Scores

DEMONSTRATION_GROUPS = ("new", "old")
"""The app that is being learnt, and those that must not be forgotten."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """Steps to imitate in one update, and how much that counts."""

    name: str
    weight: float
    steps: list[StepSample]


class Anchors:
    """Draws what an update imitates.

    Args:
        demonstrations: by the names of `DEMONSTRATION_GROUPS`.
    """

    def __init__(
        self, settings: UpdateSettings, demonstrations: Mapping[str, SuccessMemory]
    ) -> None:
        self._settings = settings
        self._demonstrations = demonstrations
        self.successes = SuccessMemory(settings.successes_per_template)

    def add(self, trajectory: Trajectory) -> None:
        """Keep a trajectory if it succeeded."""
        if trajectory.success:
            self.successes.add(trajectory)

    def forget(self, rows: Collection[int]) -> None:
        """Hold on no more to own successes of these rows of the store."""
        self.successes.forget(rows)

    def draw(self, generator: np.random.Generator) -> list[Anchor]:
        """Anchors of one update; none that is off, or has nothing to imitate yet."""
        settings = self._settings
        wanted: list[Anchor] = []
        if settings.demo_weight:
            demos = self._demonstrated(generator)
            wanted.append(Anchor("demo", settings.demo_weight, demos))
        if settings.success_weight:
            own = self.successes.sample_steps(settings.success_steps, generator)
            wanted.append(Anchor("success", settings.success_weight, own))
        return [anchor for anchor in wanted if anchor.steps]

    def _demonstrated(self, generator: np.random.Generator) -> list[StepSample]:
        """Steps of both groups; a group that has none leaves its share to the other."""
        counts = (self._settings.demo_steps_new, self._settings.demo_steps_old)
        shares = {
            group: count
            for group, count in zip(DEMONSTRATION_GROUPS, counts, strict=True)
            if len(self._demonstrations.get(group, ()))
        }
        if len(shares) == 1:
            shares = dict.fromkeys(shares, sum(counts))
        return [
            step
            for group, count in shares.items()
            for step in self._demonstrations[group].sample_steps(count, generator)
        ]


def anchor_losses(anchors: Sequence[Anchor], scores: Scores, *, start: int) -> dict[str, Tensor]:
    """Weighted −E[log π] of each anchor, by the name of its term.

    Args:
        scores: of all steps of an update; the anchors' steps stand behind the first `start`.
    """
    return {
        f"{anchor.name}_loss": -anchor.weight * (scores.log_prob[part] * scores.usable[part]).mean()
        for anchor, part in _parts(anchors, start)
    }


def _parts(anchors: Sequence[Anchor], start: int) -> Iterator[tuple[Anchor, slice]]:
    for anchor in anchors:
        yield anchor, slice(start, start + len(anchor.steps))
        start += len(anchor.steps)

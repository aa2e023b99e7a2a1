"""What stays hopeless although it was shown is drilled: imitated in one go, beside the others.

An anchor of a few steps an update does not carry a long template over its first success, and
without a success there is nothing to reinforce. So every so many rounds the templates that mostly
fail are imitated from their demonstrations until those are known, and together with them
demonstrations and own successes of all the others, so that these are not forgotten.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from torch import nn

from cloud_learner.batch import Trajectory
from cloud_learner.imitation import Imitation, ImitationSettings
from cloud_learner.ports import StepScorer
from cloud_learner.replay import SuccessMemory

_MOST_KEPT = 100
"""Trajectories of a template that a drill draws from."""


@dataclass(frozen=True, slots=True)
class DrillSettings:
    """When and how long is drilled.

    Attributes:
        every_rounds: rounds between two drills (0: never).
        hopeless_below: success under which a template is drilled.
        hopeless_after: training episodes before it is judged.
        imitation: of a drill; shares by "hopeless" and "others".
    """

    every_rounds: int = 24
    hopeless_below: float = 0.3
    hopeless_after: int = 12
    imitation: ImitationSettings = field(
        default_factory=lambda: ImitationSettings(
            updates=300, batch_steps=32, shares={"hopeless": 0.5, "others": 0.5}
        )
    )


class Drill:
    """Watches what succeeds, and imitates what does not.

    Args:
        policy, trainable, network: as `imitation.Imitation` has them.
        demonstrations: by group; what is in none of them cannot be drilled.
    """

    def __init__(
        self,
        policy: StepScorer,
        trainable: Sequence[nn.Parameter],
        *,
        network: nn.Module,
        settings: DrillSettings,
        demonstrations: Mapping[str, SuccessMemory],
        seed: int,
    ) -> None:
        self._policy = policy
        self._trainable = trainable
        self._network = network
        self._settings = settings
        self._demonstrations = demonstrations
        self._seed = seed
        self._successes = SuccessMemory()

    def remember(self, trajectory: Trajectory) -> None:
        """Keep an own trajectory if it succeeded."""
        if trajectory.success:
            self._successes.add(trajectory)

    def forget(self, rows: Collection[int]) -> None:
        """Keep no own trajectory of these rows of the store."""
        self._successes.forget(rows)

    def before(self, round_index: int, lately: Mapping[str, Sequence[bool]]) -> dict[str, float]:
        """Drill if it is time for it; its figures, none where nothing was drilled.

        Args:
            round_index: of the round that comes.
            lately: success of the latest training episodes of each template.
        """
        every = self._settings.every_rounds
        if not every or not round_index or round_index % every:
            return {}
        hopeless = {name for name, outcomes in lately.items() if self._is_hopeless(outcomes)}
        shown = self._demonstrated(hopeless)
        if not len(shown):
            return {}
        drilled = Imitation(
            self._policy,
            self._trainable,
            network=self._network,
            settings=self._settings.imitation,
            demonstrations={"hopeless": shown, "others": self._others(hopeless)},
            seed=self._seed + round_index,
        )
        figures: dict[str, float] = {}
        while not drilled.finished:
            figures = drilled.update()
        return {
            "drilled_templates": float(len({one.template for one in shown.trajectories()})),
            "drill_updates": float(drilled.updates),
            "drill_loss": figures.get("imitation_loss", 0.0),
        }

    def _is_hopeless(self, outcomes: Sequence[bool]) -> bool:
        known = len(outcomes)
        return (
            known >= self._settings.hopeless_after
            and sum(outcomes) < self._settings.hopeless_below * known
        )

    def _demonstrated(self, names: set[str]) -> SuccessMemory:
        kept = SuccessMemory(_MOST_KEPT)
        for memory in self._demonstrations.values():
            kept.extend(one for one in memory.trajectories() if one.template in names)
        return kept

    def _others(self, hopeless: set[str]) -> SuccessMemory:
        kept = SuccessMemory(_MOST_KEPT)
        for memory in (*self._demonstrations.values(), self._successes):
            kept.extend(one for one in memory.trajectories() if one.template not in hopeless)
        return kept

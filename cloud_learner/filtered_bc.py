"""Filtered behaviour cloning: imitate the latest own successes, balanced by template.

No value and no advantage: what learns are the anchors on own successes and on demonstrations, which
every algorithm can have. Entropy, KL and the invalid term act on recent episodes and keep the
policy exploring. This is the baseline that a value has to beat.
"""

from __future__ import annotations

from collections.abc import Collection

from cloud_learner.adapter_training import AdapterTraining, Draw, Terms, Trainee
from cloud_learner.algorithm_settings import FilteredBCSettings, ReplaySettings
from cloud_learner.batch import Trajectory
from cloud_learner.policy_terms import regularisers
from cloud_learner.replay import Replay
from cloud_learner.replayed import Replayed


class FilteredBC(AdapterTraining[Draw]):
    """The algorithm: recent episodes for the regularisers, own successes to imitate."""

    def __init__(self, trainee: Trainee, settings: FilteredBCSettings, *, seed: int) -> None:
        super().__init__(trainee, settings, seed=seed)
        self.settings = settings
        self.replay = Replay(
            ReplaySettings(
                capacity=settings.capacity,
                max_age_rounds=settings.max_age_rounds,
                prioritised=False,
            )
        )

    def _keep(self, trajectory: Trajectory) -> None:
        self.replay.add(trajectory)

    def _forget(self, rows: Collection[int]) -> None:
        self.replay.forget(rows)

    def _forget_stale(self) -> None:
        self.replay.drop_older_than(self.rounds)

    def _draw(self) -> Draw:
        settings = self.settings
        if not (settings.entropy_weight or settings.kl_weight or settings.invalid_weight):
            return Draw(())
        return Draw(self.replay.sample(settings.trajectories_per_update, self._generator))

    def _terms(self, batch: Replayed, drawn: Draw) -> Terms:
        del drawn
        return Terms(regularisers(batch, batch.usable, self.settings))

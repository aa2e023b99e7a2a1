"""Which trajectories to learn from: a circular buffer with prioritised sampling (DPER).

Priority of a trajectory: w1 mean|δ| + w2 mean min(1, ρ) + w3 mean H, each mean over its steps,
|δ| and H brought to 0..1; it is drawn with probability proportional to priority^α. New trajectories
come in at the highest priority and get their own when they are first learnt from.

Source: Wang et al. 2024, DistRL, section 5.3. Deviation: ρ is truncated at 1, because the published
claim that it lies in 0..1 holds only then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from cloud_learner.algorithm_settings import ReplaySettings
from cloud_learner.batch import StepSample, Trajectory


class Replay:
    """The learner's circular buffer of trajectories."""

    def __init__(self, settings: ReplaySettings) -> None:
        self._settings = settings
        self._trajectories: deque[Trajectory] = deque(maxlen=settings.capacity)
        self._top = 1.0

    def __len__(self) -> int:
        return len(self._trajectories)

    def __iter__(self) -> Iterator[Trajectory]:
        return iter(self._trajectories)

    def add(self, trajectory: Trajectory) -> None:
        """Keep a trajectory at the highest priority seen so far; the oldest makes room."""
        trajectory.priority = self._top
        self._trajectories.append(trajectory)

    def drop_older_than(self, round_index: int) -> int:
        """Forget trajectories whose weights are too old; how many there were."""
        limit = round_index - self._settings.max_age_rounds
        kept = [one for one in self._trajectories if (one.policy_round or 0) >= limit]
        dropped = len(self._trajectories) - len(kept)
        if dropped:
            self._trajectories = deque(kept, maxlen=self._settings.capacity)
        return dropped

    def forget(self, rows: Collection[int]) -> None:
        """Forget the trajectories of these rows of the store."""
        kept = (one for one in self._trajectories if one.row not in rows)
        self._trajectories = deque(kept, maxlen=self._settings.capacity)

    def sample(self, count: int, generator: np.random.Generator) -> list[Trajectory]:
        """`count` different trajectories (fewer where fewer are kept)."""
        pool = list(self._trajectories)
        count = min(count, len(pool))
        chances = self._chances(pool) if self._settings.prioritised and pool else None
        picked = generator.choice(len(pool), size=count, replace=False, p=chances)
        return [pool[int(index)] for index in picked]

    def importance(self, drawn: Sequence[Trajectory]) -> npt.NDArray[np.float64]:
        """Weights (N P)^−β of drawn trajectories, the largest 1; all 1 where β is 0.

        P is the chance of a single draw; that a batch is drawn without replacement is left out.
        Source: Schaul et al. 2016, Prioritized experience replay, section 3.4.
        """
        settings, count = self._settings, len(self._trajectories)
        if not (settings.prioritised and settings.importance_exponent and drawn):
            return np.ones(len(drawn))
        total = sum(one.priority**settings.exponent for one in self._trajectories)
        chances = np.array([one.priority for one in drawn]) ** settings.exponent / total
        weights = (count * chances) ** -settings.importance_exponent
        return np.asarray(weights / weights.max(), dtype=np.float64)

    def _chances(self, pool: Sequence[Trajectory]) -> npt.NDArray[np.float64]:
        raw = np.array([one.priority for one in pool]) ** self._settings.exponent
        return np.asarray(raw / raw.sum(), dtype=np.float64)

    def refresh(
        self,
        trajectory: Trajectory,
        *,
        mean_error: float,
        mean_ratio: float,
        mean_entropy: float,
    ) -> None:
        """Set the priority from what was just learnt of it; each mean is in 0..1."""
        settings = self._settings
        trajectory.priority = max(
            settings.error_weight * mean_error
            + settings.ratio_weight * mean_ratio
            + settings.entropy_weight * mean_entropy,
            1e-3,
        )
        self._top = max(self._top * 0.999, trajectory.priority)


class SuccessMemory:
    """The latest own successes of each template: what the learner imitates of itself.

    Steps are drawn by template first, so that a template that rarely succeeds weighs as much as one
    that always does, until `weigh` says otherwise.
    """

    def __init__(self, per_template: int = 20) -> None:
        self._per_template = per_template
        self._kept: dict[str, deque[Trajectory]] = {}
        self._weights: dict[str, float] = {}

    def __len__(self) -> int:
        return sum(len(kept) for kept in self._kept.values())

    def add(self, trajectory: Trajectory) -> None:
        """Keep a successful trajectory."""
        kept = self._kept.setdefault(trajectory.template, deque(maxlen=self._per_template))
        kept.append(trajectory)

    def extend(self, trajectories: Iterable[Trajectory]) -> None:
        """Keep many."""
        for trajectory in trajectories:
            self.add(trajectory)

    def forget(self, rows: Collection[int]) -> None:
        """Forget the trajectories of these rows of the store."""
        left = {
            name: deque((one for one in kept if one.row not in rows), maxlen=self._per_template)
            for name, kept in self._kept.items()
        }
        self._kept = {name: kept for name, kept in left.items() if kept}

    def weigh(self, weights: Mapping[str, float]) -> None:
        """Draw templates by these weights from now on; one that is not named weighs 1.

        No weights at all draw every template alike.
        """
        self._weights = dict(weights)

    def trajectories(self) -> list[Trajectory]:
        """All that is kept, by template."""
        return [one for name in sorted(self._kept) for one in self._kept[name]]

    def sample_steps(self, count: int, generator: np.random.Generator) -> list[StepSample]:
        """`count` usable steps, each by template, then trajectory, then step; with replacement."""
        names = sorted(self._kept)
        if not names:
            return []
        drawn = (self._kept[self._drawn(names, generator)] for _ in range(count))
        return [step for kept in drawn if (step := _one_step(kept, generator))]

    def _drawn(self, names: Sequence[str], generator: np.random.Generator) -> str:
        if not self._weights:
            return names[int(generator.integers(len(names)))]
        raw = np.array([self._weights.get(name, 1.0) for name in names])
        return names[int(generator.choice(len(names), p=raw / raw.sum()))]


def _one_step(kept: Sequence[Trajectory], generator: np.random.Generator) -> StepSample | None:
    trajectory = kept[int(generator.integers(len(kept)))]
    steps = [step for step in trajectory.steps if step.usable]
    return steps[int(generator.integers(len(steps)))] if steps else None

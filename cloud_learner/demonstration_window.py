"""A moving window over a stream of demonstrations, so that memory does not grow with the stream.

Demonstrations come in chunks; a chunk leaves as a whole when too many are kept. What the window
holds follows from its latest chunks alone, the rows of their texts too: whoever plays those chunks
again has the same window, bit by bit.

Notation: L tokens of a step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cloud_learner.batch import StepSample, Trajectory, layout_samples, trajectory_of
from sync.text_table import TextTable
from sync.vocabulary import Episode


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A demonstrated episode and the app that its template is about."""

    episode: Episode
    app: str


class DemonstrationWindow:
    """The latest chunks of demonstrations; steps are drawn by template, so that all weigh alike.

    Args:
        texts: the network's hash table, float [buckets, d].
        chunks: how many chunks are kept.
    """

    def __init__(self, texts: npt.NDArray[np.float32], *, chunks: int) -> None:
        self._texts = texts
        self._chunks: deque[list[Trajectory]] = deque(maxlen=chunks)
        self._steps: dict[str, list[list[StepSample]]] = {}
        self._names: list[str] = []
        self._shares: npt.NDArray[np.float64] | None = None
        self._weights: Mapping[str, float] = {}
        self.table = TextTable(texts)

    def __len__(self) -> int:
        """Demonstrations in the window."""
        return sum(map(len, self._chunks))

    @property
    def steps(self) -> int:
        """Usable steps in the window."""
        return sum(len(steps) for shown in self._steps.values() for steps in shown)

    def show(self, chunk: Sequence[Demonstration]) -> int:
        """Take a chunk in, and let the oldest go; how many of its steps can be learnt.

        What was taught in each step is learnt, else what was done. `table` is a new one afterwards.
        """
        trajectories = [
            trajectory_of(one.episode, self.table, row=0, app=one.app, success=True, taught=True)
            for one in chunk
        ]
        self._chunks.append(trajectories)
        self._name_texts_anew()
        self._sort()
        return sum(step.usable for one in trajectories for step in one.steps)

    def weigh(self, weights: Mapping[str, float]) -> None:
        """Draw some templates more often than others.

        Args:
            weights: by template, above 0; 1 where a template is not named.
        """
        self._weights = dict(weights)
        self._share_out()

    def sample_steps(self, count: int, generator: np.random.Generator) -> list[StepSample]:
        """`count` steps, each by template, then demonstration, then step; with replacement."""
        if not self._names:
            return []
        picked = generator.choice(len(self._names), size=count, p=self._shares)
        return [self._one_step(self._names[int(place)], generator) for place in picked]

    def _one_step(self, template: str, generator: np.random.Generator) -> StepSample:
        shown = self._steps[template]
        steps = shown[int(generator.integers(len(shown)))]
        return steps[int(generator.integers(len(steps)))]

    def _name_texts_anew(self) -> None:
        """Forget the texts that no step in the window has, and number the others as they occur."""
        samples = layout_samples(
            [step for chunk in self._chunks for one in chunk for step in one.steps]
        )
        fresh = TextTable(self._texts)
        if samples:
            old = np.concatenate([sample.text_rows for sample in samples])
            rows, firsts = np.unique(old, return_index=True)
            in_order = rows[np.argsort(firsts)]
            known = self.table.texts
            renumbered = np.zeros(int(rows[-1]) + 1, dtype=np.int64)
            renumbered[in_order] = fresh.rows([known[row] for row in in_order])
            for sample in samples:
                sample.text_rows = renumbered[sample.text_rows]
        self.table = fresh

    def _sort(self) -> None:
        self._steps = {}
        for chunk in self._chunks:
            for one in chunk:
                usable = [step for step in one.steps if step.usable]
                if usable:
                    self._steps.setdefault(one.template, []).append(usable)
        self._names = sorted(self._steps)
        self._share_out()

    def _share_out(self) -> None:
        weights = np.array([self._weights.get(name, 1.0) for name in self._names])
        self._shares = weights / weights.sum() if len(weights) else None

"""Base training: a new network from demonstrated episodes, text table and all. No I/O.

Demonstrations may come at once (`add`, then `train`) or as a stream (`show` a chunk, `update`, show
the next): `cloud_learner.base_course` does the second. One thread and one seed give the same
weights, also where `restore` went on from the `state` of a process that died.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from cloud_learner.batch import StepSample
from cloud_learner.demonstration_window import Demonstration, DemonstrationWindow
from cloud_learner.imitation import Imitation, ImitationSettings
from cloud_learner.scoring import Scorer, Scores
from exporters.families.layout_t5 import LayoutT5, LayoutT5Config
from sync.vocabulary import Episode

_GROUP = "demonstrations"


@dataclass(frozen=True, slots=True)
class BaseTrainingSettings:
    """How a base is trained.

    Attributes:
        seed: of the first weights, of the drawn steps and of dropout.
        updates: optimiser steps of the whole schedule.
        dropout: while it learns; the network that comes out has none.
        window_chunks: chunks of demonstrations that are kept to draw from.
        config: the network's sizes.
    """

    seed: int = 0
    updates: int = 600
    batch_steps: int = 64
    learning_rate: float = 1e-3
    dropout: float = 0.1
    window_chunks: int = 4
    config: LayoutT5Config = field(default_factory=LayoutT5Config)


class BaseTraining:
    """A network, and the demonstrations that it learns from."""

    def __init__(self, settings: BaseTrainingSettings) -> None:
        self.settings = settings
        self.steps = 0
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            self._network = LayoutT5(settings.config)
        self._added: list[Demonstration] = []
        self._window = DemonstrationWindow(
            self._network.text_table.detach().numpy().copy(), chunks=settings.window_chunks
        )
        self._scorer = self._new_scorer()
        self._imitation = Imitation(
            self._score,
            list(self._network.parameters()),
            network=self._network,
            settings=ImitationSettings(
                learning_rate=settings.learning_rate,
                updates=settings.updates,
                batch_steps=settings.batch_steps,
                shares={_GROUP: 1.0},
                dropout=settings.dropout,
            ),
            demonstrations={_GROUP: self._window},
            seed=settings.seed,
        )

    @property
    def updates(self) -> int:
        """Optimiser steps so far."""
        return self._imitation.updates

    @property
    def progress(self) -> float:
        """Share of the schedule that has run, 0..1."""
        return self._imitation.progress

    @property
    def network(self) -> LayoutT5:
        """The network as it is now, in evaluation mode."""
        return self._network.eval()

    def add(self, episode: Episode, *, app: str) -> None:
        """Have an episode ready for `train`: what was taught in each step, else what was done."""
        self._added.append(Demonstration(episode, app))

    def show(self, chunk: Sequence[Demonstration]) -> int:
        """Learn from a chunk of demonstrations from now on; how many of its steps can be learnt."""
        steps = self._window.show(chunk)
        self.steps += steps
        self._scorer = self._new_scorer()
        return steps

    def weigh(self, weights: Mapping[str, float]) -> None:
        """Draw some templates more often than others (see `DemonstrationWindow.weigh`)."""
        self._window.weigh(weights)

    def update(self, progress: float | None = None) -> dict[str, float]:
        """One optimiser step; its loss, nats, and learning rate.

        Args:
            progress: where on the schedule it stands, 0..1, where time decides that.

        Raises: ValueError: there is nothing to learn from.
        """
        if not self._window.steps:
            raise ValueError("there is nothing to learn from: add demonstrations first")
        return self._imitation.update(progress)

    def train(self, on_update: Callable[[int, float], None]) -> LayoutT5:
        """The network trained to the end of the schedule on what was added.

        Args:
            on_update: called with the number of updates so far and the last one's loss, nats.

        Raises: ValueError: nothing was added.
        """
        self.show(self._added)
        self._added = []
        while not self._imitation.finished:
            loss = self.update()["imitation_loss"]
            on_update(self.updates, loss)
        return self.network

    def state(self) -> dict[str, Any]:  # Any: torch's own nested states
        """What a later process needs to go on, but for the window: show its chunks again."""
        return {
            "weights": {name: one.detach() for name, one in self._network.state_dict().items()},
            "imitation": self._imitation.state(),
            "steps": self.steps,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` once said; the chunks of that time's window were shown before."""
        self._network.load_state_dict(state["weights"])
        self._imitation.restore(state["imitation"])
        self.steps = int(state["steps"])

    def _score(self, samples: Sequence[StepSample]) -> Scores:
        return self._scorer(samples)

    def _new_scorer(self) -> Scorer:
        """A scorer for the window's present table."""
        return Scorer(self._network, None, self._window.table, trains_texts=True)

"""Base training: a new network from demonstrated episodes, text table and all. No I/O.

One thread and one seed give the same weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from cloud_learner.batch import trajectory_of
from cloud_learner.imitation import Imitation, ImitationSettings
from cloud_learner.replay import SuccessMemory
from cloud_learner.scoring import Scorer
from exporters.families.layout_t5 import LayoutT5, LayoutT5Config, text_table_of
from sync.vocabulary import Episode

_GROUP = "demonstrations"
_MOST_PER_TEMPLATE = 1_000_000


@dataclass(frozen=True, slots=True)
class BaseTrainingSettings:
    """How a base is trained.

    Attributes:
        seed: of the first weights, of the drawn steps and of dropout.
        dropout: while it learns; the network that comes out has none.
    """

    seed: int = 0
    updates: int = 600
    batch_steps: int = 64
    learning_rate: float = 1e-3
    dropout: float = 0.1
    config: LayoutT5Config = field(default_factory=LayoutT5Config)


class BaseTraining:
    """Demonstrations first (`add`), then the network (`train`). Used once."""

    def __init__(self, settings: BaseTrainingSettings) -> None:
        self.settings = settings
        self.steps = 0
        self._memory = SuccessMemory(_MOST_PER_TEMPLATE)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            self._network = LayoutT5(settings.config)
        self._table = text_table_of(self._network)

    def add(self, episode: Episode, *, app: str) -> None:
        """Learn from a demonstrated episode: what was taught in each step, else what was done."""
        trajectory = trajectory_of(episode, self._table, row=0, app=app, success=True, taught=True)
        self.steps += sum(step.usable for step in trajectory.steps)
        self._memory.add(trajectory)

    def train(self, on_update: Callable[[int, float], None]) -> LayoutT5:
        """The trained network, in evaluation mode.

        Args:
            on_update: called with the number of updates so far and the last one's loss, nats.

        Raises: ValueError: nothing was added.
        """
        if not self.steps:
            raise ValueError("there is nothing to learn from: add demonstrations first")
        settings = self.settings
        imitation = Imitation(
            Scorer(self._network, None, self._table, trains_texts=True),
            list(self._network.parameters()),
            network=self._network,
            settings=ImitationSettings(
                learning_rate=settings.learning_rate,
                updates=settings.updates,
                batch_steps=settings.batch_steps,
                shares={_GROUP: 1.0},
                dropout=settings.dropout,
            ),
            demonstrations={_GROUP: self._memory},
            seed=settings.seed,
        )
        while not imitation.finished:
            loss = imitation.update()["imitation_loss"]
            on_update(imitation.updates, loss)
        return self._network.eval()

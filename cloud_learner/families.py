"""What the learner has to know of a family of networks: how its steps are read, and scored.

Everything else (algorithms, replay, rounds, checkpoints, delivery) is the same for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torch import nn

from cloud_learner.batch import StepSample, Trajectory, trajectory_of
from cloud_learner.carriers import Carrier, LayoutCarrier, TextCarrier
from cloud_learner.checkpoints import NetworkIdentity
from cloud_learner.compute import CPU, Compute
from cloud_learner.scoring import Scorer, Scores
from cloud_learner.text_batch import text_trajectory_of
from cloud_learner.text_scoring import TextScorer
from exporters.families.layout_t5 import FAMILY as LAYOUT
from exporters.families.layout_t5 import LayoutT5, text_table_of
from exporters.families.vision_language import VisionLanguage
from exporters.lora import adapted_copy
from sync.picture_folder import EpisodePictures
from sync.text_policy_io import FAMILY as TEXT
from sync.vocabulary import Episode

Base = LayoutT5 | VisionLanguage


class FamilyScorer(Protocol):
    """Scores steps, and can be what a policy is to stay close to."""

    def __call__(self, samples: Sequence[StepSample]) -> Scores:
        """Scores of `samples`, in their order, with gradients to what is trained."""
        ...

    def remember_as_reference(self, samples: Sequence[StepSample]) -> None:
        """Keep this policy's log-probabilities with the samples that have none yet."""
        ...


@dataclass(frozen=True, slots=True)
class Replica:
    """What scoring needs of a network with its adapter, the same in every process.

    Attributes:
        network: where dropout acts while something imitates.
        carrier: brings steps to another process.
        trainable: the parameters that learn, in one order on all processes.
    """

    scorer: FamilyScorer
    network: nn.Module
    carrier: Carrier
    trainable: Sequence[nn.Parameter]


class Family(Protocol):
    """One base of a family."""

    feature_dim: int
    """Width of `Scores.features`."""
    can_be_retold: bool
    """Whether a demonstration can be told with other names: no picture of it shows the old ones."""

    def identity(self, *, base_digest: str, rank: int) -> NetworkIdentity:
        """What a checkpoint of a learner on this base belongs to."""
        ...

    def adapted(self, rank: int) -> Any:  # the family's own network
        """A copy of the base with a fresh adapter; frozen tensors are shared."""
        ...

    def replica(self, adapted: Any) -> Replica:  # the family's own network
        """What scoring needs of a network that `adapted` made."""
        ...

    def trajectory(
        self, episode: Episode, *, row: int, app: str, success: bool, taught: bool = False
    ) -> Trajectory:
        """An episode as it is learnt from (see `batch.trajectory_of`)."""
        ...

    def is_here(self, episode: Episode) -> bool:
        """Whether everything is here that its steps were shown."""
        ...

    def figures(self) -> dict[str, float]:
        """What the family alone has to report of a round."""
        ...


class LayoutFamily:
    """layout_t5; its text table is frozen and shared."""

    def __init__(self, base: LayoutT5, *, compute: Compute = CPU) -> None:
        self._base = compute.holding(base)
        self._compute = compute
        self._table = text_table_of(base)
        self.feature_dim = 2 * base.config.d_model
        self.can_be_retold = True

    def identity(self, *, base_digest: str, rank: int) -> NetworkIdentity:
        """See `Family`."""
        return NetworkIdentity(LAYOUT, self._base.config.as_dict(), base_digest, rank)

    def adapted(self, rank: int) -> LayoutT5:
        """See `Family`."""
        return adapted_copy(self._base, rank)

    def replica(self, adapted: LayoutT5) -> Replica:
        """See `Family`."""
        scorer = Scorer(self._base, adapted, self._table, compute=self._compute)
        # merged weights stand in for the base's own, so it is the base that drops
        return Replica(scorer, self._base, LayoutCarrier(self._table), _trainable(adapted))

    def trajectory(
        self, episode: Episode, *, row: int, app: str, success: bool, taught: bool = False
    ) -> Trajectory:
        """See `Family`."""
        return trajectory_of(episode, self._table, row=row, app=app, success=success, taught=taught)

    def is_here(self, episode: Episode) -> bool:
        """See `Family`: a screen's elements stand in its episode."""
        del episode
        return True

    def figures(self) -> dict[str, float]:
        """See `Family`: nothing."""
        return {}


class TextFamily:
    """hf_vlm: steps are shown again with the pictures of their screens.

    Args:
        pictures: of the screens; a step whose picture is not here is left out, and counted.
    """

    def __init__(
        self, base: VisionLanguage, pictures: EpisodePictures, *, compute: Compute = CPU
    ) -> None:
        self._base = compute.holding(base)
        self._compute = compute
        self._pictures = pictures
        self._missing = 0
        self.feature_dim = base.feature_dim
        self.can_be_retold = False

    def identity(self, *, base_digest: str, rank: int) -> NetworkIdentity:
        """See `Family`."""
        size: dict[str, int | float] = {
            "parameters": sum(one.numel() for one in self._base.parameters())
        }
        return NetworkIdentity(TEXT, size, base_digest, rank)

    def adapted(self, rank: int) -> VisionLanguage:
        """See `Family`."""
        return adapted_copy(self._base, rank, targets=self._base.lora_targets)

    def replica(self, adapted: VisionLanguage) -> Replica:
        """See `Family`."""
        scorer = TextScorer(adapted, compute=self._compute)
        return Replica(scorer, adapted, TextCarrier(adapted), _trainable(adapted))

    def trajectory(
        self, episode: Episode, *, row: int, app: str, success: bool, taught: bool = False
    ) -> Trajectory:
        """See `Family`."""
        pictures = self._pictures(episode)

        def seen(digest: str) -> bytes | None:
            picture = pictures(digest)
            self._missing += picture is None
            return picture

        return text_trajectory_of(
            episode, self._base, seen, row=row, app=app, success=success, taught=taught
        )

    def is_here(self, episode: Episode) -> bool:
        """See `Family`: the picture of every step."""
        named = {step.observation.screenshot for step in episode.steps}
        pictures = self._pictures(episode)
        return all(pictures(one) is not None for one in named if one)

    def figures(self) -> dict[str, float]:
        """See `Family`: steps so far whose picture never came."""
        return {"missing_picture_steps": float(self._missing)}


def family_of(
    base: Base, pictures: EpisodePictures | None = None, *, compute: Compute = CPU
) -> Family:
    """What the learner has to know of a base.

    Args:
        pictures: of logged screens; None where none are kept.
        compute: where the learner computes.
    """
    if isinstance(base, LayoutT5):
        return LayoutFamily(base, compute=compute)
    return TextFamily(base, pictures or (lambda _episode: lambda _digest: None), compute=compute)


def _trainable(adapted: nn.Module) -> list[nn.Parameter]:
    return [one for one in adapted.parameters() if one.requires_grad]

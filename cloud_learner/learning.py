"""What learns: network, demonstrations, warm-up and algorithm of one learner.

No store, no phone and no file: whoever drives it reads episodes and delivers adapters
(`cloud_learner.learner` for a fleet). Everything that cannot be read again stands in `state`, the
checkpoint.
"""

from __future__ import annotations

import copy
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence

import structlog
import torch
from torch import Tensor, nn

from cloud_learner.adapter_training import Trainee
from cloud_learner.algorithm import Algorithm, make_algorithm, mean_figures
from cloud_learner.anchors import DEMONSTRATION_GROUPS
from cloud_learner.batch import Trajectory
from cloud_learner.checkpoints import Checkpoint
from cloud_learner.drill import Drill
from cloud_learner.errors import CheckpointError
from cloud_learner.families import Family, Replica
from cloud_learner.imitation import Imitation, ImitationSettings
from cloud_learner.learner_settings import LearnerSettings
from cloud_learner.ports import StepScorer
from cloud_learner.replay import SuccessMemory

_LOG = structlog.get_logger()
_MOST_DEMONSTRATIONS = 10_000

_LATELY = 24
"""Latest training episodes of a template that say how well it goes."""

_SOLVED_WEIGHT = 0.05
"""Weight of the demonstrations of a template that always succeeds; 1.05 of one that never does."""


class Learning:
    """A network with an adapter that learns.

    Args:
        family: the frozen base, and how its steps are read and scored.
        state: where an earlier process stopped, or a new checkpoint.
        seed: of everything that is drawn.
        cpu_time_s: CPU seconds of this process so far.
        share: makes the scorer that the algorithm asks; None scores in this process.

    Raises: CheckpointError: `state` belongs to another network or learner.
    """

    def __init__(
        self,
        family: Family,
        *,
        settings: LearnerSettings,
        state: Checkpoint,
        seed: int,
        cpu_time_s: Callable[[], float] = time.process_time,
        share: Callable[[Replica], StepScorer] | None = None,
    ) -> None:
        if state.learner not in {"", settings.name}:
            raise CheckpointError(
                f"the checkpoint is one of learner {state.learner}, not {settings.name}: "
                "go on with that one, or use another data folder"
            )
        state.learner = settings.name
        self.settings = settings
        self.state = state
        self.family = family
        self.network = family.adapted(settings.rank)
        self.demonstrations = {
            group: SuccessMemory(_MOST_DEMONSTRATIONS) for group in DEMONSTRATION_GROUPS
        }
        self.seed = seed
        self._cpu_time_s = cpu_time_s
        self._cpu_mark_s = cpu_time_s()
        self._replica = family.replica(self.network)
        self._policy = self._replica.scorer if share is None else share(self._replica)
        self._trainable = self._replica.trainable
        self._outcomes: dict[str, deque[tuple[int, bool]]] = {}
        self._imitation: Imitation | None = None
        self._algorithm: Algorithm | None = None
        self._control: Imitation | None = None
        self._drill = Drill(
            self._policy,
            self._trainable,
            network=self._replica.network,
            settings=settings.drill,
            demonstrations=self.demonstrations,
            seed=seed,
        )
        if state.adapter:
            _restore(self.network, state.adapter)

    # warm-up

    def warm_up(self, updates: int) -> dict[str, float]:
        """Imitate the demonstrations for some updates; figures of the last one.

        `warmed` is True once the schedule has run out, or there is nothing to imitate.
        """
        if not any(map(len, self.demonstrations.values())):
            _LOG.warning("warm_up_skipped", reason="no demonstration succeeded")
            self.take_as_warmed()
            return {}
        if self._imitation is None:
            self._imitation = self._imitate(self.settings.warm_up)
            self._imitation.updates = self.state.warm_up_updates
        figures: dict[str, float] = {}
        for _ in range(updates):
            figures = self._imitation.update()
            if self._imitation.finished:
                break
        self.state.warm_up_updates = self._imitation.updates
        self.state.warm_up_cpu_s += self._cpu_since_mark_s()
        if self._imitation.finished:
            self.take_as_warmed()
            _LOG.info("warm_up_finished", **figures)
        return {**figures, "warm_up_updates": float(self.state.warm_up_updates)}

    @property
    def warmed(self) -> bool:
        """Whether the warm-up is over."""
        return bool(self.state.reference)

    def take_as_warmed(self) -> None:
        """End the warm-up here: the network as it is becomes the policy to stay close to."""
        self.state.reference = _adapter_state(self.network)
        self._imitation = None

    def _imitate(self, settings: ImitationSettings) -> Imitation:
        return Imitation(
            self._policy,
            self._trainable,
            network=self._replica.network,
            settings=settings,
            demonstrations=self.demonstrations,
            seed=self.seed,
        )

    # rounds

    def prepare(self) -> bool:
        """Build what rounds need.

        Returns: True where an earlier process had begun to learn: episodes that it had read are
        to be given to `remember` again.

        Raises: CheckpointError: what it had learnt is not this algorithm's, or nobody kept it.
        """
        if self._algorithm is not None or self._control is not None:
            return False
        self._cpu_since_mark_s()
        if self.settings.algorithm is None:
            self._control = self._imitate(self.settings.control)
            return False
        if not self.warmed:
            raise CheckpointError(
                "the campaign learns already, and no checkpoint tells of its warm-up: put the "
                "folder of checkpoints back, or begin a campaign with another data folder"
            )
        reference = self.family.adapted(self.settings.rank)
        _restore(reference, self.state.reference)
        reference.requires_grad_(requires_grad=False)
        trainee = Trainee(
            policy=self._policy,
            trainable=self._trainable,
            reference=self.family.replica(reference).scorer,
            feature_dim=self.family.feature_dim,
            demonstrations=self.demonstrations,
        )
        algorithm = make_algorithm(self.settings.algorithm, trainee, seed=self.seed)
        if self.state.algorithm:
            _go_on(algorithm, self.state.algorithm)
        self._algorithm = algorithm
        return bool(self.state.algorithm)

    def remember(self, trajectories: Sequence[Trajectory], *, anchored_app: str = "") -> None:
        """Give the algorithm episodes without learning from them now."""
        for one in trajectories:
            kept = self._outcomes.setdefault(one.template, deque(maxlen=_LATELY))
            kept.append((one.row, one.success))
            self._drill.remember(one)
        if self._algorithm is not None:
            self._algorithm.add(trajectories, anchored_app=anchored_app)

    def forget(self, rows: Collection[int]) -> None:
        """Leave the episodes of these rows of the store out of all that is learnt from now on."""
        left = {
            name: deque((one for one in kept if one[0] not in rows), maxlen=_LATELY)
            for name, kept in self._outcomes.items()
        }
        self._outcomes = {name: kept for name, kept in left.items() if kept}
        self._drill.forget(rows)
        for memory in self.demonstrations.values():
            memory.forget(rows)
        if self._algorithm is not None:
            self._algorithm.forget(rows)

    def round(
        self, taken: Sequence[Trajectory], *, campaign_share: float, anchored_app: str = ""
    ) -> dict[str, float]:
        """One round of learning from new episodes; its figures.

        Args:
            campaign_share: how much of the campaign is over, 0..1: what the control arm may spend.
            anchored_app: see `Algorithm.add`.
        """
        self.remember(taken, anchored_app=anchored_app)
        self._weigh_demonstrations()
        drilled: dict[str, float] = {}
        if self._algorithm is not None:
            drilled = self._drill.before(self.state.round_index, self._lately())
        figures = mean_figures(self._updates(campaign_share))
        known = [one.policy_round for one in taken if one.policy_round is not None]
        lags = [self.state.round_index - number for number in known] or [0]
        self.state.round_index += 1
        if self._algorithm is not None:
            self._algorithm.rounds = self.state.round_index
        self.state.cpu_s += self._cpu_since_mark_s()
        return {
            **figures,
            **drilled,
            **self.family.figures(),
            "version_lag_rounds": sum(lags) / len(lags),
            "version_lag_rounds_max": float(max(lags)),
            "training_success": sum(one.success for one in taken) / max(len(taken), 1),
            "left_out_steps": float(sum(one.left_out for one in taken)),
        }

    def template_weights(self) -> Mapping[str, float]:
        """How often the algorithm asks for a template, where 1 is normal."""
        return {} if self._algorithm is None else self._algorithm.template_weights()

    def _weigh_demonstrations(self) -> None:
        """Hold on most to demonstrations of what does not succeed yet: weight (1 − p)² + floor."""
        if not self.settings.weighs_demonstrations:
            return
        weights = {
            template: (1.0 - sum(outcomes) / len(outcomes)) ** 2 + _SOLVED_WEIGHT
            for template, outcomes in self._lately().items()
        }
        for memory in self.demonstrations.values():
            memory.weigh(weights)

    def _lately(self) -> dict[str, list[bool]]:
        """Success of the latest training episodes of each template."""
        return {name: [success for _row, success in kept] for name, kept in self._outcomes.items()}

    def _updates(self, campaign_share: float) -> list[dict[str, float]]:
        if self._algorithm is not None:
            return [self._algorithm.update() for _ in range(self.settings.updates_per_round)]
        assert self._control is not None
        if not any(map(len, self.demonstrations.values())):
            return []
        allowed_s = campaign_share * self.settings.control_cpu_s - self.state.cpu_s
        rows = []
        while self._cpu_time_s() - self._cpu_mark_s < allowed_s:
            rows.append(self._control.update())
        return rows

    # what is kept

    def snapshot(self) -> Checkpoint:
        """The state, brought up to date."""
        self.state.adapter = _adapter_state(self.network)
        if self._algorithm is not None:
            self.state.algorithm = copy.deepcopy(self._algorithm.state_dict())
        return self.state

    def is_finite(self) -> bool:
        """Whether every value of the adapter is a number."""
        return all(bool(torch.isfinite(one).all()) for one in self._trainable)

    def step_back(self) -> None:
        """Take adapter and algorithm from the latest snapshot again."""
        _restore(self.network, self.state.adapter or self.state.reference)
        if self._algorithm is not None and self.state.algorithm:
            self._algorithm.load_state_dict(self.state.algorithm)

    def _cpu_since_mark_s(self) -> float:
        now_s = self._cpu_time_s()
        spent, self._cpu_mark_s = now_s - self._cpu_mark_s, now_s
        return spent


def _go_on(algorithm: Algorithm, state: Mapping[str, object]) -> None:
    try:
        algorithm.load_state_dict(state)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(
            "the checkpoint holds the state of another algorithm: go on with that one, or use "
            "another data folder"
        ) from error


def _restore(network: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    wanted = {name: value.shape for name, value in _adapter_state(network).items()}
    found = {name: value.shape for name, value in tensors.items()}
    if wanted != found:
        raise CheckpointError(
            f"the checkpoint's adapter has {len(found)} tensors that are not the {len(wanted)} of "
            "this network: use the data folder with its own base and rank"
        )
    network.load_state_dict(tensors, strict=False)


def _adapter_state(network: nn.Module) -> dict[str, Tensor]:
    """Copies of the adapter's tensors by parameter name."""
    return {
        name: value.detach().cpu().clone()
        for name, value in network.named_parameters()
        if ".lora_" in name
    }

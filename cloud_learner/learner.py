"""The learner process: read episodes, learn, deliver adapters, survive a restart.

One loop, driven by the campaign's phase (see `cloud_learner.learner_store`): demonstrations are
read, the warm-up imitates them, then every round takes in new episodes and makes a few updates;
every few rounds an adapter is exported, checked on the phone's own decoding and handed to the
service.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import structlog
from torch import Tensor

from cloud_learner.a_ride import ARide
from cloud_learner.adapter_training import Trainee
from cloud_learner.algorithm_settings import STABILISED, ARideSettings
from cloud_learner.batch import Trajectory, trajectory_of
from cloud_learner.checkpoints import (
    Checkpoint,
    NetworkIdentity,
    load_checkpoint,
    save_checkpoint,
)
from cloud_learner.imitation import Imitation, ImitationSettings
from cloud_learner.learner_store import AdapterKind, CampaignView, LearnerEpisode, LearnerStore
from cloud_learner.replay import SuccessMemory
from cloud_learner.scoring import Scorer
from exporters.errors import ExportError
from exporters.families.layout_t5 import FAMILY, LayoutT5, text_table_of
from exporters.lora import attach
from sync.errors import RejectedError
from sync.vocabulary import Episode, Purpose

_LOG = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class LearnerSettings:
    """How the learner works.

    Attributes:
        algorithm: "a-ride", or "bc": the control arm, which goes on imitating the demonstrations.
        rank: of the adapter.
        episodes_per_round, updates_per_round: rhythm of learning.
        rounds_per_release: rounds between two adapters.
        control_cpu_s: CPU seconds that the control arm spends over the whole campaign: what
            A-RIDE needs for as many environment steps.
        parity_steps: logged observations on which every adapter is checked before it is delivered.
    """

    algorithm: str = "a-ride"
    rank: int = 16
    episodes_per_round: int = 32
    updates_per_round: int = 4
    rounds_per_release: int = 6
    control_cpu_s: float = 300.0
    parity_steps: int = 32
    warm_up: ImitationSettings = field(default_factory=ImitationSettings)
    control: ImitationSettings = field(
        default_factory=lambda: ImitationSettings(learning_rate=3e-4, updates=4000)
    )
    a_ride: ARideSettings = STABILISED


class AdapterExport(Protocol):
    """Turns the adapter of a network into the bytes of its file, or refuses."""

    def __call__(self, network: LayoutT5, episodes: Sequence[Episode], steps: int) -> bytes:
        """The file, after its actions were compared with the phone's on logged episodes."""
        ...


class Learner:
    """Everything between the store and the next adapter.

    Args:
        base: the frozen base network; a copy of it is trained.
        cpu_time_s: CPU seconds of this process so far.
    """

    def __init__(
        self,
        store: LearnerStore,
        base: LayoutT5,
        *,
        base_digest: str,
        settings: LearnerSettings,
        export: AdapterExport,
        checkpoints_dir: Path,
        cpu_time_s: Callable[[], float] = time.process_time,
    ) -> None:
        self._store = store
        self._settings = settings
        self._export = export
        self._directory = checkpoints_dir
        self._cpu_time_s = cpu_time_s
        self._cpu_mark_s = cpu_time_s()
        self._base = base
        self._table = text_table_of(base)
        self._network = attach(copy.deepcopy(base), settings.rank)
        self._policy = Scorer(base, self._network, self._table)
        self._trainable = [one for one in self._network.parameters() if one.requires_grad]
        self._demonstrations = {"new": SuccessMemory(10_000), "old": SuccessMemory(10_000)}
        self._demonstration_row = 0
        self._pending: list[Trajectory] = []
        self._recent: list[Episode] = []
        self._release_rounds: dict[str, int | None] = {}
        self._imitation: Imitation | None = None
        self._algorithm: ARide | None = None
        self._control: Imitation | None = None
        identity = NetworkIdentity(FAMILY, base.config.as_dict(), base_digest, settings.rank)
        loaded = load_checkpoint(checkpoints_dir, network=identity)
        self.state = loaded or Checkpoint(identity)
        if loaded is not None:
            self._restore(loaded.adapter, self._network)

    def poll(self) -> bool:
        """Do what the campaign's phase asks for; whether anything was done. Call it repeatedly."""
        campaign = self._store.campaign()
        match campaign.phase:
            case "demonstrate":
                return self._read_demonstrations(campaign)
            case "warm_up":
                return self._warm_up(campaign)
            case "learn":
                return self._learn(campaign)
            case "settle":
                return self._settle(campaign)
            case _:
                return False

    @property
    def finished(self) -> bool:
        """Whether the campaign needs nothing more of the learner."""
        return self._store.campaign().phase in {"show", "finished"}

    # demonstrations and warm-up

    def _read_demonstrations(self, campaign: CampaignView) -> bool:
        read = self._store.episodes_after(
            self._demonstration_row, purposes=(Purpose.DEMONSTRATE,), limit=64
        )
        for one in read:
            self._demonstration_row = one.row
            if one.is_env_error or not one.episode.steps:
                continue
            trajectory = self._trajectory(one, taught=True)
            if one.success:
                group = "new" if one.app == campaign.app else "old"
                self._demonstrations[group].add(trajectory)
            self._keep_recent(one.episode)
        if read and campaign.phase in _BEFORE_TRAINING:
            self.state.consumed_row = max(self.state.consumed_row, self._demonstration_row)
            self._report({})
        return bool(read)

    def _warm_up(self, campaign: CampaignView) -> bool:
        while self._read_demonstrations(campaign):
            pass
        if self.state.reference:
            return False
        if not any(map(len, self._demonstrations.values())):
            _LOG.warning("warm_up_skipped", reason="no demonstration succeeded")
            self._end_warm_up()
            return True
        if self._imitation is None:
            self._imitation = self._imitate(self._settings.warm_up, campaign)
            self._imitation.updates = self.state.warm_up_updates
        metrics = {}
        for _ in range(_UPDATES_PER_POLL):
            metrics = self._imitation.update()
            if self._imitation.finished:
                break
        self.state.warm_up_updates = self._imitation.updates
        self.state.warm_up_cpu_s += self._cpu_since_mark_s()
        if self._imitation.finished:
            self._end_warm_up()
            _LOG.info("warm_up_finished", **metrics)
        self._report({**metrics, "warm_up_updates": float(self.state.warm_up_updates)})
        return True

    def _end_warm_up(self) -> None:
        self.state.reference = _adapter_state(self._network)
        self._deliver("warm-up", AdapterKind.WARM_UP)
        self._imitation = None

    def _imitate(self, settings: ImitationSettings, campaign: CampaignView) -> Imitation:
        return Imitation(
            self._policy,
            self._trainable,
            network=self._base,
            settings=settings,
            demonstrations=self._demonstrations,
            seed=campaign.seed,
        )

    # learning

    def _learn(self, campaign: CampaignView) -> bool:
        self._prepare(campaign)
        read = self._read_training()
        rounds = 0
        while len(self._pending) >= self._settings.episodes_per_round:
            self._round(campaign)
            rounds += 1
        return bool(read or rounds)

    def _settle(self, campaign: CampaignView) -> bool:
        if self.state.settled:
            return False
        self._prepare(campaign)
        while self._read_training():
            while len(self._pending) >= self._settings.episodes_per_round:
                self._round(campaign)
        if self._pending:
            self._round(campaign)
        self._deliver(f"round-{self.state.round_index:05d}", AdapterKind.UPDATE)
        self.state.settled = True
        self._report({})
        return True

    def _prepare(self, campaign: CampaignView) -> None:
        """Build what learning needs; after a restart, from checkpoint and store."""
        if self._algorithm is not None or self._control is not None:
            return
        while self._read_demonstrations(campaign):
            pass
        self._cpu_since_mark_s()
        if self._settings.algorithm == "bc":
            self._control = self._imitate(self._settings.control, campaign)
            return
        reference = attach(copy.deepcopy(self._base), self._settings.rank)
        self._restore(self.state.reference, reference)
        reference.requires_grad_(requires_grad=False)
        trainee = Trainee(
            policy=self._policy,
            trainable=self._trainable,
            reference=Scorer(self._base, reference, self._table),
            feature_dim=2 * self._base.config.d_model,
            demonstrations=self._demonstrations,
        )
        self._algorithm = ARide(
            trainee, self._settings.a_ride, seed=campaign.seed + self.state.round_index
        )
        if self.state.critic:
            self._algorithm.critic.load_state_dict(self.state.critic)
            self._algorithm.optimiser.load_state_dict(self.state.optimiser)
            self._algorithm.rounds = self.state.round_index
            self._refill(campaign.app)

    def _refill(self, app: str) -> None:
        """After a restart: read the latest training episodes into the replay again."""
        assert self._algorithm is not None
        row = max(0, self.state.consumed_row - 2 * self._settings.a_ride.replay.capacity)
        while read := self._store.episodes_after(row, purposes=(Purpose.TRAIN,), limit=64):
            known = [one for one in read if one.row <= self.state.consumed_row]
            playable = [one for one in known if one.episode.steps and not one.is_env_error]
            self._algorithm.add([self._trajectory(one) for one in playable], anchored_app=app)
            if len(known) < len(read):
                break
            row = read[-1].row

    def _read_training(self) -> int:
        read = self._store.episodes_after(
            self.state.consumed_row, purposes=(Purpose.TRAIN,), limit=64
        )
        for one in read:
            self.state.consumed_row = one.row
            if one.episode.steps and not one.is_env_error:
                self._pending.append(self._trajectory(one))
                self._keep_recent(one.episode)
        if read:
            self._report({})
        return len(read)

    def _round(self, campaign: CampaignView) -> None:
        taken = self._pending[: self._settings.episodes_per_round]
        self._pending = self._pending[len(taken) :]
        if self._control is not None:
            metrics = self._control_round(campaign)
        else:
            metrics = self._a_ride_round(taken, campaign)
        known = [one.policy_round for one in taken if one.policy_round is not None]
        metrics["version_lag_rounds"] = (
            self.state.round_index - sum(known) / len(known) if known else 0.0
        )
        self.state.round_index += 1
        self.state.cpu_s += self._cpu_since_mark_s()
        metrics["training_success"] = sum(one.success for one in taken) / max(len(taken), 1)
        metrics["left_out_steps"] = float(sum(one.left_out for one in taken))
        if self.state.round_index % self._settings.rounds_per_release == 0:
            self._deliver(f"round-{self.state.round_index:05d}", AdapterKind.UPDATE)
        self._report(metrics)

    def _a_ride_round(self, taken: list[Trajectory], campaign: CampaignView) -> dict[str, float]:
        assert self._algorithm is not None
        self._algorithm.replay.drop_older_than(self.state.round_index)
        self._algorithm.add(taken, anchored_app=campaign.app)
        rows = [self._algorithm.update() for _ in range(self._settings.updates_per_round)]
        self._algorithm.rounds += 1
        names = {name for row in rows for name in row}
        return {name: sum(row.get(name, 0.0) for row in rows) / len(rows) for name in sorted(names)}

    def _control_round(self, campaign: CampaignView) -> dict[str, float]:
        """Imitate on, until as much CPU is spent as A-RIDE would have at this point."""
        assert self._control is not None
        share = min(1.0, campaign.env_steps / max(campaign.env_steps_target, 1))
        allowed_s = share * self._settings.control_cpu_s - self.state.cpu_s
        metrics: dict[str, float] = {}
        while self._cpu_time_s() - self._cpu_mark_s < allowed_s:
            metrics = self._control.update()
        return metrics

    # delivering and remembering

    def _deliver(self, name: str, kind: AdapterKind) -> None:
        if name in self.state.delivered:
            return
        try:
            data = self._export(self._network, self._recent, self._settings.parity_steps)
        except (ExportError, RejectedError) as error:
            # Nothing is published that phones would act on differently; learning goes on, and the
            # next adapter is checked anew.
            _LOG.error("adapter_refused", adapter=name, error=str(error))
            if kind is AdapterKind.WARM_UP:
                raise
            return
        self._store.deliver_adapter(
            data,
            name=name,
            kind=kind,
            round_index=self.state.round_index,
            watermark=self.state.consumed_row,
            parent=self.state.delivered[-1] if self.state.delivered else "",
        )
        self.state.delivered.append(name)
        self.save()
        _LOG.info("adapter_delivered", adapter=name, size_bytes=len(data))

    def save(self) -> None:
        """Write the checkpoint: at every delivery, and when the process ends."""
        self.state.adapter = _adapter_state(self._network)
        if self._algorithm is not None:
            self.state.critic = self._algorithm.critic.state_dict()
            self.state.optimiser = self._algorithm.optimiser.state_dict()
        save_checkpoint(self._directory, self.state)

    def _restore(self, tensors: dict[str, Tensor], network: LayoutT5) -> None:
        network.load_state_dict(tensors, strict=False)

    def _trajectory(self, one: LearnerEpisode, *, taught: bool = False) -> Trajectory:
        trajectory = trajectory_of(
            one.episode,
            self._table,
            row=one.row,
            app=one.app,
            success=bool(one.success),
            taught=taught,
        )
        trajectory.policy_round = self._round_of(one.episode)
        return trajectory

    def _round_of(self, episode: Episode) -> int | None:
        """The learner's round of the weights that acted; None for scripted actors."""
        release = episode.release_id
        if release not in self._release_rounds:
            rounds = {row.name: row.round for row in self._store.adapters()}
            for release_id, adapter in self._store.release_adapters().items():
                self._release_rounds[release_id] = rounds.get(adapter, 0)
            self._release_rounds.setdefault(release, None)
        return self._release_rounds[release]

    def _keep_recent(self, episode: Episode) -> None:
        self._recent = [*self._recent[-_RECENT_EPISODES:], episode]

    def _cpu_since_mark_s(self) -> float:
        now_s = self._cpu_time_s()
        spent, self._cpu_mark_s = now_s - self._cpu_mark_s, now_s
        return spent

    def _report(self, metrics: dict[str, float]) -> None:
        self._store.report(
            round_index=self.state.round_index,
            consumed_row=self.state.consumed_row,
            cpu_s=self.state.cpu_s,
            metrics=metrics,
            settled=self.state.settled,
        )


_BEFORE_TRAINING = frozenset({"demonstrate", "warm_up"})
"""Phases whose rows are demonstrations; later ones may stand behind training rows to be read."""

_UPDATES_PER_POLL = 20
_RECENT_EPISODES = 12


def _adapter_state(network: LayoutT5) -> dict[str, Tensor]:
    """Copies of the trained tensors by parameter name."""
    return {
        name: value.detach().clone()
        for name, value in network.named_parameters()
        if value.requires_grad
    }

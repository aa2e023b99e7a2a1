"""The learner process: read episodes, learn, deliver adapters, survive a restart.

One loop, driven by the campaign's phase (see `cloud_learner.learner_store`): demonstrations are
read, the warm-up imitates them, then every round takes in new episodes and makes a few updates;
every few rounds an adapter is exported, checked on the phone's own decoding and handed to the
service. What learns is `cloud_learner.learning`; this module brings it what the store has.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import structlog

from cloud_learner.batch import Trajectory
from cloud_learner.checkpoints import Checkpoint, load_checkpoint
from cloud_learner.compute import compute_on
from cloud_learner.corrections import Corrections
from cloud_learner.delivery import AdapterExport, Delivery
from cloud_learner.errors import SettingsError
from cloud_learner.families import Base, Replica, family_of
from cloud_learner.learner_settings import LearnerSettings, group_size_of
from cloud_learner.learner_store import AdapterKind, CampaignView, LearnerEpisode, LearnerStore
from cloud_learner.learning import Learning
from cloud_learner.picture_patience import PicturePatience
from cloud_learner.ports import StepScorer
from cloud_learner.renaming import retold
from cloud_learner.rhythm import Rhythm
from sync.picture_folder import EpisodePictures
from sync.vocabulary import FACTORY_RELEASE, Purpose

_LOG = structlog.get_logger()

_BEFORE_TRAINING = frozenset({"demonstrate", "warm_up"})
"""Phases whose rows are demonstrations; later ones may stand behind training rows to be read."""

_UPDATES_PER_POLL = 20
_READ_AT_ONCE = 64
_REFILL_EPISODES = 1200
"""Rows before the watermark that a restarted learner reads again, and that a late verdict still
counts for: twice what replay keeps, because demonstrations and evaluations stand among them."""


class Learner:
    """Everything between the store and the next adapter.

    Args:
        base: the frozen base network, of any family; a copy of it is trained.
        pictures: of logged screens, for a network that looks at them; None where none are kept.
        cpu_time_s: CPU seconds of this process so far.
        now_s: a clock that only goes forward.
        share: see `Learning`.

    Raises: CheckpointError: the checkpoint there belongs to another network or learner, or is
        damaged and so is the one before.
    """

    def __init__(
        self,
        store: LearnerStore,
        base: Base,
        *,
        base_digest: str,
        settings: LearnerSettings,
        export: AdapterExport,
        checkpoints_dir: Path,
        pictures: EpisodePictures | None = None,
        cpu_time_s: Callable[[], float] = time.process_time,
        now_s: Callable[[], float] = time.monotonic,
        share: Callable[[Replica], StepScorer] | None = None,
    ) -> None:
        family = family_of(base, pictures, compute=compute_on(settings.device))
        identity = family.identity(base_digest=base_digest, rank=settings.rank)
        loaded = load_checkpoint(checkpoints_dir, network=identity)
        self._store = store
        self._settings = settings
        self._learning = Learning(
            family,
            settings=settings,
            state=loaded or Checkpoint(identity),
            seed=store.campaign().seed,
            cpu_time_s=cpu_time_s,
            share=share,
        )
        self._delivery = Delivery(store, self._learning, export, directory=checkpoints_dir)
        self._shown, self._played = (PicturePatience(family.is_here, now_s=now_s) for _ in range(2))
        self._now_s = now_s
        self._rhythm = Rhythm(settings.episodes_per_round, settings.most_episodes_per_round)
        self._corrections = Corrections(store)
        self._demonstration_row = 0
        self._read_row = 0
        self._pending: list[Trajectory] = []
        self._release_rounds: dict[str, int] = {FACTORY_RELEASE: 0}
        self._unknown_versions = 0
        self._judged_late = 0
        self._left_out = 0

    @property
    def state(self) -> Checkpoint:
        """How far the learner has come."""
        return self._learning.state

    @property
    def finished(self) -> bool:
        """Whether the campaign needs nothing more of the learner."""
        return self._store.campaign().phase in {"show", "finished"}

    def poll(self) -> bool:
        """Do what the campaign's phase asks for; whether anything was done. Call it repeatedly.

        Raises:
            SettingsError: the campaign does not play what this learner learns from.
            CheckpointError: what it goes on from is missing, or another algorithm's.
        """
        campaign = self._store.campaign()
        self._require_groups(campaign)
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

    def save(self) -> None:
        """Write the checkpoint: when the process ends."""
        self._delivery.save()

    def _require_groups(self, campaign: CampaignView) -> None:
        """Refuse a campaign in which no two episodes can be compared, if that is how we learn."""
        size = group_size_of(self._settings)
        if campaign.phase and campaign.group_size == 1 < size:
            raise SettingsError(
                f"{self._settings.name} compares groups of {size} episodes, and this campaign "
                f"plays each task alone: begin one with `outrider cloud serve --group-size {size}` "
                "and another data folder, or take another --learner"
            )

    # phases

    def _warm_up(self, campaign: CampaignView) -> bool:
        self._read_all_demonstrations(campaign)
        self._correct(campaign)
        if self._learning.warmed or self._shown.holds:
            return False
        self._report(self._learning.warm_up(_UPDATES_PER_POLL))
        self._deliver_warm_up()
        return True

    def _deliver_warm_up(self) -> None:
        if self._learning.warmed:
            self._delivery.deliver("warm-up", AdapterKind.WARM_UP)

    def _learn(self, campaign: CampaignView) -> bool:
        self._prepare(campaign)
        began_s = self._now_s()
        shown = self._read_demonstrations(campaign)
        corrected = self._correct(campaign)
        read = self._read_training()
        rounds = self._rounds(campaign)
        did = bool(shown or corrected or read or rounds)
        if did:
            self._rhythm.spent(self._now_s() - began_s, rounds=rounds)
        return did

    def _settle(self, campaign: CampaignView) -> bool:
        if self.state.settled:
            return False
        self._prepare(campaign)
        while self._correct(campaign) or self._read_training():
            self._rounds(campaign)
        if self._played.holds:
            return False
        if self._pending:
            self._round(campaign, len(self._pending))
        self._delivery.deliver(f"round-{self.state.round_index:05d}", AdapterKind.UPDATE)
        self.state.settled = True
        self._report({})
        return True

    def _prepare(self, campaign: CampaignView) -> None:
        """Build what learning needs; after a restart, from checkpoint and store."""
        if not self._demonstration_row:
            self._read_all_demonstrations(campaign)
        self._read_row = max(self._read_row, self.state.consumed_row)
        if self._learning.prepare():
            self._refill(campaign)

    # reading

    def _read_all_demonstrations(self, campaign: CampaignView) -> None:
        while self._read_demonstrations(campaign):
            pass

    def _read_demonstrations(self, campaign: CampaignView) -> bool:
        stored = self._store.episodes_after(
            self._demonstration_row, purposes=(Purpose.DEMONSTRATE,), limit=_READ_AT_ONCE
        )
        read = self._shown.ready(stored)
        for one in read:
            self._demonstration_row = one.row
            if not one.was_played:
                continue
            self._take_demonstration(one, campaign)
            self._delivery.keep_recent(one.episode)
        if read and campaign.phase in _BEFORE_TRAINING:
            self.state.consumed_row = max(self.state.consumed_row, self._demonstration_row)
            self._report({})
        return bool(read)

    def _take_demonstration(self, one: LearnerEpisode, campaign: CampaignView) -> None:
        if not one.success or not one.was_played:
            return
        self.state.learnt_rows.append(one.row)
        group = "new" if one.app in campaign.new_apps else "old"
        copies = self._settings.copies if self._learning.family.can_be_retold else 0
        told = retold(one.episode, copies=copies, seed=self._learning.seed)
        for episode in told:
            trajectory = self._trajectory(replace(one, episode=episode), taught=True)
            self._learning.demonstrations[group].add(trajectory)

    def _read_training(self) -> int:
        stored = self._store.episodes_after(
            self._read_row, purposes=(Purpose.TRAIN,), limit=_READ_AT_ONCE
        )
        read = self._played.ready(stored)
        for one in read:
            self._read_row = one.row
            if self._can_learn_from(one):
                self._pending.append(self._trajectory(one))
                self._delivery.keep_recent(one.episode)
        if read:
            self._note_learnt()
            self._report({})
        return len(read)

    def _note_learnt(self) -> None:
        """Say up to which row rounds have learnt; what was only read is read again by a restart."""
        ahead = [one.row - 1 for one in self._pending if one.row > self.state.consumed_row]
        self.state.consumed_row = min(ahead, default=self._read_row)

    def _refill(self, campaign: CampaignView) -> None:
        """After a restart: read the latest training episodes into the replay again."""
        row = max(0, self.state.consumed_row - _REFILL_EPISODES)
        while read := self._store.episodes_after(
            row, purposes=(Purpose.TRAIN,), limit=_READ_AT_ONCE
        ):
            known = [one for one in read if one.row <= self.state.consumed_row]
            again = [self._trajectory(one) for one in known if self._can_learn_from(one)]
            self._learning.remember(again, anchored_app=campaign.anchored_app)
            self.state.learnt_rows += [one.row for one in again]
            if len(known) < len(read):
                break
            row = read[-1].row

    def _correct(self, campaign: CampaignView) -> bool:
        """Follow the store where it says something else by now of rows that were read."""
        left_out = self._corrections.left_out_rows()
        if left_out:
            self._forget(left_out)
            self._left_out += len(left_out)
            _LOG.info("episodes_left_out", episodes=len(left_out), reason="device_revoked")
        judged = self._corrections.judged()
        for one in judged:
            self._take_judgement(one, campaign)
        return bool(left_out or judged)

    def _take_judgement(self, one: LearnerEpisode, campaign: CampaignView) -> None:
        """Learn from an episode as it is judged now, or no more."""
        shown = one.episode.assignment.purpose is Purpose.DEMONSTRATE
        if one.row > (self._demonstration_row if shown else self._read_row):
            return  # it was not read yet, and will be with its verdict
        self._judged_late += 1
        self._forget({one.row})
        if shown:
            self._take_demonstration(one, campaign)
        elif one.row > self._read_row - _REFILL_EPISODES and self._can_learn_from(one):
            self._pending.append(self._trajectory(one))

    def _forget(self, rows: Collection[int]) -> None:
        self._learning.forget(rows)
        self._pending = [one for one in self._pending if one.row not in rows]

    def _can_learn_from(self, one: LearnerEpisode) -> bool:
        """Whether it was really played and judged, by weights that this learner knows."""
        if one.is_unjudged or not one.was_played:
            return False
        if one.episode.assignment.actor != "release":
            return True
        versions = {one.episode.release_id, *(step.policy_version for step in one.episode.steps)}
        if any(self._round_of(version) is None for version in versions):
            self._unknown_versions += 1
            _LOG.warning(
                "episode_left_out",
                episode_id=one.episode.id,
                reason="unknown_policy_version",
                release_id=one.episode.release_id,
            )
            return False
        return True

    def _trajectory(self, one: LearnerEpisode, *, taught: bool = False) -> Trajectory:
        trajectory = self._learning.family.trajectory(
            one.episode,
            row=one.row,
            app=one.app,
            success=bool(one.success),
            taught=taught,
        )
        if one.episode.assignment.actor == "release":
            trajectory.policy_round = self._round_of(one.episode.release_id)
        return trajectory

    def _round_of(self, release: str) -> int | None:
        """The learner's round of a release's weights; None where no such release is known."""
        if release not in self._release_rounds:
            rounds = {row.name: row.round for row in self._store.adapters()}
            for release_id, adapter in self._store.release_adapters().items():
                self._release_rounds[release_id] = rounds.get(adapter, 0)
        return self._release_rounds.get(release)

    # rounds

    def _rounds(self, campaign: CampaignView) -> int:
        count = 0
        while len(self._pending) >= (size := self._episodes_of_next_round(campaign)):
            self._round(campaign, size)
            count += 1
        return count

    def _episodes_of_next_round(self, campaign: CampaignView) -> int:
        waiting = len(self._pending)
        steps = sum(len(one.steps) for one in self._pending)
        unplayed = max(0, campaign.env_steps_target - campaign.env_steps)
        return self._rhythm.episodes(
            left_s=campaign.learn_left_s,
            episodes_left=waiting + unplayed * waiting / max(steps, 1),
        )

    def _round(self, campaign: CampaignView, size: int) -> None:
        taken = self._pending[:size]
        self._pending = self._pending[len(taken) :]
        self.state.learnt_rows += [one.row for one in taken]
        self._note_learnt()
        figures = self._learning.round(
            taken,
            campaign_share=min(1.0, campaign.env_steps / max(campaign.env_steps_target, 1)),
            anchored_app=campaign.anchored_app,
        )
        # told before the checkpoint is written: a round may be told twice, and never not at all
        counted = {
            "unknown_version_episodes": float(self._unknown_versions),
            "judged_late_episodes": float(self._judged_late),
            "revoked_episodes": float(self._left_out),
        }
        self._report({**figures, **counted})
        if self.state.round_index % self._settings.rounds_per_release == 0:
            self._delivery.deliver(f"round-{self.state.round_index:05d}", AdapterKind.UPDATE)

    def _report(self, metrics: dict[str, float]) -> None:
        self._store.report(
            round_index=self.state.round_index,
            consumed_row=max(self._read_row, self.state.consumed_row),
            cpu_s=self.state.cpu_s,
            metrics=metrics,
            template_weights=self._learning.template_weights(),
            settled=self.state.settled,
        )

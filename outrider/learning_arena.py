"""One learner in one process: it plays on mock phones, learns, and is measured at equal steps.

What plays are the seats of a farm with the phone's own policy, on the adapters that releases would
hold; what learns is what a fleet's learner runs. Only broker, service and second process are left
out, and with them chance: the adapter that acts is a set number of rounds behind. A run that was
killed goes on from its last round on disk.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from apps_mock.actors import Actors
from apps_mock.farm import play
from cloud_learner.batch import Trajectory
from cloud_learner.batches import Practice, shown_again, training
from cloud_learner.checkpoints import Checkpoint, load_checkpoint, save_checkpoint
from cloud_learner.curriculum import CurriculumSettings
from cloud_learner.families import LayoutFamily
from cloud_learner.learner_settings import LearnerSettings, group_size_of
from cloud_learner.learning import Learning
from cloud_learner.renaming import retold
from device_runtime.policy import OnnxPolicy
from exporters.adapter_export import AdapterExporter
from exporters.base import base_digest, load_base
from outrider.learning_record import Outcome, played_rounds, read_record
from outrider.learning_scene import SEATS, Start, instances_of, syllabus_of
from sync.adapter_file import unpack
from sync.vocabulary import EndReason, ReleaseId, Split

if TYPE_CHECKING:
    from device_runtime.seats import Played
    from sync.vocabulary import Assignment, Episode

_SAVE_EVERY_ROUNDS = 5
_LATE_ROUNDS = 8
"""Rounds that an episode may be in flight; its adapter stays loaded for so long."""


@dataclass(frozen=True, slots=True)
class ArenaSettings:
    """How a run is played.

    Attributes:
        env_steps: training steps of the whole run.
        staleness: rounds by which the adapter that acts is behind.
        temperature: of the training episodes.
    """

    env_steps: int = 16_000
    staleness: int = 2
    temperature: float = 1.0
    curriculum: CurriculumSettings = field(default_factory=CurriculumSettings)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Greedy episodes and successes by template; env_errors are in neither."""

    n: dict[str, int]
    successes: dict[str, int]


def evaluated(played: Sequence[Played]) -> Evaluation:
    """What came of greedy episodes."""
    n: dict[str, int] = {}
    successes: dict[str, int] = {}
    for one in played:
        if one.episode.end_reason is not EndReason.ENV_ERROR:
            name = one.episode.assignment.template
            n[name] = n.get(name, 0) + 1
            successes[name] = successes.get(name, 0) + _succeeded(one)
    return Evaluation(n, successes)


class Arena:
    """A run: `turn` plays and learns one round; `evaluate` measures what has been learnt.

    Args:
        folder: of this run alone; what it holds already is gone on with.

    Raises: CheckpointError: the folder holds a run of another learner or network.
    """

    def __init__(
        self,
        start: Start,
        *,
        learner: LearnerSettings,
        settings: ArenaSettings,
        seed: int,
        folder: Path,
    ) -> None:
        base = load_base(start.base)
        digest = base_digest(base)
        family = LayoutFamily(base)
        identity = family.identity(base_digest=digest, rank=learner.rank)
        state = load_checkpoint(folder, network=identity) or Checkpoint(identity)
        self.record = read_record(folder, state.round_index)
        self._settings = settings
        self._learner = learner
        self._folder = folder
        self._other_cpu_s = 0.0
        self._paused_at_s: float | None = None
        self._learning = Learning(
            family, settings=learner, state=state, seed=seed, cpu_time_s=self._learner_cpu_s
        )
        self._policy = OnnxPolicy(start.graphs)
        self._export = AdapterExporter(
            base, base_digest=digest, graphs_dir=start.graphs, rank=learner.rank
        )
        self._syllabus = syllabus_of(seed)
        self._apps = {info.name: info.app for info in self._syllabus.new}
        with self._not_learning():
            self._begin(start.demonstrations)
        self._played = play(self._assignments(), Actors(self._policy).policy_for, seats=SEATS)

    @property
    def round_index(self) -> int:
        """Rounds of learning so far."""
        return self._learning.state.round_index

    @property
    def learner_cpu_s(self) -> float:
        """CPU seconds of learning so far."""
        return self._learning.state.cpu_s

    def turn(self) -> dict[str, float]:
        """Play and learn one round; its figures."""
        begun_s = time.monotonic()
        with self._playing():
            played = list(self._next(self._learner.episodes_per_round))
        taken = [self._trajectory(one) for one in played if one.episode.steps]
        share = min(1.0, self.record.env_steps / self._settings.env_steps)
        figures = self._learning.round(taken, campaign_share=share)
        self.record.add_round(self.round_index, played)
        self._show_again()
        self._release(self.round_index)
        self.record.wall_s += time.monotonic() - begun_s
        if self.round_index % _SAVE_EVERY_ROUNDS == 0:
            self.save()
        return figures

    def save(self) -> None:
        """Bring what is on disk up to date; from here the run can go on."""
        self.record.save(self._folder, self.round_index)
        save_checkpoint(self._folder, self._learning.snapshot())
        self.record.forget_before(self._folder, self.round_index - 2 * _SAVE_EVERY_ROUNDS)

    def evaluate(self, split: Split, count: int) -> Evaluation:
        """Greedy success of the newest adapter on `count` instances."""
        newest = _name_of(self.round_index)
        wanted = [
            replace(one, release_id=newest) for one in instances_of(split, count, actor="release")
        ]
        with self._not_learning():
            actors = Actors(self._policy)
            return evaluated(list(play(wanted, actors.policy_for, seats=SEATS)))

    # beginning

    def _begin(self, demonstrations: Sequence[Episode]) -> None:
        """Demonstrations, reference and replay; after a restart, from what is on disk."""
        again = [one.episode for one in self.record.shown if one.success]
        for episode in (*demonstrations, *again):
            self._add_demonstration(episode)
        if not self._learning.warmed:
            self._learning.take_as_warmed()
            for episode in demonstrations:
                self.record.count_shown(episode)
        if self._learning.prepare():
            for _, outcomes in played_rounds(self._folder, self.round_index):
                self._learning.remember([self._trajectory(one) for one in outcomes])
        for number in range(self.round_index - self._settings.staleness, self.round_index + 1):
            if number >= 0:  # after a restart, the newest stands in for those before it
                self._release(number)

    def _add_demonstration(self, episode: Episode) -> None:
        for told in retold(episode, copies=self._learner.copies, seed=self._learning.seed):
            trajectory = self._encoded(told, success=True, taught=True)
            self._learning.demonstrations["new"].add(trajectory)

    # playing

    def _assignments(self) -> Iterator[Assignment]:
        """Training assignments without end, each pinned to the adapter that acts when it begins."""
        size = group_size_of(self._learner)
        while True:
            first = self.record.issued
            self.record.issued += size
            for planned in training(self._syllabus, self._practice(size), first=first, count=size):
                acting = _name_of(max(0, self.round_index - self._settings.staleness))
                yield replace(planned.assignment, release_id=acting)

    def _practice(self, group_size: int) -> Practice:
        return Practice(
            new_share=1.0,
            temperature=self._settings.temperature,
            group_size=group_size,
            curriculum=self._settings.curriculum,
            records=self.record.records(),
            asked=self._learning.template_weights(),
        )

    def _next(self, count: int) -> Iterator[Outcome]:
        """The next training episodes that ended, without those in which a phone broke."""
        while count:
            one = next(self._played)
            if one.episode.end_reason is not EndReason.ENV_ERROR:
                count -= 1
                yield Outcome(one.episode, _succeeded(one))

    def _show_again(self) -> None:
        """Play what the curriculum wants demonstrated, and learn from it at once."""
        wanted = shown_again(self._syllabus, self._practice(1), first=len(self.record.shown))
        with self._playing():
            assignments = [one.assignment for one in wanted]
            played = list(play(assignments, Actors().policy_for, seats=SEATS))
        for one in played:
            self.record.add_shown(Outcome(one.episode, _succeeded(one)))
            if _succeeded(one):
                self._add_demonstration(one.episode)

    def _release(self, round_index: int) -> None:
        """Let the adapter as it is act under the name of a round; forget an old one."""
        tensors = unpack(self._export(self._learning.network, (), 0)).tensors
        self._policy.load_adapter(_name_of(round_index), tensors)
        forgotten = round_index - self._settings.staleness - _LATE_ROUNDS
        if forgotten >= 0:
            self._policy.unload(_name_of(forgotten))

    # learning

    def _trajectory(self, outcome: Outcome) -> Trajectory:
        trajectory = self._encoded(outcome.episode, success=outcome.success)
        trajectory.policy_round = _round_of(outcome.episode.release_id)
        return trajectory

    def _encoded(self, episode: Episode, *, success: bool, taught: bool = False) -> Trajectory:
        return self._learning.family.trajectory(
            episode,
            row=0,
            app=self._apps[episode.assignment.template],
            success=success,
            taught=taught,
        )

    # time

    @contextmanager
    def _playing(self) -> Iterator[None]:
        """CPU seconds of the block are the actor's."""
        begun_s = time.process_time()
        with self._not_learning():
            yield
        self.record.actor_cpu_s += time.process_time() - begun_s

    @contextmanager
    def _not_learning(self) -> Iterator[None]:
        self._paused_at_s = self._learner_cpu_s()
        begun_s = time.process_time()
        yield
        self._other_cpu_s += time.process_time() - begun_s
        self._paused_at_s = None

    def _learner_cpu_s(self) -> float:
        """CPU seconds of this process without those that played; it stands still meanwhile."""
        if self._paused_at_s is not None:
            return self._paused_at_s
        return time.process_time() - self._other_cpu_s


def _succeeded(played: Played) -> bool:
    return played.verdict is not None and played.verdict.success


def _name_of(round_index: int) -> ReleaseId:
    return ReleaseId(f"round-{round_index:05d}")


def _round_of(release_id: str) -> int:
    return int(release_id.rpartition("-")[2])

"""The course of base training: show a chunk, learn, check, show the next; resumable, with an end.

The stream's chunks are spread evenly over the schedule, so that the network always meets fresh
demonstrations and memory holds a few chunks only. Every so many updates the course is checked on
validation tasks: templates that fail are drawn more often from then on, a course that no longer
gets better ends early, and the best weights are kept. What a killed course needs is saved at the
same points; it goes on as if nothing had happened.
"""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from cloud_learner.base_training import BaseTraining
from cloud_learner.budget import Budget
from cloud_learner.demonstration_window import Demonstration
from cloud_learner.errors import CheckpointError
from exporters.families.layout_t5 import LayoutT5
from sync.durable_file import write_durably

_FORMAT = 1
_MEMORY_OF_CHECKS = 0.5
"""What the success so far weighs when the next check's comes in: each check is a small sample."""


@dataclass(frozen=True, slots=True)
class CourseSettings:
    """How a course goes on and when it ends.

    Attributes:
        chunks: parts of the stream of demonstrations.
        check_every: updates between two checks; 0 for none.
        patience: checks without a better one after which the course ends; 0 for never.
        focus: how much more often than a solved template one that always fails is drawn: 1 + focus
            times.
        save_every, save_every_cpu_s: updates and CPU seconds between two saved states, at most.
    """

    chunks: int = 1
    check_every: int = 0
    patience: int = 0
    focus: float = 0.0
    save_every: int = 200
    save_every_cpu_s: float = 20.0


@dataclass(frozen=True, slots=True)
class Shown:
    """A chunk as it was played: what can be learnt from, out of how many that were played."""

    demonstrations: Sequence[Demonstration]
    played: int


@dataclass(slots=True)
class Counts:
    """What was shown so far: episodes played, those kept, and steps of these."""

    played: int = 0
    kept: int = 0
    steps: int = 0


@dataclass(frozen=True, slots=True)
class Check:
    """One check: macro mean of validation success, and the success by template."""

    updates: int
    success: float
    by_template: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Watch:
    """Who is told of a course; every call is made in the process that trains.

    Attributes:
        updated: after each update: the course, its loss (nats) and learning rate.
        checked: after each check.
        shown: after each chunk: its number from 0, and the counts so far.
        resumed: when a saved state was read: the updates that it had.
    """

    updated: Callable[[BaseCourse, float, float], None]
    checked: Callable[[Check], None]
    shown: Callable[[int, Counts], None]
    resumed: Callable[[int], None]


@dataclass(slots=True)
class _Progress:
    """Where a course stands, beside the training's own state."""

    chunks: int = 0
    counts: Counts = field(default_factory=Counts)
    checks: list[Check] = field(default_factory=list)
    success: dict[str, float] = field(default_factory=dict)
    best: dict[str, Tensor] = field(default_factory=dict)
    best_updates: int = 0


class BaseCourse:
    """One course of base training.

    Args:
        training: the network, untouched so far.
        play: plays the chunk of that number; the same number gives the same demonstrations.
        check: success by template of a network on validation tasks.
        budget: moves the schedule on where it is ahead of the updates, and ends the course.
    """

    def __init__(
        self,
        training: BaseTraining,
        settings: CourseSettings,
        *,
        play: Callable[[int], Shown],
        check: Callable[[LayoutT5], Mapping[str, float]],
        budget: Budget,
    ) -> None:
        self.settings = settings
        self.training = training
        self._play = play
        self._check = check
        self.budget = budget
        self._at = _Progress()
        self._saved_at_cpu_s = budget.cpu_s

    @property
    def progress(self) -> float:
        """Share of the course that is over, 0..1."""
        return min(max(self.training.progress, self.budget.spent), 1.0)

    @property
    def counts(self) -> Counts:
        """What was shown so far."""
        return self._at.counts

    @property
    def chunks_shown(self) -> int:
        """Chunks of the stream that were shown so far."""
        return self._at.chunks

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks so far."""
        return tuple(self._at.checks)

    @property
    def ended_early(self) -> bool:
        """Whether the last checks brought nothing."""
        settings, checks = self.settings, self._at.checks
        if not settings.patience or not checks:
            return False
        since = sum(one.updates > self._at.best_updates for one in checks)
        return since >= settings.patience

    def run(self, watch: Watch, state_file: Path | None = None, identity: str = "") -> LayoutT5:
        """The trained network, in evaluation mode: the best checked one where it may end early.

        Args:
            state_file: where the state is saved, at the end too; it is gone on from where it is
                there already, and its owner removes it.
            identity: what the course is; a state of another one is refused.

        Raises:
            CheckpointError: the state is damaged, or another course's.
            ValueError: the first chunk holds nothing to learn from.
        """
        if state_file is not None and state_file.exists():
            self._restore(state_file, identity)
            watch.resumed(self.training.updates)
        while (progress := self.progress) < 1.0 and not self.ended_early:
            for _ in self._due(progress):
                self._show(watch)
            done = self.training.update(progress)
            watch.updated(self, done["imitation_loss"], done["learning_rate"])
            self._after_update(watch, state_file, identity)
        if self.settings.check_every and not self.ended_early and not self._is_checked:
            self._checked(watch)
        if state_file is not None:
            self._save(state_file, identity)
        return self._best()

    def _after_update(self, watch: Watch, state_file: Path | None, identity: str) -> None:
        settings, updates = self.settings, self.training.updates
        if settings.check_every and updates % settings.check_every == 0:
            self._checked(watch)
        since_s = self.budget.cpu_s - self._saved_at_cpu_s
        is_due = updates % settings.save_every == 0 or since_s >= settings.save_every_cpu_s
        if state_file is not None and is_due:
            self._save(state_file, identity)

    def _due(self, progress: float) -> Iterator[int]:
        """Chunks that should have been shown by now, and were not."""
        wanted = min(int(progress * self.settings.chunks) + 1, self.settings.chunks)
        yield from range(self._at.chunks, wanted)

    def _show(self, watch: Watch) -> None:
        number, counts = self._at.chunks, self._at.counts
        shown = self._play(number)
        counts.steps += self.training.show(shown.demonstrations)
        counts.played += shown.played
        counts.kept += len(shown.demonstrations)
        self._at.chunks += 1
        watch.shown(number, counts)

    @property
    def _is_checked(self) -> bool:
        checks = self._at.checks
        return bool(checks) and checks[-1].updates == self.training.updates

    def _checked(self, watch: Watch) -> None:
        at, updates = self._at, self.training.updates
        found = dict(self._check(self.training.network))
        check = Check(updates, sum(found.values()) / len(found), found)
        best = max((one.success for one in at.checks), default=-1.0)
        at.checks.append(check)
        if check.success >= best:
            at.best = copy.deepcopy(self.training.network.state_dict())
            at.best_updates = updates
        for name, success in found.items():
            before = at.success.get(name, success)
            at.success[name] = before + (1.0 - _MEMORY_OF_CHECKS) * (success - before)
        self._weigh()
        watch.checked(check)

    def _weigh(self) -> None:
        focus = self.settings.focus
        self.training.weigh(
            {name: 1.0 + focus * (1.0 - success) for name, success in self._at.success.items()}
        )

    def _best(self) -> LayoutT5:
        network = self.training.network
        if self.settings.patience and self._at.best:
            network.load_state_dict(self._at.best)
        return network

    def _save(self, path: Path, identity: str) -> None:
        at = self._at
        content = {
            "format": _FORMAT,
            "identity": identity,
            "training": self.training.state(),
            "chunks": at.chunks,
            "counts": asdict(at.counts),
            "checks": [asdict(one) for one in at.checks],
            "success": at.success,
            "best": at.best,
            "best_updates": at.best_updates,
            "spent": {"cpu_s": self.budget.cpu_s, "wall_s": self.budget.wall_s},
        }
        buffer = io.BytesIO()
        torch.save(content, buffer)
        write_durably(path, buffer.getvalue())
        self._saved_at_cpu_s = self.budget.cpu_s

    def _restore(self, path: Path, identity: str) -> None:
        content = _read(path, identity)
        self._at = _Progress(
            chunks=content["chunks"],
            counts=Counts(**content["counts"]),
            checks=[Check(**one) for one in content["checks"]],
            success=content["success"],
            best=content["best"],
            best_updates=content["best_updates"],
        )
        kept = self.training.settings.window_chunks
        for number in range(max(0, self._at.chunks - kept), self._at.chunks):
            self.training.show(self._play(number).demonstrations)
        self._weigh()
        self.training.restore(content["training"])
        self.budget.add(**content["spent"])
        self._saved_at_cpu_s = self.budget.cpu_s


def _read(path: Path, identity: str) -> dict[str, Any]:  # Any: torch's own nested states
    """A saved state.

    Raises: CheckpointError: it is damaged, or another course's.
    """
    try:
        content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        found = (content["format"], content["identity"])
    except Exception as error:  # torch raises many kinds on damaged files; all mean the same
        raise CheckpointError(
            f"{path} cannot be read ({error}): remove it to start anew"
        ) from error
    if found != (_FORMAT, identity):
        raise CheckpointError(
            f"{path} belongs to another training: give the options of that one to go on with it, "
            "or remove it to start anew"
        )
    return content

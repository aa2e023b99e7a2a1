"""What is seen of base training: bars on stderr for a person, events for a program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from cloud_learner.base_course import Watch

if TYPE_CHECKING:
    from rich.progress import Progress

    from cloud_learner.base_course import BaseCourse, Check, Counts
    from outrider.output import Output

EVENT_EVERY_UPDATES = 50
_WEAKEST = 5
"""Templates that a check's event names, the weakest first."""
_Item = TypeVar("_Item")


class Bars:
    """Bars on stderr that a person sees while something goes on; nothing for a program."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._course = progress.add_task("updates", total=1.0)

    def track(self, items: Iterator[_Item], total: int, what: str) -> Iterator[_Item]:
        """The same items, with a bar of their own while they come."""
        task = self._progress.add_task(what, total=total)
        for item in items:
            self._progress.advance(task)
            yield item
        self._progress.remove_task(task)

    def show(self, share: float, text: str) -> None:
        """How far the whole course is."""
        self._progress.update(self._course, completed=share, description=text)


@contextmanager
def bars_of(out: Output) -> Iterator[Bars]:
    """Bars for as long as the block runs."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=out.json_lines) as progress:
        yield Bars(progress)


class CourseView:
    """Tells of a course as it goes."""

    def __init__(self, out: Output, bars: Bars, course: BaseCourse) -> None:
        self._out, self._bars, self._course = out, bars, course
        self._losses: list[float] = []
        self._resumed_at: tuple[float, float] = (0.0, 0.0)

    def watch(self) -> Watch:
        """Who is told what."""
        return Watch(
            updated=self._updated, checked=self._checked, shown=self._shown, resumed=self._resumed
        )

    def _updated(self, course: BaseCourse, loss: float, learning_rate: float) -> None:
        updates = course.training.updates
        self._losses.append(loss)
        if updates % EVENT_EVERY_UPDATES and course.progress < 1.0:
            return
        mean = sum(self._losses) / len(self._losses)
        self._losses.clear()
        self._bars.show(course.progress, f"loss {mean:.3f}")
        if self._out.json_lines:
            self._out.event(
                "update",
                updates=updates,
                of=course.training.settings.updates,
                loss=round(mean, 5),
                learning_rate=learning_rate,
                cpu_s=round(course.budget.cpu_s, 1),
                eta_s=self._eta_s(),
            )

    def _eta_s(self) -> float | None:
        """Seconds by the clock until the end, at the pace of this process so far."""
        share, wall_s = self._resumed_at
        done, left = self._course.progress - share, 1.0 - self._course.progress
        return round((self._course.budget.wall_s - wall_s) / done * left) if done > 0.0 else None

    def _checked(self, check: Check) -> None:
        weakest = sorted(check.by_template, key=lambda name: (check.by_template[name], name))
        self._out.event(
            "check",
            updates=check.updates,
            success=round(check.success, 4),
            weakest=weakest[:_WEAKEST],
            cpu_s=round(self._course.budget.cpu_s, 1),
        )

    def _shown(self, number: int, counts: Counts) -> None:
        self._out.event(
            "demonstrations",
            chunk=number + 1,
            of=self._course.settings.chunks,
            played=counts.played,
            kept=counts.kept,
            steps=counts.steps,
            cpu_s=round(self._course.budget.cpu_s, 1),
        )

    def _resumed(self, updates: int) -> None:
        self._resumed_at = (self._course.progress, self._course.budget.wall_s)
        self._out.event("resumed", updates=updates, chunk=self._course.chunks_shown)

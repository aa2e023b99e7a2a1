"""`outrider bench faults`: a real small fleet, hurt at random again and again, and counted after.

Each schedule is a pure function of its seed: the command that a failing one prints repeats it.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.broker import Make
from outrider.broker_run import server_of
from outrider.errors import CommandError, MisuseError
from outrider.interrupts import interrupted_once
from outrider.options import Json
from outrider.output import Output

if TYPE_CHECKING:
    from outrider.fault_check import Findings
    from outrider.fault_learner import LearnerFindings
    from outrider.fault_schedule import Schedule
    from sync.vocabulary import Episode

PATIENCE_S = 120.0
_POOL = 6


@dataclass(frozen=True, slots=True)
class ScheduleResult:
    """What came of one schedule.

    Attributes:
        broken: one line for each rule that did not hold; empty where all did.
        faults: how often each fault was done, packets' faults among them.
        skipped: faults that this machine does not allow, and why.
        settle_s: from the end of the harm until no row waited.
        learner: what a learner left, where the fleet had one.
    """

    seed: int
    broken: tuple[str, ...]
    faults: Mapping[str, int]
    skipped: Mapping[str, str]
    settle_s: float
    findings: Findings | None
    learner: LearnerFindings | None


def bench_faults(
    *,
    minutes: Annotated[
        float, typer.Option("--minutes", help="Begin schedules for so long.", min=0.0)
    ] = 5.0,
    seed_base: Annotated[
        int, typer.Option("--seed-base", help="Seed of the first schedule; later ones follow.")
    ] = 0,
    schedules: Annotated[
        int | None, typer.Option("--schedules", help="At most so many schedules.", min=1)
    ] = None,
    keep: Annotated[
        Path | None, typer.Option("--keep", help="Folder that keeps the failing fleets.")
    ] = None,
    make: Annotated[
        Make, typer.Option("--make", help="Which broker stands between phones and cloud.")
    ] = Make.NATS,
    json: Json = False,
) -> None:
    """Hurt a small real fleet at random, and compare the cloud's rows with the phones'."""
    if minutes <= 0:
        raise MisuseError("--minutes is more than 0")
    if keep is not None:
        _make(keep)
    out = Output(json_lines=json)
    tally = _Tally(out, make)
    runs = _Runs(seed_base, schedules, make, keep)
    with interrupted_once():
        try:
            _hurt(tally, runs, until_s=time.monotonic() + minutes * 60)
        except KeyboardInterrupt:
            tally.tell(interrupted=True)
            raise
    tally.tell(interrupted=False)
    if tally.failed:
        raise CommandError(
            f"{len(tally.failed)} of {tally.schedules} schedules broke a rule; see the lines above"
        )


@dataclass(slots=True)
class _Tally:
    """What came of all schedules so far."""

    out: Output
    make: Make
    schedules: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    totals: Counter[str] = field(default_factory=Counter)
    skipped: dict[str, str] = field(default_factory=dict)
    failed: list[int] = field(default_factory=list)

    def take(self, result: ScheduleResult) -> None:
        """Count one schedule, and say what came of it."""
        self.schedules += 1
        self.faults.update(result.faults)
        self.skipped.update(result.skipped)
        self.totals.update(_numbers(result))
        if result.broken:
            self.failed.append(result.seed)
        _tell(self.out, result, self.make)

    def tell(self, *, interrupted: bool) -> None:
        """The summary."""
        self.out.summary(
            schedules=self.schedules,
            clean=self.schedules - len(self.failed),
            failed=self.failed,
            interrupted=interrupted,
            broker=self.make.value,
            faults=dict(sorted(self.faults.items())),
            skipped=self.skipped,
            **self.totals,
        )


@dataclass(frozen=True, slots=True)
class _Runs:
    """Which schedules to run on which broker, and where fleets that fail are kept."""

    seed_base: int
    most: int | None
    make: Make
    keep: Path | None


def _hurt(tally: _Tally, runs: _Runs, *, until_s: float) -> None:
    """One schedule after the other, at least one."""
    from outrider.fault_schedule import schedule_of

    pool = played_pool()
    while not tally.schedules or (time.monotonic() < until_s and tally.schedules != runs.most):
        tally.take(_run(schedule_of(runs.seed_base + tally.schedules), pool, runs))


def _make(keep: Path) -> None:
    """Make the folder of failing fleets now: after hours it would be too late to ask for another.

    Raises: MisuseError: it cannot be made.
    """
    try:
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MisuseError(f"{keep} cannot be made ({error}): name another folder") from error


def run_schedule(
    schedule: Schedule, episodes: list[Episode], folder: Path, *, make: Make = Make.NATS
) -> ScheduleResult:
    """Do a schedule's harm to a fleet in an empty folder, let it settle, and check its rows."""
    from outrider.fault_check import check, read_phone
    from outrider.fault_deeds import Harm
    from outrider.fault_fleet import FaultFleet

    with FaultFleet(folder, schedule, episodes, server=server_of(make)) as fleet:
        harm = Harm(fleet)
        broken = [] if fleet.wait_playing() else ["the fleet did not begin to play"]
        harm.run()
        begun_s = time.monotonic()
        if not fleet.settle(PATIENCE_S):
            broken.append(f"rows waited for {PATIENCE_S:.0f} s without an answer to any")
        settle_s = time.monotonic() - begun_s
        fleet.stop()
        rows = [read_phone(path, name) for name, path in fleet.databases()]
        findings = check(rows, fleet.cloud_url, lost=frozenset(fleet.lost))
        learner = None if fleet.learner is None else fleet.learner.findings()
    if harm.overheard:
        broken.append(f"a phone heard {len(harm.overheard)} messages of another")
    return ScheduleResult(
        seed=schedule.seed,
        broken=(*broken, *findings.broken, *(() if learner is None else learner.broken)),
        faults={**harm.done, **{f"frame_{name}": n for name, n in fleet.harm.counts.items()}},
        skipped=harm.skipped,
        settle_s=round(settle_s, 1),
        findings=findings,
        learner=learner,
    )


def played_pool() -> list[Episode]:
    """Episodes of a random policy on the clones, for phones to play again under other names."""
    from apps_mock.baselines import RandomPolicy
    from apps_mock.farm import play
    from apps_mock.tasks import templates
    from sync.vocabulary import Assignment, AssignmentId

    known = templates()[:: max(1, len(templates()) // _POOL)][:_POOL]
    assignments = [
        Assignment(AssignmentId(f"pool-{number}"), template=one.name, seed=number, step_budget=4)
        for number, one in enumerate(known)
    ]
    policy = RandomPolicy()
    return [one.episode for one in play(assignments, lambda *_: policy, seats=2)]


def _run(schedule: Schedule, pool: list[Episode], runs: _Runs) -> ScheduleResult:
    folder = Path(tempfile.mkdtemp(prefix=f"outrider-faults-{schedule.seed}-"))
    try:
        result = run_schedule(schedule, pool, folder, make=runs.make)
        if result.broken and runs.keep is not None:
            shutil.copytree(folder, runs.keep / str(schedule.seed), dirs_exist_ok=True)
        return result
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _numbers(result: ScheduleResult) -> dict[str, int]:
    found = [asdict(one) for one in (result.findings, result.learner) if one is not None]
    return {k: value for one in found for k, value in one.items() if isinstance(value, int)}


def _tell(out: Output, result: ScheduleResult, make: Make) -> None:
    out.event(
        "schedule",
        seed=result.seed,
        outcome="broken" if result.broken else "clean",
        settle_s=result.settle_s,
        faults=dict(result.faults),
        **_numbers(result),
    )
    for text in result.broken:
        out.event("broken", seed=result.seed, what=text, repeat=repeat_command(result.seed, make))


def repeat_command(seed: int, make: Make = Make.NATS) -> str:
    """The command that does the schedule of a seed once more."""
    broker = "" if make is Make.NATS else f" --make {make.value}"
    return f"outrider bench faults --seed-base {seed} --schedules 1{broker}"

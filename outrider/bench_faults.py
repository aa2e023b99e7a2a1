"""`outrider bench faults`: a real small fleet, hurt at random again and again, and counted after.

Each schedule is a pure function of its seed: the command that a failing one prints repeats it.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.errors import CommandError
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
    json: Json = False,
) -> None:
    """Hurt a small real fleet at random, and compare the cloud's rows with the phones'."""
    from outrider.fault_schedule import schedule_of

    out = Output(json_lines=json)
    pool = played_pool()
    until_s = time.monotonic() + minutes * 60
    faults: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    skipped: dict[str, str] = {}
    failed: list[int] = []
    count = 0
    while not count or (time.monotonic() < until_s and count != schedules):
        schedule = schedule_of(seed_base + count)
        result = _run(schedule, pool, keep)
        count += 1
        faults.update(result.faults)
        skipped.update(result.skipped)
        _tell(out, result)
        totals.update(_numbers(result))
        if result.broken:
            failed.append(schedule.seed)
    out.summary(
        schedules=count,
        clean=count - len(failed),
        failed=failed,
        faults=dict(sorted(faults.items())),
        skipped=skipped,
        **totals,
    )
    if failed:
        raise CommandError(f"{len(failed)} of {count} schedules broke a rule; see the lines above")


def run_schedule(schedule: Schedule, episodes: list[Episode], folder: Path) -> ScheduleResult:
    """Do a schedule's harm to a fleet in an empty folder, let it settle, and check its rows."""
    from outrider.fault_check import check, read_phone
    from outrider.fault_deeds import Harm
    from outrider.fault_fleet import FaultFleet

    with FaultFleet(folder, schedule, episodes) as fleet:
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


def _run(schedule: Schedule, pool: list[Episode], keep: Path | None) -> ScheduleResult:
    folder = Path(tempfile.mkdtemp(prefix=f"outrider-faults-{schedule.seed}-"))
    try:
        result = run_schedule(schedule, pool, folder)
        if result.broken and keep is not None:
            shutil.copytree(folder, keep / str(schedule.seed), dirs_exist_ok=True)
        return result
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _numbers(result: ScheduleResult) -> dict[str, int]:
    found = [asdict(one) for one in (result.findings, result.learner) if one is not None]
    return {k: value for one in found for k, value in one.items() if isinstance(value, int)}


def _tell(out: Output, result: ScheduleResult) -> None:
    out.event(
        "schedule",
        seed=result.seed,
        outcome="broken" if result.broken else "clean",
        settle_s=result.settle_s,
        faults=dict(result.faults),
        **_numbers(result),
    )
    for text in result.broken:
        out.event("broken", seed=result.seed, what=text, repeat=repeat_command(result.seed))


def repeat_command(seed: int) -> str:
    """The command that does the schedule of a seed once more."""
    return f"outrider bench faults --seed-base {seed} --schedules 1"

"""`outrider bench staged-release`: whom a bad release reaches, and how often a good one is stopped.

The service's own engine and gate decide; the phones are simulated (`outrider.staged_simulation`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from outrider.errors import MisuseError
from outrider.options import Json, chosen_parts
from outrider.output import Output

if TYPE_CHECKING:
    from outrider.staged_simulation import Ending
    from outrider.staged_world import Scenario

Row = dict[str, Any]  # figures of several kinds
_GOOD = ("equal", "better_by_3")
_BAD = "worse_by_15"
_AIM_REACHED_PERCENT, _AIM_STOPPED_PERCENT = 3.0, 5.0


def bench_staged_release(
    *,
    releases: Annotated[
        int, typer.Option("--releases", min=1, help="Simulated releases of each scenario.")
    ] = 100,
    phones: Annotated[
        str, typer.Option("--phones", help="Sizes of fleets, with commas between them.")
    ] = "100,1000,10000",
    scenarios: Annotated[
        str, typer.Option("--scenarios", help="Which, with commas between them; all if not set.")
    ] = "",
    tasks_per_day: Annotated[
        float, typer.Option("--tasks-per-day", min=0.1, help="Judged tasks of a phone and day.")
    ] = 24.0,
    success: Annotated[
        str, typer.Option("--success", help="Success shares of groups of tasks: 0.2,0.5. Four.")
    ] = "",
    between_phones: Annotated[
        float, typer.Option("--between-phones", min=0.0, max=0.5, help="Spread of their success.")
    ] = 0.10,
    interaction: Annotated[
        float, typer.Option("--interaction", min=0.0, max=0.5, help="Spread of what it changes.")
    ] = 0.03,
    off: Annotated[
        float, typer.Option("--off", min=0.0, max=0.95, help="Share of phones never heard of.")
    ] = 0.03,
    away_days: Annotated[
        float, typer.Option("--away-days", min=0.0, help="Phones bring all once in so many days.")
    ] = 0.0,
    seed: Annotated[int, typer.Option("--seed", help="Of the first simulated release.")] = 0,
    json: Json = False,
) -> None:
    """Simulate staged releases: good ones, and ones that are bad in many ways, in three fleets."""
    from outrider.staged_simulation import SimulatedFleet, simulate
    from outrider.staged_world import SCENARIOS, World

    known = {scenario.name: scenario for scenario in SCENARIOS}
    chosen = chosen_parts(scenarios or ",".join(known), tuple(known))
    out = Output(json_lines=json)
    began_s = time.process_time()
    rows: list[Row] = []
    world = World(
        tasks_per_day=tasks_per_day,
        success=_shares(success) or World().success,
        between_phones=between_phones,
        interaction=interaction,
        off=off,
        away_days=away_days,
    )
    for size in _sizes(phones):
        fleet = SimulatedFleet(size, world)
        for name in chosen:
            seeds = range(seed, seed + releases)
            endings = [simulate(fleet, known[name], one) for one in seeds]
            row = _row(known[name], size, endings)
            rows.append(row)
            out.event("scenario", **row)
    out.summary(
        releases=releases,
        seed=seed,
        world=asdict(world),
        **dict(_headlines(rows)),
        cpu_s=round(time.process_time() - began_s, 1),
    )


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 20 or max(sizes) > 100_000:
        raise MisuseError(f"--phones {text!r}: give sizes of 20 to 100000, such as 100,1000,10000")
    return sizes


def _shares(text: str) -> tuple[float, ...]:
    try:
        shares = tuple(float(part) for part in text.split(",") if part.strip())
    except ValueError:
        shares = (-1.0,)
    if not all(0.0 <= share <= 1.0 for share in shares):
        raise MisuseError(f"--success {text!r}: give shares of 0 to 1, such as 0.4,0.55,0.7,0.85")
    return shares


def _row(scenario: Scenario, size: int, endings: Sequence[Ending]) -> Row:
    """What came of one scenario in one fleet."""
    import numpy as np

    from cloud_learner.staged_plan import default_stages

    reached = np.array([ending.reached * 100 / size for ending in endings])
    days = np.array([ending.days for ending in endings])
    promoted = [ending.phase.value == "promoted" for ending in endings]
    return {
        "scenario": scenario.name,
        "phones": size,
        "releases": len(endings),
        "stages_percent": [stage.share_bps / 100 for stage in default_stages(size)],
        "promoted": _share(sum(promoted), len(endings)),
        "taken_back": _share(sum(one.is_stopped_by_a_bound for one in endings), len(endings)),
        "paused": _share(sum(one.was_paused for one in endings), len(endings)),
        "reached_percent": {
            "mean": round(float(reached.mean()), 2),
            "ci95": _interval_of_mean(reached),
            "p95": round(float(np.quantile(reached, 0.95)), 2),
            "max": round(float(reached.max()), 2),
            "over_3": _share(int((reached > _AIM_REACHED_PERCENT).sum()), len(endings)),
        },
        "days": {name: round(float(np.quantile(days, q)), 2) for name, q in _QUANTILES},
    }


_QUANTILES = (("p50", 0.5), ("p95", 0.95))


def _share(cases: int, n: int) -> Row:
    """A share in percent with its 95 % interval (Wilson)."""
    from cloud_learner.figures import wilson95

    low, high = wilson95(cases, n) or (0.0, 1.0)
    ends = [round(100 * low, 1), round(100 * high, 1)]
    return {"percent": round(100 * cases / n, 1), "ci95": ends, "cases": cases, "n": n}


def _interval_of_mean(values: Any) -> list[float]:  # a numpy array
    """95 % interval of a mean, by its standard error."""
    half = 1.96 * float(values.std()) / max(1, len(values) - 1) ** 0.5
    return [round(float(values.mean()) - half, 2), round(float(values.mean()) + half, 2)]


def _headlines(rows: Sequence[Row]) -> Iterator[tuple[str, object]]:
    """The figures that the aims are about, by size of the fleet."""
    bad = {row["phones"]: row for row in rows if row["scenario"] == _BAD}
    good: dict[int, list[Row]] = {}
    for row in rows:
        if row["scenario"] in _GOOD:
            good.setdefault(row["phones"], []).append(row)
    yield (
        "bad_reached_percent",
        {str(size): row["reached_percent"]["mean"] for size, row in bad.items()},
    )
    stopped = {size: _stopped(found) for size, found in good.items()}
    yield "good_stopped_percent", {str(size): share for size, share in stopped.items()}
    yield (
        "good_days_p50",
        {str(size): max(row["days"]["p50"] for row in found) for size, found in good.items()},
    )
    largest = max(bad.keys() & good.keys(), default=None)
    if largest is not None:
        yield (
            "aims",
            {
                "phones": largest,
                "bad_reached_at_most_3_percent": bad[largest]["reached_percent"]["mean"]
                <= _AIM_REACHED_PERCENT,
                "good_stopped_at_most_5_percent": stopped[largest]["percent"]
                <= _AIM_STOPPED_PERCENT,
            },
        )


def _stopped(rows: Sequence[Row]) -> Row:
    """Good releases that were not promoted, with no person to help them."""
    n = sum(row["releases"] for row in rows)
    return _share(n - sum(row["promoted"]["cases"] for row in rows), n)

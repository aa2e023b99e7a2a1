"""`outrider bench phone`: what a phone over ADB costs, beside the least that it could cost.

A real adb server and the mock phone without latencies; a bare socket client works in turn with the
driver, so that comparisons are ratios within one run. Parts: "tap", "observe" (beside the sum of
its parts), "step" (the whole agent step beside the sum of its parts, and what the runtime adds to
it), "growth" (with the number of elements).
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from outrider.graphs import graphs_of
from outrider.options import Json, chosen_parts
from outrider.output import Output

if TYPE_CHECKING:
    from device_runtime.trajectory_log import TrajectoryLog
    from outrider.bench_phone_rig import Rig, Stopwatch, TimedPhone
    from sync.vocabulary import Assignment, Episode

PARTS: Final = ("tap", "observe", "step", "growth")
GROWTH: Final = (50, 200, 700)
EPISODE_STEPS: Final = 10

Row = dict[str, Any]  # Any: figures of several kinds


def bench_phone(
    *,
    parts: Annotated[
        str, typer.Option("--parts", help="Which parts, with commas between them.")
    ] = ",".join(PARTS),
    elements: Annotated[int, typer.Option(help="Elements on the screen.", min=1)] = 50,
    repeats: Annotated[int, typer.Option(help="How often each thing is measured.", min=4)] = 200,
    base: Annotated[
        Path | None, typer.Option("--base", help="Folder of a base; the shipped one if not given.")
    ] = None,
    json: Json = False,
) -> None:
    """Measure a phone over a real adb server: tap, observe, whole steps, many elements."""
    wanted = chosen_parts(parts, PARTS)
    out = Output(json_lines=json)
    measured: Row = {}
    with _Bench(elements, repeats, base) as bench:
        for part in wanted:
            row = bench.measure(part)
            out.event("part", part=part, **row)
            measured.update(_headline(part, row))
    out.summary(elements=elements, repeats=repeats, **measured)


class _Bench(AbstractContextManager["_Bench"]):
    """One rig for the parts that are about the same screen."""

    def __init__(self, elements: int, repeats: int, base: Path | None) -> None:
        self._elements = elements
        self._repeats = repeats
        self._base = base
        self._opened = ExitStack()
        self._rig: Rig | None = None

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def measure(self, part: str) -> Row:
        """The figures of a part."""
        from outrider.bench_phone_rig import rig

        if part == "growth":
            return measure_growth(max(4, self._repeats // 4), self._base)
        if self._rig is None:
            self._rig = self._opened.enter_context(rig(self._elements))
        match part:
            case "tap":
                return measure_tap(self._rig, self._repeats)
            case "observe":
                return measure_observe(self._rig, self._repeats)
            case _:
                return measure_step(self._rig, self._repeats, self._base)


def _headline(part: str, row: Row) -> Row:
    """What of a part belongs into the summary."""
    if part == "growth":
        return {"growth": {count: figures["observe_p50_ms"] for count, figures in row.items()}}
    return {f"{part}_{name}": row[name] for name in _HEADLINES[part]}


_HEADLINES: Final = {
    "tap": ("ratio", "p50_ms"),
    "observe": ("over_parts", "p50_ms"),
    "step": ("over_parts", "p50_ms", "added_cpu_p50_ms"),
}


def measure_tap(both: Rig, repeats: int) -> Row:
    """A tap through the driver and the same command through the bare client, in turn."""
    from outrider.bench_phone_rig import Stopwatch
    from sync.vocabulary import tap

    driver, bare = Stopwatch(), Stopwatch()
    action = tap(0.5, 0.5)
    seen = both.phone.observe()
    command = f"input tap {seen.width_px // 2} {seen.height_px // 2}"
    for number in range(repeats):
        both.phone.observe()
        turns: list[tuple[Stopwatch, Callable[[], object]]] = [
            (driver, partial(both.phone.act, action)),
            (bare, partial(both.bare.shell, command)),
        ]
        for watch, touch in turns if number % 2 else turns[::-1]:
            with watch.timing():
                touch()
    return {
        "p50_ms": _p50(driver.wall_ms),
        "p95_ms": _p95(driver.wall_ms),
        "bare_p50_ms": _p50(bare.wall_ms),
        "bare_p95_ms": _p95(bare.wall_ms),
        "cpu_p50_ms": _p50(driver.cpu_ms),
        "bare_cpu_p50_ms": _p50(bare.cpu_ms),
        "ratio": _ratio(driver.wall_ms, bare.wall_ms),
    }


def measure_observe(both: Rig, repeats: int) -> Row:
    """A look beside its parts: the bare client's round trip, and reading what it brought."""
    from outrider.bench_phone_rig import Stopwatch

    driver, parts = Stopwatch(), {name: Stopwatch() for name in ("round_trip", "reading")}
    both.phone.observe()
    for number in range(repeats):
        with driver.timing():
            both.phone.observe()
        _look_in_parts(both, f"bench{number}", parts)
    total = sum(statistics.median(part.wall_ms) for part in parts.values())
    return {
        "p50_ms": _p50(driver.wall_ms),
        "p95_ms": _p95(driver.wall_ms),
        "cpu_p50_ms": _p50(driver.cpu_ms),
        "parts_p50_ms": {name: _p50(part.wall_ms) for name, part in parts.items()},
        "over_parts": round(statistics.median(driver.wall_ms) / total, 3),
    }


def _look_in_parts(both: Rig, name: str, parts: dict[str, Stopwatch]) -> None:
    from device_runtime.adb_look import LookRequest
    from device_runtime.ui_tree import elements_of

    request = LookRequest(name)
    with parts["round_trip"].timing():
        answer = both.bare.shell(request.command)
    info = both.phone.info()
    with parts["reading"].timing():
        look = request.read(answer)
        roots = look.hierarchy.roots if look.hierarchy else ()
        elements_of(roots, info.width_px, info.height_px)


def measure_step(both: Rig, repeats: int, base: Path | None) -> Row:
    """Whole agent steps: look, encode, decide, guard, act, log; and what is not the phone's."""
    from device_runtime.trajectory_log import TrajectoryLog
    from outrider.bench_phone_rig import Stopwatch, TimedPhone
    from sync.clock import SystemClock
    from sync.vocabulary import new_uuid7

    whole, logging = Stopwatch(), Stopwatch()
    added: list[float] = []
    with tempfile.TemporaryDirectory(prefix="outrider-bench-") as folder:
        player = _Player(graphs_of(base, Path(folder)))
        phone = TimedPhone(both.phone)
        log = TrajectoryLog.open(Path(folder) / "log.db", clock=SystemClock(), new_id=new_uuid7)
        with closing(log):
            player.play(phone)
            for _ in range(max(1, repeats // EPISODE_STEPS)):
                _timed_episode(player, phone, log, whole=whole, logging=logging, added=added)
        thoughts = player.policy.thoughts
    steps = len(added)
    log_wall, log_cpu = sum(logging.wall_ms) / steps, sum(logging.cpu_ms) / steps
    parts = {
        "observe": _p50(phone.looks.wall_ms),
        "act": _p50(phone.acts.wall_ms),
        "decide": _p50(thoughts.wall_ms),
        "log": round(log_wall, 3),
    }
    whole_p50 = statistics.median(whole.wall_ms) + log_wall
    return {
        "p50_ms": round(whole_p50, 3),
        "parts_p50_ms": parts,
        "over_parts": round(whole_p50 / sum(parts.values()), 3),
        "added_cpu_p50_ms": round(statistics.median(added) + log_cpu, 3),
        "added_cpu_p95_ms": round(_p95(added) + log_cpu, 3),
        "decide_cpu_p50_ms": _p50(thoughts.cpu_ms),
        "steps": steps,
    }


class _Player:
    """Plays one episode after the other with the network and an owner's rules."""

    def __init__(self, graphs: Path) -> None:
        from device_runtime.policy import OnnxPolicy
        from outrider.bench_phone_rig import TapsAfterThinking

        self.policy = TapsAfterThinking(OnnxPolicy(graphs))
        self._played = 0

    def play(self, phone: TimedPhone, on_step: Callable[[object], None] | None = None) -> Episode:
        """One episode of `EPISODE_STEPS` steps, from its reset to its record."""
        from device_runtime.agent import EpisodeOrigin, run_episode
        from device_runtime.guard_rules import owned_rules
        from device_runtime.safety import Safety
        from sync.clock import SystemClock
        from sync.vocabulary import DeviceId, new_uuid7

        self._played += 1
        return run_episode(
            phone,
            self.policy,
            self._assignment(),
            origin=EpisodeOrigin(DeviceId("bench")),
            clock=SystemClock(),
            new_id=new_uuid7,
            safety=Safety(guard_rules=owned_rules()),
            on_step=on_step,
        )

    def _assignment(self) -> Assignment:
        from sync.vocabulary import Assignment, AssignmentId

        return Assignment(
            AssignmentId(f"bench-{self._played}"),
            goal="switch the network off and show the battery on the display",
            step_budget=EPISODE_STEPS,
        )


def _timed_episode(
    player: _Player,
    phone: TimedPhone,
    log: TrajectoryLog,
    *,
    whole: Stopwatch,
    logging: Stopwatch,
    added: list[float],
) -> None:
    """Play and log one episode, step by step: whole steps, and their CPU without the phone's."""
    import time

    marks: list[tuple[float, float, float]] = []

    def mark(_step: object = None) -> None:
        in_phone = sum(phone.looks.cpu_ms) + sum(phone.acts.cpu_ms)
        marks.append((time.perf_counter() * 1000, time.thread_time() * 1000, in_phone))

    episode = player.play(phone, mark)
    if len(episode.steps) != EPISODE_STEPS:
        raise RuntimeError(f"the episode ended by {episode.end_reason}: {episode.end_detail}")
    for (wall, cpu, inside), (wall_2, cpu_2, inside_2) in itertools.pairwise(marks):
        whole.wall_ms.append(wall_2 - wall)
        added.append((cpu_2 - cpu) - (inside_2 - inside))
    with logging.timing():
        log.append(episode)


def measure_growth(repeats: int, base: Path | None) -> Row:
    """Looks and whole steps of screens with few and with many elements."""
    from outrider.bench_phone_rig import rig

    rows: Row = {}
    for count in GROWTH:
        with rig(count) as both:
            look = measure_observe(both, repeats)
            step = measure_step(both, repeats, base)
        rows[str(count)] = {
            "observe_p50_ms": look["p50_ms"],
            "observe_cpu_p50_ms": look["cpu_p50_ms"],
            "round_trip_p50_ms": look["parts_p50_ms"]["round_trip"],
            "step_p50_ms": step["p50_ms"],
            "added_cpu_p50_ms": step["added_cpu_p50_ms"],
        }
    return rows


def _p50(values: Sequence[float]) -> float:
    return round(statistics.median(values), 3)


def _p95(values: Sequence[float]) -> float:
    return round(statistics.quantiles(values, n=20)[-1], 3)


def _ratio(values: Sequence[float], others: Sequence[float]) -> float:
    return round(statistics.median(values) / statistics.median(others), 3)

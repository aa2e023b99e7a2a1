"""`outrider bench clones`: what clones, their pictures and their farm cost on one core.

Parts: "steps" (reset, observe and act by oracle and at random), "frames" (pictures), "seats"
(memory and time of many live phones), "farm" (logged steps with a policy, and its bare inference).
Times are CPU seconds of this process, so a busy machine hardly changes them; memory is what the
system counts for a process that did nothing else.
"""

from __future__ import annotations

import gc
import multiprocessing
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any

import typer

from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output

if TYPE_CHECKING:
    from apps_mock.phone import MockPhone
    from apps_mock.tasks import Task
    from device_runtime.policy import OnnxPolicy
    from sync.vocabulary import Action, Assignment

PARTS = ("steps", "frames", "seats", "farm")
LIVE_SEATS = 20_000
SEAT_COUNTS = (10, 100, 1_000, 10_000)
FARM_SEATS = (1, 64, 1_024)
LOGGED_STEPS = 3
FRAME = (540, 1200)
_MEBIBYTE = 2**20

Play = tuple["Task", tuple["Action", ...]]
Row = dict[str, Any]  # Any: figures of several kinds


def bench_clones(
    *,
    parts: Annotated[
        str, typer.Option("--parts", help="Which parts, with commas between them.")
    ] = ",".join(PARTS),
    episodes: Annotated[
        int, typer.Option("--episodes", help="Oracle episodes that are played.", min=1)
    ] = 600,
    seed_base: Annotated[int, typer.Option("--seed-base", help="First task seed.")] = 0,
    json: Json = False,
) -> None:
    """Measure clones on one core: steps, pictures, many seats, and the farm with a policy."""
    wanted = [part.strip() for part in parts.split(",") if part.strip()]
    unknown = sorted(set(wanted) - set(PARTS))
    if unknown or not wanted:
        raise MisuseError(f"no part is called {unknown or 'nothing'}: choose of {', '.join(PARTS)}")
    out = Output(json_lines=json)
    measured: Row = {}
    measures: dict[str, Callable[[], Row]] = {
        "steps": lambda: alone(measure_steps, episodes, seed_base),
        "frames": lambda: alone(measure_frames, min(episodes, 60), seed_base),
        "seats": lambda: measure_seats(seed_base),
        "farm": lambda: measure_farm(seed_base),
    }
    for part in wanted:
        row = measures[part]()
        measured.update(row)
        out.event("part", part=part, **row)
    out.summary(**measured)


def alone(work: Callable[..., Row], *arguments: object) -> Row:
    """What `work` returns in a fresh process, whose memory and caches nobody else has used."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(work, *arguments).result()


def measure_steps(episodes: int, seed_base: int) -> Row:
    """Resets, and steps with the full observation tree, over all templates in turn."""
    from apps_mock.layout import cache_info
    from apps_mock.phone import MockPhone

    plays = list(_oracle_plays(episodes, seed_base))
    phone = MockPhone()
    resets = []
    for task, _ in plays:
        started = time.perf_counter()
        phone.load_task(task)
        resets.append(time.perf_counter() - started)
    started = time.process_time()
    drawn = sum(1 for _ in _tasks(episodes, seed_base + 10**6))
    draw_s = time.process_time() - started
    before = cache_info()
    oracle = _rate(lambda: _play_back(phone, plays))
    random = _rate(lambda: _play_at_random(phone, plays))
    after = cache_info()
    asked = after.hits + after.misses - before.hits - before.misses
    return {
        "reset_p50_ms": round(1000 * statistics.median(resets), 4),
        "draw_ms": round(1000 * draw_s / drawn, 3),
        "oracle_steps_per_cpu_s": oracle,
        "random_steps_per_cpu_s": random,
        "layout_hit_rate": round((after.hits - before.hits) / max(1, asked), 3),
        "episodes": episodes,
    }


def measure_frames(episodes: int, seed_base: int) -> Row:
    """Pictures of 540 x 1200 along oracle episodes, each screen drawn as it is met."""
    from apps_mock.phone import MockPhone
    from apps_mock.render import draw

    phone = MockPhone()
    frames, spent_s = 0, 0.0
    for task, actions in _oracle_plays(episodes, seed_base):
        phone.load_task(task)
        for action in actions:
            phone.observe()
            started = time.process_time()
            draw(phone.scene(), width_px=FRAME[0])
            spent_s += time.process_time() - started
            frames += 1
            phone.act(action)
    return {"frames_per_cpu_s": round(frames / spent_s), "frames": frames}


def measure_seats(seed_base: int) -> Row:
    """Memory and time of many live seats in one process, each a few logged steps in."""
    by_count = {}
    for count in (*SEAT_COUNTS, LIVE_SEATS):
        by_count[str(count)] = alone(_live_seats, count, seed_base)
    most = by_count[str(LIVE_SEATS)]
    return {"live_seats": LIVE_SEATS, "live_seats_mib": most["rss_mib"], "seats": by_count}


def _live_seats(count: int, seed_base: int) -> Row:
    from apps_mock.actors import Actors
    from apps_mock.farm import mock_phone
    from device_runtime.seats import Seats
    from sync.clock import SystemClock
    from sync.vocabulary import DeviceId, new_uuid7

    empty = _rss_bytes()
    started = time.process_time()
    seats = Seats(
        [mock_phone() for _ in range(count)],
        Actors().policy_for,
        device_id=DeviceId("bench"),
        clock=SystemClock(),
        new_id=new_uuid7,
    )
    for assignment in _assignments(count, seed_base, actor="oracle"):
        seats.start(assignment)
    for _ in range(LOGGED_STEPS):
        seats.turn()
    spent_s = time.process_time() - started
    gc.collect()
    used = _rss_bytes()
    return {
        "rss_mib": round(used / _MEBIBYTE, 1),
        "kib_per_seat": round((used - empty) / count / 1024, 1),
        "cpu_ms_per_step": round(1000 * spent_s / max(1, seats.env_steps), 3),
    }


def measure_farm(seed_base: int) -> Row:
    """Logged steps a CPU second with the shipped base, beside its bare batched inference."""
    return {
        "farm": {str(seats): alone(_farm_rate, seats, seed_base) for seats in FARM_SEATS},
    }


def _farm_rate(seats: int, seed_base: int) -> Row:
    from apps_mock.actors import Actors
    from apps_mock.farm import play
    from device_runtime.policy import OnnxPolicy
    from device_runtime.trajectory_log import TrajectoryLog
    from outrider.graphs import graphs_of
    from sync.clock import SystemClock
    from sync.vocabulary import new_uuid7

    with tempfile.TemporaryDirectory(prefix="outrider-bench-") as folder:
        policy = OnnxPolicy(graphs_of(None, Path(folder)))
        log = TrajectoryLog.open(Path(folder) / "log.db", clock=SystemClock(), new_id=new_uuid7)
        with closing(log):
            assignments = _assignments(max(2 * seats, 128), seed_base, actor="release")
            started = time.process_time()
            steps = 0
            for played in play(assignments, Actors(policy).policy_for, seats=seats):
                log.append_many([(played.episode, played.verdicts)])
                steps += len(played.episode.steps)
            spent_s = time.process_time() - started
        bare = _bare_rate(policy, seats, seed_base)
    rate = steps / spent_s
    return {
        "logged_steps_per_cpu_s": round(rate),
        "bare_inference_per_cpu_s": round(bare),
        "ratio": round(rate / bare, 3),
        "steps": steps,
    }


def _bare_rate(policy: OnnxPolicy, batch: int, seed_base: int) -> float:
    """Decisions a CPU second on screens that were encoded beforehand, in batches of that size."""
    from apps_mock.phone import MockPhone
    from device_runtime.ports import PolicyRequest
    from sync.history import EMPTY_HISTORY
    from sync.policy_io import encode

    phone = MockPhone()
    requests = []
    for number, task in enumerate(_tasks(max(batch, 64), seed_base)):
        phone.load_task(task)
        seen = phone.observe()
        encoded = encode(seen, task.goal, EMPTY_HISTORY)
        requests.append(
            PolicyRequest(seen, task.goal, EMPTY_HISTORY, Random(number), encoded=encoded)
        )
    started = time.process_time()
    for at in range(0, len(requests), batch):
        policy.decide(requests[at : at + batch])
    return len(requests) / (time.process_time() - started)


def _tasks(count: int, seed_base: int) -> Iterator[Task]:
    from apps_mock.tasks import draw, templates
    from sync.vocabulary import Split

    known = [template for template in templates() if template.counts]
    for number in range(count):
        name = known[number % len(known)].name
        yield draw(name, seed=seed_base + number, split=Split.TRAIN, look=seed_base + number)


def _assignments(count: int, seed_base: int, *, actor: str) -> Iterator[Assignment]:
    from apps_mock.tasks import templates
    from sync.vocabulary import Assignment, AssignmentId

    known = [template for template in templates() if template.counts]
    for number in range(count):
        template = known[number % len(known)]
        yield Assignment(
            AssignmentId(f"bench-{number}"),
            template=template.name,
            suite=template.app,
            seed=seed_base + number,
            look=seed_base + number,
            actor=actor,
            step_budget=template.step_budget,
        )


def _oracle_plays(count: int, seed_base: int) -> Iterator[Play]:
    """The oracle's actions on tasks of all templates in turn, recorded beforehand."""
    from apps_mock.oracle import next_action
    from apps_mock.phone import MockPhone
    from sync.vocabulary import ActionKind

    endings = {ActionKind.FINISH, ActionKind.ANSWER}
    phone = MockPhone()
    for task in _tasks(count, seed_base):
        phone.load_task(task)
        actions: list[Action] = []
        while (action := next_action(phone, phone.observe())).kind not in endings:
            phone.act(action)
            actions.append(action)
        yield task, tuple(actions)


def _play_back(phone: MockPhone, plays: list[Play]) -> int:
    steps = 0
    for task, actions in plays:
        phone.load_task(task)
        for action in actions:
            phone.observe()
            phone.act(action)
            steps += 1
    return steps


def _play_at_random(phone: MockPhone, plays: list[Play]) -> int:
    """Ten random actions on each task: other screens than the oracle's."""
    from apps_mock.baselines import RandomPolicy
    from device_runtime.ports import PolicyRequest
    from sync.history import EMPTY_HISTORY
    from sync.vocabulary import ActionKind

    policy, random = RandomPolicy(), Random(0)
    steps = 0
    for task, _ in plays:
        phone.load_task(task)
        for _ in range(10):
            request = PolicyRequest(phone.observe(), task.goal, EMPTY_HISTORY, random)
            action = policy.act(request)
            if action.kind is not ActionKind.FINISH:
                phone.act(action)
            steps += 1
    return steps


def _rate(work: Callable[[], int]) -> int:
    """Units of work a CPU second, counted in one go."""
    started = time.process_time()
    count = work()
    return round(count / (time.process_time() - started))


def _rss_bytes() -> int:
    """Resident memory now; the peak where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * resource.getpagesize()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024

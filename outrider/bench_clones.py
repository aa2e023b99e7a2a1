"""`outrider bench clones`: what clones, their pictures and their farm cost on one core.

Parts: "steps" (reset, observe and act by oracle and at random), "frames" (pictures), "seats"
(memory and time of many live phones), "farm" (logged steps with a policy, and its bare inference).
Times are CPU seconds of this process, so a busy machine hardly changes them; memory is what the
system counts for a process that did nothing else.

Steps are counted on looks and seeds that the measuring process has never seen, as in training and
evaluation: what is played was recorded by another process, and other tasks warmed this one up. The
same plays again, on looks that are known by then, stand apart as `known_looks`.
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
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from outrider.options import Json, chosen_parts
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

WARM_EPISODES = 240
"""Episodes on other looks that a process has behind it before its steps are counted."""

RANDOM_STEPS = 10

T = TypeVar("T")
Actions = tuple["Action", ...]
Row = dict[str, Any]  # Any: figures of several kinds


class Play(NamedTuple):
    """One task with what the oracle and chance do in it."""

    task: Task
    oracle: Actions
    random: Actions


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
    wanted = chosen_parts(parts, PARTS)
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


def alone(work: Callable[..., T], *arguments: object) -> T:
    """What `work` returns in a fresh process, whose memory and caches nobody else has used."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(work, *arguments).result()


def measure_steps(episodes: int, seed_base: int) -> Row:
    """Resets, and steps with the full observation tree, over all templates in turn."""
    from apps_mock.phone import MockPhone

    recorded = alone(_recorded, episodes, seed_base)
    phone = MockPhone()
    _whole_loops(phone, WARM_EPISODES, seed_base + 10**6)
    started = time.process_time()
    plays = [
        Play(task, *steps)
        for task, steps in zip(_tasks(episodes, seed_base), recorded, strict=True)
    ]
    draw_s = time.process_time() - started
    new = _play_rates(phone, plays)
    _play_rates(phone, plays)
    known = _play_rates(phone, plays)
    whole = _rate(lambda: _whole_loops(phone, episodes, seed_base + 2 * 10**6))
    resets = []
    for play in plays:
        started = time.perf_counter()
        phone.load_task(play.task)
        resets.append(time.perf_counter() - started)
    return {
        "reset_p50_ms": round(1000 * statistics.median(resets), 4),
        "draw_ms": round(1000 * draw_s / len(plays), 3),
        **new,
        "known_looks": known,
        "drawn_and_decided_steps_per_cpu_s": whole,
        "episodes": episodes,
    }


def _play_rates(phone: MockPhone, plays: list[Play]) -> Row:
    """Steps a CPU second by oracle and at random, and how often a screen was laid out already.

    Half of the plays is the oracle's and the other half random, so that neither sees a look that
    the other has made known.
    """
    from apps_mock.layout import cache_info

    before = cache_info()
    oracle = _rate(lambda: _play_back(phone, [(each.task, each.oracle) for each in plays[::2]]))
    random = _rate(lambda: _play_back(phone, [(each.task, each.random) for each in plays[1::2]]))
    after = cache_info()
    hits, misses = after.hits - before.hits, after.misses - before.misses
    return {
        "oracle_steps_per_cpu_s": oracle,
        "random_steps_per_cpu_s": random,
        "layout_hit_rate": round(hits / max(1, hits + misses), 3),
    }


def measure_frames(episodes: int, seed_base: int) -> Row:
    """Pictures of 540 x 1200 along oracle episodes, each screen drawn as it is met."""
    from apps_mock.phone import MockPhone
    from apps_mock.render import draw

    phone = MockPhone()
    frames, spent_s = 0, 0.0
    for task in _tasks(episodes, seed_base):
        actions = _oracle_actions(phone, task)
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
    for assignment in assignments_of(count, seed_base, actor="oracle"):
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
    from device_runtime.collection import collect_rarely
    from device_runtime.policy import OnnxPolicy
    from device_runtime.trajectory_log import TrajectoryLog
    from outrider.graphs import graphs_of
    from sync.clock import SystemClock
    from sync.vocabulary import new_uuid7

    with tempfile.TemporaryDirectory(prefix="outrider-bench-") as folder:
        policy = OnnxPolicy(graphs_of(None, Path(folder)))
        log = TrajectoryLog.open(Path(folder) / "log.db", clock=SystemClock(), new_id=new_uuid7)
        with closing(log):
            collect_rarely()  # as a farm's workers do
            assignments = assignments_of(max(2 * seats, 128), seed_base, actor="release")
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


def assignments_of(count: int, seed_base: int, *, actor: str) -> Iterator[Assignment]:
    """Assignments over all templates in turn, each with a seed and look of its own."""
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


def _recorded(count: int, seed_base: int) -> list[tuple[Actions, Actions]]:
    """What the oracle, and chance, do in each task."""
    from apps_mock.phone import MockPhone

    phone = MockPhone()
    return [
        (_oracle_actions(phone, task), _random_actions(phone, task))
        for task in _tasks(count, seed_base)
    ]


def _oracle_actions(phone: MockPhone, task: Task) -> Actions:
    """The oracle's actions until it ends the episode."""
    from apps_mock.oracle import next_action
    from sync.vocabulary import ActionKind

    phone.load_task(task)
    actions: list[Action] = []
    while True:
        action = next_action(phone, phone.observe())
        if action.kind in {ActionKind.FINISH, ActionKind.ANSWER}:
            return tuple(actions)
        phone.act(action)
        actions.append(action)


def _random_actions(phone: MockPhone, task: Task) -> Actions:
    """Ten random actions: other screens than the oracle's."""
    from apps_mock.baselines import RandomPolicy
    from device_runtime.ports import PolicyRequest
    from sync.history import EMPTY_HISTORY
    from sync.vocabulary import ActionKind

    policy, random = RandomPolicy(), Random(task.seed)
    phone.load_task(task)
    actions: list[Action] = []
    while len(actions) < RANDOM_STEPS:
        request = PolicyRequest(phone.observe(), task.goal, EMPTY_HISTORY, random)
        action = policy.act(request)
        if action.kind is not ActionKind.FINISH:
            phone.act(action)
            actions.append(action)
    return tuple(actions)


def _play_back(phone: MockPhone, plays: list[tuple[Task, Actions]]) -> int:
    steps = 0
    for task, actions in plays:
        phone.load_task(task)
        for action in actions:
            phone.observe()
            phone.act(action)
        steps += len(actions)
    return steps


def _whole_loops(phone: MockPhone, count: int, seed_base: int) -> int:
    """Oracle episodes with all that belongs to them: drawing, deciding, observing, acting."""
    return sum(len(_oracle_actions(phone, task)) for task in _tasks(count, seed_base))


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

"""How fast a farm plays on one core: clones, encoding, machine and log; with or without a network.

The oracle plays first, so that the same actions can be played back by an actor that costs nothing:
what is left is the farm's own work. With `--base DIR` (exported graphs) the base plays, too.
Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from apps_mock.actors import Actors
from apps_mock.farm import play
from apps_mock.tasks import templates
from device_runtime.policy import OnnxPolicy
from device_runtime.ports import Decided, Phone, Policy, PolicyRequest
from device_runtime.seats import PolicyFor
from device_runtime.trajectory_log import TrajectoryLog
from sync.clock import SystemClock
from sync.vocabulary import Action, Assignment, AssignmentId, Purpose, new_uuid7

BATCH = 8


class PlayedBack:
    """Plays recorded actions, as a policy that wants its input encoded."""

    wants_encoding = True

    def __init__(self, actions: Sequence[Action]) -> None:
        self._actions = list(actions)

    def decide(self, requests: Sequence[PolicyRequest]) -> list[Decided]:
        """The next recorded action; there is one request, for this policy's own seat."""
        return [Decided(self._actions.pop(0)) for _ in requests]


def assignments(count: int) -> list[Assignment]:
    """`count` training tasks, template by template."""
    infos = [template.info() for template in templates()]
    return [
        Assignment(
            AssignmentId(str(seed)),
            template=infos[seed % len(infos)].name,
            seed=seed,
            look=seed,
            actor="oracle",
            purpose=Purpose.EVALUATE,
            step_budget=infos[seed % len(infos)].step_budget + 4,
        )
        for seed in range(count)
    ]


def steps_per_second(items: list[Assignment], policy_for: PolicyFor, *, seats: int) -> float:
    """Steps per CPU second, every episode written to a log as a farm writes it."""
    with tempfile.TemporaryDirectory() as folder:
        clock = SystemClock()
        log = TrajectoryLog.open(Path(folder) / "farm.db", clock=clock, new_id=new_uuid7)
        start = time.process_time()
        waiting = []
        for played in play(items, policy_for, seats=seats):
            waiting.append((played.episode, played.verdicts))
            if len(waiting) >= BATCH:
                log.append_many(waiting)
                waiting = []
        log.append_many(waiting)
        seconds = time.process_time() - start
        steps = log.counts().env_steps
        log.close()
    return steps / seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=300)
    parser.add_argument("--seats", type=int, default=32)
    parser.add_argument("--base", type=Path, help="exported base network")
    options = parser.parse_args()
    items = assignments(options.episodes)
    recorded = {
        item.episode.assignment.id: [step.action for step in item.episode.steps]
        for item in play(items, Actors().policy_for, seats=options.seats)
    }

    def played_back(assignment: Assignment, phone: Phone) -> Policy:
        del phone
        return PlayedBack(recorded[assignment.id])

    value = max(steps_per_second(items, played_back, seats=options.seats) for _ in range(3))
    figures = {"without_network": round(value)}
    if options.base is not None:
        actors = Actors(OnnxPolicy(options.base))
        released = [replace(item, actor="release") for item in items]
        figures["with_network"] = round(
            max(
                steps_per_second(released, actors.policy_for, seats=options.seats) for _ in range(3)
            )
        )
    line = {
        "benchmark": "farm",
        "value": figures["without_network"],
        "unit": "steps per CPU second",
        **figures,
        "seats": options.seats,
        "episodes": options.episodes,
        "machine": platform.processor() or platform.machine(),
        "commit": commit(),
    }
    print(json.dumps(line))


def commit() -> str:
    """The commit that was measured."""
    shown = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return shown.stdout.strip()


if __name__ == "__main__":
    main()

"""How fast clones are: observe + act on one core without pixels, reset, and one screenshot.

Oracle plays are recorded first and then played back, so that only the phone's own work is timed.
Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import time
from collections.abc import Callable

from apps_mock.oracle import next_action
from apps_mock.phone import MockPhone
from apps_mock.tasks import SUITE_VERSION, Task, draw, templates
from sync.vocabulary import Action, ActionKind, Split

Play = tuple[Task, tuple[Action, ...]]


def record(count: int) -> list[Play]:
    """The oracle's actions on `count` tasks, template by template."""
    phone = MockPhone()
    plays: list[Play] = []
    for seed in range(count):
        template = templates()[seed % len(templates())]
        task = phone.load_task(draw(template.name, seed=seed, split=Split.TRAIN, look=seed))
        actions: list[Action] = []
        while (action := next_action(phone, phone.observe())).kind is not ActionKind.FINISH:
            phone.act(action)
            actions.append(action)
        plays.append((task, tuple(actions)))
    return plays


def play_back(plays: list[Play]) -> int:
    """Play what was recorded; returns the number of steps (observe and act)."""
    phone = MockPhone()
    steps = 0
    for task, actions in plays:
        phone.load_task(task)
        for action in actions:
            phone.observe()
            phone.act(action)
            steps += 1
    return steps


def reset_all(count: int) -> int:
    """Draw and set up `count` tasks that were not drawn before."""
    phone = MockPhone()
    for seed in range(count):
        template = templates()[seed % len(templates())]
        phone.load(template.name, 10**6 + seed, Split.TRAIN, seed)
    return count


def seconds_each(work: Callable[[], int]) -> float:
    """CPU seconds per unit of work: the best of three rounds."""
    rounds = []
    for _ in range(3):
        start = time.process_time()
        count = work()
        rounds.append((time.process_time() - start) / count)
    return min(rounds)


def screenshots() -> int:
    """Draw five screens."""
    phone = MockPhone()
    phone.load("tickets_find", 1, Split.TRAIN, 1)
    for _ in range(5):
        phone.screenshot()
    return 5


def commit() -> str:
    """The commit that is measured."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=600)
    count = parser.parse_args().episodes
    plays = record(count)
    print(
        json.dumps(
            {
                "benchmark": "clones",
                "value": round(1 / seconds_each(lambda: play_back(plays))),
                "unit": "steps/s on one core (observe + act, no pixels)",
                "reset_us": round(1e6 * seconds_each(lambda: reset_all(count)), 1),
                "screenshot_ms": round(1e3 * seconds_each(screenshots), 1),
                "episodes": count,
                "suite_version": SUITE_VERSION,
                "machine": platform.machine(),
                "commit": commit(),
            }
        )
    )


if __name__ == "__main__":
    main()

"""Digests of what the tasks are: they change exactly when a draw or what it wants does.

A golden file holds them beside the suite's version. A test fails where digests changed and the
version did not, since figures of different tasks must never look alike. To take a change over, let
`SUITE_VERSION` rise and rewrite the file:

    python -m apps_mock.task_digests --write
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final

from apps_mock.catalogue import LOCALES, say
from apps_mock.digests import StateHasher
from apps_mock.look import look_number
from apps_mock.tasks import SUITE_VERSION, Task, draw, template_of, templates
from apps_mock.verifiers import VERIFIER_VERSION
from sync.vocabulary import Split

GOLDEN: Final = Path(__file__).parent.parent / "tests" / "golden" / "tasks.json"
COMMAND: Final = "python -m apps_mock.task_digests --write"
_SEEDS: Final = range(2)


def version() -> str:
    """The suite's version with the verifiers'."""
    return f"{SUITE_VERSION}.{VERIFIER_VERSION}"


def task_digests() -> dict[str, str]:
    """Per template, a digest (16 hex digits) of its phrasings and of some draws of every split."""
    return {template.name: template_digest(template.name) for template in templates()}


def template_digest(name: str) -> str:
    """The digest of one template."""
    template = template_of(name)
    phrasings = (*template.phrasings, *template.held_out)
    said = [say(phrasing, locale) for phrasing in phrasings for locale in LOCALES]
    whole = hashlib.sha256(repr((template.step_budget, template.tags, said)).encode())
    hasher = StateHasher()
    for number, (split, seed) in enumerate(product(Split, _SEEDS)):
        look = look_number(LOCALES[number % len(LOCALES)], seed)
        task = draw(template.name, seed=seed, split=split, look=look)
        whole.update(_task_digest(task, hasher))
    return whole.hexdigest()[:16]


def _task_digest(task: Task, hasher: StateHasher) -> bytes:
    parts = (task.goal, hasher.digest(task.state), task.wanted)
    return hashlib.sha256(repr(parts).encode()).digest()


def golden() -> dict[str, Any]:  # Any: JSON
    """What the golden file holds: `version` and `templates`."""
    held: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return held


def write() -> None:
    """Rewrite the golden file."""
    held = {"version": version(), "templates": task_digests()}
    GOLDEN.write_text(json.dumps(held, indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare with the golden file, or rewrite it; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m apps_mock.task_digests", description=__doc__)
    parser.add_argument("--write", action="store_true", help="rewrite the golden file")
    if parser.parse_args(arguments).write:
        write()
        return 0
    found = changes(golden(), task_digests())
    sys.stdout.write("".join(f"{line}\n" for line in found))
    return 1 if found else 0


def changes(held: dict[str, Any], now: dict[str, str]) -> list[str]:  # Any: JSON
    """One line per template whose tasks are not those of the golden file."""
    before: dict[str, str] = held["templates"]
    return [
        *(f"{name} is new" for name in now if name not in before),
        *(f"{name} is gone" for name in before if name not in now),
        *(f"{name} changed" for name in now if before.get(name, now[name]) != now[name]),
    ]


if __name__ == "__main__":
    raise SystemExit(main())

"""Success per template: a base beside the lexical, random and oracle policies, on the same tasks.

Every policy plays the same test instances (entities, goals and looks that training never has).
Appends one row to the ledger, with a line per template in it, and prints it as one JSON line.

    python benchmarks/bench_templates.py --base data/base --n 5160
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from outrider import ledger

POLICIES = ("base", "lexical", "random", "oracle")


def main() -> None:
    """Play what every policy makes of every template, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--suite", default="all")
    parser.add_argument("--n", type=int, default=5160, help="episodes over all templates")
    parser.add_argument("--seed-base", type=int, default=4_000_000_000)
    parser.add_argument("--commit", default=None)
    arguments = parser.parse_args()
    card = json.loads((arguments.base / "card.json").read_text("utf-8"))
    played = {policy: _play(policy, arguments) for policy in POLICIES}
    row = {
        "benchmark": "templates",
        "key": {"commit": arguments.commit or ledger.commit(), "base": card["command"]},
        "command": _command("base", arguments),
        "machine": ledger.MACHINE,
        "cpu_s": card["cpu_s"],
        "test": {policy: _headline(rows[-1]) for policy, rows in played.items()},
        "templates": _per_template(played),
    }
    print(ledger.keep(row))


def _command(policy: str, arguments: argparse.Namespace) -> str:
    words = f"outrider eval --suite {arguments.suite} --n {arguments.n}"
    words += f" --seed-base {arguments.seed_base} --held-out --json"
    return words + (" --base DIR" if policy == "base" else f" --policy {policy}")


def _play(policy: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The lines that `outrider eval` prints: one per template, then the summary."""
    words = _command(policy, arguments).replace("DIR", str(arguments.base)).split()[1:]
    done = subprocess.run(
        [sys.executable, "-m", "outrider", *words], stdout=subprocess.PIPE, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def _headline(summary: dict[str, Any]) -> dict[str, Any]:
    kept = ("n", "success", "ci95", "env_errors", "valid", "set_aside", "by")
    return {name: summary[name] for name in kept}


def _per_template(played: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """For each template its n, and the success of every policy."""
    found: dict[str, dict[str, Any]] = {}
    for policy, rows in played.items():
        for row in rows[:-1]:
            own = found.setdefault(row["template"], {"n": row["n"]})
            own[policy] = row["success"]
    return found


if __name__ == "__main__":
    main()

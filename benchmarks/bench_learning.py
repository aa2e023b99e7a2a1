"""Runs `outrider up`, whose app is new to the base, for seeds and learners; rows of the ledger.

Resumable: a row that is in the ledger (same commit, learner, seed and steps) is not run again, and
a folder with a finished campaign is read instead of played. Prints one JSON line: means over seeds.

    python benchmarks/bench_learning.py --seeds 1 2 3 --learners a_ride bc --folder data/bench
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import mean
from typing import Any

from outrider import ledger

MINUTES = 30


def main() -> None:
    """Run what is missing, append it to the ledger, print the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--learners", nargs="+", default=["a_ride", "bc"])
    parser.add_argument("--env-steps", type=int, default=30_000)
    parser.add_argument("--learner-cpu-s", type=float, help="budget of the control arm")
    parser.add_argument("--folder", type=Path, default=Path("data/bench"))
    parser.add_argument("--commit", help="commit of runs that are finished already")
    arguments = parser.parse_args()
    commit = arguments.commit or ledger.commit()
    rows = []
    for learner in arguments.learners:
        for seed in arguments.seeds:
            key = {"commit": commit, "learner": learner, "seed": seed, "steps": arguments.env_steps}
            row = _known(key) or _run(key, arguments)
            rows.append(row)
    print(json.dumps({"benchmark": "learning", "arms": _means(rows), "commit": commit}))


def _known(key: dict[str, Any]) -> dict[str, Any] | None:
    """The ledger's row with this key."""
    for row in ledger.rows():
        if row.get("benchmark") == "learning" and row.get("key") == key:
            return row
    return None


def _run(key: dict[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    folder = arguments.folder / f"{key['learner']}-s{key['seed']}"
    words = ["up", "--env-steps", str(key["steps"]), "--minutes", str(MINUTES)]
    words += ["--seed", str(key["seed"]), "--learner", key["learner"], "--json"]
    if key["learner"] == "bc" and arguments.learner_cpu_s:
        words += ["--learner-cpu-s", str(arguments.learner_cpu_s)]
    command = [sys.executable, "-m", "outrider", *words, "--data", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    row = row_of(key, words, json.loads(done.stdout.strip().splitlines()[-1]))
    ledger.keep(row)
    return row


def row_of(key: dict[str, Any], words: list[str], summary: dict[str, Any]) -> dict[str, Any]:
    """The ledger's row for one finished run."""
    kept = ("test", "old_apps", "env_errors", "env_steps", "learner_cpu_s", "active_s", "valid")
    releases = summary["releases"]
    return {
        "benchmark": "learning",
        "key": key,
        "command": "outrider " + " ".join(words),
        "machine": ledger.MACHINE,
        **{name: summary[name] for name in kept},
        "releases": {name: releases[name] for name in ("published", "promoted", "reverted")},
        "episodes": summary["episodes"],
        "validation_curve": [(point["env_steps"], point["success"]) for point in summary["curve"]],
    }


def _means(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Per learner: means over seeds of success before and after, and the smallest gain."""
    arms: dict[str, dict[str, Any]] = {}
    for learner in dict.fromkeys(row["key"]["learner"] for row in rows):
        own = [row for row in rows if row["key"]["learner"] == learner]
        gains = [row["test"]["after"]["success"] - row["test"]["before"]["success"] for row in own]
        old = [
            row["old_apps"]["after"]["success"] - row["old_apps"]["before"]["success"]
            for row in own
        ]
        arms[learner] = {
            "seeds": [row["key"]["seed"] for row in own],
            "n": [row["test"]["after"]["n"] for row in own],
            "before": round(mean(row["test"]["before"]["success"] for row in own), 4),
            "after": round(mean(row["test"]["after"]["success"] for row in own), 4),
            "gain": round(mean(gains), 4),
            "smallest_gain": round(min(gains), 4),
            "old_apps_change": round(mean(old), 4),
            "lexical": round(mean(row["test"]["lexical"]["success"] for row in own), 4),
            "learner_cpu_s": round(mean(row["learner_cpu_s"] for row in own), 1),
        }
    return arms


if __name__ == "__main__":
    main()

"""The ledger of what was measured: one JSON line a row, only ever added to."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

LEDGER = Path(__file__).parent / "ledger.jsonl"
MACHINE = f"{os.cpu_count()} cores, {platform.machine()}"


def rows() -> list[dict[str, Any]]:
    """Every row, the oldest first."""
    lines = LEDGER.read_text(encoding="utf-8").splitlines() if LEDGER.exists() else []
    return [json.loads(line) for line in lines]


def keep(row: dict[str, Any]) -> str:
    """Add a row; returns its line."""
    line = json.dumps(row)
    with LEDGER.open("a", encoding="utf-8") as ledger:
        ledger.write(line + "\n")
    return line


def commit() -> str:
    """The commit that is measured, in short."""
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.strip()

"""The ledger of what was measured: one JSON line a row, only ever added to."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

Row = dict[str, Any]  # Any: figures of several kinds

LEDGER = Path("benchmarks") / "ledger.jsonl"
"""Where it lies in a checkout."""

MACHINE = f"{os.cpu_count()} cores, {platform.machine()}"


def rows(ledger: Path = LEDGER) -> list[Row]:
    """Every row, the oldest first; a line that a killed process did not finish is none."""
    if not ledger.exists():
        return []
    lines = ledger.read_text(encoding="utf-8").splitlines()
    return [row for line in lines if (row := _row_of(line)) is not None]


def keep(row: Row, ledger: Path = LEDGER) -> str:
    """Add a row; returns its line."""
    line = json.dumps(row)
    ledger.parent.mkdir(parents=True, exist_ok=True)
    with ledger.open("ab+") as stream:
        stream.seek(0, os.SEEK_END)
        if stream.tell():
            stream.seek(-1, os.SEEK_END)
            broken = stream.read(1) != b"\n"
            stream.write(b"\n" * broken)
        stream.write(f"{line}\n".encode())
    return line


def _row_of(line: str) -> Row | None:
    try:
        row: Row = json.loads(line)
    except ValueError:
        return None
    return row


def commit() -> str:
    """The commit that is measured, in short; "unknown" outside of a checkout."""
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"

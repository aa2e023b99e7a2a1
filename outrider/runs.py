"""Where data lies when nobody names a folder: runs are numbered below `data/`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

RUNS = Path("data")

Data = Annotated[
    Path | None,
    typer.Option("--data", help="Folder that holds everything of a fleet; newest run if not set."),
]


def numbered_runs(runs: Path = RUNS) -> list[Path]:
    """The runs below `runs`, oldest first."""
    return sorted(path for path in runs.glob("run-*") if path.name[4:].isdecimal())


def data_folder(data: Path | None) -> Path:
    """The folder that was named, else the newest run, else `data` itself."""
    if data is not None:
        return data
    found = numbered_runs()
    return found[-1] if found else RUNS

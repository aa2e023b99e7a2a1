"""Options that many commands share, so that they read alike everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from outrider.errors import MisuseError

Json = Annotated[bool, typer.Option("--json", help="One JSON object a line on stdout.")]
DataDir = Annotated[Path, typer.Option("--data", help="Folder that holds everything of a fleet.")]
PhoneDir = Annotated[Path, typer.Option("--phone", help="Folder of one phone's log and releases.")]


def chosen_parts(given: str, known: Sequence[str]) -> list[str]:
    """The parts of a benchmark that `--parts` names, with commas between them.

    Raises: MisuseError: it names one that there is not, or none.
    """
    wanted = [part.strip() for part in given.split(",") if part.strip()]
    unknown = sorted(set(wanted) - set(known))
    if unknown or not wanted:
        raise MisuseError(f"no part is called {unknown or 'nothing'}: choose of {', '.join(known)}")
    return wanted

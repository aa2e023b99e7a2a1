"""Options that many commands share, so that they read alike everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="One JSON object a line on stdout.")]
DataDir = Annotated[Path, typer.Option("--data", help="Folder that holds everything of a fleet.")]
PhoneDir = Annotated[Path, typer.Option("--phone", help="Folder of one phone's log and releases.")]

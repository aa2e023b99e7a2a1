"""Options that many commands share, so that they read alike everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from outrider.errors import MisuseError

Json = Annotated[bool, typer.Option("--json", help="One JSON object a line on stdout.")]
DataDir = Annotated[Path, typer.Option("--data", help="Folder that holds everything of a fleet.")]
PhoneDir = Annotated[Path, typer.Option("--phone", help="Folder of one phone's log and releases.")]


class QuantisationChoice(Enum):
    """How a policy's graphs compute their large products."""

    FP32 = "fp32"
    INT8 = "int8"

    @property
    def graphs(self) -> Literal["fp32", "int8"]:
        """As `device_runtime.policy` calls it."""
        return "int8" if self is QuantisationChoice.INT8 else "fp32"


Quantisation = Annotated[
    QuantisationChoice,
    typer.Option("--quantisation", help="The base's graphs: fp32, or int8 (faster where large)."),
]


def fleet_option(help_text: str) -> Any:  # typer.Option's own type
    """The option --fleet; what cannot be a level of a topic is misuse."""
    return typer.Option("--fleet", help=help_text, callback=_checked_fleet)


def _checked_fleet(name: str | None) -> str | None:
    from sync.topics import check_name

    if name is not None:
        try:
            check_name(name, "fleet")
        except ValueError as error:
            raise MisuseError(str(error)) from error
    return name


def chosen_parts(given: str, known: Sequence[str]) -> list[str]:
    """The parts of a benchmark that `--parts` names, with commas between them.

    Raises: MisuseError: it names one that there is not, or none.
    """
    wanted = [part.strip() for part in given.split(",") if part.strip()]
    unknown = sorted(set(wanted) - set(known))
    if unknown or not wanted:
        raise MisuseError(f"no part is called {unknown or 'nothing'}: choose of {', '.join(known)}")
    return wanted

"""`--app-file`: an app of one's own for every command about clones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.errors import MisuseError

if TYPE_CHECKING:
    from apps_mock.templates import Template

AppFile = Annotated[
    Path | None, typer.Option("--app-file", help="A .py file with an app of your own.")
]


def take_in(path: Path | None) -> tuple[Template, ...]:
    """Run the file and take its app in; returns its templates, none where no file is named.

    Raises: MisuseError: it is no such file, or lacks something.
    """
    from apps_mock.user_files import add_app
    from device_runtime.errors import UnknownTaskError
    from sync.errors import RejectedError

    if path is None:
        return ()
    try:
        return add_app(path)
    except (RejectedError, UnknownTaskError) as error:
        raise MisuseError(str(error)) from error


def require_look(look: int) -> None:
    """Nothing where there is a look of that number.

    Raises: MisuseError: it lies below 0, or beyond the last locale's stretch.
    """
    from apps_mock.catalogue import LOCALES
    from apps_mock.look import LOCALE_STRIDE

    end = LOCALE_STRIDE * len(LOCALES)
    if not 0 <= look < end:
        raise MisuseError(
            f"--look is {look}; give 0 to {end - 1} (a stretch of {LOCALE_STRIDE} numbers for each "
            f"of {', '.join(LOCALES)})"
        )

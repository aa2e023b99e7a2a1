"""`outrider clones new`: a file with an app of one's own, to go on from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output


def new_app(
    name: Annotated[str, typer.Argument(help="The app's name, such as pantry.")],
    *,
    folder: Annotated[
        Path, typer.Option("--folder", help="Where its files go; made where it is missing.")
    ] = Path(),
    json: Json = False,
) -> None:
    """Write a working app with one task that passes every gate, and its translations."""
    from apps_mock.errors import AppNameError
    from apps_mock.scaffold import write_app

    try:
        app, texts = write_app(name, folder)
    except AppNameError as error:
        raise MisuseError(str(error)) from error
    except OSError as error:
        reason = error.strerror or error
        raise MisuseError(
            f"{folder} cannot hold the app's files ({reason}); name another --folder"
        ) from error
    out = Output(json_lines=json)
    out.note(f"Change {app} and {texts} as you like; after each change run")
    out.note(f"  outrider clones check --app-file {app}")
    out.summary(app=str(app), translations=str(texts))

"""`outrider clones play`: a page on this machine on which a person plays a clone."""

from __future__ import annotations

from typing import Annotated

import typer

from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output
from outrider.own_apps import AppFile, require_look, take_in
from sync.vocabulary import Split


def play(
    app: Annotated[str, typer.Argument(help="An app; its task number SEED is drawn.")] = "",
    *,
    task: Annotated[str, typer.Option("--task", help="A template instead of an app.")] = "",
    seed: Annotated[int, typer.Option("--seed", help="Which task of the template.")] = 0,
    split: Annotated[Split, typer.Option("--split", help="Whose names and words.")] = Split.TRAIN,
    look: Annotated[int, typer.Option("--look", help="Number of the look.")] = 0,
    port: Annotated[int, typer.Option("--port", help="Where to listen; 0 takes any.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser.")] = False,
    app_file: AppFile = None,
    json: Json = False,
) -> None:
    """Play a clone with mouse and keyboard on a page of this machine, until Ctrl-C."""
    from outrider.clones_play_server import PlayServer
    from outrider.clones_play_session import PlaySession

    if seed < 0:
        raise MisuseError(f"--seed is {seed}; give a number from 0 on")
    require_look(look)
    if not 0 <= port < 65536:
        raise MisuseError(f"--port is {port}; give a number from 0 to 65535")
    own = take_in(app_file)
    if own and not app and not task:
        app = own[0].app
    session = PlaySession(template_for(app, task, seed), seed=seed, split=split, look=look)
    server = PlayServer(session, port=port)
    output = Output(json_lines=json)
    server.start()
    try:
        output.event("listening", url=server.url, port=server.port)
        output.event("task", template=session.template, seed=seed, look=look, goal=session.goal)
        output.note("Ctrl-C ends it")
        if not no_browser:
            _open_browser(server.url)
        server.wait()
    except KeyboardInterrupt:
        output.summary(**session.outcome())
    finally:
        server.stop()


def template_for(app: str, task: str, seed: int) -> str:
    """The name of the template that shall be played.

    Raises: MisuseError: no such app or template, or neither or both are named.
    """
    from apps_mock.tasks import template_of, templates
    from device_runtime.errors import UnknownTaskError

    if task:
        try:
            name = template_of(task).name
        except UnknownTaskError as error:
            raise MisuseError(str(error)) from error
        if app:
            raise MisuseError(f"{app} and --task {task} are both given; leave {app} out")
        return name
    if not app:
        raise MisuseError("name an app, or a template with --task; `outrider clones list` has both")
    own = [each for each in templates() if each.app == app and "cross_app" not in each.tags]
    if not own:
        apps = dict.fromkeys(each.app for each in templates())
        raise MisuseError(f"no app is called {app!r}; there are {', '.join(apps)}")
    return own[seed % len(own)].name


def _open_browser(url: str) -> None:
    """Show the page, where there is a browser."""
    import webbrowser

    webbrowser.open(url)

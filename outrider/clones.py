"""`outrider clones …`: the clones of apps, and the tasks that they set."""

from __future__ import annotations

from typing import Annotated

import typer

from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output
from outrider.own_apps import AppFile, take_in


def list_templates(
    *,
    suite: Annotated[str, typer.Option("--suite", help="Only the templates of one suite.")] = "",
    app_file: AppFile = None,
    json: Json = False,
) -> None:
    """List the task templates; with an app of one's own, its templates alone."""
    from apps_mock.tasks import suites, templates

    own = take_in(app_file)
    if suite and suite not in suites():
        raise MisuseError(f"no suite is called {suite!r}; there are {', '.join(suites())}")
    out = Output(json_lines=json)
    chosen = own if own and not suite else templates()
    infos = [one.info() for one in chosen if not suite or one.belongs_to(suite)]
    rows = [
        {
            "template": info.name,
            "app": info.app,
            "suite": info.suite,
            "tags": info.tags,
            "oracle_steps": info.oracle_steps,
            "step_budget": info.step_budget,
        }
        for info in infos
    ]
    named = [suite] if suite else [info.suite for info in infos] if own else suites()
    count = out.rows("template", rows, title="Templates")
    out.summary(templates=count, suites=list(dict.fromkeys(named)))

"""`outrider clones …`: the clones of apps, and the tasks that they set."""

from __future__ import annotations

from typing import Annotated

import typer

from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output


def list_templates(
    *,
    suite: Annotated[str, typer.Option("--suite", help="Only the templates of one suite.")] = "",
    json: Json = False,
) -> None:
    """List the task templates."""
    from apps_mock.tasks import suites, templates

    if suite and suite not in suites():
        raise MisuseError(f"no suite is called {suite!r}; there are {', '.join(suites())}")
    out = Output(json_lines=json)
    infos = [one.info() for one in templates() if not suite or one.belongs_to(suite)]
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
    count = out.rows("template", rows, title="Templates")
    out.summary(templates=count, suites=[suite] if suite else list(suites()))

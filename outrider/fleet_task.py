"""`outrider fleet task|tasks|cancel`: something to do for devices, done once each."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated

import typer

from outrider.errors import CommandError, MisuseError
from outrider.fleet_access import (
    Api,
    Authority,
    Database,
    DataDir,
    Devices,
    Everyone,
    Json,
    Token,
    Url,
    Where,
    fleet_api,
    named,
    which,
)
from outrider.fleet_wait import wait_for
from outrider.options import Json as JsonLines
from outrider.output import Output

_HOUR_S = 3600.0
_ENDED = frozenset({"done", "refused", "cancelled"})


def give_task(
    *,
    device: Devices = None,
    where: Where = "",
    everyone: Everyone = False,
    goal: Annotated[str, typer.Option("--goal", help="What to do, in words.")] = "",
    template: Annotated[
        str, typer.Option("--template", help="Or a template's task, for mock phones.")
    ] = "",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Which task of the template.")] = 0,
    actor: Annotated[
        str, typer.Option("--actor", help="Who acts: release, or oracle, lexical, … on mocks.")
    ] = "release",
    steps: Annotated[
        int | None, typer.Option("--steps", min=1, help="Most actions; the template's own, or 30.")
    ] = None,
    hours: Annotated[
        float, typer.Option("--within", min=0.001, help="Hours that it may wait for its device.")
    ] = 24.0,
    wait_s: Annotated[
        float, typer.Option("--wait", min=0.0, help="Seconds to wait for the results; 0 not.")
    ] = 0.0,
    data: DataDir = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    json: JsonLines = False,
) -> None:
    """Give devices something to do; each does it once, however often it is told.

    With --wait the exit code is 1 unless every device did it in time.
    """
    if bool(goal.strip()) == bool(template):
        raise MisuseError('say what to do: --goal "…", or --template T')
    chosen = which(device, where, everyone=everyone)
    order = {
        "goal": goal,
        "template": template,
        "seed": seed,
        "actor": actor,
        "step_budget": steps or 0,
        "deadline_s": hours * _HOUR_S,
    }
    out = Output(json_lines=json)
    with fleet_api(data=data, database=database, url=url, token=token, authority=authority) as api:
        given = api.post("/v1/fleet/tasks", {"which": chosen, "order": order})
        task_id = given["task_id"]
        out.event("given", task_id=task_id, devices=len(given["devices"]))
        rows = _followed(api, task_id, wait_s, out) if wait_s else []
    states = [row["state"] for row in rows]
    out.summary(
        task_id=task_id,
        devices=len(given["devices"]),
        done=states.count("done"),
        succeeded=sum(row["success"] is True for row in rows),
        refused=states.count("refused"),
        waiting=len(given["devices"]) - sum(state in _ENDED for state in states),
    )
    if wait_s and states.count("done") < len(given["devices"]):
        raise CommandError(f"not every device did it: outrider fleet tasks {task_id}")


def list_tasks(
    task_id: Annotated[
        str | None, typer.Argument(metavar="[TASK]", help="One task; without it the newest.")
    ] = None,
    *,
    device: Annotated[str, typer.Option("--device", help="Only this device's.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Most of them.")] = 50,
    data: DataDir = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    json: JsonLines = False,
) -> None:
    """List what devices were given to do, and what came of it."""
    out = Output(json_lines=json)
    with fleet_api(data=data, database=database, url=url, token=token, authority=authority) as api:
        if task_id is not None:
            rows = api.get(f"/v1/fleet/tasks/{named(task_id)}")["devices"]
        else:
            rows = api.get("/v1/fleet/tasks", device_id=device, limit=limit)
    if json:
        out.rows("task", rows)
    else:
        _show(rows, out)
    out.summary(tasks=len(rows))


def cancel_task(
    task_id: Annotated[str, typer.Argument(metavar="TASK", help="The task's id.")],
    *,
    data: DataDir = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    json: JsonLines = False,
) -> None:
    """Let a task go where it was not begun; what is being done is done to its end."""
    out = Output(json_lines=json)
    with fleet_api(data=data, database=database, url=url, token=token, authority=authority) as api:
        said = api.post(f"/v1/fleet/tasks/{named(task_id)}/cancellation", {})
    out.summary(task_id=task_id, cancelled=said["cancelled"])


def _followed(api: Api, task_id: str, wait_s: float, out: Output) -> list[Json]:
    """Show each device's steps on the way as they come, until all ended or the time is up."""
    known: dict[str, str] = {}

    def look() -> Json:
        said: Json = api.get(f"/v1/fleet/tasks/{named(task_id)}")
        for row in said["devices"]:
            if known.get(row["device_id"]) != row["state"]:
                known[row["device_id"]] = row["state"]
                out.event("task", **(row if out.json_lines else _short(row)))
        return said

    return list(wait_for(look, lambda said: bool(said["ended"]), wait_s=wait_s)["devices"])


def _show(rows: list[Json], out: Output) -> None:
    """A table for each task, under its id, which `fleet cancel` takes."""
    if not rows:
        out.note("Tasks: none")
    for task_id, of_task in groupby(rows, key=lambda row: str(row["task_id"])):
        out.rows("task", [_short(row) for row in of_task], title=task_id)


def _short(row: Json) -> dict[str, object]:
    return {
        "device": row["device_id"],
        "task": row["goal"] or row["template"],
        "state": row["state"],
        "success": row["success"],
        "steps": row["steps"],
        "detail": row["detail"] or row["end_reason"] or "",
    }

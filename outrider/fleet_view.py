"""`outrider fleet list|show|watch`: which devices there are, how they do, and what changes."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from outrider.fleet_access import (
    Api,
    Authority,
    Database,
    DataDir,
    Json,
    Token,
    Url,
    Where,
    fleet_api,
    named,
)
from outrider.fleet_rows import PAGE, note, pages, short, whole
from outrider.options import Json as JsonLines
from outrider.output import Output

SHOWN = 200
_LOOK_S = 0.5


def list_devices(
    *,
    where: Where = "",
    limit: Annotated[
        int, typer.Option("--limit", min=0, help="Most devices in the table; 0 shows all.")
    ] = SHOWN,
    data: DataDir = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    json: JsonLines = False,
) -> None:
    """List devices, all or those that a filter finds; --json gives all of them whole."""
    out = Output(json_lines=json)
    table: list[dict[str, object]] = []
    count = online = alarms = 0
    with fleet_api(data=data, database=database, url=url, token=token, authority=authority) as api:
        for row in pages(api, where):
            count += 1
            online += row["online"]
            alarms += bool(row["alarm"])
            if json:
                out.event("device", **row)
            elif not limit or count <= limit:
                table.append(short(row))
    if not json:
        out.rows("device", table, title="Devices")
        if count > len(table):
            out.note(f"and {count - len(table)} more: narrow with --where, or --limit 0")
    out.summary(devices=count, online=online, alarms=alarms)


def show_device(
    name: Annotated[str, typer.Argument(metavar="DEVICE", help="The device's name.")],
    *,
    data: DataDir = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    json: JsonLines = False,
) -> None:
    """Show one device whole: what it is, how it does, how it is set, its last tasks."""
    out = Output(json_lines=json)
    with fleet_api(data=data, database=database, url=url, token=token, authority=authority) as api:
        row = api.get(f"/v1/fleet/devices/{named(name)}")
        tasks = api.get("/v1/fleet/tasks", device_id=name, limit=10)
    if json:
        out.event("device", **row)
        for task in tasks:
            out.event("task", **task)
    else:
        said = note(row)
        out.note(f"{row['device_id']}: {said}" if said else row["device_id"])
        for topic, facts in whole(row).items():
            out.event(topic, **facts)
        out.rows("task", [_short_task(task) for task in tasks], title="Last tasks")
    out.summary(device_id=name, online=row["online"], tasks=len(tasks))


def watch_devices(
    *,
    where: Where = "",
    seconds: Annotated[
        float | None, typer.Option("--for", min=0.0, help="End after so many seconds.")
    ] = None,
    data: DataDir = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    json: JsonLines = False,
) -> None:
    """Show what changes on the fleet as it comes, until Ctrl-C."""
    from outrider.interrupts import stop_on_interrupt

    out = Output(json_lines=json)
    changes = 0
    with (
        stop_on_interrupt() as stop,
        fleet_api(data=data, database=database, url=url, token=token, authority=authority) as api,
    ):
        revision = int(api.get("/v1/fleet/changes", after=-1)["revision"])
        out.event("watching", revision=revision)
        deadline_s = float("inf") if seconds is None else time.monotonic() + seconds
        while not stop.is_set() and time.monotonic() < deadline_s:
            rows, revision = _changed(api, revision, where)
            for row in rows:
                changes += 1
                out.event("changed", **(row if json else _line(row)))
            stop.wait(_LOOK_S)
    out.summary(changes=changes)


def _changed(api: Api, revision: int, where: str) -> tuple[list[Json], int]:
    """Devices that changed since a revision and meet the filter, and the revision reached."""
    said = api.get("/v1/fleet/changes", after=revision, where=where, limit=PAGE)
    return said["devices"], int(said["revision"])


def _line(row: Json) -> dict[str, object]:
    """A change for a person: what `list` shows, without what is empty."""
    return {name: value for name, value in short(row).items() if value not in ("", "-")}


def _short_task(task: Json) -> dict[str, object]:
    return {
        "task": task["goal"] or task["template"],
        "state": task["state"],
        "success": task["success"],
        "steps": task["steps"],
        "detail": task["detail"],
    }

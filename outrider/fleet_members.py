"""`outrider fleet invite|rotate|revoke`: who belongs to a fleet, and by which credentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from outrider.asking import answered_yes, is_at_terminal
from outrider.errors import CommandError, MisuseError
from outrider.fleet import labels_of
from outrider.fleet_access import (
    Api,
    Authority,
    Database,
    DataDir,
    Json,
    Token,
    Url,
    fleet_api,
    named,
)
from outrider.fleet_wait import wait_for
from outrider.options import Json as JsonLines
from outrider.output import Output

_ANSWER_S = 120.0
Device = Annotated[str, typer.Argument(metavar="DEVICE", help="The device's name.")]


def invite(
    *,
    count: Annotated[int, typer.Option("--count", min=1, max=1000, help="How many tokens.")] = 1,
    minutes: Annotated[
        float, typer.Option("--minutes", min=0.01, max=10_080.0, help="How long they hold.")
    ] = 60.0,
    attribute: Annotated[
        list[str] | None,
        typer.Option("--attribute", help="A label of the phones that come: site=lab; repeatable."),
    ] = None,
    data: DataDir = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    json: JsonLines = False,
) -> None:
    """Make claim tokens: each lets one phone into the fleet, once. They are shown only now."""
    labels = {name: value for name, value in labels_of(attribute or []).items() if value}
    out = Output(json_lines=json)
    body = {"count": count, "minutes": minutes, "labels": labels}
    with fleet_api(data=data, database=database, url=url, token=token, authority=authority) as api:
        claims = api.post("/v1/fleet/invitations", body)
    for claim in claims:
        out.event("invitation", **claim)
    out.note(f"use each within {minutes:g} minutes: outrider phone enroll --url … --token …")
    out.summary(invitations=len(claims), minutes=minutes, labels=labels)


def rotate(
    name: Device,
    *,
    days: Annotated[
        float,
        typer.Option("--days", min=0.0, help="After which the old ones end, taken or not."),
    ] = 7.0,
    wait_s: Annotated[
        float, typer.Option("--wait", min=0.0, help="Seconds to wait until it uses them.")
    ] = 10.0,
    data: DataDir = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    json: JsonLines = False,
) -> None:
    """Give a device new credentials; the old ones hold until it has the new, or for some days."""
    out = Output(json_lines=json)
    with fleet_api(data=data, database=database, url=url, token=token, authority=authority) as api:
        version = api.post(f"/v1/fleet/devices/{named(name)}/rotation", {"days": days})["version"]
        row = _until(api, name, wait_s, lambda row: not row["rotating"])
    out.summary(device_id=name, version=version, used=not row["rotating"])


def revoke(
    name: Device,
    *,
    reason: Annotated[str, typer.Option("--reason", help="Why; it is kept.")] = "",
    forget_data: Annotated[
        bool, typer.Option("--forget-data", help="Train on nothing that it ever sent.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would become of it, and do nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    wait_s: Annotated[
        float, typer.Option("--wait", min=0.0, help="Seconds to wait until it is locked out.")
    ] = 10.0,
    data: DataDir = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    json: JsonLines = False,
) -> None:
    """Let a device in no more, for good: its connection ends, and what it sends is refused."""
    out = Output(json_lines=json)
    path = f"/v1/fleet/devices/{named(name)}/revocation"
    with fleet_api(data=data, database=database, url=url, token=token, authority=authority) as api:
        preview = api.get(path)
        out.event("would_revoke", **preview, data_excluded=forget_data)
        if dry_run:
            out.summary(device_id=name, revoked=False, dry_run=True)
            return
        if not yes:
            _require_yes(name)
        api.post(path, {"reason": reason, "forget_data": forget_data})
        row = _until(api, name, wait_s, lambda row: not row["pending"])
    out.summary(
        device_id=name,
        revoked=True,
        locked_out=not row["pending"],
        exclude_from_training=row["exclude_from_training"],
        episodes=preview["episodes"],
    )


def _until(api: Api, name: str, wait_s: float, holds: Callable[[Json], bool]) -> Json:
    """A device as soon as something holds of it, or when the time is up."""
    return wait_for(lambda: api.get(f"/v1/fleet/devices/{named(name)}"), holds, wait_s=wait_s)


def _require_yes(name: str) -> None:
    """Nothing where somebody at a terminal agrees.

    Raises: MisuseError: nobody is there; CommandError: the answer is no.
    """
    if not is_at_terminal():
        raise MisuseError("revoking cannot be taken back: add --yes, or look with --dry-run")
    if not answered_yes(f"Revoke {name} for good?", timeout_s=_ANSWER_S, stopped=lambda: False):
        raise CommandError("nothing was done")

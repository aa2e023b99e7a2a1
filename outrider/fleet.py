"""`outrider fleet set|label|stop|start`: what an operator changes on devices from afar."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.cloud_database import has_database
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
    which,
)
from outrider.fleet_rows import devices_of
from outrider.fleet_wait import wait_for
from outrider.options import Json as JsonLines
from outrider.output import Output
from outrider.phone_stop import (
    LISTEN_S,
    Broker,
    Credentials,
    Fleet,
    owner_address,
    owner_connection,
)

if TYPE_CHECKING:
    from sync.messages import SettingValue
    from sync.owner_client import KnownSettings, OwnerClient
    from sync.settings_change import SettingsChange

_LOOK_S = 0.2
_HOUR_MS = 3_600_000
_LONGEST_H = 87_600.0  # ten years
Wait = Annotated[
    float, typer.Option("--wait", min=0.0, help="Seconds to wait for the devices' answers.")
]


def set_devices(
    pairs: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY=VALUE…",
            help="What to set: temperature=0.5; KEY= gives the device's own value back.",
        ),
    ],
    *,
    device: Devices = None,
    where: Where = "",
    everyone: Everyone = False,
    data: DataDir = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    broker: Broker = None,
    credentials: Credentials = None,
    fleet: Fleet = "home",
    wait_s: Wait = 5.0,
    json: JsonLines = False,
) -> None:
    """Set something on phones and farms from afar; who is away hears of it on coming back.

    The device checks what it is told, and says which version it took and what it refused. A fleet
    without a cloud is set over its broker, as the devices' owner.
    """
    values = _values_of(pairs)
    out = Output(json_lines=json)
    if url is None and (broker is not None or not has_database(data, database)):
        if where:
            raise MisuseError("--where needs the cloud: --url URL --token TOKEN, or its --data")
        rows = _set_over_broker(
            values, device or [], everyone=everyone, wait_s=wait_s,
            address=(data, broker, credentials), fleet=fleet,
        )  # fmt: skip
    else:
        chosen = which(device, where, everyone=everyone)
        with fleet_api(
            data=data, database=database, url=url, token=token, authority=authority
        ) as api:
            rows = _set_over_api(api, chosen, values, wait_s=wait_s)
    for row in rows:
        out.event("setting", **row)
    refused = [row["device_id"] for row in rows if row["refused"]]
    waiting = [row["device_id"] for row in rows if not row["taken"]]
    out.summary(devices=len(rows), taken=len(rows) - len(waiting), refused=refused, waiting=waiting)
    if refused:
        raise CommandError(f"{', '.join(map(str, refused))} refused a value; see its reason")


def label_devices(
    pairs: Annotated[
        list[str], typer.Argument(metavar="NAME=VALUE…", help="Labels: site=lab; NAME= takes away.")
    ],
    *,
    device: Devices = None,
    where: Where = "",
    everyone: Everyone = False,
    data: DataDir = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    json: JsonLines = False,
) -> None:
    """Give devices labels of your own, which --where then finds them by."""
    labels = labels_of(pairs)
    chosen = which(device, where, everyone=everyone)
    out = Output(json_lines=json)
    with fleet_api(data=data, database=database, url=url, token=token, authority=authority) as api:
        said = api.post("/v1/fleet/labels", {"which": chosen, "labels": labels})
    out.summary(devices=len(said["devices"]), labels={k: v or None for k, v in labels.items()})


def stop_devices(
    *,
    device: Devices = None,
    where: Where = "",
    everyone: Everyone = False,
    reason: Annotated[str, typer.Option("--reason", help="Why; the phones log it.")] = "",
    data: DataDir = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    wait_s: Wait = 5.0,
    json: JsonLines = False,
) -> None:
    """Stop devices within one step, and keep them stopped until `outrider fleet start`.

    Those that are away hear of it when they come back.
    """
    chosen = which(device, where, everyone=everyone)
    with fleet_api(data=data, database=database, url=url, token=token, authority=authority) as api:
        _control(api, "stop", {"which": chosen, "reason": reason}, wait_s, Output(json_lines=json))


def start_devices(
    *,
    device: Devices = None,
    where: Where = "",
    everyone: Everyone = False,
    hours: Annotated[
        float | None,
        typer.Option("--for", min=0.0, max=_LONGEST_H, help="Hours until they stop by themselves."),
    ] = None,
    data: DataDir = None,
    database: Database = None,
    url: Url = None,
    token: Token = None,
    authority: Authority = None,
    wait_s: Wait = 5.0,
    json: JsonLines = False,
) -> None:
    """Let stopped devices act again, for good or for some hours."""
    chosen = which(device, where, everyone=everyone)
    until_ms = 0 if hours is None else round(time.time() * 1000 + hours * _HOUR_MS)
    with fleet_api(data=data, database=database, url=url, token=token, authority=authority) as api:
        body = {"which": chosen, "until_ms": until_ms}
        _control(api, "start", body, wait_s, Output(json_lines=json))


def labels_of(pairs: Sequence[str]) -> dict[str, str | None]:
    """Labels in words such as `site=lab`; one without a value is to be taken away.

    Raises: MisuseError: a word that is none.
    """
    labels: dict[str, str | None] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not (equals and name.replace("-", "_").isidentifier()) or "," in text:
            raise MisuseError(
                f"{pair!r} is no label: write NAME=VALUE without a comma, such as site=lab"
            )
        labels[name] = text or None
    return labels


def _control(api: Api, kind: str, body: Mapping[str, object], wait_s: float, out: Output) -> None:
    """Say stop or start, wait for who hears it, and tell who has not yet."""
    said = api.post(f"/v1/fleet/control/{kind}", body)
    names = list(said["devices"])
    if not names:
        raise CommandError("no device is meant: outrider fleet list shows which there are")

    def waiting() -> list[str]:
        rows = devices_of(api, names)
        return [row["device_id"] for row in rows if not _heard(row, said["control_id"])]

    left = wait_for(waiting, _nobody, wait_s=wait_s)
    out.summary(
        **{"stopped" if kind == "stop" else "started": len(names)},
        heard=len(names) - len(left),
        waiting=left,
        control_id=said["control_id"],
    )


def _heard(row: Json, control_id: str) -> bool:
    return bool(row["control_heard"]) or row["control"].get("control_id") != control_id


def _set_over_api(
    api: Api, chosen: Mapping[str, object], values: SettingsChange, *, wait_s: float
) -> list[dict[str, object]]:
    said = api.post("/v1/fleet/settings", {"which": chosen, "values": values})
    versions: dict[str, int] = said["versions"]
    if not versions:
        raise CommandError("no device is meant: outrider fleet list shows which there are")
    rows: dict[str, Json] = {}

    def waiting() -> list[str]:
        rows.update((row["device_id"], row) for row in devices_of(api, list(versions)))
        return [name for name, v in versions.items() if rows[name]["reported"]["version"] < v]

    wait_for(waiting, _nobody, wait_s=wait_s)
    return [_api_row(rows[name], version, values) for name, version in versions.items()]


def _nobody(waiting: list[str]) -> bool:
    return not waiting


def _api_row(row: Json, version: int, values: SettingsChange) -> dict[str, object]:
    reported = row["reported"]
    taken = reported["version"] >= version
    refused = {name: why for name, why in reported["refused"].items() if name in values and taken}
    return {
        "device_id": row["device_id"],
        "version": version,
        "taken": taken,
        "values": reported["values"] if taken else {},
        "refused": refused,
        "unknown": sum(why == "unknown" for why in refused.values()),
    }


def _set_over_broker(
    values: SettingsChange,
    device: Sequence[str],
    *,
    everyone: bool,
    wait_s: float,
    address: tuple[Path | None, str | None, Path | None],
    fleet: str,
) -> list[dict[str, object]]:
    if everyone == bool(device):
        raise MisuseError("name devices with --device, or all of the fleet with --all")
    with owner_connection(owner_address(*address), fleet) as owner:
        if owner is None:
            raise MisuseError("name the fleet's running folder with --data, or its --broker")
        known = owner.settings(LISTEN_S)
        names = owner.devices(LISTEN_S) if everyone else tuple(device)
        if not names:
            raise CommandError("no device ever announced itself there: name one with --device")
        before = {name: known[name].reported.unknown if name in known else 0 for name in names}
        for name in names:
            owner.desire(name, values)
        answers = _answers(owner, names, wait_s)
    return [_row(name, answers[name], values, before[name]) for name in names]


def _values_of(pairs: Sequence[str]) -> dict[str, SettingValue | None]:
    """What is to be set, by name.

    Raises: MisuseError: a word sets nothing, or two words set the same.
    """
    values: dict[str, SettingValue | None] = {}
    for name, value in map(_parsed, pairs):
        if name in values:
            raise MisuseError(f"{name} is set twice: say one value")
        values[name] = value
    return values


def _parsed(pair: str) -> tuple[str, SettingValue | None]:
    """A setting's name and value: true, false, a number, or else a text; None for nothing."""
    name, equals, text = pair.partition("=")
    if not equals or not name:
        raise MisuseError(f"{pair!r} sets nothing: write KEY=VALUE, such as temperature=0.5")
    if not text:
        return name, None
    if text in {"true", "false"}:
        return name, text == "true"
    for kind in (int, float):
        try:
            return name, kind(text)
        except ValueError:
            continue
    return name, text


def _answers(
    owner: OwnerClient, names: Sequence[str], wait_s: float
) -> Mapping[str, KnownSettings]:
    """What each device says within the time; it ends when all have taken what they were told."""
    return wait_for(
        lambda: owner.settings(_LOOK_S if wait_s else 0.0),
        lambda known: all(known[name].is_taken for name in names),
        wait_s=wait_s,
    )


def _row(
    name: str, known: KnownSettings, values: SettingsChange, unknown_before: int
) -> dict[str, object]:
    reported = known.reported
    return {
        "device_id": name,
        "version": known.desired.version,
        "taken": known.is_taken,
        "values": dict(reported.values) if known.is_taken else {},
        "refused": {key: why for key, why in reported.refused if key in values and known.is_taken},
        "unknown": reported.unknown - unknown_before if known.is_taken else 0,
    }

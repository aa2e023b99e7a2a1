"""`outrider fleet …`: what an owner changes on devices from afar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.errors import CommandError, MisuseError
from outrider.options import Json
from outrider.output import Output
from outrider.phone_stop import (
    LISTEN_S,
    Broker,
    Credentials,
    DataDir,
    Fleet,
    owner_address,
    owner_connection,
)

if TYPE_CHECKING:
    from sync.messages import SettingValue
    from sync.owner_client import KnownSettings, OwnerClient


def set_devices(
    pairs: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE…", help="What to set: temperature=0.5")
    ],
    *,
    device: Annotated[
        list[str] | None, typer.Option("--device", help="A device's name; repeatable.")
    ] = None,
    everyone: Annotated[
        bool, typer.Option("--all", help="Every device that ever announced itself.")
    ] = False,
    data: DataDir = None,
    broker: Broker = None,
    credentials: Credentials = None,
    fleet: Fleet = "home",
    wait_s: Annotated[
        float, typer.Option("--wait", min=0.0, help="Seconds to wait for their answers.")
    ] = 5.0,
    json: Json = False,
) -> None:
    """Set something on phones and farms from afar; who is away hears of it on coming back.

    The device checks what it is told, and says which version it took and what it refused.
    """
    if everyone == bool(device):
        raise MisuseError("name devices with --device, or all of the fleet with --all")
    values = dict(_parsed(pair) for pair in pairs)
    out = Output(json_lines=json)
    with owner_connection(owner_address(data, broker, credentials), fleet) as owner:
        if owner is None:
            raise MisuseError("name the fleet's running folder with --data, or its --broker")
        known = owner.settings(LISTEN_S)
        names = owner.devices(LISTEN_S) if everyone else tuple(device or ())
        if not names:
            raise CommandError("no device ever announced itself there: name one with --device")
        before = {name: known[name].reported.unknown if name in known else 0 for name in names}
        for name in names:
            owner.desire(name, values)
        answers = _answers(owner, names, wait_s)
    rows = [_row(name, answers[name], values, before[name]) for name in names]
    for row in rows:
        out.event("setting", **row)
    refused = [row["device_id"] for row in rows if row["refused"]]
    waiting = [row["device_id"] for row in rows if not row["taken"]]
    out.summary(devices=len(rows), taken=len(rows) - len(waiting), refused=refused, waiting=waiting)
    if refused:
        raise CommandError(f"{', '.join(map(str, refused))} refused a value; see its reason")


def _parsed(pair: str) -> tuple[str, SettingValue]:
    """A setting's name and value: true, false, a number, or else a text."""
    name, equals, text = pair.partition("=")
    if not equals or not name:
        raise MisuseError(f"{pair!r} sets nothing: write KEY=VALUE, such as temperature=0.5")
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
    known = owner.settings(0.0)
    waited_s = 0.0
    while waited_s < wait_s and not all(known[name].is_taken for name in names):
        known = owner.settings(_LOOK_S)
        waited_s += _LOOK_S
    return known


_LOOK_S = 0.2


def _row(
    name: str, known: KnownSettings, values: Mapping[str, SettingValue], unknown_before: int
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

"""`outrider phone list`: the phones of a fleet, or the ones on ADB."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from outrider.adb_phones import ADB_PORT
from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output
from outrider.phone_folders import log_of, phone_folders


def list_phones(
    *,
    data: Annotated[
        Path | None, typer.Option("--data", help="List the phones of this fleet's folder.")
    ] = None,
    adb_port: Annotated[
        int,
        typer.Option(
            "--adb-port", min=1, max=65535, help="Port of the adb server to ask otherwise."
        ),
    ] = ADB_PORT,
    json: Json = False,
) -> None:
    """List the phones of a fleet's folder, or else those that an adb server sees."""
    out = Output(json_lines=json)
    if data is None:
        rows = _seen_by_adb(adb_port)
        title = f"Phones of the adb server at port {adb_port}"
    else:
        rows = [_of_fleet(folder) for folder in phone_folders(data)]
        title = f"Phones below {data}"
    out.summary(phones=out.rows("phone", rows, title=title))


def _seen_by_adb(port: int) -> list[dict[str, object]]:
    from device_runtime.adb import AdbClient
    from device_runtime.errors import PhoneLostError

    try:
        devices = AdbClient(port).devices()
    except PhoneLostError as error:
        raise MisuseError(
            f"no adb server answers at port {port}; run adb start-server, or name a fleet "
            "with --data"
        ) from error
    return [{"serial": serial, "state": state} for serial, state in devices.items()]


def _of_fleet(folder: Path) -> dict[str, object]:
    from device_runtime.slots import Slots
    from device_runtime.trajectory_log import TrajectoryLog
    from sync.clock import SystemClock
    from sync.vocabulary import new_uuid7

    log = TrajectoryLog.open(log_of(folder), clock=SystemClock(), new_id=new_uuid7)
    try:
        counts = log.counts()
    finally:
        log.close()
    slots = Slots(folder)
    state = slots.state()
    installed = slots.installed(state.active, on_trial=state.trial_left is not None)
    return {
        "phone": folder.name,
        **installed.facts(),
        "logged": counts.logged,
        "acknowledged": counts.acknowledged,
        "env_errors": counts.env_errors,
    }

"""`outrider phone …`: the phones of a fleet, the ones on ADB, and a mock one to play with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output
from outrider.phone_folders import log_of, phone_folders
from sync.vocabulary import Split

if TYPE_CHECKING:
    from apps_mock.adb_server import MockAdbDaemon
    from apps_mock.phone import MockPhone
    from sync.clock import Clock

ADB_PORT = 5037
LOOK_EVERY_S = 0.05


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


def mock_phone(
    *,
    task: Annotated[str, typer.Option("--task", help="Template; outrider clones list names them.")],
    seed: Annotated[int, typer.Option("--seed", help="Which draw of the task.")] = 0,
    split: Annotated[Split, typer.Option("--split", help="Which split it is drawn from.")] = (
        Split.TRAIN
    ),
    look: Annotated[int | None, typer.Option("--look", help="Which look; else the seed's.")] = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Where to listen; 0 picks a free port.")
    ] = 0,
    json: Json = False,
) -> None:
    """Put one mock phone with a task on the ADB wire until Ctrl-C."""
    from apps_mock.adb_server import MockAdbDaemon
    from apps_mock.phone import MockPhone
    from device_runtime.errors import UnknownTaskError
    from sync.clock import SystemClock

    out = Output(json_lines=json)
    phone = MockPhone()
    try:
        drawn = phone.load(task, seed, split, seed if look is None else look)
    except UnknownTaskError as error:
        raise MisuseError(str(error)) from error
    daemon = MockAdbDaemon(phone, port=port)
    daemon.start()
    try:
        out.line({"event": "started", "serial": daemon.serial, "port": daemon.port})
        out.note(f"adb connect {daemon.serial}    Ctrl-C ends it")
        out.event("task", template=task, seed=seed, split=split, goal=drawn.goal)
        watch(phone, daemon, out, clock=SystemClock())
    except KeyboardInterrupt:
        verdict = phone.current_verdict()
        out.summary(serial=daemon.serial, success=verdict.success, progress=verdict.progress)
    finally:
        daemon.stop()


def watch(phone: MockPhone, daemon: MockAdbDaemon, out: Output, *, clock: Clock) -> None:
    """Print the verdict now and whenever it changes; ends only by an exception."""
    seen_generation, told = -1, None
    while True:
        with daemon.lock:
            generation = phone.generation
            verdict = phone.current_verdict() if generation != seen_generation else told
        seen_generation = generation
        if verdict is not None and verdict != told:
            told = verdict
            out.event(
                "verdict",
                score=verdict.score,
                success=verdict.success,
                progress=verdict.progress,
                failed=[check.name for check in verdict.checks if not check.passed],
                side_effects=verdict.side_effects,
            )
        clock.sleep(LOOK_EVERY_S)


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

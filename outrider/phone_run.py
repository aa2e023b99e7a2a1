"""`outrider phone run`: one phone of the fleet, physical, emulated or mock; or all there are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from device_runtime.screen_reading_when import When
from outrider.adb_phones import ADB_PORT, adb_phone
from outrider.device_options import (
    BaseDir,
    Broker,
    Channel,
    Config,
    Credentials,
    DeviceName,
    Fleet,
    MaxEpisodes,
    ReadScreen,
    UploadScreens,
)
from outrider.errors import MisuseError
from outrider.options import Json, Quantisation, QuantisationChoice
from outrider.output import Output
from sync.step_text import described

if TYPE_CHECKING:
    from device_runtime.conditions import Conditions
    from device_runtime.ports import Phone, Policy, ScreenReader, Verifier
    from device_runtime.seats import SeatPhone
    from device_runtime.settings import Settings
    from sync.vocabulary import Assignment, Step, TemplateInfo


class Guard(StrEnum):
    """Which rules decide before each action."""

    OWNED = "owned"
    NONE = "none"


def run_phone(
    *,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder that holds everything of a fleet.")
    ] = None,
    device: DeviceName = "phone-1",
    folder: Annotated[
        Path | None, typer.Option("--phone", help="Folder of an enrolled phone; needs no other.")
    ] = None,
    serial: Annotated[
        str | None, typer.Option("--serial", help="A phone that the adb server lists.")
    ] = None,
    adb_port: Annotated[int, typer.Option("--adb-port", help="Port of the adb server.")] = ADB_PORT,
    mock: Annotated[bool, typer.Option("--mock", help="A mock phone in this process.")] = False,
    mock_adb: Annotated[
        bool, typer.Option("--mock-adb", help="A mock phone behind an adb server of its own.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Every phone that the adb server lists, now and later.")
    ] = False,
    guard: Annotated[
        Guard | None,
        typer.Option("--guard", help="Rules: owned for a --serial, none for a mock phone."),
    ] = None,
    rules: Annotated[
        Path | None, typer.Option("--rules", help="A guard.toml in place of the phone's own.")
    ] = None,
    probe: Annotated[
        list[Path] | None,
        typer.Option("--probe", help="Probe file that judges a goal given as text; repeatable."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Start again a phone that was stopped.")
    ] = False,
    broker: Broker = None,
    credentials: Credentials = None,
    fleet: Fleet = None,
    channel: Channel = None,
    base: BaseDir = None,
    config: Config = None,
    episodes: MaxEpisodes = None,
    read_screen: ReadScreen = When.NEVER,
    upload_screens: UploadScreens = None,
    quantisation: Quantisation = QuantisationChoice.FP32,
    json: Json = False,
) -> None:
    """Run one phone: take assignments, play them, log them, install releases, until Ctrl-C."""
    from device_runtime.screen_reading_phone import reader_for, reading
    from device_runtime.settings import read_settings
    from device_runtime.supervisor import Supervisor
    from outrider.device_wiring import (
        assemble,
        broker_address,
        local_seats,
        open_policy,
        reporter,
        settings_as_misuse,
        stop_on_signals,
        with_graphs,
    )
    from outrider.enrolled import enrolment_settings, server_clock_of
    from outrider.owned_phone import GUARD_FILE, free_phone, guarded_phone, owner_rules
    from outrider.screen_wiring import remote_settings, screen_permit, screen_plan
    from sync.clock import SystemClock
    from sync.messages import Role

    if probe and serial is None:
        raise MisuseError("--probe judges goals given as text: it needs --serial SERIAL")
    if (serial is not None) + mock + mock_adb + every != 1:
        raise MisuseError("name one phone: --serial SERIAL, --mock or --mock-adb; or --all")
    out = Output(json_lines=json)
    over = {"broker_url": broker, "fleet": fleet, "channel": channel}
    with settings_as_misuse():
        settings = read_settings(
            config,
            environment=os.environ,
            given={
                "device_id": device,
                "data_dir": data,
                **enrolment_settings(folder, data=data, device=device, over=over),
                "credentials_file": None if every else credentials,
                "base_dir": base,
                "seats": 1,
                "upload_screens": upload_screens,
            },
        )
        broker_address(settings)
    settings = with_graphs(settings)
    if every:
        options = [] if config is None else ["--config", str(config)]
        options += [] if guard is None else ["--guard", guard.value]
        options += [] if rules is None else ["--rules", str(rules)]
        options += ["--resume"] if resume else []
        if upload_screens is not None:
            options += ["--upload-screens" if upload_screens else "--no-upload-screens"]
        options += [] if episodes is None else ["--episodes", str(episodes)]
        options += ["--read-screen", read_screen.value, "--quantisation", quantisation.value]
        _run_all(settings, options, credentials=credentials, adb_port=adb_port, out=out)
        return
    reader = reader_for(read_screen)
    release = open_policy(settings, quantisation.graphs)

    def show(assignment: Assignment, step: Step) -> None:
        out.event(
            "step",
            template=assignment.template,
            index=step.index,
            action=described(step),
            valid=step.valid,
            policy=step.policy_version,
        )

    with (
        stop_on_signals() as stop,
        _opened(
            settings,
            serial=serial,
            adb_port=adb_port,
            over_adb=mock_adb,
            probes=probe or (),
            reader=reader,
        ) as opened,
    ):
        phone = replace(opened, phone=reading(opened.phone, reader, read_screen))
        conditions = _conditions(serial, adb_port)
        server_clock = server_clock_of(settings, SystemClock())
        is_owned = guard is Guard.OWNED or (guard is None and serial is not None)
        with settings_as_misuse():
            owned = (
                guarded_phone(
                    settings,
                    owner_rules(rules, config, settings.phone_dir / GUARD_FILE),
                    interrupt=stop,
                    read_conditions=conditions,
                    clock=server_clock,
                )
                if is_owned
                else free_phone(settings, server_clock)
            )
        if resume:
            owned.owner.switch.start()
        remote = remote_settings(settings)
        permit, plan = screen_permit(settings, remote, conditions), screen_plan(settings)
        parts = assemble(
            settings,
            role=Role.PHONE,
            table=local_seats(
                settings,
                [phone],
                partial(_policy_for, release),
                safety=owned.safety,
                on_step=show,
                screens=plan.keeper(permit.may_take) if permit and plan else None,
            ),
            seats=1,
            policy=release,
            host=release,
            templates=_templates() if serial is None else (),
            suite_version=_suite_version() if serial is None else "",
            owner=owned.owner,
            gate=owned.gate,
            rest=partial(_rest, None if serial is None else phone.phone),
            read_conditions=conditions,
            attributes=attributes_of(phone.phone),
            server_clock=server_clock,
            remote=remote,
            permit=permit,
        )
        supervisor = Supervisor(parts, settings, clock=SystemClock(), report=reporter(out))
        info = phone.phone.info()
        out.event(
            "started",
            role="phone",
            pid=os.getpid(),
            device_id=settings.device_id,
            serial=info.serial,
            model=info.model,
        )
        counts = supervisor.run(stop, max_episodes=episodes)
    out.summary(device_id=settings.device_id, **asdict(counts))


def _run_all(
    settings: Settings,
    options: Sequence[str],
    *,
    credentials: Path | None,
    adb_port: int,
    out: Output,
) -> None:
    """Run every phone that the adb server lists, each in a process of its own.

    Args:
        options: what the children are told beside the settings.
        credentials: the folder with one password file per device.
    """
    from device_runtime.adb import AdbClient
    from outrider.device_wiring import stop_on_signals
    from outrider.phone_fleet import run_fleet
    from sync.clock import SystemClock

    if credentials is not None and not credentials.is_dir():
        raise MisuseError(f"{credentials} is no folder: with --all it holds one file per device")
    told = [
        *("--data", str(settings.data_dir), "--adb-port", str(adb_port)),
        *("--broker", settings.broker_url, "--fleet", settings.fleet),
        *("--channel", settings.channel, "--base", str(settings.graphs_dir), *options),
    ]
    with stop_on_signals() as stop:
        out.event("started", role="phones", pid=os.getpid(), adb_port=adb_port)
        phones = run_fleet(
            AdbClient(adb_port),
            told,
            data=settings.data_dir,
            credentials=credentials,
            out=out,
            stop=stop,
            clock=SystemClock(),
        )
    out.summary(phones=phones)


def attributes_of(phone: Phone) -> dict[str, str]:
    """What a phone is, for choosing devices by; nothing that tells one phone from its like."""
    info = phone.info()
    return {
        "model": info.model,
        "android": info.android_version,
        "screen": f"{info.width_px}x{info.height_px}",
    }


def _rest(phone: Phone | None) -> None:
    """Leave a person's phone at its home screen; a clone is reset before it is used again."""
    from device_runtime.safety import leave_home

    if phone is not None:
        leave_home(phone)


def _conditions(serial: str | None, adb_port: int) -> Callable[[], Conditions]:
    """Reads what is true of the phone; a clone is always fine."""
    from device_runtime.adb import AdbClient
    from device_runtime.adb_shell import AdbShell
    from device_runtime.conditions import MAINS
    from outrider.owned_phone import conditions_of

    if serial is None:
        return lambda: MAINS
    shell = AdbShell(AdbClient(adb_port), serial)
    return lambda: conditions_of(shell)


def _policy_for(release: Policy | None, assignment: Assignment, phone: Phone) -> Policy:
    """Who plays an assignment; the clones are loaded for other actors alone: they take memory.

    Raises: UnknownTaskError: nobody here is such an actor.
    """
    if assignment.actor == "release" and release is not None:
        return release
    from apps_mock.actors import Actors

    return Actors(release).policy_for(assignment, phone)


def _suite_version() -> str:
    from apps_mock.tasks import SUITE_VERSION

    return SUITE_VERSION


def _templates() -> tuple[TemplateInfo, ...]:
    from apps_mock.tasks import announced

    return announced()


@contextmanager
def _opened(
    settings: Settings,
    *,
    serial: str | None,
    adb_port: int,
    over_adb: bool,
    probes: Sequence[Path],
    reader: ScreenReader | None,
) -> Iterator[SeatPhone]:
    """The phone that was named, reachable, with its judge; let go of at the end."""
    from device_runtime.seats import SeatPhone

    if over_adb:
        from apps_mock.adb_clone import AdbClone

        over_adb_clone = AdbClone(settings.phone_dir / "adb")
        over_adb_clone.start()
        try:
            yield SeatPhone(over_adb_clone, over_adb_clone)
        finally:
            over_adb_clone.close()
    elif serial is None:
        from apps_mock.own_goals import OwnGoalPhone

        clone = OwnGoalPhone()
        yield SeatPhone(clone, clone)
    else:
        yield SeatPhone(adb_phone(serial, adb_port, reader), _prober(probes, serial, adb_port))


def _prober(files: Sequence[Path], serial: str, adb_port: int) -> Verifier | None:
    """Who judges what is played on a person's phone; None where no probe file is named."""
    from device_runtime.adb import AdbClient
    from device_runtime.adb_shell import AdbShell
    from device_runtime.probe_files import read_probes
    from device_runtime.probes import ANSWER_TIMEOUT_S, ProbeVerifier
    from outrider.device_wiring import settings_as_misuse

    if not files:
        return None
    with settings_as_misuse():
        sets = [read_probes(file) for file in files]
    shell = AdbShell(AdbClient(adb_port), serial, timeout_s=ANSWER_TIMEOUT_S)
    return ProbeVerifier(sets, shell)

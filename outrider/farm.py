"""`outrider farm`: many mock phones under one name, played for whoever assigns episodes."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from outrider.device_options import (
    BaseDir,
    Broker,
    Channel,
    Config,
    Credentials,
    DataDir,
    DeviceName,
    Fleet,
    MaxEpisodes,
    UploadScreens,
)
from outrider.options import Json
from outrider.output import Output

DEFAULT_SEATS = 32


def farm(
    *,
    data: DataDir,
    device: DeviceName = "farm-1",
    broker: Broker = None,
    credentials: Credentials = None,
    fleet: Fleet = None,
    channel: Channel = None,
    base: BaseDir = None,
    seats: Annotated[
        int | None, typer.Option("--seats", help="Episodes side by side; 32 if not set.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes that share the seats; 1 if not set.")
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option("--demonstration-noise", help="Share of random steps in demonstrations."),
    ] = None,
    faults: Annotated[
        float,
        typer.Option(
            "--faults", min=0.0, max=1.0, help="Share of actions that something breaks at."
        ),
    ] = 0.0,
    policy: Annotated[
        list[Path] | None,
        typer.Option("--policy", help="A policy file that assignments may name as actor."),
    ] = None,
    upload_screens: UploadScreens = None,
    config: Config = None,
    episodes: MaxEpisodes = None,
    json: Json = False,
) -> None:
    """Play episodes on many mock phones until Ctrl-C."""
    from apps_mock.actors import read_policy_file
    from apps_mock.farm import FarmRecipe
    from apps_mock.faults import draw_faults
    from apps_mock.tasks import SUITE_VERSION, announced
    from device_runtime.settings import read_settings
    from device_runtime.supervisor import Supervisor
    from device_runtime.workers import Workers
    from outrider.device_wiring import (
        assemble,
        broker_address,
        open_policy,
        reporter,
        settings_as_misuse,
        stop_on_signals,
    )
    from outrider.owned_phone import free_phone
    from outrider.screen_wiring import remote_settings, screen_permit, screen_plan, seen_exactly
    from sync.clock import SystemClock
    from sync.messages import Role
    from sync.vocabulary import new_uuid7

    out = Output(json_lines=json)
    with settings_as_misuse():
        settings = read_settings(
            config,
            environment=os.environ,
            given={
                "device_id": device,
                "data_dir": data,
                "broker_url": broker,
                "credentials_file": credentials,
                "fleet": fleet,
                "channel": channel,
                "base_dir": base,
                "seats": seats,
                "workers": workers,
                "demonstration_noise": noise,
                "upload_screens": upload_screens,
            },
            defaults={"seats": DEFAULT_SEATS},
        )
        broker_address(settings)
    for path in policy or ():
        read_policy_file(path)  # a file that cannot be used is told here, not by a worker
    release = open_policy(settings)
    if release is not None and release.wants_picture:
        settings = seen_exactly(settings)
    recipe = FarmRecipe(
        settings.device_id,
        None if release is None else settings.graphs_dir,
        tuple(policy or ()),
        settings.demonstration_noise,
        draw_faults(0, faults) if faults else None,
        settings.phone_dir,
        screen_plan(settings),
    )
    remote = remote_settings(settings)
    owned = free_phone(settings)
    with stop_on_signals() as stop:
        table = Workers(
            recipe,
            workers=settings.workers,
            seats=settings.seats,
            device_id=settings.device_id,
            clock=SystemClock(),
            new_id=new_uuid7,
            lease_s=settings.lease_s,
        )
        with closing(table):
            parts = assemble(
                settings,
                role=Role.FARM,
                table=table,
                seats=settings.seats,
                policy=release,
                host=None if release is None else table,
                templates=announced(),
                suite_version=SUITE_VERSION,
                owner=owned.owner,
                gate=owned.gate,
                remote=remote,
                permit=screen_permit(settings, remote),
            )
            table.wait_ready()
            supervisor = Supervisor(parts, settings, clock=SystemClock(), report=reporter(out))
            out.event(
                "started",
                role="farm",
                pid=os.getpid(),
                device_id=device,
                seats=settings.seats,
                workers=list(table.pids),
            )
            counts = supervisor.run(stop, max_episodes=episodes)
    out.summary(device_id=device, **asdict(counts))

"""`outrider farm`: many mock phones under one name, played for whoever assigns episodes."""

from __future__ import annotations

import os
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
    noise: Annotated[
        float | None,
        typer.Option("--demonstration-noise", help="Share of random steps in demonstrations."),
    ] = None,
    policy: Annotated[
        list[Path] | None,
        typer.Option("--policy", help="A policy file that assignments may name as actor."),
    ] = None,
    config: Config = None,
    episodes: MaxEpisodes = None,
    json: Json = False,
) -> None:
    """Play episodes on many mock phones until Ctrl-C."""
    from apps_mock.actors import Actors, read_policy_file
    from apps_mock.farm import mock_phone
    from apps_mock.tasks import SUITE_VERSION, templates
    from device_runtime.settings import read_settings
    from device_runtime.supervisor import Supervisor
    from outrider.device_wiring import (
        assemble,
        broker_address,
        open_policy,
        reporter,
        settings_as_misuse,
        stop_on_signals,
    )
    from sync.clock import SystemClock
    from sync.messages import Role

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
                "demonstration_noise": noise,
            },
            defaults={"seats": DEFAULT_SEATS},
        )
        broker_address(settings)
    files = {str(path): read_policy_file(path) for path in policy or ()}
    release = open_policy(settings)
    actors = Actors(release, files=files, demonstration_noise=settings.demonstration_noise)
    parts = assemble(
        settings,
        role=Role.FARM,
        phones=[mock_phone() for _ in range(settings.seats)],
        policy=release,
        policy_for=actors.policy_for,
        templates=tuple(template.info() for template in templates()),
        suite_version=SUITE_VERSION,
    )
    supervisor = Supervisor(parts, settings, clock=SystemClock(), report=reporter(out))
    with stop_on_signals() as stop:
        out.event("started", role="farm", pid=os.getpid(), device_id=device, seats=settings.seats)
        counts = supervisor.run(stop, max_episodes=episodes)
    out.summary(device_id=device, **asdict(counts))

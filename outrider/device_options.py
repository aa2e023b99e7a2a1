"""Options of the commands that run a device process."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from device_runtime.screen_reading_when import When
from outrider.options import fleet_option

DataDir = Annotated[Path, typer.Option("--data", help="Folder that holds everything of a fleet.")]
DeviceName = Annotated[str, typer.Option("--id", help="The device's name in the fleet.")]
Broker = Annotated[str | None, typer.Option("--broker", help="The broker: mqtt://host:port.")]
Credentials = Annotated[
    Path | None,
    typer.Option("--credentials", help="File with the broker's password for this device."),
]
Fleet = Annotated[str | None, fleet_option("Name of the fleet in the topics.")]
Channel = Annotated[str | None, typer.Option("--channel", help="Release channel to follow.")]
BaseDir = Annotated[
    Path | None, typer.Option("--base", help="Exported base network; DATA/base by default.")
]
Config = Annotated[
    Path | None, typer.Option("--config", help="TOML file with a [device] table of settings.")
]
MaxEpisodes = Annotated[
    int | None, typer.Option("--episodes", min=1, help="End after so many episodes.")
]
UploadScreens = Annotated[
    bool | None,
    typer.Option(
        "--upload-screens/--no-upload-screens",
        help="Send pictures of its screens, secrets painted over.",
    ),
]
ReadScreen = Annotated[
    When,
    typer.Option(
        "--read-screen", help="Read screens from their pictures: where there is no tree, or always."
    ),
]

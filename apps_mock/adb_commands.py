"""All commands of a mock phone's shell, over a clone or over a recording of a real phone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from apps_mock.adb_activity import ActivityCommands
from apps_mock.adb_calls import Call, Command
from apps_mock.adb_content import ContentCommand
from apps_mock.adb_device import MockDevice
from apps_mock.adb_dumpsys import Dumpsys
from apps_mock.adb_file_tools import FileTools
from apps_mock.adb_input import InputCommand
from apps_mock.adb_packages import KNOWN_AS
from apps_mock.adb_pm import PackageCommand
from apps_mock.adb_processes import ProcessCommands
from apps_mock.adb_profile import Delays
from apps_mock.adb_screen import ScreenCommands
from apps_mock.adb_settings import SettingsCommand
from apps_mock.adb_system import SystemCommands
from apps_mock.adb_text_tools import TextTools
from apps_mock.adb_tools import Tools
from apps_mock.adb_uia2 import AppProcess
from apps_mock.adb_wm import WindowCommand
from apps_mock.registry import APPS


class CloneCommands:
    """The commands of one clone with its device.

    Attributes:
        table: the commands by name.
    """

    def __init__(self, device: MockDevice) -> None:
        settings = SettingsCommand(device)
        activities = ActivityCommands(device)
        screen = ScreenCommands(device)
        self.input = InputCommand(device)
        self._system = SystemCommands(device, settings)
        package = PackageCommand(
            device.packages,
            device.files,
            restore=device.phone.restore,
            get_state=device.phone.loaded_state,
            home_of=_home_of,
        )
        commands: dict[str, Command] = {}
        commands |= Tools(device.files, device.now_s, commands).table()
        commands |= FileTools(device.files).table() | TextTools(device.files).table()
        commands |= ProcessCommands(device).table() | self._system.table()
        commands |= {
            "am": activities.am, "app_process": AppProcess(device).run,
            "content": ContentCommand(device, settings),
            "dumpsys": Dumpsys(device, activities, settings),
            "ime": device.keyboards.command, "input": self.input, "monkey": activities.monkey,
            "pm": package, "screencap": screen.screencap, "settings": settings,
            "uiautomator": screen.uiautomator, "wm": WindowCommand(device, settings),
        }  # fmt: skip
        for name, command in commands.items():
            commands[name] = _timed(name, command, device.delays)
        self.table: Mapping[str, Command] = commands

    def properties(self) -> dict[str, str]:
        """What `getprop` knows."""
        return self._system.properties()


def _timed(name: str, command: Command, delays: Delays) -> Command:
    """The command, taking as long as the phone's kind does."""

    async def run(call: Call) -> int:
        delay_s = delays.next_s(name)
        if delay_s:
            await call.flush()
            await asyncio.sleep(delay_s)
        return await command(call)

    return run


def _home_of(package: str) -> str:
    """Component of the first page of an app."""
    if package in KNOWN_AS:
        return f"{package}/{KNOWN_AS[package].activity}"
    home = next((app.home.name for app in APPS.values() if app.package == package), "home")
    return f"{package}/.{home.title().replace('_', '')}Activity"


ANDROID_COMMANDS: Final = frozenset(
    "am app_process cmd content dumpsys getprop ime input logcat monkey pm screencap service "
    "settings svc uiautomator wm".split()
)
"""What no text tool is: a recording alone answers these."""

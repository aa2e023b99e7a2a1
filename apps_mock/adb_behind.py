"""What stands behind a mock daemon: a clone with its device, or the recording of a real phone.

Both give the daemon files, commands and properties; what only a clone has is refused by a
recording.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from apps_mock.adb_calls import Call, Command
from apps_mock.adb_commands import ANDROID_COMMANDS, CloneCommands
from apps_mock.adb_device import MockDevice
from apps_mock.adb_file_tools import FileTools
from apps_mock.adb_files import Files
from apps_mock.adb_ports import RecordedPhone
from apps_mock.adb_streams import Service
from apps_mock.adb_text_tools import TextTools
from apps_mock.adb_tools import Tools
from apps_mock.adb_uia2 import UiautomatorServer

_FACTS: Final = frozenset({"date", "df", "id", "uname", "uptime", "ps", "top", "ip", "ifconfig"})
"""Tools whose answers are the phone's own; a recording that has them is asked first."""


class Behind(Protocol):
    """What a daemon serves."""

    @property
    def files(self) -> Files:
        """The phone's files."""
        ...

    @property
    def commands(self) -> Mapping[str, Command]:
        """The shell's commands by name."""
        ...

    @property
    def unknown(self) -> Counter[str]:
        """Commands that there are not, and how often each was asked for."""
        ...

    def properties(self) -> Mapping[str, str]:
        """`getprop` as a table."""
        ...

    def port_service(self, port: int) -> Service | None:
        """What answers on a TCP port of the phone; None where nothing listens."""
        ...


class CloneBehind:
    """A clone and its device."""

    def __init__(self, device: MockDevice) -> None:
        self.device = device
        self._commands = CloneCommands(device)
        self._uiautomator = UiautomatorServer(device, self._commands.input)

    @property
    def files(self) -> Files:
        """The device's files."""
        return self.device.files

    @property
    def commands(self) -> Mapping[str, Command]:
        """The device's commands."""
        return self._commands.table

    @property
    def unknown(self) -> Counter[str]:
        """The device's count."""
        return self.device.unknown

    def properties(self) -> Mapping[str, str]:
        """What the device's `getprop` knows."""
        with self.device.in_use():
            return self._commands.properties()

    def port_service(self, port: int) -> Service | None:
        """The uiautomator server, where its program runs on that port."""
        return self._uiautomator.serve if port in self.device.listening else None


class RecordingBehind:
    """A recording: its answers, and the mock's own files and text tools around them."""

    def __init__(self, recorded: RecordedPhone, *, now_s: Callable[[], int]) -> None:
        self._recorded = recorded
        self.files = Files(now_s)
        self.unknown: Counter[str] = Counter()
        tools: dict[str, Command] = {}
        tools |= Tools(self.files, now_s, tools).table()
        tools |= FileTools(self.files).table() | TextTools(self.files).table()
        for name in ANDROID_COMMANDS | _FACTS:
            tools[name] = self._answering(tools.get(name))
        self.commands: Mapping[str, Command] = tools

    def properties(self) -> Mapping[str, str]:
        """The recorded properties."""
        return self._recorded.properties()

    def port_service(self, _port: int) -> Service | None:
        """Nothing: recorded phones have no programs."""
        return None

    def _answering(self, own: Command | None) -> Command:
        """The recording's answer to a command, or else the mock's own where it has one."""

        async def run(call: Call) -> int:
            answer = self._recorded.answer((call.name, *call.arguments))
            if answer is None:
                if own is not None:
                    return await own(call)
                self.unknown[call.name] += 1
                call.error(f"/system/bin/sh: {call.name}: inaccessible or not found")
                return 127
            if answer.file is not None and call.arguments:
                self.files.write(call.path(call.arguments[-1]), answer.file)
            call.out(answer.stdout)
            call.sinks[2].write(answer.stderr)
            return answer.exit_code

        return run

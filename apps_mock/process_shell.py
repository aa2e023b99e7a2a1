"""The mock phone's shell without a wire: the very commands that `adb shell` would run, in process.

For probes of a clone that nobody drives over ADB: the same line gives the same answer here and
behind the daemon.
"""

from __future__ import annotations

import asyncio

from apps_mock.adb_builtins import ShellExit
from apps_mock.adb_calls import nothing
from apps_mock.adb_commands import CloneCommands
from apps_mock.adb_device import MockDevice
from apps_mock.adb_ports import ClonePhone
from apps_mock.adb_shell import Shell
from device_runtime.adb import ShellResult
from sync.clock import Clock


class ProcessShell:
    """Runs command lines on a clone in this process; implements `device_runtime.probes.Shell`.

    Args:
        phone: the clone; nobody else uses it while a command runs.
    """

    def __init__(self, phone: ClonePhone, *, clock: Clock | None = None) -> None:
        device = MockDevice(phone, clock=clock)
        self._files = device.files
        self._commands = CloneCommands(device).table

    def shell(self, command: str) -> ShellResult:
        """Output and exit code of `command`."""
        return asyncio.run(self._run(command))

    async def _run(self, command: str) -> ShellResult:
        written = {1: bytearray(), 2: bytearray()}

        async def write(descriptor: int, data: bytes) -> None:
            written[descriptor] += data

        shell = Shell(self._commands, self._files, write_output=write, read_chunk=nothing)
        try:
            code = await shell.run(command)
        except ShellExit as end:
            code = end.code
        return ShellResult(bytes(written[1]), bytes(written[2]), code & 0xFF)

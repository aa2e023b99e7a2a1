"""The mock phone's shell without a wire: the very commands that `adb shell` would run, in process.

For probes of a clone that nobody drives over ADB: the same line gives the same answer here and
behind the daemon.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from threading import RLock

from apps_mock.adb_builtins import ShellExit
from apps_mock.adb_calls import nothing
from apps_mock.adb_commands import PhoneCommands
from apps_mock.adb_files import Files
from apps_mock.adb_ports import ClonePhone
from apps_mock.adb_shell import Shell
from apps_mock.android_facts import stored_files
from apps_mock.registry import APPS
from device_runtime.adb import ShellResult
from sync.clock import Clock, SystemClock


class ProcessShell:
    """Runs command lines on a clone in this process; implements `device_runtime.probes.Shell`.

    Args:
        phone: the clone; nobody else uses it while a command runs.
    """

    def __init__(self, phone: ClonePhone, *, clock: Clock | None = None) -> None:
        self._phone = phone
        self._clock = clock or SystemClock()
        self._files = Files(self._now_s, stored=self._stored)
        self._commands = PhoneCommands(
            phone,
            RLock(),
            files=self._files,
            now_s=self._now_s,
            packages=[app.package for app in APPS.values()],
        ).table()

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

    def _now_s(self) -> int:
        return self._clock.wall_ms() // 1000

    def _stored(self) -> Mapping[str, int]:
        state = self._phone.loaded_state()
        return {} if state is None else stored_files(state)

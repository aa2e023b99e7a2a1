"""A mock phone's shell in process: lines in, exit code and output out."""

from __future__ import annotations

import asyncio

from apps_mock.adb_behind import CloneBehind
from apps_mock.adb_builtins import ShellExit
from apps_mock.adb_device import MockDevice
from apps_mock.adb_shell import Shell
from apps_mock.own_goals import OwnGoalPhone
from sync.clock import ManualClock
from sync.vocabulary import Assignment, AssignmentId


class ShellBench:
    """A free phone with every app, its device, and a shell in process."""

    def __init__(self, profile=None):
        self.phone = OwnGoalPhone()
        self.phone.reset(Assignment(AssignmentId("a"), goal="anything", seed=5))
        self.device = MockDevice(self.phone, profile=profile, clock=ManualClock())
        self.behind = CloneBehind(self.device)
        self.faults = self.device.faults

    def run(self, line, typed=b""):
        """Exit code, standard output, standard error."""
        code, out, error = self.raw(line, typed)
        return code, out.decode(), error.decode()

    def raw(self, line, typed=b""):
        written = {1: bytearray(), 2: bytearray()}
        pieces = [typed] if typed else []

        async def write(descriptor, data):
            written[descriptor] += data

        async def read():
            return pieces.pop(0) if pieces else b""

        async def whole():
            shell = Shell(
                self.behind.commands, self.behind.files, write_output=write, read_chunk=read
            )
            try:
                return await shell.run(line)
            except ShellExit as end:
                return end.code

        return asyncio.run(whole()), bytes(written[1]), bytes(written[2])

    def out(self, line, typed=b""):
        code, out, error = self.run(line, typed)
        assert (code, error) == (0, "")
        return out

    def focus_a_field(self):
        """Open the page for a new contact and its first field."""
        self.phone.open_app("contacts")
        while not any(each.editable for each in self.phone.observe().elements):
            button = next(
                each
                for each in self.phone.observe().elements
                if each.label in {"Add", "New", "Create"}
            )
            self.tap(button.bounds)
        field = next(each for each in self.phone.observe().elements if each.editable)
        self.tap(field.bounds)

    def tap(self, bounds):
        left, top, right, bottom = bounds
        self.out(f"input tap {(left + right) // 2} {(top + bottom) // 2}")

    def field_text(self):
        return next(each.text for each in self.phone.observe().elements if each.focused)

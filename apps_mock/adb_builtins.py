"""Commands that change the mock phone's shell itself: `cd`, `export`, `read`, `exit` and such."""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from apps_mock.adb_calls import Call, Command
from apps_mock.adb_files import Files, resolve

NAME: Final = "/system/bin/sh"


class ShellExit(Exception):  # noqa: N818 - control flow of `exit`, not an error
    """The shell ends with `code`."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class LoopExit(Exception):  # noqa: N818 - control flow of `break` and `continue`, not an error
    """So many loops end; the last of them goes on where `goes_on`."""

    def __init__(self, levels: int, *, goes_on: bool) -> None:
        super().__init__(levels)
        self.levels = levels
        self.goes_on = goes_on


@dataclass(slots=True)
class ShellState:
    """What a shell remembers from one command to the next."""

    variables: dict[str, str] = field(
        default_factory=lambda: {
            "HOME": "/", "PATH": "/system/bin:/vendor/bin", "SHELL": NAME, "USER": "shell",
            "ANDROID_DATA": "/data", "ANDROID_ROOT": "/system", "EXTERNAL_STORAGE": "/sdcard",
        }
    )  # fmt: skip
    folder: str = "/"
    last_code: int = 0

    def special(self, name: str) -> str:
        """The value of `$?`, `$$` and such."""
        return {"?": str(self.last_code), "$": "4321", "#": "0", "0": NAME}.get(name, "")

    def path(self, given: str) -> str:
        """A path as an absolute one."""
        return posixpath.join(self.folder, given)


class Builtins:
    """The builtins of one shell; `run_line` runs a line in this very shell."""

    def __init__(
        self,
        state: ShellState,
        files: Files,
        commands: Mapping[str, Command],
        run_line: Callable[[Call, str], Awaitable[int]],
    ) -> None:
        self._state = state
        self._files = files
        self._commands = commands
        self._run_line = run_line

    def table(self) -> dict[str, Command]:
        """The builtins by name."""
        return {
            "exit": self._exit, "export": self._export, "unset": self._unset, "exec": self._exec,
            "cd": self._cd, "pwd": self._pwd, "read": self._read, "eval": self._eval,
            "command": self._command, "type": self._where, "break": self._break,
            "continue": self._continue,
        }  # fmt: skip

    async def _exit(self, call: Call) -> int:
        code = call.arguments[0] if call.arguments else str(self._state.last_code)
        raise ShellExit(int(code) & 0xFF if code.lstrip("-").isdigit() else 2)

    async def _export(self, call: Call) -> int:
        for variable, equals, value in (each.partition("=") for each in call.arguments):
            if equals:
                self._state.variables[variable] = value
        return 0

    async def _unset(self, call: Call) -> int:
        for name in call.arguments:
            self._state.variables.pop(name, None)
        return 0

    async def _exec(self, call: Call) -> int:
        if not call.arguments:
            return 0
        raise ShellExit(await call.run(call.arguments, call.input))

    async def _cd(self, call: Call) -> int:
        wanted = call.arguments[0] if call.arguments else self._state.variables.get("HOME", "/")
        place = self._state.path(wanted)
        if not self._files.is_folder(place):
            return call.fail(f"{wanted}: No such file or directory", 2)
        self._state.folder = resolve(place)
        return 0

    async def _pwd(self, call: Call) -> int:
        call.out(f"{self._state.folder}\n")
        return 0

    async def _read(self, call: Call) -> int:
        names = [each for each in call.arguments if not each.startswith("-")] or ["REPLY"]
        line = await call.input.line()
        values = line.decode(errors="replace").strip(" \t\n").split(None, len(names) - 1)
        found = dict(zip(names, values, strict=False))
        self._state.variables.update(dict.fromkeys(names, "") | found)
        return 0 if line.endswith(b"\n") else 1

    async def _eval(self, call: Call) -> int:
        return await self._run_line(call, " ".join(call.arguments))

    async def _command(self, call: Call) -> int:
        """`command NAME …` runs it; `command -v NAME` says where it is."""
        if call.arguments[:1] == ("-v",):
            call.arguments = call.arguments[1:]
            return await self._where(call)
        return await call.run(call.arguments, call.input) if call.arguments else 0

    async def _where(self, call: Call) -> int:
        code = 0
        for name in call.arguments:
            if name in self.table():
                call.out(f"{name}\n")
            elif name in self._commands:
                call.out(f"/system/bin/{name}\n")
            else:
                code = 1
        return code

    async def _break(self, call: Call) -> int:
        raise LoopExit(_levels(call), goes_on=False)

    async def _continue(self, call: Call) -> int:
        raise LoopExit(_levels(call), goes_on=True)


def _levels(call: Call) -> int:
    given = call.arguments[:1]
    return max(1, int(given[0])) if given and given[0].isdigit() else 1

"""The mock phone's shell: runs parsed command lines with commands that live in this process.

The host's shell is never involved. Output keeps program order, standard error among it where both
go to the same place. It leaves when a line has run, and before anything waits; sending each piece
by itself would cost a round trip through the adb server per command.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Final

from apps_mock.adb_files import Files, resolve
from apps_mock.adb_syntax import Part, Pipeline, Redirection, Simple, Word, parse
from apps_mock.errors import MockFileError, ShellSyntaxError

NAME: Final = "/system/bin/sh"
_TERMINALS: Final = {"/dev/tty": 1, "/dev/stdout": 1, "/dev/stderr": 2, "/proc/self/fd/1": 1}

WriteOutput = Callable[[int, bytes], Awaitable[None]]
ReadInput = Callable[[], Awaitable[bytes]]


@dataclass(slots=True)
class Sink:
    """Where a descriptor's bytes go; `path` names the file they end up in, where there is one."""

    write: Callable[[bytes], None]
    path: str | None = None
    data: bytearray = field(default_factory=bytearray)


@dataclass(slots=True)
class Call:
    """One running command: its arguments, its input and where its output goes."""

    name: str
    arguments: tuple[str, ...]
    read_input: ReadInput
    sinks: dict[int, Sink]
    variables: dict[str, str]
    terminal: Sink
    flush: Callable[[], Awaitable[None]]

    def out(self, text: str | bytes) -> None:
        """Write to standard output."""
        self.sinks[1].write(text if isinstance(text, bytes) else text.encode())

    def error(self, text: str) -> None:
        """Write a line to standard error."""
        self.sinks[2].write(f"{text}\n".encode())

    def fail(self, text: str, code: int = 1) -> int:
        """Say on standard error what went wrong, after the command's name; returns `code`."""
        self.error(f"{self.name}: {text}")
        return code


Command = Callable[[Call], Awaitable[int]]


class ShellExit(Exception):  # noqa: N818 - control flow of `exit`, not an error
    """The shell ends with `code`."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Shell:
    """One shell: variables and last exit code live as long as it does."""

    def __init__(
        self,
        commands: Mapping[str, Command],
        files: Files,
        *,
        write_output: WriteOutput,
        read_input: ReadInput,
    ) -> None:
        self._commands = commands
        self._files = files
        self._write_output = write_output
        self._read_input = read_input
        self._pending: list[tuple[int, bytes]] = []
        self._variables: dict[str, str] = {"PATH": "/system/bin", "HOME": "/", "USER": "shell"}
        self._last_code = 0

    async def run(self, line: str) -> int:
        """Run one command line (or several lines) and return the last exit code.

        Raises: ShellExit: the line said `exit`.
        """
        try:
            pipelines = parse(line)
        except ShellSyntaxError as error:
            self._pending.append((2, f"{NAME}: {error}\n".encode()))
            await self._flush()
            self._last_code = 2
            return 2
        for pipeline in pipelines:
            is_due = {"&&": self._last_code == 0, "||": self._last_code != 0}
            if is_due.get(pipeline.joiner, True):
                try:
                    self._last_code = await self._run_pipeline(pipeline)
                except ShellExit:
                    await self._flush()
                    raise
        await self._flush()
        return self._last_code

    async def _flush(self) -> None:
        pending, self._pending = self._pending, []
        for descriptor, group in groupby(pending, key=itemgetter(0)):
            await self._write_output(descriptor, b"".join(data for _, data in group))

    async def _read_typed(self) -> bytes:
        await self._flush()
        return await self._read_input()

    async def _run_pipeline(self, pipeline: Pipeline) -> int:
        read_input: ReadInput = self._read_typed
        code = 0
        for position, command in enumerate(pipeline.commands):
            is_last = position == len(pipeline.commands) - 1
            piped = Sink(self._terminal(1).write) if is_last else _buffer()
            code = await self._run_simple(command, read_input, piped)
            read_input = _reader_of(bytes(piped.data))
        return code

    async def _run_simple(self, command: Simple, read_input: ReadInput, output: Sink) -> int:
        sinks = {1: output, 2: self._terminal(2)}
        try:
            for redirection in command.redirections:
                read_input = self._redirect(redirection, sinks, read_input)
        except MockFileError as error:
            self._pending.append((2, f"{NAME}: can't open {error.path}: {error.reason}\n".encode()))
            return 1
        words = [field for word in command.words for field in self._fields(word)]
        variables = {name: self._joined(word) for name, word in command.assignments}
        if not words:
            self._variables.update(variables)
            return 0
        return await self._call(words, read_input, sinks, self._variables | variables)

    async def _call(
        self,
        words: list[str],
        read_input: ReadInput,
        sinks: dict[int, Sink],
        variables: dict[str, str],
    ) -> int:
        name, *arguments = words
        if name == "exit":
            code = arguments[0] if arguments else str(self._last_code)
            raise ShellExit(int(code) & 0xFF if code.isdigit() else 2)
        if name == "export":
            for variable, equals, value in (each.partition("=") for each in arguments):
                if equals:
                    self._variables[variable] = value
            return 0
        if name == "exec" and arguments:
            raise ShellExit(await self._call(arguments, read_input, sinks, variables))
        command = self._commands.get(name.removeprefix("/system/bin/"))
        if command is None:
            sinks[2].write(f"{NAME}: {name}: inaccessible or not found\n".encode())
            return 127
        call = Call(
            name, tuple(arguments), read_input, sinks, variables, self._terminal(1), self._flush
        )
        try:
            exit_code = await command(call)
            self._store(sinks)
        except MockFileError as error:
            return call.fail(f"{error.path}: {error.reason}")
        return exit_code

    def _store(self, sinks: dict[int, Sink]) -> None:
        for sink in sinks.values():
            if sink.path and sink.data:
                data = bytes(sink.data)
                sink.data.clear()
                self._files.write(sink.path, data, append=True)

    def _redirect(
        self, redirection: Redirection, sinks: dict[int, Sink], read_input: ReadInput
    ) -> ReadInput:
        path = self._joined(redirection.target)
        if redirection.kind == ">&":
            sinks[redirection.descriptor] = sinks.get(int(path), self._terminal(1))
        elif redirection.kind == "<":
            return _reader_of(b"" if path == "/dev/null" else self._files.read(path))
        else:
            sinks[redirection.descriptor] = self._opened(path, append=redirection.kind == ">>")
        return read_input

    def _opened(self, path: str, *, append: bool) -> Sink:
        if path == "/dev/null":
            return Sink(lambda _: None)
        if path in _TERMINALS:
            return self._terminal(_TERMINALS[path])
        self._files.write(path, b"", append=append)
        sink = _buffer()
        sink.path = resolve(path)
        return sink

    def _terminal(self, descriptor: int) -> Sink:
        return Sink(lambda data: self._pending.append((descriptor, data)))

    def _value(self, part: Part) -> str:
        if not part.is_variable:
            return part.text
        return str(self._last_code) if part.text == "?" else self._variables.get(part.text, "")

    def _joined(self, word: Word) -> str:
        """The word as one string, as for assignments and file names."""
        return "".join(self._value(part) for part in word)

    def _fields(self, word: Word) -> list[str]:
        """The word's fields: bare variables split at blanks, bare patterns match files."""
        is_bare_variable = len(word) == 1 and word[0].is_variable and not word[0].is_quoted
        if is_bare_variable:
            return self._value(word[0]).split()
        text = self._joined(word)
        has_pattern = any(not part.is_quoted and set(part.text) & set("*?[") for part in word)
        return list(self._files.matches(text)) or [text] if has_pattern else [text]


def _buffer() -> Sink:
    data = bytearray()
    return Sink(data.extend, data=data)


def _reader_of(data: bytes) -> ReadInput:
    async def read() -> bytes:
        return data

    return read

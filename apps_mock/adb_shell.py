"""The mock phone's shell: runs parsed command lines with commands that live in this process.

The host's shell is never involved. Output keeps program order, standard error among it where both
go to the same place. It leaves when a line has run, and before anything waits; sending each piece
by itself would cost a round trip through the adb server per command.
"""

from __future__ import annotations

import asyncio
import fnmatch
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Final

from apps_mock.adb_builtins import NAME, Builtins, LoopExit, ShellExit, ShellState
from apps_mock.adb_calls import Call, Command, Input, ReadChunk, Sink, buffer
from apps_mock.adb_conditions import Conditions
from apps_mock.adb_expansion import Expander
from apps_mock.adb_files import Files, resolve
from apps_mock.adb_program import (
    Case,
    Choice,
    Condition,
    Each,
    Group,
    Loop,
    Node,
    Pipeline,
    Program,
    Redirection,
    Simple,
)
from apps_mock.adb_syntax import parse, program_of
from apps_mock.adb_words import Token
from apps_mock.errors import CommandUsageError, MockFileError, ShellLimitError, ShellSyntaxError

DEEPEST: Final = 30
_TERMINALS: Final = {"/dev/tty": 1, "/dev/stdout": 1, "/dev/stderr": 2, "/proc/self/fd/1": 1}

WriteOutput = Callable[[int, bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Channels:
    """Where a command reads and writes."""

    input: Input
    sinks: dict[int, Sink]


class Shell:
    """One shell: variables, folder and last exit code live as long as it does.

    Args:
        write_output: takes what leaves, by descriptor.
        read_chunk: standard input of the shell.
        missing: hears of each command that there is not.
    """

    def __init__(
        self,
        commands: Mapping[str, Command],
        files: Files,
        *,
        write_output: WriteOutput,
        read_chunk: ReadChunk,
        missing: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._commands = commands
        self._files = files
        self._write_output = write_output
        self._missing = missing
        self._pending: list[tuple[int, bytes]] = []
        self._input = Input(self._flushed(read_chunk))
        self._state = ShellState()
        self._depth = 0
        self._builtins = Builtins(self._state, files, commands, self._run_here).table()
        self._expander = Expander(
            files,
            self._state.variables,
            special=self._state.special,
            substitute=self._substitute,
            folder=lambda: self._state.folder,
        )
        self._conditions = Conditions(self._expander, files, lambda: self._state.folder)

    async def run(self, line: str) -> int:
        """Run one command line (or several lines) and return the last exit code.

        Raises: ShellExit: the line said `exit`.
        """
        channels = _Channels(self._input, {1: self._terminal(1), 2: self._terminal(2)})
        try:
            self._state.last_code = await self._run_program(parse(line), channels)
        except ShellSyntaxError as error:
            self._complain(str(error), channels)
            self._state.last_code = 2
        except LoopExit:
            self._state.last_code = 0
        finally:
            await self._flush()
        return self._state.last_code

    def _flushed(self, read_chunk: ReadChunk) -> ReadChunk:
        async def read() -> bytes:
            await self._flush()
            return await read_chunk()

        return read

    async def _flush(self) -> None:
        pending, self._pending = self._pending, []
        for descriptor, group in groupby(pending, key=itemgetter(0)):
            await self._write_output(descriptor, b"".join(data for _, data in group))

    def _terminal(self, descriptor: int) -> Sink:
        return Sink(lambda data: self._pending.append((descriptor, data)))

    def _complain(self, text: str, channels: _Channels) -> None:
        channels.sinks[2].write(f"{NAME}: {text}\n".encode(errors="replace"))

    async def _run_program(self, program: Program, channels: _Channels) -> int:
        for pipeline in program:
            is_due = {"&&": self._state.last_code == 0, "||": self._state.last_code != 0}
            if is_due.get(pipeline.joiner, True):
                self._state.last_code = await self._run_pipeline(pipeline, channels)
        return self._state.last_code

    async def _run_pipeline(self, pipeline: Pipeline, channels: _Channels) -> int:
        given, code = channels.input, 0
        for position, node in enumerate(pipeline.commands):
            is_last = position == len(pipeline.commands) - 1
            piped = channels.sinks[1] if is_last else buffer()
            ends = _Channels(given, channels.sinks | {1: piped})
            if len(pipeline.commands) == 1:
                code = await self._run_node(node, ends)
            else:
                code = await self._apart(partial(self._run_node, node, ends))
            given = Input(data=bytes(piped.data))
        return int(code == 0) if pipeline.is_negated else code

    async def _apart(self, run: Callable[[], Awaitable[int]]) -> int:
        """Run something in a shell of its own: what it sets and where it goes ends with it."""
        variables, folder = dict(self._state.variables), self._state.folder
        try:
            return await run()
        except ShellExit as end:
            return end.code
        finally:
            self._state.variables.clear()
            self._state.variables.update(variables)
            self._state.folder = folder

    async def _run_node(self, node: Node, channels: _Channels) -> int:
        try:
            channels = await self._redirected(node.redirections, channels)
        except MockFileError as error:
            self._complain(f"can't open {error.path}: {error.reason}", channels)
            return 1
        try:
            return await self._run_open(node, channels)
        except ShellLimitError as error:
            self._complain(str(error), channels)
            return 1
        finally:
            self._store(channels.sinks)

    async def _run_open(self, node: Node, channels: _Channels) -> int:
        match node:
            case Simple():
                return await self._run_simple(node, channels)
            case Condition(tokens):
                return int(not await self._conditions.holds(tokens))
            case Group(body, is_subshell):
                if is_subshell:
                    return await self._apart(lambda: self._run_program(body, channels))
                return await self._run_program(body, channels)
            case Choice():
                return await self._run_choice(node, channels)
            case Loop():
                return await self._run_loop(node, channels)
            case Each():
                return await self._run_each(node, channels)
            case Case():
                return await self._run_case(node, channels)

    async def _run_choice(self, node: Choice, channels: _Channels) -> int:
        for condition, body in node.branches:
            if condition is None or await self._run_program(condition, channels) == 0:
                return await self._run_program(body, channels)
        return 0

    async def _run_loop(self, node: Loop, channels: _Channels) -> int:
        code = 0
        while (await self._run_program(node.condition, channels) != 0) == node.until:
            code, goes_on = await self._run_body(node.body, channels)
            if not goes_on:
                break
        return code

    async def _run_each(self, node: Each, channels: _Channels) -> int:
        code = 0
        for word in node.words:
            for value in await self._expander.fields(word):
                self._state.variables[node.name] = value
                code, goes_on = await self._run_body(node.body, channels)
                if not goes_on:
                    return code
        return code

    async def _run_body(self, body: Program, channels: _Channels) -> tuple[int, bool]:
        """One turn of a loop: its code, and whether there may be another."""
        await self._flush()
        await asyncio.sleep(0)
        try:
            return await self._run_program(body, channels), True
        except LoopExit as end:
            if end.levels > 1:
                raise LoopExit(end.levels - 1, goes_on=end.goes_on) from None
            return 0, end.goes_on

    async def _run_case(self, node: Case, channels: _Channels) -> int:
        text = await self._expander.joined(node.word)
        for patterns, body in node.items:
            for pattern in patterns:
                if fnmatch.fnmatchcase(text, await self._expander.pattern(pattern)):
                    return await self._run_program(body, channels)
        return 0

    async def _run_simple(self, command: Simple, channels: _Channels) -> int:
        words = [text for word in command.words for text in await self._expander.fields(word)]
        before = self._state.last_code
        self._state.last_code = 0  # what a substitution below leaves is an assignment's code
        assigned = {name: await self._expander.joined(word) for name, word in command.assignments}
        left, self._state.last_code = self._state.last_code, before
        if not words:
            self._state.variables.update(assigned)
            return left
        return await self._call(words, channels, self._state.variables | assigned)

    async def _call(
        self, words: Sequence[str], channels: _Channels, variables: Mapping[str, str]
    ) -> int:
        name, *arguments = words
        plain = name.removeprefix("/system/bin/").removeprefix("/vendor/bin/")
        command = self._builtins.get(name) or self._commands.get(plain)
        if command is None:
            self._missing(name)
            self._complain(f"{name}: inaccessible or not found", channels)
            return 127
        call = Call(
            name=name,
            arguments=tuple(arguments),
            input=channels.input,
            sinks=channels.sinks,
            variables=variables,
            folder=self._state.folder,
            terminal=self._terminal(1),
            flush=self._flush,
            run=lambda words, given: self._inner(words, replace(channels, input=given)),
            run_line=lambda line: self._apart(lambda: self._run_line(line, channels)),
        )
        try:
            return await command(call)
        except MockFileError as error:
            return call.fail(f"{error.path}: {error.reason}")
        except CommandUsageError as error:
            return call.fail(str(error), error.code)

    async def _inner(self, words: Sequence[str], channels: _Channels) -> int:
        return await self._deeper(lambda: self._call(words, channels, self._state.variables))

    async def _run_here(self, call: Call, line: str) -> int:
        return await self._run_line(line, _Channels(call.input, call.sinks))

    async def _run_line(self, line: str, channels: _Channels) -> int:
        try:
            program = parse(line)
        except ShellSyntaxError as error:
            self._complain(str(error), channels)
            return 2
        return await self._deeper(lambda: self._run_program(program, channels))

    async def _deeper(self, run: Callable[[], Awaitable[int]]) -> int:
        """Run something that a command runs in turn; not without end."""
        if self._depth >= DEEPEST:
            raise ShellLimitError("too deeply nested")
        self._depth += 1
        try:
            return await run()
        finally:
            self._depth -= 1

    async def _substitute(self, tokens: tuple[Token, ...]) -> str:
        output = buffer()
        channels = _Channels(self._input, {1: output, 2: self._terminal(2)})
        program = program_of(tokens)
        self._state.last_code = await self._deeper(
            lambda: self._apart(lambda: self._run_program(program, channels))
        )
        return output.data.decode(errors="replace").replace("\0", "").rstrip("\n")

    def _store(self, sinks: Mapping[int, Sink]) -> None:
        for sink in sinks.values():
            if sink.path and sink.data:
                data = bytes(sink.data)
                sink.data.clear()
                self._files.write(sink.path, data, append=True)

    async def _redirected(
        self, redirections: Sequence[Redirection], channels: _Channels
    ) -> _Channels:
        given, sinks = channels.input, dict(channels.sinks)
        for redirection in redirections:
            target = await self._expander.joined(redirection.target)
            if redirection.kind == ">&":
                sinks[redirection.descriptor] = sinks.get(int(target), self._terminal(1))
            elif redirection.kind == "<":
                is_empty = target == "/dev/null"
                path = self._state.path(target)
                given = Input(data=b"" if is_empty else self._files.read(path))
            else:
                path = self._state.path(target)
                is_appended = redirection.kind == ">>"
                sinks[redirection.descriptor] = self._opened(path, append=is_appended)
        return _Channels(given, sinks)

    def _opened(self, path: str, *, append: bool) -> Sink:
        if path == "/dev/null":
            return Sink(lambda _: None)
        if path in _TERMINALS:
            return self._terminal(_TERMINALS[path])
        self._files.write(path, b"", append=append)
        return buffer(resolve(path))

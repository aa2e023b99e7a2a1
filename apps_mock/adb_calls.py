"""What a command of the mock phone's shell is given: arguments, input, places for its output."""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from apps_mock.errors import MockFileError, ShellLimitError

LARGEST_BYTES: Final = 64 * 1024 * 1024
"""Most that a pipe, a substitution or an input may hold."""

ReadChunk = Callable[[], Awaitable[bytes]]
"""Some bytes, at least one; empty at the end."""


async def nothing() -> bytes:
    """An input that has ended."""
    return b""


class Input:
    """A command's standard input, which can be read in parts."""

    def __init__(self, read_chunk: ReadChunk = nothing, *, data: bytes = b"") -> None:
        self._read_chunk = read_chunk
        self._data = bytearray(data)
        self._has_ended = False

    async def all(self) -> bytes:
        """Everything up to the end."""
        while await self._more():
            pass
        return self._take(len(self._data))

    async def line(self) -> bytes:
        """The next line with its end; empty at the end of the input."""
        while b"\n" not in self._data and await self._more():
            pass
        end = self._data.find(b"\n") + 1
        return self._take(end or len(self._data))

    async def exactly(self, size: int) -> bytes:
        """So many bytes, or fewer where the input ends before."""
        while len(self._data) < size and await self._more():
            pass
        return self._take(min(size, len(self._data)))

    async def _more(self) -> bool:
        if self._has_ended:
            return False
        chunk = await self._read_chunk()
        self._has_ended = not chunk
        self._data += chunk
        if len(self._data) > 4 * LARGEST_BYTES:
            raise ShellLimitError("too much input")
        return bool(chunk)

    def _take(self, size: int) -> bytes:
        taken = bytes(self._data[:size])
        del self._data[:size]
        return taken


@dataclass(slots=True)
class Sink:
    """Where a descriptor's bytes go; `path` names the file they end up in, where there is one."""

    write: Callable[[bytes], None]
    path: str | None = None
    data: bytearray = field(default_factory=bytearray)


def buffer(path: str | None = None) -> Sink:
    """A sink that keeps what it gets.

    Its `write` raises ShellLimitError where that is too much.
    """
    data = bytearray()

    def write(more: bytes) -> None:
        if len(data) + len(more) > LARGEST_BYTES:
            raise ShellLimitError("too much output")
        data.extend(more)

    return Sink(write, path, data)


@dataclass(slots=True)
class Call:
    """One running command: its arguments, its input and where its output goes.

    Attributes:
        run: runs another command with an input of its own and the same output.
        run_line: runs a line in a shell of its own, with the same input and output.
    """

    name: str
    arguments: tuple[str, ...]
    input: Input
    sinks: dict[int, Sink]
    variables: Mapping[str, str]
    folder: str
    terminal: Sink
    flush: Callable[[], Awaitable[None]]
    run: Callable[[Sequence[str], Input], Awaitable[int]]
    run_line: Callable[[str], Awaitable[int]]

    def out(self, text: str | bytes) -> None:
        """Write to standard output."""
        self.sinks[1].write(text if isinstance(text, bytes) else text.encode(errors="replace"))

    def error(self, text: str) -> None:
        """Write a line to standard error."""
        self.sinks[2].write(f"{text}\n".encode(errors="replace"))

    def fail(self, text: str, code: int = 1) -> int:
        """Say on standard error what went wrong, after the command's name; returns `code`."""
        self.error(f"{self.name}: {text}")
        return code

    def path(self, given: str) -> str:
        """An argument as an absolute path."""
        if not given:
            raise MockFileError(given, "No such file or directory")
        return posixpath.join(self.folder, given)

    @property
    def shown(self) -> str:
        """Name and arguments, as a log has them."""
        return " ".join((self.name, *self.arguments))


Command = Callable[[Call], Awaitable[int]]
"""Runs a call; returns its exit code."""

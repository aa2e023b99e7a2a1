"""The `shell:` and `exec:` services: a shell behind an ADB stream, in both framings.

`shell,v2` frames output by descriptor and ends with the exit code, which is the proof that the
output is whole. The older form and `exec:` are raw bytes with everything merged.
"""

from __future__ import annotations

import asyncio
import struct
from collections import Counter
from functools import partial
from typing import Final

from apps_mock.adb_behind import Behind
from apps_mock.adb_builtins import ShellExit
from apps_mock.adb_shell import Shell
from apps_mock.adb_streams import ByteStream

STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = 0, 1, 2, 3, 4
INTERRUPTED: Final = 130
PROMPT: Final = b"clone:/ $ "
_HEADER = struct.Struct("<BI")
_INTERRUPT, _END, _ERASE = 3, 4, (8, 127)


class ShellSession:
    """One `shell` or `exec` stream.

    Args:
        framed: whether the peer asked for the v2 framing.
        is_terminal: whether the peer asked for a terminal, whose echo is then done here.
        crlf: whether output goes through a terminal that turns line feeds into CR LF.
    """

    def __init__(self, stream: ByteStream, *, framed: bool, is_terminal: bool, crlf: bool) -> None:
        self._stream = stream
        self._framed = framed
        self._is_terminal = is_terminal
        self._crlf = crlf
        self._frames = bytearray()
        self._is_input_closed = False
        self._reading: asyncio.Task[bytes] | None = None
        self._typed_ahead = b""

    async def run(self, line: str, behind: Behind) -> None:
        """Run `line`, or what is typed where it is empty, and send the exit code."""
        shell = Shell(
            behind.commands,
            behind.files,
            write_output=self._write_output,
            read_chunk=self._read_command_input,
            missing=partial(_count, behind.unknown),
        )
        try:
            code = await (shell.run(line) if line.strip() else self._interact(shell))
        except ShellExit as end:
            code = end.code
        finally:
            if self._reading is not None:
                self._reading.cancel()
        if self._framed:
            await self._stream.write(_HEADER.pack(EXIT, 1) + bytes([code & 0xFF]))

    async def _write_output(self, descriptor: int, data: bytes) -> None:
        if self._crlf:
            data = data.replace(b"\n", b"\r\n")
        if not data:
            return
        if self._framed:
            kind = STDERR if descriptor == 2 and not self._is_terminal else STDOUT
            data = _HEADER.pack(kind, len(data)) + data
        await self._stream.write(data)

    async def _read_command_input(self) -> bytes:
        """Standard input of a command; at a terminal the keys are the shell's, so nothing."""
        return b"" if self._is_terminal else await self._read_input()

    async def _read_input(self) -> bytes:
        """Some of standard input; empty at its end."""
        if not self._framed:
            return await self._stream.read()
        while not self._is_input_closed:
            while len(self._frames) >= _HEADER.size:
                kind, length = _HEADER.unpack_from(self._frames)
                if len(self._frames) < _HEADER.size + length:
                    break
                data = bytes(self._frames[_HEADER.size : _HEADER.size + length])
                del self._frames[: _HEADER.size + length]
                if kind == STDIN and data:
                    return data
                if kind == CLOSE_STDIN:
                    self._is_input_closed = True
            if not self._is_input_closed:
                data = await self._stream.read()
                self._frames += data
                self._is_input_closed = not data
        return b""

    async def _interact(self, shell: Shell) -> int:
        """Run lines as they are typed, until the input ends."""
        line = bytearray()
        code = 0
        await self._prompt()
        while data := await self._typed():
            for byte in data:
                if byte == _END and self._is_terminal and not line:
                    return code
                if not await self._take(byte, line):
                    continue
                text = line.decode(errors="replace")
                line.clear()
                code = await self._run_line(shell, text)
                await self._prompt()
        return code

    async def _run_line(self, shell: Shell, line: str) -> int:
        """Run a typed line; at a terminal Ctrl-C ends it, other keys are kept for later."""
        if not self._is_terminal:
            return await shell.run(line)
        running = asyncio.create_task(shell.run(line))
        try:
            while not running.done() and not self._is_input_closed:
                reading = self._reading = self._reading or asyncio.create_task(self._read_input())
                await asyncio.wait({running, reading}, return_when=asyncio.FIRST_COMPLETED)
                if reading.done():
                    self._reading = None
                    self._typed_ahead += reading.result()
                if _INTERRUPT in self._typed_ahead:
                    self._typed_ahead = b""
                    await self._write_output(STDOUT, b"^C\n")
                    return INTERRUPTED
            return await running
        finally:
            running.cancel()

    async def _typed(self) -> bytes:
        """What was typed meanwhile, or what is typed next; empty at the end."""
        if self._typed_ahead:
            data, self._typed_ahead = self._typed_ahead, b""
            return data
        reading, self._reading = self._reading, None
        return await (reading or self._read_input())

    async def _take(self, byte: int, line: bytearray) -> bool:
        """Add a typed byte to the line; True where the line is complete."""
        if not self._is_terminal:
            if byte != ord("\n"):
                line.append(byte)
            return byte == ord("\n")
        if byte in b"\r\n":
            await self._write_output(STDOUT, b"\n")
            return True
        if byte == _INTERRUPT:
            line.clear()
            await self._write_output(STDOUT, b"^C\n")
            await self._prompt()
        elif byte in _ERASE:
            if line:
                line.pop()
                await self._write_output(STDOUT, b"\b \b")
        elif byte >= ord(" "):
            line.append(byte)
            await self._write_output(STDOUT, bytes([byte]))
        return False

    async def _prompt(self) -> None:
        if self._is_terminal:
            await self._write_output(STDOUT, PROMPT)


def _count(unknown: Counter[str], name: str) -> None:
    unknown[name] += 1

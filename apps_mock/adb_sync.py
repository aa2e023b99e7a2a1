"""The `sync:` service: `adb push`, `adb pull`, `adb ls` on the mock phone's files.

Requests are parsed from a byte stream: one may arrive in pieces, or several in one packet. A result
is complete only with its DONE (or OKAY), which is how clients tell a whole file from half of one.
"""

from __future__ import annotations

import errno
import posixpath
import struct
from collections.abc import Awaitable, Callable
from typing import Final

from apps_mock.adb_files import CAPACITY_BYTES, FILE_MODE, Files
from apps_mock.adb_streams import ByteStream
from apps_mock.errors import AdbProtocolError, MockFileError

MAX_PATH_BYTES: Final = 1024
CHUNK_BYTES: Final = 64 * 1024

_REQUEST = struct.Struct("<4sI")
_STAT_V1 = struct.Struct("<4s3I")
_STAT_V2 = struct.Struct("<4sI2Q4IQ3q")
_ENTRY_V1 = struct.Struct("<4s4I")
_ENTRY_V2 = struct.Struct("<4sI2Q4IQ3qI")


class SyncSession:
    """One open `sync:` stream; it serves requests until QUIT or the stream's end."""

    def __init__(self, stream: ByteStream, files: Files) -> None:
        self._stream = stream
        self._files = files
        self._pending = bytearray()
        self._handlers: dict[bytes, Callable[[str], Awaitable[None]]] = {
            b"STAT": self._stat,
            b"LST2": self._stat_v2,
            b"STA2": self._stat_v2,
            b"LIST": self._list,
            b"LIS2": self._list_v2,
            b"RECV": self._receive,
            b"SEND": self._send,
        }

    async def run(self) -> None:
        """Serve until the peer quits."""
        try:
            while True:
                kind, length = _REQUEST.unpack(await self._take(_REQUEST.size))
                if kind == b"QUIT":
                    return
                if kind not in self._handlers or length > MAX_PATH_BYTES:
                    await self._fail(f"unknown or oversized request {kind!r}")
                    return
                path = (await self._take(length)).decode(errors="replace")
                try:
                    await self._handlers[kind](path)
                except MockFileError as error:
                    await self._fail(error.reason)
        except EOFError:
            return

    async def _take(self, size: int) -> bytes:
        while len(self._pending) < size:
            data = await self._stream.read()
            if not data:
                raise EOFError
            self._pending += data
        taken = bytes(self._pending[:size])
        del self._pending[:size]
        return taken

    async def _fail(self, reason: str) -> None:
        text = reason.encode()
        await self._stream.write(_REQUEST.pack(b"FAIL", len(text)) + text)

    async def _stat(self, path: str) -> None:
        found = self._files.stat(path) or (0, 0, 0)
        await self._stream.write(_STAT_V1.pack(b"STAT", *found))

    async def _stat_v2(self, path: str) -> None:
        await self._stream.write(_STAT_V2.pack(b"STA2", *self._facts(path)))

    def _facts(self, path: str) -> tuple[int, ...]:
        """error, dev, inode, mode, links, uid, gid, size, three times."""
        found = self._files.stat(path)
        if found is None:
            return (errno.ENOENT, *([0] * 10))
        mode, size, changed = found
        return (0, 1, 1, mode, 1, 2000, 2000, size, changed, changed, changed)

    async def _list(self, path: str) -> None:
        for name in self._names(path):
            found = self._files.stat(posixpath.join(path, name)) or (0, 0, 0)
            encoded = name.encode()
            await self._stream.write(_ENTRY_V1.pack(b"DENT", *found, len(encoded)) + encoded)
        await self._stream.write(_ENTRY_V1.pack(b"DONE", 0, 0, 0, 0))

    async def _list_v2(self, path: str) -> None:
        for name in self._names(path):
            encoded = name.encode()
            facts = self._facts(posixpath.join(path, name))
            await self._stream.write(_ENTRY_V2.pack(b"DNT2", *facts, len(encoded)) + encoded)
        await self._stream.write(_ENTRY_V2.pack(b"DONE", *([0] * 12)))

    def _names(self, path: str) -> tuple[str, ...]:
        return self._files.names(path) if self._files.is_folder(path) else ()

    async def _receive(self, path: str) -> None:
        data = self._files.read(path)
        parts = bytearray()
        for start in range(0, len(data), CHUNK_BYTES):
            chunk = data[start : start + CHUNK_BYTES]
            parts += _REQUEST.pack(b"DATA", len(chunk)) + chunk
        await self._stream.write(bytes(parts + _REQUEST.pack(b"DONE", 0)))

    async def _send(self, target: str) -> None:
        path, _, mode = target.rpartition(",")
        data = bytearray()
        while True:
            kind, value = _REQUEST.unpack(await self._take(_REQUEST.size))
            if kind == b"DONE":
                break
            if kind != b"DATA" or value > CHUNK_BYTES:
                raise AdbProtocolError(f"{kind!r} does not belong into a pushed file")
            if len(data) + value > CAPACITY_BYTES:
                raise AdbProtocolError("a pushed file is larger than the mock phone's storage")
            data += await self._take(value)
        self._files.make_folder(posixpath.dirname(path), parents=True)
        bits = int(mode[:9]) if mode.isdigit() else 0
        self._files.write(path, bytes(data), mode=FILE_MODE | bits & 0o777)
        self._files.touch(path, value)
        await self._stream.write(_REQUEST.pack(b"OKAY", 0))

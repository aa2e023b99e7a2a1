"""Streams of an ADB connection: one service's bytes both ways, with their flow control.

One packet of ours is on its way until the peer acknowledges it. The peer's packets are acknowledged
at once while little is unread, and as they are read otherwise, so a service that reads slowly slows
its peer down instead of filling the memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from apps_mock.adb_packets import MAX_PAYLOAD, Packet
from apps_mock.errors import AdbProtocolError

UNREAD_LIMIT_BYTES: Final = 4 * 1024 * 1024
"""Beyond this much unread input a packet is acknowledged only when it is read."""

GRACE_S: Final = 1.0
"""How long a service may go on with its input after the peer closed."""


class ByteStream(Protocol):
    """What a service needs of its stream."""

    async def read(self) -> bytes:
        """Whatever has come since the last call, at least a byte; empty once the peer closed."""
        ...

    async def write(self, data: bytes) -> None:
        """Send all of `data`.

        Raises: ConnectionResetError: the peer closed the stream.
        """
        ...


class PacketSender(Protocol):
    """What a stream needs of its connection."""

    @property
    def max_payload(self) -> int:
        """Bytes that one packet may carry."""
        ...

    async def send(self, packet: Packet) -> None:
        """Write one packet."""
        ...


class Stream:
    """One service's two-way byte stream inside a connection."""

    def __init__(self, connection: PacketSender, local_id: int, remote_id: int) -> None:
        self._connection = connection
        self._local_id = local_id
        self._remote_id = remote_id
        self._inbox = bytearray()
        self._owes_okay = False
        self._is_reading = False
        self._changed = asyncio.Event()
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._is_closed = False
        self._server: asyncio.Task[None] | None = None

    def serve_with(self, task: asyncio.Task[None]) -> None:
        """Remember the service's task, which ends with the stream."""
        self._server = task

    async def write(self, data: bytes) -> None:
        """Send all of `data`, waiting for the peer's acknowledgement before each next chunk.

        Raises: ConnectionResetError: the peer closed the stream.
        """
        limit = self._connection.max_payload
        for start in range(0, len(data), limit):
            await self._may_write.wait()
            if self._is_closed:
                raise ConnectionResetError("the peer closed the stream")
            self._may_write.clear()
            await self._send(b"WRTE", data[start : start + limit])

    async def read(self) -> bytes:
        """Whatever has come since the last call, at least a byte; empty once the peer closed."""
        self._is_reading = True
        while not self._inbox and not self._is_closed:
            self._changed.clear()
            await self._changed.wait()
        self._is_reading = False
        data = bytes(self._inbox)
        self._inbox.clear()
        if self._owes_okay:
            self._owes_okay = False
            await self._send(b"OKAY")
        return data

    async def close(self) -> None:
        """Wait for the last acknowledgement and close. Idempotent."""
        await self._may_write.wait()
        if not self._is_closed:
            self.abandon()
            await self._send(b"CLSE")

    async def peer_closed(self) -> None:
        """Answer a CLSE with a CLSE, unless ours is what it answers, and end the service.

        One that still reads is given a moment with what came, as `exec-in` relies on.
        """
        if self._is_closed:
            return
        if self._is_reading or self._inbox:
            self.abandon()
            asyncio.get_running_loop().call_later(GRACE_S, self.end)
        else:
            self.end()
        await self._send(b"CLSE")

    def end(self) -> None:
        """Stop the service: nobody listens any more."""
        self.abandon()
        if self._server is not None:
            self._server.cancel()

    async def accept(self) -> None:
        """Tell the peer that the service runs."""
        await self._send(b"OKAY")

    async def receive(self, payload: bytes) -> None:
        """Take a WRTE of the peer; acknowledge it now, or once it is read.

        Raises: AdbProtocolError: the peer sends on without waiting for acknowledgements.
        """
        if self._owes_okay and len(self._inbox) > UNREAD_LIMIT_BYTES + MAX_PAYLOAD:
            raise AdbProtocolError("a peer sends without waiting for its acknowledgements")
        self._inbox += payload
        self._changed.set()
        if len(self._inbox) > UNREAD_LIMIT_BYTES:
            self._owes_okay = True
        else:
            await self._send(b"OKAY")

    def acknowledged(self) -> None:
        """The peer took our last WRTE."""
        self._may_write.set()

    def abandon(self) -> None:
        """The stream is over: readers see its end, writers an error."""
        self._is_closed = True
        self._changed.set()
        self._may_write.set()

    async def _send(self, command: bytes, payload: bytes = b"") -> None:
        await self._connection.send(Packet(command, self._local_id, self._remote_id, payload))


Service = Callable[[ByteStream], Awaitable[None]]
"""Serves one stream until it returns; the stream is closed for it."""

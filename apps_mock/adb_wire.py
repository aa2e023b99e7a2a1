"""The daemon side of the ADB wire: packets, the handshake, streams and their flow control.

One `Connection` serves one adb server. Facts that real servers and clients need: a CLSE is answered
by a CLSE, every WRTE is acknowledged, one of ours may be outstanding per stream, no payload exceeds
the smaller of both announced sizes, sums are sent where the peer may check them. TLS is never
offered, and a peer that asks for it is let go.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from apps_mock.errors import AdbProtocolError

VERSION_SUMMED: Final = 0x01000000
VERSION: Final = 0x01000001
MAX_PAYLOAD: Final = 0x100000
INBOX_LIMIT_BYTES: Final = 64 * 1024 * 1024

_HEADER = struct.Struct("<4s5I")


@dataclass(frozen=True, slots=True)
class Packet:
    """One message; `command` is four letters, the arguments depend on it."""

    command: bytes
    arg0: int
    arg1: int
    payload: bytes = b""


def pack(packet: Packet, *, with_sum: bool) -> bytes:
    """Header and payload as sent; without a sum the field is zero."""
    total = sum(packet.payload) & 0xFFFFFFFF if with_sum else 0
    magic = int.from_bytes(packet.command, "little") ^ 0xFFFFFFFF
    header = _HEADER.pack(
        packet.command, packet.arg0, packet.arg1, len(packet.payload), total, magic
    )
    return header + packet.payload


async def read_packet(reader: asyncio.StreamReader) -> Packet:
    """The next packet.

    Raises:
        AdbProtocolError: the bytes are no packet, or one that is too large.
        asyncio.IncompleteReadError: the peer went away.
    """
    header = await reader.readexactly(_HEADER.size)
    command, arg0, arg1, length, _sum, magic = _HEADER.unpack(header)
    if magic != int.from_bytes(command, "little") ^ 0xFFFFFFFF:
        raise AdbProtocolError(f"a packet's magic is wrong: {header.hex()}")
    if length > MAX_PAYLOAD:
        raise AdbProtocolError(f"a payload of {length} bytes exceeds {MAX_PAYLOAD}")
    return Packet(command, arg0, arg1, await reader.readexactly(length))


class Stream:
    """One service's two-way byte stream inside a connection."""

    def __init__(self, connection: Connection, local_id: int, remote_id: int) -> None:
        self._connection = connection
        self._local_id = local_id
        self._remote_id = remote_id
        self._inbox = bytearray()
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
        while not self._inbox and not self._is_closed:
            self._changed.clear()
            await self._changed.wait()
        data = bytes(self._inbox)
        self._inbox.clear()
        return data

    async def close(self) -> None:
        """Wait for the last acknowledgement and close. Idempotent."""
        await self._may_write.wait()
        if not self._is_closed:
            self.abandon()
            await self._send(b"CLSE")

    async def peer_closed(self) -> None:
        """Answer a CLSE with a CLSE, unless ours is what it answers, and end the service."""
        if not self._is_closed:
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
        """Take a WRTE of the peer and acknowledge it."""
        if len(self._inbox) + len(payload) > INBOX_LIMIT_BYTES:
            raise AdbProtocolError("a stream's unread input grew past its limit")
        self._inbox += payload
        self._changed.set()
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


Service = Callable[[Stream], Awaitable[None]]
FindService = Callable[[str], Service | None]
"""Which service a name means, None for an unknown one."""


class Connection:
    """One adb server's link: handshake, then streams until either side lets go."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        banner: bytes,
        find_service: FindService,
    ) -> None:
        self.max_payload = MAX_PAYLOAD
        self._reader = reader
        self._writer = writer
        self._banner = banner
        self._find_service = find_service
        self._peer_version = VERSION_SUMMED
        self._is_connected = False
        self._streams: dict[int, Stream] = {}
        self._last_id = 0

    async def run(self) -> None:
        """Serve until the peer goes away or breaks the protocol."""
        try:
            async with asyncio.TaskGroup() as services:
                with contextlib.suppress(
                    asyncio.IncompleteReadError, ConnectionError, AdbProtocolError
                ):
                    while True:
                        await self._handle(await read_packet(self._reader), services)
                for stream in self._streams.values():
                    stream.end()
        finally:
            self._writer.close()

    def drop(self) -> None:
        """Cut the link; `run` then ends."""
        self._writer.transport.abort()

    async def send(self, packet: Packet) -> None:
        """Write one packet; a lost peer is noticed by the reader, not here."""
        with_sum = packet.command == b"CNXN" or self._peer_version == VERSION_SUMMED
        with contextlib.suppress(ConnectionError):
            self._writer.write(pack(packet, with_sum=with_sum))
            await self._writer.drain()

    async def _handle(self, packet: Packet, services: asyncio.TaskGroup) -> None:
        if packet.command == b"CNXN":
            await self._greet(packet)
            return
        if not self._is_connected or packet.command in {b"STLS", b"AUTH"}:
            raise AdbProtocolError(f"{packet.command!r} is not expected now")
        if packet.command == b"OPEN":
            await self._open(packet, services)
            return
        stream = self._streams.get(packet.arg1)
        if stream is None:
            return
        match packet.command:
            case b"OKAY":
                stream.acknowledged()
            case b"WRTE":
                await stream.receive(packet.payload)
            case b"CLSE":
                await stream.peer_closed()
            case _:
                raise AdbProtocolError(f"{packet.command!r} is no command")

    async def _greet(self, packet: Packet) -> None:
        self._peer_version = min(packet.arg0, VERSION)
        self.max_payload = max(1, min(packet.arg1, MAX_PAYLOAD))
        self._is_connected = True
        await self.send(Packet(b"CNXN", VERSION, MAX_PAYLOAD, self._banner))

    async def _open(self, packet: Packet, services: asyncio.TaskGroup) -> None:
        name = packet.payload.rstrip(b"\0").decode(errors="replace")
        service = self._find_service(name)
        if service is None:
            await self.send(Packet(b"CLSE", 0, packet.arg0))
            return
        self._last_id += 1
        local_id = self._last_id
        stream = Stream(self, local_id, packet.arg0)
        self._streams[local_id] = stream
        await stream.accept()
        stream.serve_with(services.create_task(self._serve(service, stream, local_id)))

    async def _serve(self, service: Service, stream: Stream, local_id: int) -> None:
        try:
            await service(stream)
        except (ConnectionError, AdbProtocolError):
            stream.abandon()
        finally:
            await stream.close()
            del self._streams[local_id]

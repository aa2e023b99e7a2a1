"""The daemon side of the ADB wire: the handshake, and streams until either side lets go.

One `Connection` serves one adb server. Facts that real servers and clients need: a CLSE is answered
by a CLSE, every WRTE is acknowledged, one of ours may be outstanding per stream, no payload exceeds
the smaller of both announced sizes, sums are sent where the peer may check them. TLS is never
offered, and a peer that asks for it is let go.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Final

from apps_mock.adb_auth import AuthProfile, KnownKeys
from apps_mock.adb_packets import MAX_PAYLOAD, VERSION, VERSION_SUMMED, Packet, pack, read_packet
from apps_mock.adb_streams import Service, Stream
from apps_mock.errors import AdbProtocolError

MAX_STREAMS: Final = 512
_TOKEN, _SIGNATURE, _PUBLIC_KEY = 1, 2, 3
_SUMMED_ALWAYS: Final = frozenset({b"CNXN", b"AUTH"})


class Connection:
    """One adb server's link: handshake, then streams until either side lets go.

    Args:
        banner: what the phone says of itself.
        keys: who may use it.
        find_service: which service a name means on this connection, None for an unknown one.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        banner: bytes,
        keys: KnownKeys,
        find_service: Callable[[str, Connection], Service | None],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._banner = banner
        self._keys = keys
        self._find_service = find_service
        self._max_payload = MAX_PAYLOAD
        self._peer_version = VERSION_SUMMED
        self._is_greeted = False
        self._is_connected = False
        self._token = b""
        self._owner: asyncio.Task[None] | None = None
        self._streams: dict[int, Stream] = {}
        self._last_id = 0

    @property
    def max_payload(self) -> int:
        """Bytes that one packet to this peer may carry."""
        return self._max_payload

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
                if self._owner is not None:
                    self._owner.cancel()
        finally:
            self._writer.close()

    def drop(self) -> None:
        """Cut the link at once; `run` then ends."""
        self._writer.transport.abort()

    def hang_up(self) -> None:
        """End the link behind what was sent; `run` then ends."""
        self._writer.close()

    async def send(self, packet: Packet) -> None:
        """Write one packet; a lost peer is noticed by the reader, not here."""
        with_sum = packet.command in _SUMMED_ALWAYS or self._peer_version == VERSION_SUMMED
        with contextlib.suppress(ConnectionError):
            self._writer.write(pack(packet, with_sum=with_sum))
            await self._writer.drain()

    async def _handle(self, packet: Packet, services: asyncio.TaskGroup) -> None:
        match packet.command:
            case b"CNXN":
                await self._meet(packet)
            case b"AUTH" if self._is_greeted and not self._is_connected:
                await self._authenticate(packet, services)
            case b"OPEN" if self._is_connected:
                await self._open(packet, services)
            case b"OKAY" | b"WRTE" | b"CLSE" if self._is_connected:
                await self._stream_packet(packet)
            case _:
                raise AdbProtocolError(f"{packet.command!r} is not expected now")

    async def _meet(self, packet: Packet) -> None:
        """Take the peer's version and size; a phone that knows no keys asks for one."""
        self._peer_version = min(packet.arg0, VERSION)
        self._max_payload = max(1, min(packet.arg1, MAX_PAYLOAD))
        self._is_greeted = True
        for stream in self._streams.values():  # a peer that greets again starts afresh
            stream.end()
        if self._keys.profile is AuthProfile.NONE:
            await self._greet()
        else:
            self._is_connected = False
            await self._ask_for_signature()

    async def _ask_for_signature(self) -> None:
        self._token = self._keys.new_token()
        await self.send(Packet(b"AUTH", _TOKEN, 0, self._token))

    async def _authenticate(self, packet: Packet, services: asyncio.TaskGroup) -> None:
        if packet.arg0 == _SIGNATURE:
            if self._token and self._keys.has_signed(self._token, packet.payload):
                await self._greet()
            else:
                await self._ask_for_signature()
        elif packet.arg0 == _PUBLIC_KEY:
            answer_s = self._keys.answer_s(packet.payload)
            if answer_s is not None:
                self._owner = services.create_task(self._greet_later(answer_s))
        else:
            raise AdbProtocolError(f"AUTH of kind {packet.arg0} is none")

    async def _greet_later(self, after_s: float) -> None:
        await asyncio.sleep(after_s)
        await self._greet()

    async def _greet(self) -> None:
        self._token = b""
        self._is_connected = True
        await self.send(Packet(b"CNXN", VERSION, MAX_PAYLOAD, self._banner))

    async def _stream_packet(self, packet: Packet) -> None:
        stream = self._streams.get(packet.arg1)
        if stream is None:
            return
        match packet.command:
            case b"OKAY":
                stream.acknowledged()
            case b"WRTE":
                await stream.receive(packet.payload)
            case _:
                await stream.peer_closed()

    async def _open(self, packet: Packet, services: asyncio.TaskGroup) -> None:
        """Start a service; a second argument is for acknowledgements that were not agreed on."""
        name = packet.payload.rstrip(b"\0").decode(errors="replace")
        is_possible = packet.arg0 != 0 and packet.arg1 == 0 and len(self._streams) < MAX_STREAMS
        service = self._find_service(name, self) if is_possible else None
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

"""A TCP proxy on this machine between clients and a broker, which counts what passes through it.

    with CountingProxy(host, port) as proxy:
        …connect to 127.0.0.1:proxy.port…
        proxy.sent_bytes, proxy.received_bytes

What happens to the bytes on their way is decided by a `Flow` for each direction of each connection;
without one they pass as they are (`outrider.wire_faults` has one that does harm). One thread turns
every connection, so a thousand clients cost a thousand sockets and no more.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import Enum
from types import TracebackType
from typing import Final, Protocol, Self

HOST: Final = "127.0.0.1"
_READ_BYTES: Final = 64 * 1024
_START_S: Final = 10.0

Write = Callable[[bytes], Awaitable[None]]


class Direction(Enum):
    """Which way bytes go."""

    UP = "up"
    """From a client to the broker."""
    DOWN = "down"


class CutError(Exception):
    """A flow wants its connection to end here."""


class Flow(Protocol):
    """What becomes of one direction of one connection; used on the proxy's thread."""

    async def carry(self, data: bytes, write: Write) -> None:
        """Take what came and write what is to go on, now or later; waiting holds the sender back.

        Raises: CutError: the connection is to end.
        """
        ...

    def close(self) -> None:
        """The connection ended: write nothing any more."""
        ...


class PlainFlow:
    """Bytes pass as they are."""

    async def carry(self, data: bytes, write: Write) -> None:
        """See Flow."""
        await write(data)

    def close(self) -> None:
        """See Flow."""


FlowFactory = Callable[[int, Direction], Flow]
"""Makes the flow of a direction of the connection with that number (0, 1, …)."""


def plain_flow(_connection: int, _direction: Direction) -> Flow:
    """A flow that changes nothing."""
    return PlainFlow()


class CountingProxy:
    """Listens on a port of this machine and passes every connection on to `host`:`port`.

    A target that does not answer is like a target that hangs up: the client's connection ends.
    Thread-safe; the counts may be read at any time.

    Attributes:
        sent_bytes: what clients sent, as TCP payload.
        received_bytes: what they were sent.
        opened_s: when each connection was made, in seconds on the monotonic clock.
    """

    def __init__(self, host: str, port: int, *, flow: FlowFactory = plain_flow) -> None:
        self.sent_bytes = 0
        self.received_bytes = 0
        self.opened_s: list[float] = []
        self._target = (host, port)
        self._flow = flow
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._port = 0
        self._failure: OSError | None = None
        self._thread = threading.Thread(target=self._run, name="wire-proxy", daemon=True)

    @property
    def port(self) -> int:
        """Where it listens, on 127.0.0.1."""
        return self._port

    @property
    def connections(self) -> int:
        """How many connections were made so far."""
        return len(self.opened_s)

    def start(self) -> None:
        """Begin to listen.

        Raises: OSError: this machine has no port left.
        """
        self._thread.start()
        self._ready.wait(_START_S)
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """End every connection and stop listening. Idempotent."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_START_S)

    def cut(self) -> None:
        """End every connection of this moment at once, as a network that is lost does."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._cut)

    def point_at(self, port: int) -> None:
        """Pass connections from now on to another port."""
        self._target = (self._target[0], port)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            server = self._loop.run_until_complete(
                asyncio.start_server(self._accept, HOST, 0, backlog=1024)
            )
        except OSError as error:
            self._failure = error
            self._ready.set()
            self._loop.close()
            return
        self._port = int(server.sockets[0].getsockname()[1])
        self._ready.set()
        try:
            self._loop.run_forever()
        finally:
            server.close()
            self._loop.run_until_complete(self._wind_up())
            self._loop.close()

    async def _wind_up(self) -> None:
        self._cut()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _cut(self) -> None:
        for writer in list(self._open):
            _reset(writer)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = len(self.opened_s)
        self.opened_s.append(time.monotonic())
        self._open.add(writer)
        _at_once(writer)
        try:
            far_reader, far_writer = await asyncio.open_connection(*self._target)
        except OSError:
            _reset(writer)
            self._open.discard(writer)
            return
        self._open.add(far_writer)
        _at_once(far_writer)
        try:
            await _first_to_end(
                self._carry(number, Direction.UP, reader, far_writer),
                self._carry(number, Direction.DOWN, far_reader, writer),
            )
        except asyncio.CancelledError:  # the proxy is being stopped
            self._cut()
        finally:
            for one in (writer, far_writer):
                self._open.discard(one)
                one.close()

    async def _carry(
        self,
        number: int,
        direction: Direction,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        flow = self._flow(number, direction)

        async def write(data: bytes) -> None:
            if direction is Direction.UP:
                self.sent_bytes += len(data)
            else:
                self.received_bytes += len(data)
            writer.write(data)
            await writer.drain()

        try:
            with suppress(OSError):
                while data := await reader.read(_READ_BYTES):
                    await flow.carry(data, write)
        except CutError:
            _reset(writer)
        finally:
            flow.close()


async def _first_to_end(*ways: Awaitable[None]) -> None:
    """Wait for the first of several, and end the others."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _reset(writer: asyncio.StreamWriter) -> None:
    """End a connection without goodbye: what was not sent yet is thrown away."""
    peer = writer.get_extra_info("socket")
    if peer is not None:
        with suppress(OSError):
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def _at_once(writer: asyncio.StreamWriter) -> None:
    """Small packets must not wait for each other."""
    peer = writer.get_extra_info("socket")
    if peer is not None:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

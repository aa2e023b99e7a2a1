"""Services as a bad link leaves them: cut off, silent, late.

Which fault strikes is `WireFaults`' to say, at every command that is opened; what it does to the
stream is here.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from apps_mock.adb_faults import Fault, FaultKind, WireFaults
from apps_mock.adb_streams import ByteStream, Service

USUAL_OFFLINE_MS: Final = 1000
USUAL_SLOW_MS: Final = 1000


class Link(Protocol):
    """What faults do to a connection and its phone."""

    def hang_up(self) -> None:
        """End the link behind what was sent."""
        ...


class OfflinePeriod:
    """A time in which a phone answers nobody; shared by all its connections."""

    def __init__(self) -> None:
        self._until_s = 0.0

    def begin(self, duration_ms: int) -> None:
        """Answer nobody from now on for some time."""
        self._until_s = asyncio.get_running_loop().time() + duration_ms / 1000

    async def passed(self) -> None:
        """Wait until the phone answers again."""
        await asyncio.sleep(max(0.0, self._until_s - asyncio.get_running_loop().time()))


def over_bad_link(
    service: Service, name: str, *, faults: WireFaults, link: Link, offline: OfflinePeriod
) -> Service:
    """The service `name` as this link lets it be; the same one where no fault strikes."""
    if not faults.armed:
        return service
    if faults.strikes(FaultKind.HANG, name):
        return _silent
    if faults.strikes(FaultKind.MUTE, name):
        return _muted(service)
    struck = faults.strikes(FaultKind.OFFLINE, name)
    if struck:
        return _lost(link, offline, USUAL_OFFLINE_MS if struck.amount is None else struck.amount)
    struck = faults.strikes(FaultKind.SLOW, name)
    if struck:
        service = _late(service, USUAL_SLOW_MS if struck.amount is None else struck.amount)
    fault = faults.take(FaultKind.DROP, name)
    return _cut(service, name, fault, faults, link) if fault else service


async def _silent(_stream: ByteStream) -> None:
    await asyncio.Event().wait()


def _muted(service: Service) -> Service:
    async def serve(stream: ByteStream) -> None:
        await service(_Mute(stream))
        await _silent(stream)

    return serve


def _late(service: Service, by_ms: int) -> Service:
    async def serve(stream: ByteStream) -> None:
        await asyncio.sleep(by_ms / 1000)
        await service(stream)

    return serve


def _lost(link: Link, offline: OfflinePeriod, for_ms: int) -> Service:
    async def serve(_stream: ByteStream) -> None:
        offline.begin(for_ms)
        link.hang_up()

    return serve


def _cut(service: Service, name: str, fault: Fault, faults: WireFaults, link: Link) -> Service:
    """The service on a stream that ends with the whole link after some of its bytes.

    An amount that an answer never reaches leaves the fault armed. Without one the cut is somewhere
    in the first piece of the answer, or at the end of a service that says nothing.
    """

    async def serve(stream: ByteStream) -> None:
        fuse = _Fuse(stream, fault.amount, faults, link)
        try:
            await service(fuse)
        finally:
            if fuse.burnt_at is None and fault.amount is None:
                fuse.burn(0)
            if fuse.burnt_at is None:
                faults.put_back(fault)
            else:
                faults.record(fault, name, amount=fuse.burnt_at)

    return serve


class _Mute:
    """A stream whose writes go nowhere."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    async def read(self) -> bytes:
        return await self._stream.read()

    async def write(self, data: bytes) -> None:
        """Lose it."""


class _Fuse:
    """A stream that takes its link down after so many bytes."""

    def __init__(
        self, stream: ByteStream, limit: int | None, faults: WireFaults, link: Link
    ) -> None:
        self.burnt_at: int | None = None
        self._stream = stream
        self._limit = limit
        self._faults = faults
        self._link = link
        self._written = 0

    async def read(self) -> bytes:
        return await self._stream.read()

    async def write(self, data: bytes) -> None:
        if self._limit is None:
            self._limit = self._faults.number(0, max(0, len(data) - 1))
        left = self._limit - self._written
        if left >= len(data):
            self._written += len(data)
            await self._stream.write(data)
            return
        if left > 0:
            await self._stream.write(data[:left])
        self.burn(self._limit)
        raise ConnectionResetError("the link was cut by plan")

    def burn(self, at: int) -> None:
        """Cut the link."""
        self.burnt_at = at
        self._link.hang_up()

"""Harm to MQTT packets on their way, by chance and by a seed: the flow of a hostile proxy.

    harm = WireHarm(FrameChances(drop=0.05, corrupt=0.01), seed=7)
    with CountingProxy(host, port, flow=harm.flow) as proxy: …; harm.counts

A connection's packets are chosen by the seed, the connection's number and the direction, so the
same traffic meets the same faults. TCP loses and reorders nothing by itself; brokers, gateways and
radios that end one connection and begin another do.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from random import Random
from typing import Final

from outrider.mqtt_frames import Frame, FrameSplitter, NotMqttError, Packet
from outrider.wire_proxy import CutError, Direction, Flow, Write

LATE_S: Final = 0.05
"""By how much a packet that is overtaken comes after those behind it."""
MOST_FLIPPED_BITS: Final = 4
_LOSABLE: Final = frozenset({Packet.PUBLISH, Packet.PUBACK, Packet.SUBSCRIBE, Packet.SUBACK})


@dataclass(frozen=True, slots=True)
class FrameChances:
    """What may happen to a packet, each a chance of 0..1, and how fast packets pass.

    Attributes:
        drop: it never arrives (messages, their receipts, subscriptions).
        duplicate: it arrives twice.
        reorder: it arrives behind those that were sent after it.
        delay: it and all behind it arrive later.
        truncate: a message's payload is cut short, and the packet says so little too.
        corrupt: some of its bits are flipped.
        cut: half of it arrives, then the connection ends.
        stall: nothing passes for a while, as with a peer that reads nothing.
        delay_s, stall_s: the longest delay and stall.
        bytes_per_s: how much passes in each direction of each connection; 0 for no limit.
    """

    drop: float = 0.0
    duplicate: float = 0.0
    reorder: float = 0.0
    delay: float = 0.0
    truncate: float = 0.0
    corrupt: float = 0.0
    cut: float = 0.0
    stall: float = 0.0
    delay_s: float = 0.3
    stall_s: float = 2.0
    bytes_per_s: float = 0.0


NO_HARM: Final = FrameChances()
FRAME_FAULTS: Final = tuple(field.name for field in fields(FrameChances))[:8]
"""The names of the chances, in the order in which they are tried."""


class WireHarm:
    """Makes the flows of a proxy, and counts what they did. Thread-safe.

    Attributes:
        chances: what may happen from now on; may be replaced at any time.
    """

    def __init__(self, chances: FrameChances = NO_HARM, *, seed: int) -> None:
        self.chances = chances
        self._seed = seed
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    @property
    def counts(self) -> dict[str, int]:
        """How often each fault was done."""
        with self._lock:
            return dict(self._counts)

    def flow(self, connection: int, direction: Direction) -> Flow:
        """A proxy's FlowFactory."""
        return _HarmfulFlow(self, Random(f"{self._seed}:{connection}:{direction.value}"))

    def choose(self, frame: Frame, random: Random) -> str:
        """The fault that a packet meets, counted; "" for none."""
        chances, draw = self.chances, random.random()
        for name in FRAME_FAULTS:
            draw -= getattr(chances, name)
            if draw < 0:
                break
        else:
            return ""
        if not _applies(name, frame):
            return ""
        with self._lock:
            self._counts[name] += 1
        return name


class _HarmfulFlow:
    """One direction of one connection: packets, each with the time at which it is to be written."""

    def __init__(self, harm: WireHarm, random: Random) -> None:
        self._harm = harm
        self._random = random
        self._splitter = FrameSplitter()
        self._late: set[asyncio.Task[None]] = set()

    async def carry(self, data: bytes, write: Write) -> None:
        """See Flow."""
        try:
            for frame in self._splitter.feed(data):
                await self._pass_on(frame, write)
        except NotMqttError as error:
            raise CutError from error

    def close(self) -> None:
        """See Flow."""
        for task in self._late:
            task.cancel()

    async def _pass_on(self, frame: Frame, write: Write) -> None:
        fault = self._harm.choose(frame, self._random)
        match fault:
            case "drop":
                return
            case "cut":
                await self._send(frame.raw[: len(frame.raw) // 2], write)
                raise CutError
            case "reorder":
                self._later(self._overtaken(frame.raw, write))
                return
            case "delay":
                await asyncio.sleep(self._random.uniform(0.0, self._harm.chances.delay_s))
            case "stall":
                await asyncio.sleep(self._random.uniform(0.5, 1.0) * self._harm.chances.stall_s)
            case _:
                pass
        for raw in self._changed(fault, frame):
            await self._send(raw, write)

    def _changed(self, fault: str, frame: Frame) -> Iterator[bytes]:
        """The bytes that go on in a packet's place."""
        match fault:
            case "truncate":
                room = len(frame.raw) - frame.payload_at
                kept = frame.payload_at - frame.body_at + self._random.randrange(room)
                yield frame.cut_to(kept).raw
            case "corrupt":
                yield self._spoilt(frame.raw)
            case "duplicate":
                yield frame.raw
                yield frame.raw
            case _:
                yield frame.raw

    def _spoilt(self, raw: bytes) -> bytes:
        spoilt = bytearray(raw)
        for _ in range(self._random.randint(1, MOST_FLIPPED_BITS)):
            bit = self._random.randrange(len(raw) * 8)
            spoilt[bit // 8] ^= 1 << bit % 8
        return bytes(spoilt)

    async def _send(self, raw: bytes, write: Write) -> None:
        await write(raw)
        bytes_per_s = self._harm.chances.bytes_per_s
        if bytes_per_s:
            await asyncio.sleep(len(raw) / bytes_per_s)

    async def _overtaken(self, raw: bytes, write: Write) -> None:
        await asyncio.sleep(LATE_S)
        with suppress(OSError):  # the connection ended meanwhile
            await write(raw)

    def _later(self, work: Coroutine[object, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._late.add(task)
        task.add_done_callback(self._late.discard)


def _applies(fault: str, frame: Frame) -> bool:
    """Whether a fault makes sense for a packet: hand-shakes are cut or spoilt, not lost."""
    if fault in {"drop", "duplicate", "reorder"}:
        return frame.kind in _LOSABLE
    if fault == "truncate":
        return frame.kind == Packet.PUBLISH and len(frame.raw) > frame.payload_at
    return True

"""The conformance kit fails where a broker breaks a rule: each check is shown to be able to.

A proxy between the kit and a broker that keeps every rule breaks one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest

from outrider.mqtt_frames import Frame, FrameSplitter, Packet
from outrider.wire_proxy import CountingProxy, CutError, Direction
from sync.broker_address import MqttProtocol
from sync.conformance import Bench, Outcome, run
from sync.conformance_bench import CHECKS
from tests.brokers import make_broker
from tests.conftest import require

NAMES = ("phone-1", "phone-2")
CLEAN, WILL, WILL_RETAIN = 0b10, 0b100, 0b100000
RETAIN = 0b1
UP, DOWN = Direction.UP, Direction.DOWN

Harm = Callable[[Frame], list[bytes]]
"""What becomes of one packet."""


def rebuilt(frame: Frame, body: bytes) -> bytes:
    """The packet with another body of at most the same length of length."""
    whole = Frame(frame.raw[: frame.body_at] + body, frame.body_at)
    return whole.cut_to(len(body)).raw


def topic_of(frame: Frame) -> str:
    size = int.from_bytes(frame.raw[frame.body_at : frame.body_at + 2], "big")
    return frame.raw[frame.body_at + 2 : frame.body_at + 2 + size].decode()


def connect_flags(change: Callable[[int], int]) -> Harm:
    """Every CONNECT has other flags; they stand behind the protocol's name and level."""

    def harm(frame):
        if frame.kind != Packet.CONNECT:
            return [frame.raw]
        at = frame.body_at + 7
        raw = bytearray(frame.raw)
        raw[at] = change(raw[at])
        return [bytes(raw)]

    return harm


def without_will(frame: Frame) -> list[bytes]:
    """A CONNECT leaves no will: neither its flags nor its two fields behind the client id."""
    if frame.kind != Packet.CONNECT or not frame.raw[frame.body_at + 7] & WILL:
        return [frame.raw]
    body = bytearray(frame.raw[frame.body_at :])
    body[7] &= ~0b111100
    at = 10 + 2 + int.from_bytes(body[10:12], "big")
    for _ in range(2):
        del body[at : at + 2 + int.from_bytes(body[at : at + 2], "big")]
    return [rebuilt(frame, bytes(body))]


def own_client_ids() -> Harm:
    """Every connection has a client id that no other has."""
    numbers = count()

    def harm(frame):
        if frame.kind != Packet.CONNECT:
            return [frame.raw]
        at = frame.body_at + 10
        size = int.from_bytes(frame.raw[at : at + 2], "big")
        other = f"{next(numbers):0{size}d}".encode()
        body = frame.raw[frame.body_at : at + 2] + other + frame.raw[at + 2 + size :]
        return [rebuilt(frame, body)]

    return harm


def without(kind: int, *, when: Callable[[Frame], bool] = lambda _: True) -> Harm:
    """Packets of a kind get lost."""
    return lambda frame: [] if frame.kind == kind and when(frame) else [frame.raw]


def on(name: str) -> Callable[[Frame], bool]:
    return lambda frame: topic_of(frame).rpartition("/")[2] == name


def not_retained(frame: Frame) -> list[bytes]:
    if frame.kind != Packet.PUBLISH:
        return [frame.raw]
    return [bytes([frame.raw[0] & ~RETAIN]) + frame.raw[1:]]


def is_empty(frame: Frame) -> bool:
    return frame.payload_at == len(frame.raw)


def garbled(frame: Frame) -> list[bytes]:
    if frame.kind != Packet.PUBLISH or is_empty(frame):
        return [frame.raw]
    return [frame.raw[:-1] + bytes([frame.raw[-1] ^ 1])]


def swapped() -> Harm:
    """Every second message overtakes the one before it."""
    held: list[bytes] = []

    def harm(frame):
        if frame.kind != Packet.PUBLISH:
            return [frame.raw]
        if not held:
            held.append(frame.raw)
            return []
        return [frame.raw, held.pop()]

    return harm


def small_only(frame: Frame) -> list[bytes]:
    if len(frame.raw) > 1 << 20:
        raise CutError("too large")
    return [frame.raw]


class Breaking:
    """One direction of one connection, whose packets a harm is done to."""

    def __init__(self, harm):
        self._harm = harm
        self._splitter = FrameSplitter()

    async def carry(self, data, write):
        for frame in self._splitter.feed(data):
            for raw in self._harm(frame):
                await write(raw)

    def close(self):
        """Nothing is held."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    broker = make_broker(
        "nats-3.1.1", tmp_path_factory.mktemp("kept") / "broker", require, ack_wait_s=1
    )
    broker.process.start()
    yield broker
    broker.process.stop()


BROKEN = [
    ("OR-CON-1", UP, lambda: connect_flags(lambda flags: flags & ~CLEAN)),
    ("OR-PRE-1", UP, lambda: without_will),
    ("OR-PRE-3", DOWN, lambda: without(Packet.PUBLISH, when=on("ack"))),
    ("OR-ACK-1", UP, lambda: without(Packet.PUBLISH, when=on("event"))),
    ("OR-ACK-2", UP, lambda: without(Packet.PUBLISH, when=on("event"))),
    ("OR-ASG-2", DOWN, lambda: without(Packet.PUBLISH, when=on("assignment"))),
    ("OR-FIL-2", DOWN, lambda: without(Packet.PUBLISH, when=on("chunk"))),
    ("OR-FIL-3", DOWN, lambda: without(Packet.PUBLISH, when=on("chunk"))),
    ("OR-OWN-1", UP, lambda: not_retained),
    ("OR-REL-3", DOWN, lambda: without(Packet.PUBLISH, when=on("release"))),
    ("OR-BRK-2", DOWN, lambda: garbled),
    ("OR-BRK-2", DOWN, lambda: without(Packet.PUBACK)),
    ("OR-BRK-3", UP, lambda: not_retained),
    ("OR-BRK-3", DOWN, lambda: not_retained),
    ("OR-BRK-4", UP, lambda: without(Packet.PUBLISH, when=is_empty)),
    ("OR-BRK-5", UP, lambda: without_will),
    ("OR-BRK-5", UP, lambda: connect_flags(lambda flags: flags & ~WILL_RETAIN)),
    ("OR-BRK-6", UP, lambda: without(Packet.DISCONNECT)),
    ("OR-BRK-7", DOWN, swapped),
    ("OR-BRK-8", UP, lambda: connect_flags(lambda flags: flags | CLEAN)),
    ("OR-BRK-10", UP, lambda: small_only),
    ("OR-BRK-15", UP, own_client_ids),
    ("OR-BRK-17", DOWN, lambda: without(Packet.PUBLISH, when=on("credentials"))),
    ("OR-BRK-17", UP, lambda: without(Packet.PUBLISH, when=on("have"))),
]


QUICK = {"OR-CON-1", "OR-BRK-5", "OR-BRK-6", "OR-BRK-10"}


@pytest.mark.requirement("OR-BRK-17")
@pytest.mark.parametrize(
    ("rule", "way", "make"),
    [
        pytest.param(
            *one, id=f"{one[0]}-{number}", marks=() if one[0] in QUICK else pytest.mark.slow
        )
        for number, one in enumerate(BROKEN)
    ],
)
def test_a_broken_rule_is_found(broker, rule, way, make):
    harm = make()

    def flow(_connection, direction):
        return Breaking(harm if direction is way else lambda frame: [frame.raw])

    def through(proxy, name):
        return replace(broker.address(name), port=proxy.port)

    with CountingProxy("127.0.0.1", broker.process.port, flow=flow) as proxy:
        bench = Bench(
            service=through(proxy, "cloud"),
            fleet="home",
            devices=(through(proxy, NAMES[0]), through(proxy, NAMES[1])),
            names=NAMES,
            patience_s=1.0,
            wait_s=1.5,
        )
        (found,) = run(bench, MqttProtocol.V3_1_1, only=(rule,))
    assert found.outcome is Outcome.FAIL, found.detail


def test_every_check_is_shown_to_be_able_to_fail():
    """Those of accounts fail on a broker without any: see test_conformance.py."""
    accounts = {f"OR-BRK-{number}" for number in (1, 11, 12, 13, 14, 16, 18)} | {"OR-OWN-2"}
    may = {"OR-BRK-9"}
    assert CHECKS.keys() - accounts - may == {rule for rule, _, _ in BROKEN}


class ForgetfulAccounts:
    """Accounts that are never really removed."""

    def __init__(self, accounts):
        self._accounts = accounts

    def add_device(self, device_id):
        return self._accounts.add_device(device_id)

    def remove_device(self, device_id):
        """Do nothing."""


def test_an_account_that_stays_after_it_was_removed_is_found(broker):
    accounts = ForgetfulAccounts(broker.process)
    bench = Bench(service=broker.address(), fleet="home", accounts=accounts, patience_s=0.5)
    (found,) = run(bench, MqttProtocol.V3_1_1, only=("OR-BRK-16",))
    assert found.outcome is Outcome.FAIL

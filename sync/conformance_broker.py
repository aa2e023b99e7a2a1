"""The kit's checks of the broker itself, with plain MQTT clients: the BRK requirements."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from sync import topics
from sync.codec import MAX_WIRE_BYTES
from sync.conformance_bench import Bench, Failed, NotApplicable, checks, expect
from sync.conformance_probe import ProbeClient, Refused
from sync.ports import Will

_ORDERED: Final = 200
_UNACKNOWLEDGED: Final = 5
_PROBED_BYTES: Final = (4 << 20, 8 << 20, 16 << 20)
_TRANSFER_S: Final = 30.0
_AT_ONCE_S: Final = 0.5


def _marker() -> bytes:
    return secrets.token_bytes(16)


@checks("OR-BRK-1")
def lets_in_who_has_an_account(bench: Bench) -> str:
    """The account works, and a wrong password does not."""
    bench.cloud().close()
    if not bench.service.username:
        raise NotApplicable("no account was given: anybody may connect, or TLS says who it is")
    wrong = replace(bench.service, password=f"not-{secrets.token_hex(8)}")
    try:
        ProbeClient(wrong).close()
    except Refused as refused:
        return f"a wrong password: {refused}"
    raise Failed("a wrong password was let in")


@checks("OR-BRK-2")
def delivers_byte_for_byte(bench: Bench) -> str:
    """One message at QoS 1 there and back."""
    payload = bytes(range(256)) * 4
    with bench.cloud() as cloud, bench.device() as device:
        expect(cloud.subscribe(bench.topic(topics.EVENT)), "a subscription was refused")
        expect(device.publish(bench.topic(topics.EVENT), payload), "a message got no PUBACK")
        got = cloud.next()
        expect(got is not None and got.payload == payload, "the message did not arrive as sent")
    return ""


@checks("OR-BRK-3")
def keeps_the_last_retained_message(bench: Bench) -> str:
    """Two retained messages; who comes later hears the second, marked."""
    topic, last = bench.topic(topics.PRESENCE), _marker()
    try:
        with bench.device() as device:
            device.publish(topic, b"first", retain=True)
            device.publish(topic, last, retain=True)
        with bench.cloud() as cloud:
            cloud.subscribe(topic)
            got = cloud.next()
    finally:
        bench.forget(topic)
    expect(got is not None and got.payload == last, "the last retained message did not arrive")
    expect(got is not None and got.retained, "it was not marked as retained")
    return ""


@checks("OR-BRK-4")
def forgets_a_retained_message(bench: Bench) -> str:
    """After an empty retained message, who comes later hears nothing."""
    topic, mark = bench.topic(topics.PRESENCE), _marker()
    with bench.device() as device:
        device.publish(topic, b"kept", retain=True)
        device.publish(topic, b"", retain=True)
        with bench.cloud() as cloud:
            cloud.subscribe(topic)
            device.publish(topic, mark)
            before = cloud.until(mark)
    expect(not before, "the retained message was still there")
    return ""


def _will_of(bench: Bench, end: Callable[[ProbeClient], None]) -> tuple[bool, bool]:
    """Whether a device's will was published, and retained, once its connection ended by `end`."""
    topic, will = bench.topic(topics.PRESENCE), b"will " + _marker()
    try:
        with bench.cloud() as cloud:
            cloud.subscribe(topic)
            address, name = bench.device_address(), bench.names[0]
            end(ProbeClient(address, client_id=name, will=Will(topic, will)))
            said = _hears(cloud, will)
        with bench.cloud() as later:
            later.subscribe(topic)
            kept = _hears(later, will, wait_s=_AT_ONCE_S)
    finally:
        bench.forget(topic)
    return said, kept


def _hears(client: ProbeClient, wanted: bytes, *, wait_s: float = 2.0) -> bool:
    """Whether a message comes before nothing does for a while."""
    while (got := client.next(wait_s)) is not None:
        client.acknowledge(got)
        if got.payload == wanted:
            return True
    return False


@checks("OR-BRK-5")
def publishes_the_will(bench: Bench) -> str:
    """A connection that breaks leaves its will, for those who listen and for who comes later."""
    said, kept = _will_of(bench, ProbeClient.cut)
    expect(said, "no will was published")
    expect(kept, "the will was published and not retained")
    return ""


@checks("OR-BRK-6")
def keeps_the_will_at_a_clean_end(bench: Bench) -> str:
    """A connection that ends cleanly leaves none."""
    expect(_will_of(bench, ProbeClient.close) == (False, False), "the will was published")
    return ""


@checks("OR-BRK-7")
def keeps_the_order(bench: Bench) -> str:
    """Many messages of one publisher on one topic."""
    topic = bench.topic(topics.EVENT)
    sent = [str(number).encode() for number in range(_ORDERED)]
    with bench.cloud() as cloud, bench.device() as device:
        cloud.subscribe(topic)
        for payload in sent:
            device.publish(topic, payload)
        got = [one.payload for one in cloud.until(sent[-1]) if not one.redelivered]
    expect(got == sent[:-1], "messages were lost or out of order")
    return f"{_ORDERED} messages"


@checks("OR-BRK-8")
def repeats_after_a_reconnect(bench: Bench) -> str:
    """A kept session connects again and gets what it did not acknowledge."""
    topic, name = bench.topic(topics.EVENT), f"kit-{secrets.token_hex(6)}"
    try:
        with bench.device() as device:
            reader = ProbeClient(bench.service, client_id=name, keep_session=True)
            reader.subscribe(topic)
            sent = {_marker() for _ in range(_UNACKNOWLEDGED)}
            for payload in sorted(sent):
                device.publish(topic, payload)
            first = {got.payload for got in (reader.next() for _ in sent) if got is not None}
            reader.cut()
            expect(first == sent, "the messages did not arrive in the first place")
        with ProbeClient(bench.service, client_id=name, keep_session=True) as again:
            came: set[bytes] = set()
            while came != sent and (got := again.next(3 * bench.patience_s)) is not None:
                again.acknowledge(got)
                came.add(got.payload)
    finally:
        ProbeClient(bench.service, client_id=name).close()  # a clean session ends the kept one
    expect(came == sent, f"{len(came)} of {len(sent)} came again")
    return f"{len(came)} of {len(sent)}"


@checks("OR-BRK-9")
def repeats_on_the_same_connection(bench: Bench) -> str:
    """Without a reconnect; a broker may leave that, and the outbox repeats anyway."""
    topic = bench.topic(topics.EVENT)
    with bench.cloud() as cloud, bench.device() as device:
        cloud.subscribe(topic)
        device.publish(topic, b"again")
        expect(cloud.next() is not None, "the message did not arrive in the first place")
        got = cloud.next(bench.patience_s)
        if got is None:
            raise NotApplicable(
                f"not within {bench.patience_s:.0f} s; the outbox repeats it in any case"
            )
        cloud.acknowledge(got)
    return "it repeats by itself"


@checks("OR-BRK-10")
def takes_the_largest_message(bench: Bench) -> str:
    """The wire's largest envelope passes; where the broker's own limit lies is told."""
    expect(_passes(bench, MAX_WIRE_BYTES), f"{MAX_WIRE_BYTES} bytes did not pass")
    largest = MAX_WIRE_BYTES
    for size in _PROBED_BYTES:
        if not _passes(bench, size):
            return f"largest that passed: {largest} bytes; {size} did not"
        largest = size
    return f"{largest} bytes passed too"


def _passes(bench: Bench, size: int) -> bool:
    topic, payload = bench.topic(topics.EPISODE), secrets.token_bytes(16) * (size // 16)
    with bench.cloud() as cloud, bench.device() as device:
        cloud.subscribe(topic)
        device.publish(topic, payload, wait_s=_TRANSFER_S)
        if device.ended(0.0):
            return False
        got = cloud.next(_TRANSFER_S)
        if got is None:
            return False
        cloud.acknowledge(got)
        return got.payload == payload


@checks("OR-BRK-15")
def ends_the_first_of_two(bench: Bench) -> str:
    """A second connection with one client id."""
    with bench.device() as first, bench.device():
        expect(first.ended(bench.patience_s), "both connections stayed")
    return ""


@checks("OR-BRK-16")
def throws_out_who_was_removed(bench: Bench) -> str:
    """A third device, made and removed again."""
    if bench.accounts is None:
        raise NotApplicable("the kit may not change the broker's accounts")
    name = f"kit-{secrets.token_hex(4)}"
    address = replace(bench.accounts.add_device(name), protocol=bench.service.protocol)
    try:
        with ProbeClient(address, client_id=name) as device:
            bench.accounts.remove_device(name)
            expect(device.ended(bench.patience_s), "its connection stayed")
        ProbeClient(address, client_id=name).close()
    except Refused:
        return ""
    finally:
        bench.accounts.remove_device(name)
    raise Failed("it was let in again")

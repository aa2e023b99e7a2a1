"""The kit's checks of what a device's account must not do; they need the accounts of two."""

from __future__ import annotations

import secrets
from typing import Final

from sync import topics
from sync.conformance_bench import Bench, checks, expect
from sync.conformance_probe import ProbeClient
from sync.topics import TopicKind

_CHANNEL: Final = "kit"


def _reaches(bench: Bench, forbidden: str, *, retain: bool = False) -> bool:
    """Whether what the first device publishes on a topic reaches the cloud; its own does."""
    own, mark = bench.topic(topics.EVENT), secrets.token_bytes(16)
    forged = b"forged " + mark
    with bench.cloud() as cloud:
        expect(cloud.subscribe(forbidden, own), "the service's account may not subscribe")
        with bench.device() as device:
            device.publish(forbidden, forged, retain=retain, wait_s=1.0)
        with bench.device() as device:  # some brokers end the connection over it
            device.publish(own, mark)
            before = cloud.until(mark)
        reached = any(one.payload == forged for one in before)
    with bench.cloud() as later:
        later.subscribe(forbidden, own)
        mark = secrets.token_bytes(16)
        later.publish(own, mark)
        reached = reached or any(one.payload == forged for one in later.until(mark))
    if reached and retain:
        bench.forget(forbidden)
    return reached


@checks("OR-BRK-11")
def cannot_speak_for_another(bench: Bench) -> str:
    """What a device publishes below another's topics."""
    bench.need_devices()
    for kind in (topics.EVENT, topics.EPISODE, topics.PRESENCE):
        reached = _reaches(bench, bench.topic(kind, 1), retain=kind.retain)
        expect(not reached, f"{kind.name} of another device was published")
    return ""


@checks("OR-BRK-14")
def cannot_speak_for_the_cloud(bench: Bench) -> str:
    """What a device publishes downward, or as a release."""
    bench.need_devices()
    forbidden = [
        topics.build(bench.fleet, topics.RELEASE, _CHANNEL),
        *(bench.topic(kind) for kind in (topics.ACK, topics.ASSIGNMENT, topics.CHUNK)),
    ]
    for topic in forbidden:
        expect(not _reaches(bench, topic, retain=True), f"{topic} was published by a device")
    return ""


@checks("OR-OWN-2")
def cannot_command_another(bench: Bench) -> str:
    """Stops, answers and settings for another device."""
    bench.need_devices()
    for kind in (topics.CONTROL, topics.ANSWER, topics.DESIRED):
        reached = _reaches(bench, bench.topic(kind, 1), retain=True)
        expect(not reached, f"{kind.name} of another device was published by a device")
    return ""


def _filters(bench: Bench) -> list[str]:
    """What a curious device subscribes to."""
    other = bench.names[1]
    root = f"{topics.ROOT}/{topics.VERSION}/{bench.fleet}"
    down = f"{root}/{topics.Direction.DOWN}"
    return [
        "#",
        f"{root}/#",
        f"{down}/{other}/+",
        f"{down}/+/+",
        "+/+/+/+/+/+",
        "+/+/+/+/+/+/+",
        *topics.cloud_filters(bench.fleet),
    ]


def _overhears(bench: Bench, wanted: str, kinds: tuple[TopicKind, ...], *, retained: bool) -> bool:
    """Whether a device with a filter hears what is the other device's."""
    own, mark = bench.topic(topics.ASSIGNMENT), secrets.token_bytes(16)
    secret = b"secret " + mark
    foreign = [bench.topic(kind, 1) for kind in kinds]
    with bench.cloud() as cloud:
        if retained:
            _publish_all(cloud, foreign, secret, retain=True)
        try:
            with bench.device() as device:
                device.subscribe(*topics.device_filters(bench.fleet, bench.names[0]))
                if not device.subscribe(wanted) or device.ended(0.0):
                    return False
                _publish_all(cloud, foreign, secret, retain=False)
                cloud.publish(own, mark)
                return any(one.payload == secret for one in device.until(mark))
        finally:
            if retained:
                _publish_all(cloud, foreign, b"", retain=True)


def _publish_all(cloud: ProbeClient, wanted: list[str], payload: bytes, *, retain: bool) -> None:
    for topic in wanted:
        cloud.publish(topic, payload, retain=retain)


@checks("OR-BRK-12")
def cannot_listen_to_another(bench: Bench) -> str:
    """Subscriptions of every width."""
    bench.need_devices()
    kinds = (topics.ASSIGNMENT, topics.EVENT)
    for wanted in _filters(bench):
        expect(not _overhears(bench, wanted, kinds, retained=False), f"{wanted} let it listen")
    return f"{len(_filters(bench))} filters"


@checks("OR-BRK-13")
def hears_no_retained_message_of_another(bench: Bench) -> str:
    """Retained messages, which some brokers hand out past their permissions."""
    bench.need_devices()
    kinds = (topics.PRESENCE, topics.CONTROL, topics.DESIRED)
    for wanted in _filters(bench):
        leaked = _overhears(bench, wanted, kinds, retained=True)
        expect(not leaked, f"{wanted} brought a retained message of another device")
    return f"{len(_filters(bench))} filters"

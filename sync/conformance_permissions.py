"""The kit's checks of what a device's account must not do; they need the accounts of two."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from sync import topics
from sync.conformance_bench import Bench, checks, expect
from sync.conformance_probe import ProbeClient, Refused
from sync.ports import Will
from sync.topics import Direction, TopicKind

_CHANNEL: Final = "kit"


def _reached(bench: Bench, forbidden: Sequence[str]) -> str | None:
    """The first of these topics on which the first device reaches somebody; its own do."""
    own, mark = bench.topic(topics.EVENT), secrets.token_bytes(16)
    forged = b"forged " + mark
    with bench.cloud() as cloud:
        expect(cloud.subscribe(*forbidden, own), "the service's account may not subscribe")
        _try_to_publish(bench, forbidden, forged)
        _try_to_leave_a_will(bench, forbidden[0], forged)
        with bench.device() as device:
            device.publish(own, mark)
            heard = cloud.until(mark)
    with bench.cloud() as later:
        later.subscribe(*forbidden, own)
        mark = secrets.token_bytes(16)
        later.publish(own, mark)
        heard += later.until(mark)
    found = {one.topic for one in heard if one.payload == forged}
    bench.forget(*found)
    return next((topic for topic in forbidden if topic in found), None)


def _try_to_publish(bench: Bench, forbidden: Sequence[str], payload: bytes) -> None:
    """Publish as the first device; some brokers end the connection over it."""
    left = list(forbidden)
    while left:
        with bench.device() as device:
            while left and not device.ended(0.0):
                device.publish(left.pop(), payload, retain=True, wait_s=1.0)


def _try_to_leave_a_will(bench: Bench, forbidden: str, payload: bytes) -> None:
    """Break a connection as the first device; some brokers let nobody in with such a will."""
    will = Will(forbidden, payload)
    with suppress(Refused):
        ProbeClient(bench.device_address(), client_id=bench.names[0], will=will).cut()


def _expect_silence(bench: Bench, forbidden: Sequence[str]) -> str:
    bench.need_devices()
    reached = _reached(bench, forbidden)
    expect(reached is None, f"a device was let publish on {reached}")
    return f"{len(forbidden)} topics"


@checks("OR-BRK-11")
def cannot_speak_for_another(bench: Bench) -> str:
    """What a device publishes below another's topics."""
    return _expect_silence(bench, [bench.topic(kind, 1) for kind in _of(Direction.UP)])


@checks("OR-BRK-14")
def cannot_speak_for_the_cloud(bench: Bench) -> str:
    """What a device publishes downward, to itself too, or as a release."""
    release = topics.build(bench.fleet, topics.RELEASE, _CHANNEL)
    return _expect_silence(bench, [release, *map(bench.topic, _of(Direction.DOWN))])


@checks("OR-BRK-18")
def cannot_make_up_topics(bench: Bench) -> str:
    """Retained messages beside the device's own topics: there is no end of such topics."""
    own = bench.topic(topics.EVENT)
    parent = own.rpartition("/")[0]
    return _expect_silence(bench, [parent, f"{parent}/kit", f"{own}/kit", f"{own}/kit/kit"])


@checks("OR-OWN-2")
def cannot_command_another(bench: Bench) -> str:
    """Stops, answers and settings for another device."""
    kinds = (topics.CONTROL, topics.ANSWER, topics.DESIRED, topics.CREDENTIALS)
    return _expect_silence(bench, [bench.topic(kind, 1) for kind in kinds])


@checks("OR-BRK-17")
def may_do_all_that_it_must(bench: Bench) -> str:
    """Every topic of the table, from a device's account to the cloud's and back."""
    bench.need_devices()
    up = [bench.topic(kind) for kind in _of(Direction.UP)]
    down = [bench.topic(kind) for kind in _of(Direction.DOWN)]
    down.append(topics.build(bench.fleet, topics.RELEASE, _CHANNEL))
    with bench.cloud() as cloud, bench.device() as device:
        cloud.subscribe(*topics.cloud_filters(bench.fleet))
        device.subscribe(*topics.device_filters(bench.fleet, bench.names[0]))
        _expect_passage(device, cloud, up)
        _expect_passage(cloud, device, down)
    return f"{len(up)} topics up, {len(down)} down"


def _expect_passage(sender: ProbeClient, reader: ProbeClient, wanted: Sequence[str]) -> None:
    mark = secrets.token_bytes(16)
    missing = set(wanted)
    _publish_all(sender, wanted, mark, retain=False)
    while missing and (got := reader.next()) is not None:
        reader.acknowledge(got)
        if got.payload == mark:
            missing.discard(got.topic)
    expect(not missing, f"nothing arrived on {', '.join(sorted(missing))}")


def _of(direction: Direction) -> list[TopicKind]:
    return [kind for kind in topics.TABLE if kind.direction is direction]


def _filters(bench: Bench) -> list[str]:
    """What a curious device subscribes to."""
    other = bench.names[1]
    root = f"{topics.ROOT}/{topics.VERSION}/{bench.fleet}"
    down = f"{root}/{Direction.DOWN}"
    return [
        "#",
        f"{root}/#",
        f"$share/kit/{down}/{other}/+",
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


def _publish_all(
    cloud: ProbeClient, wanted: Sequence[str], payload: bytes, *, retain: bool
) -> None:
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

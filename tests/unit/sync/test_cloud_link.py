from __future__ import annotations

import msgspec
import pytest

from sync import cloud_link, topics
from sync.cloud_link import Repeated
from sync.codec import PLAIN, Envelope, encode_body, encode_envelope
from sync.errors import TransientError
from sync.messages import (
    Birth,
    Cancel,
    DesiredSettings,
    Event,
    FileRequest,
    NewCredentials,
    Offline,
    ReleaseAnnouncement,
)
from sync.outbox import depth
from sync.vocabulary import DeviceId
from tests.wire import FLEET, World, event


@pytest.fixture
def world(tmp_path):
    with World(tmp_path) as world:
        yield world


def inject(world, message, *, owner="phone-1", device="phone-1", stream="outbox", **changes):
    """Put a message on the broker as if `owner` had published it."""
    body = encode_body(message)
    fields = {
        "v": 1,
        "kind": body.kind,
        "device": device,
        "install_id": "install-x",
        "boot_id": "boot-x",
        "stream": stream,
        "seq": 5,
        "sent_at_ms": 1,
        "enc": body.enc,
        "body": body.data,
    } | changes
    topic = topics.build(FLEET, topics.kind_of(body.kind), owner)
    world.broker.route(topic, encode_envelope(Envelope(**fields)), qos=1, retain=False)


@pytest.mark.requirement("OR-PRE-3")
def test_a_birth_is_answered_with_the_credit(world):
    cloud, device = world.cloud(), world.device()
    cloud.link.set_credit(7)
    world.settle(cloud, device)
    device.enqueue(*map(event, range(10)))
    device.turn()
    assert device.link.outbox.outstanding == 7


@pytest.mark.requirement("OR-VER-5")
@pytest.mark.parametrize("minor", [1, 2])
def test_a_device_is_sent_only_what_its_version_knows(world, minor):
    cloud = world.cloud()
    world.settle(cloud)
    inject(world, Birth(device_id=DeviceId("phone-1")), stream="live", minor=minor)
    world.settle(cloud)
    assert cloud.link.send("phone-1", Cancel(assignment_ids=()))
    assert cloud.link.send("phone-1", NewCredentials(version=1, password="x")) == (minor == 2)
    assert cloud.link.counters.withheld == (minor == 1)


@pytest.mark.requirement("OR-VER-3")
def test_fields_of_a_newer_device_are_counted_and_the_rest_is_taken(world):
    cloud = world.cloud()
    world.settle(cloud)
    body = msgspec.msgpack.encode({"kind": "seen", "colour": "red", "taste": {"a": 1}})
    inject(world, event(1), body=body, enc=PLAIN, minor=9)
    world.settle(cloud)
    assert cloud.received[-1].message == Event(kind="seen")
    assert cloud.link.counters.unknown_fields == 2


def test_messages_that_wait_together_are_committed_in_one_batch(world):
    batches = []
    cloud, device = world.cloud(lambda batch: batches.append(len(batch)) or {}), world.device()
    world.settle(cloud, device)
    device.enqueue(*map(event, range(10)))
    device.turn()
    cloud.turn()
    assert batches[-1] == 10
    device.turn()
    assert depth(device.conn) == 0


@pytest.mark.requirement("OR-ACK-2", "OR-ACK-12")
def test_what_was_not_committed_is_neither_acknowledged_nor_lost(world):
    troubled = [True]

    def commit(batch):
        if troubled and any(one.stream == "outbox" for one in batch):
            troubled.clear()
            raise TransientError("the database is busy")
        return {}

    cloud, device = world.cloud(commit), world.device()
    world.settle(cloud, device)
    device.enqueue(event(1))
    world.settle(device, cloud)
    assert cloud.link.counters.postponed == 1
    assert depth(device.conn) == 1
    world.clock.advance(5.0)
    world.settle(device, cloud, device)
    assert depth(device.conn) == 0
    assert len(cloud.rows) == 1


@pytest.mark.requirement("OR-CON-3")
def test_the_broker_hears_of_a_message_after_the_commit(world):
    unacknowledged = []
    cloud = world.cloud(
        lambda _: unacknowledged.append(len(world.broker._clients["cloud"].unacknowledged)) or {}
    )
    cloud.turn()
    cloud.turn()
    inject(world, event(1))
    cloud.turn()
    assert unacknowledged == [1]
    assert not world.broker._clients["cloud"].unacknowledged


def test_a_batch_answers_each_device_once_with_what_is_its_own(world):
    cloud = world.cloud(lambda batch: {i: "bad" for i, one in enumerate(batch) if one.seq == 2})
    devices = [world.device("phone-1"), world.device("phone-2")]
    world.settle(cloud, *devices)
    for device in devices:
        device.enqueue(event(1), event(2))
    world.settle(*devices, cloud)
    assert [(d.link.counters.acknowledged, d.link.counters.rejected) for d in devices] == [
        (1, 1),
        (1, 1),
    ]


@pytest.mark.requirement("OR-TOP-2")
def test_an_envelope_that_names_another_device_is_a_dead_letter(world):
    cloud = world.cloud()
    cloud.turn()
    cloud.turn()
    inject(world, event(1), owner="phone-1", device="phone-2")
    cloud.turn()
    assert [letter.reason for letter in cloud.dead] == ["wrong_device"]
    assert cloud.link.counters.wrong_device == 1
    assert cloud.received == []
    assert not world.broker._clients["cloud"].unacknowledged


@pytest.mark.requirement("OR-VER-4")
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"body": b"\xc1"}, "malformed"),
        ({"enc": "msgpack+zstd"}, "unknown_version"),
        ({"kind": "health"}, "wrong_topic"),
    ],
)
def test_a_row_that_cannot_be_read_is_answered_with_its_reason(world, changes, reason):
    cloud, device = world.cloud(), world.device()
    world.settle(cloud, device)
    device.enqueue(event(1))
    inject(world, event(1), install_id="install-phone-1", boot_id=device.boot, seq=1, **changes)
    world.settle(cloud, turns=1)
    device.link.take(list(device.events))
    assert device.link.counters.rejected == 1
    assert [letter.reason for letter in cloud.dead] == [reason]


@pytest.mark.requirement("OR-ENV-1")
def test_garbage_without_a_sender_is_counted_and_given_up(world):
    cloud = world.cloud()
    cloud.turn()
    cloud.turn()
    world.broker.route(
        topics.build(FLEET, topics.EVENT, "phone-1"), b"garbage", qos=1, retain=False
    )
    cloud.turn()
    assert cloud.link.counters.malformed == 1
    assert cloud.dead[0].payload == b"garbage"
    assert not world.broker._clients["cloud"].unacknowledged


@pytest.mark.requirement("OR-ACK-3")
def test_a_row_that_was_committed_before_is_answered_and_not_read_again(world):
    cloud, device = world.cloud(), world.device()
    world.settle(cloud, device)
    device.enqueue(event(1))
    device.turn()
    cloud.turn()
    device.events.clear()  # the answer is lost
    world.clock.advance(60)
    device.turn()
    cloud.turn()
    assert [one.message for one in cloud.received if one.stream == "outbox"] == [
        event(1),
        Repeated(Event),
    ]
    assert cloud.received[-1].redelivered
    device.turn()
    assert depth(device.conn) == 0


def test_batches_are_as_large_as_a_moment_takes(world):
    cloud = world.cloud()
    cloud.turn()
    cloud.turn()
    most = cloud.link.acknowledger.admission.batch()
    for number in range(2 * most):
        inject(world, event(number), seq=number + 1)
    cloud.turn()
    assert cloud.link.counters.batches == 2


def test_a_row_that_comes_again_is_seen_as_redelivered(world):
    cloud = world.cloud()
    cloud.turn()
    cloud.turn()
    inject(world, event(1))
    inject(world, event(1), attempt=2)
    cloud.turn()
    assert [one.redelivered for one in cloud.received] == [False, True]
    assert cloud.link.counters.redelivered == 1
    assert len(cloud.rows) == 1


@pytest.mark.requirement("OR-PRE-2")
def test_a_will_that_arrives_after_the_next_birth_says_nothing(world):
    cloud, device = world.cloud(), world.device()
    world.settle(cloud, device)
    late = Offline(device_id=DeviceId("phone-1"), boot_id="boot-2", epoch=0)
    inject(world, late, stream="live")
    cloud.turn()
    assert cloud.link.devices == ("phone-1",)
    assert cloud.link.counters.stale_offline == 1
    assert not any(isinstance(one.message, Offline) for one in cloud.received)


def test_file_requests_are_answered_chunk_by_chunk(world):
    world.files.files["a.bin"] = bytes(100_000)
    cloud, device = world.cloud(), world.device()
    world.settle(cloud, device)
    device.link.send(FileRequest(request_id="q", path="a.bin", offset=65_536, length=1 << 20))
    device.link.send(FileRequest(request_id="r", path="b.bin", offset=0, length=10))
    world.settle(cloud, device)
    first, second = device.chunks
    assert (first.request_id, len(first.data), first.total) == ("q", 100_000 - 65_536, 100_000)
    assert (second.request_id, second.missing) == ("r", True)
    assert not any(isinstance(one.message, FileRequest) for one in cloud.received)


@pytest.mark.requirement("OR-REL-2")
def test_a_release_is_announced_again_to_a_broker_that_lost_everything(world):
    cloud, device = world.cloud(), world.device()
    world.settle(cloud, device)
    said = ReleaseAnnouncement(channel="stable", release_id="r1", version=1)
    cloud.link.announce(said)
    world.broker.kill()
    world.broker.restart()
    world.settle(cloud, device)
    newcomer = world.device("phone-2")
    world.clock.advance(1.0)
    world.settle(cloud, newcomer)
    assert newcomer.inbox == [said]


def test_releases_are_announced_again_shortly_after_devices_arrive(world):
    cloud = world.cloud()
    cloud.turn()
    cloud.turn()
    said = [
        ReleaseAnnouncement(channel=channel, release_id="r1", version=1)
        for channel in ("stable", "canary")
    ]
    for one in said:
        cloud.link.announce(one)
    devices = [world.device("phone-1"), world.device("phone-2")]
    world.settle(*devices, cloud)
    for device in devices:
        device.events.clear()
    world.clock.advance(1.0)
    world.settle(cloud)
    heard = [event.topic for event in devices[0].events]
    assert heard == ["or/1/home/g/stable/release", "or/1/home/g/canary/release"]


def test_a_large_fleet_is_told_to_look_at_different_moments(world, monkeypatch):
    monkeypatch.setattr(cloud_link, "LOOK_AT_ONCE", 1)
    monkeypatch.setattr(cloud_link, "LOOKS_PER_S", 0.5)
    cloud, devices = world.cloud(), [world.device(f"phone-{n}") for n in range(3)]
    world.settle(cloud, *devices)
    cloud.link.announce(ReleaseAnnouncement(channel="stable", release_id="r1", version=1))
    world.settle(*devices)
    assert [one.inbox[0].spread_s for one in devices] == [4.0, 4.0, 4.0]


def test_a_small_fleet_looks_at_once(world):
    cloud, device = world.cloud(), world.device()
    world.settle(cloud, device)
    cloud.link.announce(ReleaseAnnouncement(channel="stable", release_id="r1", version=1))
    world.settle(device)
    assert [one.spread_s for one in device.inbox] == [0.0]


def test_a_release_that_is_announced_again_over_another_time_is_no_news(world, monkeypatch):
    cloud, device = world.cloud(), world.device()
    world.settle(cloud, device)
    said = ReleaseAnnouncement(channel="stable", release_id="r1", version=1)
    cloud.link.announce(said)
    monkeypatch.setattr(cloud_link, "LOOK_AT_ONCE", 0)
    cloud.link.announce(said)
    world.settle(device)
    assert device.inbox == [said]


def kept(world, *, device="phone-1"):
    """Which kinds of messages the broker keeps of a device and for it."""
    found = (topics.parse(topic) for topic in world.broker._retained)
    return {one.kind.name for one in found if one.owner == device}


def retain_everything(world, device="phone-1"):
    for kind in topics.KEPT_OF_DEVICES:
        world.broker.route(topics.build(FLEET, kind, device), b"kept", qos=1, retain=True)


@pytest.mark.requirement("OR-ENR-5")
def test_what_the_broker_keeps_of_a_device_is_taken_away_and_of_no_other(world):
    cloud = world.cloud()
    world.settle(cloud)
    retain_everything(world)
    retain_everything(world, "phone-2")
    cloud.turn()
    letters = len(cloud.dead)
    cloud.link.forget("phone-1")
    world.settle(cloud)
    assert kept(world) == set()
    assert len(kept(world, device="phone-2")) == len(topics.KEPT_OF_DEVICES)
    assert len(cloud.dead) == letters  # what takes a message away is no message


@pytest.mark.requirement("OR-ENR-5")
def test_what_a_broker_without_connection_keeps_is_taken_away_later(world):
    cloud = world.cloud()
    world.settle(cloud)
    world.broker.cut("cloud")
    cloud.turn()
    cloud.link.forget("phone-1")
    retain_everything(world)
    world.clock.advance(60)
    world.settle(cloud)
    assert kept(world) == set()


@pytest.mark.requirement("OR-ENR-5")
@pytest.mark.parametrize("knows", [True, False])
def test_a_will_that_comes_after_its_device_was_revoked_is_not_kept(world, knows):
    revoked = []
    cloud = world.cloud(
        lambda batch: dict.fromkeys(range(len(batch)), "revoked") if revoked else {}
    )
    device = world.device()
    world.settle(cloud, device)
    assert kept(world) == {"presence"}
    revoked.append("phone-1")
    if knows:
        cloud.link.forget("phone-1")
    world.broker.cut("phone-1")
    assert kept(world) == {"presence"}
    cloud.turn()
    assert kept(world) == set()


@pytest.mark.requirement("OR-TOP-4")
def test_what_is_retained_where_nothing_may_be_is_taken_away(world):
    """It would come again with each connection, from each phone that means ill."""
    cloud, device = world.cloud(), world.device()
    world.settle(cloud, device)
    device.enqueue(event(1))
    device.turn()
    (row,) = [one.payload for one in cloud.events if one.topic.endswith("/event")]
    world.settle(cloud, device)
    topic = topics.build(FLEET, topics.EVENT, "phone-1")
    world.broker.route(topic, row, qos=1, retain=True)
    cloud.turn()
    assert topic in world.broker._retained
    world.broker.cut("cloud")
    cloud.turn()
    world.clock.advance(60)
    world.settle(cloud)
    assert topic not in world.broker._retained
    assert [letter.reason for letter in cloud.dead] == ["retained"]
    assert cloud.link.counters.emptied == 1
    assert len(cloud.rows) == 1


def test_messages_for_a_device_wait_for_nobody(world):
    cloud = world.cloud()
    assert not cloud.link.send("phone-1", Cancel(assignment_ids=()))


def test_what_waits_of_a_lost_connection_is_passed_over_and_comes_again(world):
    cloud, device = world.cloud(), world.device()
    world.settle(device, cloud)
    device.enqueue(event(1), event(2))
    device.turn()
    world.broker.cut("cloud")
    lost = cloud.events.pop()
    cloud.events.appendleft(lost)  # the news of the loss overtook what waits in the queue
    cloud.turn()
    assert (cloud.link.counters.stale, len(cloud.rows)) == (2, 0)
    for _ in range(3):
        world.clock.advance(10.0)
        world.settle(device, cloud)
    assert len(cloud.rows) == 2
    assert depth(device.conn) == 0


def test_a_message_that_cannot_be_written_is_withheld_and_ends_nothing(world):
    cloud = world.cloud()
    world.settle(cloud)
    assert not cloud.link.send("phone-1", DesiredSettings(version=1, values={"n": 10**26}))
    assert not cloud.link.send("phone-1", DesiredSettings(version=1, values={"n": "\ud800"}))
    assert cloud.link.counters.withheld == 2
    assert cloud.link.send("phone-1", DesiredSettings(version=1, values={"n": 1}))


def test_a_request_whose_answer_cannot_be_written_is_not_answered_and_ends_nothing(world):
    cloud, device = world.cloud(), world.device()
    world.settle(cloud, device)
    for said in ({"request_id": "y" * 5_000_000}, {"path": "y" * 5_000_000}):
        wanted = {"request_id": "a", "path": "b", "offset": 0, "length": 1, **said}
        device.link.send(FileRequest(**wanted))
    world.settle(cloud, device)
    assert (cloud.link.counters.withheld, device.chunks) == (2, [])
    device.link.send(FileRequest(request_id="a", path="b", offset=0, length=1))
    world.settle(cloud, device)
    assert [one.request_id for one in device.chunks] == ["a"]

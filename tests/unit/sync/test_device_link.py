from __future__ import annotations

import msgspec
import pytest

from sync import inbox, topics
from sync.codec import PLAIN, Envelope, decode_envelope, encode_body, encode_envelope
from sync.database import transaction
from sync.messages import (
    Acknowledgement,
    AssignmentBatch,
    AssignmentsAccepted,
    Birth,
    BlobOffer,
    Cancel,
    Health,
    Offline,
    OwnerAnswer,
    ReleaseAnnouncement,
    Start,
    Stop,
)
from sync.outbox import depth, parked
from sync.ports import Incoming
from sync.unkept import MOST, RETRY_S
from sync.versions import MINOR
from sync.vocabulary import Assignment, AssignmentId, DeviceId
from tests.wire import FLEET, World, event


def assignments(*names):
    return tuple(Assignment(AssignmentId(name), template="wifi_on") for name in names)


def payload(message, *, device="phone-1", kind=None, v=1):
    body = encode_body(message)
    return encode_envelope(
        Envelope(
            v=v,
            kind=kind or body.kind,
            device=device,
            install_id="x",
            boot_id="x",
            stream="live",
            seq=1,
            sent_at_ms=1,
            enc=body.enc,
            body=body.data,
        )
    )


@pytest.fixture
def world(tmp_path):
    with World(tmp_path) as world:
        yield world


@pytest.fixture
def met(world):
    """A cloud and a device that know each other."""
    cloud, device = world.cloud(), world.device()
    world.settle(cloud, device)
    return world, cloud, device


@pytest.mark.requirement("OR-PRE-1")
def test_a_device_announces_itself_with_each_connection_and_a_higher_epoch(met):
    world, cloud, device = met
    world.broker.cut("phone-1")
    world.settle(device, cloud)
    world.clock.advance(1.0)
    world.settle(device, cloud)
    births = [one.message for one in cloud.received if isinstance(one.message, Birth)]
    assert [birth.epoch for birth in births] == [1, 2]
    assert len({birth.boot_id for birth in births}) == 1
    assert device.connected == [True, False, True]


@pytest.mark.requirement("OR-PRE-1")
def test_a_lost_connection_is_told_by_the_will(met):
    world, cloud, _device = met
    world.broker.cut("phone-1")
    world.settle(cloud)
    (offline,) = [one.message for one in cloud.received if isinstance(one.message, Offline)]
    assert (offline.epoch, offline.clean) == (1, False)
    assert cloud.link.devices == ()


def test_a_clean_end_is_told_as_such(met):
    world, cloud, device = met
    device.link.close()
    world.settle(cloud)
    (offline,) = [one.message for one in cloud.received if isinstance(one.message, Offline)]
    assert offline.clean


@pytest.mark.requirement("OR-ACK-1")
def test_a_committed_row_is_deleted_only_after_the_cloud_said_so(met):
    world, cloud, device = met
    device.enqueue(event(1))
    device.turn()
    assert depth(device.conn) == 1
    world.settle(cloud, device)
    assert depth(device.conn) == 0
    assert [one.message for one in cloud.rows.values()] == [event(1)]


@pytest.mark.requirement("OR-ACK-4")
def test_a_row_that_the_cloud_cannot_read_is_parked(world):
    cloud = world.cloud(lambda batch: dict.fromkeys(range(len(batch)), "unknown_task"))
    device = world.device()
    device.enqueue(event(1))
    world.settle(cloud, device)
    assert parked(device.conn) == ((1, "unknown_task"),)
    assert device.link.counters.rejected == 1


@pytest.mark.requirement("OR-ACK-6")
def test_an_acknowledgement_for_another_install_deletes_nothing(met):
    world, _cloud, device = met
    world.broker.faults = type(world.broker.faults)(drop=1.0)
    device.enqueue(event(1))
    device.turn()
    world.broker.faults = type(world.broker.faults)()
    topic = topics.build(FLEET, topics.ACK, "phone-1")
    wiped = payload(Acknowledgement(install_id="before the wipe", sequences=(1,)))
    world.broker.route(topic, wiped, qos=0, retain=False)
    device.turn()
    assert depth(device.conn) == 1


def answer(world, device, **says):
    """Tell a device what became of its rows, as the cloud would."""
    topic = topics.build(FLEET, topics.ACK, "phone-1")
    said = payload(Acknowledgement(**{"install_id": "install-phone-1", **says}))
    world.broker.route(topic, said, qos=0, retain=False)
    device.turn()


@pytest.mark.requirement("OR-ACK-11")
@pytest.mark.parametrize("says", [{"sequences": (1,)}, {"cumulative": 1}, {"selective": ((1, 1),)}])
def test_an_acknowledgement_for_another_process_deletes_nothing(met, says):
    world, _cloud, device = met
    device.enqueue(event(1))
    device.turn()
    answer(world, device, boot="copy", **says)
    assert depth(device.conn) == 1
    answer(world, device, boot=device.boot[-8:], **says)
    assert depth(device.conn) == 0


def test_a_cloud_of_before_names_no_process_and_is_believed(met):
    world, _cloud, device = met
    device.enqueue(event(1))
    device.turn()
    answer(world, device, sequences=(1,))
    assert depth(device.conn) == 0


@pytest.mark.requirement("OR-ACK-10")
def test_a_row_whose_number_is_anothers_is_sent_under_a_new_name_as_later_ones_are(world):
    taken = {("install-phone-1", 2)}
    cloud = world.cloud(
        lambda batch: {
            place: "sequence_taken"
            for place, one in enumerate(batch)
            if (one.install_id, one.seq) in taken
        }
    )
    device = world.device()
    device.enqueue(*map(event, range(3)))
    world.settle(cloud, device, turns=12)
    device.enqueue(event(3))
    world.settle(device, cloud)
    installs = {seq: install for _device, install, seq in cloud.rows}
    assert sorted(installs) == [1, 2, 3, 4]
    assert installs[1] == "install-phone-1"
    assert installs[2] == installs[4] not in {"install-phone-1", ""}
    assert (depth(device.conn), parked(device.conn)) == (0, ())
    assert device.link.counters.renamed == 1


def test_a_row_that_no_name_helps_is_parked(world):
    cloud = world.cloud(lambda batch: dict.fromkeys(range(len(batch)), "sequence_taken"))
    device = world.device()
    device.enqueue(event(1))
    world.settle(cloud, device, turns=20)
    assert parked(device.conn) == ((1, "sequence_taken"),)
    assert device.link.counters.renamed == 3


@pytest.mark.requirement("OR-ACK-5")
def test_the_clouds_credit_bounds_what_is_outstanding(met):
    world, cloud, device = met
    cloud.link.set_credit(2)
    world.settle(device)
    device.enqueue(*map(event, range(5)))
    device.turn()
    assert device.link.outbox.outstanding == 2
    world.settle(cloud, device)
    assert depth(device.conn) == 0


@pytest.mark.requirement("OR-ACK-5")
def test_without_credit_nothing_is_sent_until_there_is_some(met):
    world, cloud, device = met
    cloud.link.set_credit(0)
    world.settle(device)
    device.enqueue(event(1))
    world.settle(device, cloud)
    assert device.link.counters.sent == 0
    cloud.link.set_credit(4)
    world.settle(device, cloud)
    assert depth(device.conn) == 0


@pytest.mark.requirement("OR-ACK-8")
def test_a_cloud_that_started_anew_gets_what_was_outstanding_at_once(met):
    world, cloud, device = met
    cloud.link.close()
    device.enqueue(event(1))
    device.turn()
    assert device.link.outbox.outstanding == 1
    successor = world.cloud()
    world.settle(successor, device)
    assert [one.attempt for one in successor.rows.values()] == [2]
    assert depth(device.conn) == 0


@pytest.mark.requirement("OR-ASG-2")
def test_an_assignment_is_handed_on_once_and_accepted_each_time(met):
    world, cloud, device = met
    batch = AssignmentBatch(assignments=assignments("a", "b"))
    for _ in range(2):
        cloud.link.send("phone-1", batch)
        world.settle(device, cloud)
    assert device.inbox == [batch]
    accepted = [m.message for m in cloud.received if isinstance(m.message, AssignmentsAccepted)]
    assert accepted == [AssignmentsAccepted(assignment_ids=("a", "b"))] * 2
    assert device.link.counters.duplicate_assignments == 2


def test_a_partly_new_batch_hands_on_what_is_new(met):
    world, cloud, device = met
    cloud.link.send("phone-1", AssignmentBatch(assignments=assignments("a")))
    cloud.link.send("phone-1", AssignmentBatch(assignments=assignments("a", "b")))
    world.settle(device)
    assert device.inbox[1] == AssignmentBatch(assignments=assignments("b"))


@pytest.mark.requirement("OR-ASG-1")
@pytest.mark.parametrize(
    "said", [AssignmentBatch(assignments=assignments("a")), Cancel(assignment_ids=("a",))]
)
def test_what_the_cloud_gives_and_takes_back_waits_for_the_disk(met, said):
    world, cloud, device = met
    statements = []
    device.conn.set_trace_callback(statements.append)
    cloud.link.send("phone-1", said)
    world.settle(device)
    full = statements.index("PRAGMA synchronous = FULL")
    assert any("INTO inbox" in one for one in statements[full:])


@pytest.mark.requirement("OR-ASG-1", "OR-CON-3")
def test_a_message_is_acknowledged_to_the_broker_only_after_it_is_stored(met):
    world, cloud, device = met
    cloud.link.send("phone-1", AssignmentBatch(assignments=assignments("a")))
    device.conn.execute("ALTER TABLE inbox RENAME TO elsewhere")
    world.settle(device)
    waiting = world.broker._clients["phone-1"].unacknowledged
    assert len(waiting) == 1
    assert device.inbox == []
    device.conn.execute("ALTER TABLE elsewhere RENAME TO inbox")
    world.clock.advance(RETRY_S)
    world.settle(device)
    assert not waiting
    assert device.inbox == [AssignmentBatch(assignments=assignments("a"))]
    assert device.link.counters.unkept == 1


class FullDisk:
    """An owner's switch on a disk that takes nothing while `full`."""

    def __init__(self):
        self.full = True
        self.obeyed = []

    def control(self, message):
        if self.full:
            raise OSError(28, "No space left on device")
        self.obeyed.append(message)


def test_an_order_that_the_disk_does_not_take_is_obeyed_once_it_does(world):
    disk = FullDisk()
    cloud, device = world.cloud(), world.device(control=disk.control)
    world.settle(cloud, device)
    stop = Stop(control_id="a")
    cloud.link.send("phone-1", stop)
    world.settle(device)
    device.enqueue(event(1))
    world.settle(device, cloud, device)
    assert depth(device.conn) == 0  # rows go on meanwhile
    disk.full = False
    world.settle(device)
    assert disk.obeyed == []
    world.clock.advance(RETRY_S)
    world.settle(device)
    assert disk.obeyed == [stop]
    assert not world.broker._clients["phone-1"].unacknowledged


def test_an_order_that_the_disk_did_not_take_is_forgotten_for_a_later_one(world):
    disk = FullDisk()
    cloud, device = world.cloud(), world.device(control=disk.control)
    world.settle(cloud, device)
    cloud.link.send("phone-1", Start(control_id="a"))
    world.settle(device)
    disk.full = False
    cloud.link.send("phone-1", Stop(control_id="b"))
    world.settle(device)
    world.clock.advance(RETRY_S)
    world.settle(device)
    assert disk.obeyed == [Stop(control_id="b")]
    assert not world.broker._clients["phone-1"].unacknowledged


def test_orders_that_the_disk_did_not_take_are_bounded_and_end_with_their_connection(world):
    disk = FullDisk()
    cloud, device = world.cloud(), world.device(control=disk.control)
    world.settle(cloud, device)
    for number in range(MOST + 5):
        cloud.link.send("phone-1", OwnerAnswer(question_id=str(number), agreed=True))
    world.settle(device)
    disk.full = False
    world.clock.advance(RETRY_S)
    world.settle(device)
    assert [one.question_id for one in disk.obeyed] == [str(n) for n in range(5, MOST + 5)]
    assert not world.broker._clients["phone-1"].unacknowledged
    disk.full, disk.obeyed = True, []
    cloud.link.send("phone-1", OwnerAnswer(question_id="late", agreed=True))
    world.settle(device)
    disk.full = False
    world.broker.cut("phone-1")
    for _ in range(3):
        world.clock.advance(RETRY_S)
        world.settle(device, cloud)
    assert disk.obeyed == []


@pytest.mark.parametrize(
    "said",
    [
        {"cumulative": 2**63},
        {"sequences": (2**64 - 1,)},
        {"selective": ((-1, 5),)},
        {"rejected": ((2**63, "malformed"),)},
        {"postponed": ((-(2**63), "busy"),)},
    ],
)
def test_an_answer_with_numbers_that_no_row_has_changes_nothing(met, said):
    world, cloud, device = met
    device.enqueue(event(1))
    device.turn()
    answer = Acknowledgement(install_id="install-phone-1", **said)
    topic = topics.build(FLEET, topics.ACK, "phone-1")
    device.link.take([Incoming(topic, payload(answer))])
    assert (device.link.counters.malformed, depth(device.conn)) == (1, 1)
    world.settle(cloud, device)
    assert depth(device.conn) == 0


def test_after_a_crash_what_was_accepted_and_not_finished_comes_first(met):
    world, cloud, device = met
    cloud.link.send("phone-1", AssignmentBatch(assignments=assignments("a", "b")))
    world.settle(device)
    with transaction(device.conn):
        inbox.finish(device.conn, AssignmentId("a"))
    reborn = world.device()
    reborn.link.resume()
    assert reborn.inbox == [AssignmentBatch(assignments=assignments("b"))]


def test_a_cancellation_reaches_inbox_table_and_owner(met):
    world, cloud, device = met
    cloud.link.send("phone-1", AssignmentBatch(assignments=assignments("a")))
    cancel = Cancel(assignment_ids=(AssignmentId("a"),))
    cloud.link.send("phone-1", cancel)
    world.settle(device)
    assert device.inbox[-1] == cancel
    assert inbox.pending(device.conn) == ()


def test_only_the_own_channels_release_is_handed_on_and_only_when_it_is_news(met):
    world, cloud, device = met
    stable = ReleaseAnnouncement(channel="stable", release_id="r1", version=1)
    cloud.link.announce(ReleaseAnnouncement(channel="canary", release_id="r2", version=2))
    cloud.link.announce(stable)
    cloud.link.announce(stable)
    world.settle(device)
    assert device.inbox == [stable]


def test_changing_the_channel_hands_on_that_channels_last_release(met):
    world, cloud, device = met
    canary = ReleaseAnnouncement(channel="canary", release_id="r2", version=2)
    cloud.link.announce(canary)
    world.settle(device)
    device.link.announce(Birth(device_id=DeviceId("phone-1"), channel="canary"))
    world.settle(device, cloud)
    assert device.inbox == [canary]
    assert cloud.received[-1].message.channel == "canary"


@pytest.mark.requirement("OR-TOP-3", "OR-ENV-1")
@pytest.mark.parametrize(
    ("topic_kind", "data"),
    [
        (topics.ACK, b"garbage"),
        (topics.ACK, payload(Cancel(assignment_ids=()), device="phone-1")),
        (topics.ACK, payload(Acknowledgement(install_id="x"), device="phone-2")),
        (topics.ACK, payload(Acknowledgement(install_id="x"), v=9)),
    ],
    ids=["garbage", "wrong topic", "for another", "newer"],
)
def test_what_cannot_be_read_is_counted_and_dropped(met, topic_kind, data):
    world, _cloud, device = met
    before = device.link.counters.malformed
    world.broker.route(topics.build(FLEET, topic_kind, "phone-1"), data, qos=1, retain=False)
    device.turn()
    assert device.link.counters.malformed == before + 1
    assert not world.broker._clients["phone-1"].unacknowledged


def test_a_live_message_goes_out_when_connected_and_is_dropped_otherwise(met):
    world, cloud, device = met
    assert device.link.send(Health(at_ms=1))
    world.broker.kill()
    world.settle(device)
    assert not device.link.send(Health(at_ms=2))
    world.settle(cloud)
    assert cloud.received[-1].message == Health(at_ms=1)


@pytest.mark.requirement("OR-VER-5")
def test_a_cloud_is_sent_only_what_its_version_knows(world):
    device = world.device()
    world.settle(device)
    offer = BlobOffer()
    assert not device.link.send(offer)
    assert device.link.counters.withheld == 1
    world.settle(world.cloud(), device)
    assert device.link.cloud_minor == MINOR
    assert device.link.send(offer)


@pytest.mark.requirement("OR-VER-3")
def test_fields_of_a_newer_cloud_are_counted_and_the_rest_is_taken(met):
    world, _cloud, device = met
    raw = msgspec.msgpack.encode({"assignment_ids": [], "colour": "red", "taste": "sweet"})
    topic = topics.build(FLEET, topics.ASSIGNMENT, "phone-1")
    envelope = msgspec.structs.replace(
        decode_envelope(payload(Cancel(assignment_ids=()))), body=raw, enc=PLAIN
    )
    world.broker.route(topic, encode_envelope(envelope), qos=1, retain=False)
    device.turn()
    assert Cancel(assignment_ids=()) in device.inbox
    assert device.link.counters.unknown_fields == 2


def test_the_pump_sleeps_until_the_next_resend_at_most(met):
    _world, _cloud, device = met
    assert device.link.pump() == 1.0
    device.enqueue(event(1))
    assert 0.0 < device.link.pump() <= 1.0

"""Both halves of blobs together, on a manual clock: what is sent, once, and what never is."""

from __future__ import annotations

import os
from dataclasses import replace
from random import Random

import pytest

from sync import blob_rows
from sync.blob_desk import OFFERED_MOST, RESTARTS, SILENT_S
from sync.blob_shelf import BlobRecord, BlobState
from sync.blobs import CHUNK_BYTES, chunk_of, digest_of
from sync.codec import EncodedBody, decode_body
from sync.database import transaction
from sync.drop_rules import DropRule, totals
from sync.messages import BlobAck, BlobChunk, BlobOffer, BlobWant
from sync.outbox import enqueue
from tests.blob_world import BlobWorld, corrupted, named, picture
from tests.wire import event


@pytest.fixture
def world(tmp_path):
    world = BlobWorld(tmp_path)
    yield world
    world.close()


def dropped(phone):
    return {rule: items for rule, (items, _bytes) in totals(phone.conn).items()}


def test_a_blob_arrives_whole_and_is_marked_stored(world):
    seen = picture(1, 3 * CHUNK_BYTES + 5)
    phone = world.phone("phone-1")
    phone.keep(seen)
    world.shelf.name(seen)
    world.settle()
    assert world.shelf.folder.read(digest_of(seen)) == seen
    assert blob_rows.waiting(phone.conn) == (0, 0)
    assert blob_rows.held(phone.conn) == (1, len(seen))
    assert phone.sender.counters.chunk_bytes == len(seen)
    assert world.desk.counters.stored == 1


def test_nothing_is_said_where_there_is_nothing_to_send(world):
    world.phone("phone-1")
    world.settle()
    assert world.desk.counters.offers == 0


@pytest.mark.requirement("OR-BLB-1")
def test_a_blob_waits_until_its_episode_is_committed(world):
    phone = world.phone("phone-1")
    with transaction(phone.conn):
        seq = enqueue(phone.conn, event(1), created_at_ms=1)
    phone.keep(picture(1), upload_seq=seq)
    world.shelf.name(picture(1))
    world.settle()
    assert world.bytes_sent() == 0
    with transaction(phone.conn):
        phone.conn.execute("DELETE FROM outbox")
    world.settle()
    assert world.shelf.stored() == {digest_of(picture(1))}


def test_small_pictures_are_asked_for_and_answered_together(world):
    pictures = [picture(number) for number in range(12)]
    phone = world.phone("phone-1")
    phone.keep(*pictures)
    world.shelf.name(*pictures)
    said = [one for one in heard(world, phone) if isinstance(one, BlobWant)]
    assert len(said) <= 3
    assert world.shelf.stored() == set(map(digest_of, pictures))
    assert blob_rows.waiting(phone.conn) == (0, 0)


def test_a_phone_is_told_of_what_is_stored_once_it_owes_nothing(world):
    pictures = [picture(number) for number in range(12)]
    phone = world.phone("phone-1")
    phone.keep(*pictures)
    world.shelf.name(*pictures)
    told = [one.stored for one in heard(world, phone) if isinstance(one, BlobAck)]
    assert len(told) <= 2
    assert {digest for stored in told for digest in stored} == set(map(digest_of, pictures))


def heard(world, phone):
    """What a phone was told until all is settled."""
    said = []
    take = phone.sender.take
    phone.sender.take = lambda message: (said.append(message), take(message))
    world.settle()
    return said


@pytest.mark.requirement("OR-BLB-8")
def test_what_two_phones_saw_travels_once(world):
    for name in ("phone-1", "phone-2"):
        world.phone(name).keep(picture(1, 3 * CHUNK_BYTES))
    world.shelf.name(picture(1, 3 * CHUNK_BYTES))
    world.settle()
    assert world.bytes_sent() == 3 * CHUNK_BYTES
    assert world.desk.counters.shared == 1
    for phone in world.phones.values():
        assert blob_rows.waiting(phone.conn) == (0, 0)
        assert phone.sender.counters.stored == 1
    assert sorted(one.sender.counters.shared for one in world.phones.values()) == [0, 1]


def test_what_the_cloud_has_is_not_asked_of_a_phone_that_comes_later(world):
    world.phone("phone-1").keep(picture(1))
    world.shelf.name(picture(1))
    world.settle()
    later = world.phone("phone-2")
    later.keep(picture(1))
    world.settle()
    assert later.sender.counters.chunks == 0
    assert later.sender.counters.stored == later.sender.counters.shared == 1


@pytest.mark.requirement("OR-BLB-8")
def test_another_phone_is_asked_when_the_first_falls_silent(world):
    mute = world.phone("phone-1")
    mute.keep(picture(1))
    world.shelf.name(picture(1))
    mute.sender.pump(is_free=False)
    world.desk.take("phone-1", mute.sent.pop())
    world.desk.answers()  # the phone never hears them
    del world.phones["phone-1"]
    other = world.phone("phone-2")
    other.keep(picture(1))
    world.settle(turns=5)
    assert other.sender.counters.chunks == 0
    world.clock.advance(SILENT_S)
    world.settle()
    assert world.desk.counters.silent == 1
    assert other.sender.counters.chunks == 1
    mute.conn.close()


def test_a_phone_that_was_silent_about_many_blobs_is_believed_when_it_offers_again(world):
    pictures = [picture(number) for number in range(12)]
    phone = world.phone("phone-1")
    phone.keep(*pictures)
    world.shelf.name(*pictures)
    world.settle(turns=3)
    assert world.desk.counters.stored < len(pictures)
    world.clock.advance(SILENT_S)
    world.desk.tick()
    assert world.desk.counters.silent == 1
    world.phone("phone-1")
    world.settle()
    assert world.shelf.stored() == set(map(digest_of, pictures))


@pytest.mark.requirement("OR-BLB-9")
def test_a_phone_that_is_killed_half_way_sends_only_what_is_missing(world):
    seen = picture(1, 8 * CHUNK_BYTES)
    phone = world.phone("phone-1")
    phone.keep(seen)
    world.shelf.name(seen)
    while phone.sender.counters.chunks < 4:
        world.turn()
    before = phone.sender.counters.chunks
    again = world.phone("phone-1")
    world.clock.advance(SILENT_S)
    world.settle()
    assert world.shelf.folder.read(digest_of(seen)) == seen
    assert before + again.sender.counters.chunks == 8


@pytest.mark.requirement("OR-BLB-9")
def test_a_cloud_that_is_killed_half_way_asks_only_for_what_is_missing(world):
    seen = picture(1, 8 * CHUNK_BYTES)
    phone = world.phone("phone-1")
    phone.keep(seen)
    world.shelf.name(seen)
    while world.desk.counters.chunks < 4:
        world.turn()
    before = world.desk.counters.chunks
    world.restart_cloud()
    world.settle()
    assert world.shelf.folder.read(digest_of(seen)) == seen
    assert before + world.desk.counters.chunks == 8


@pytest.mark.requirement("OR-BLB-5")
def test_a_cloud_whose_store_is_another_gets_everything_again(world):
    phone = world.phone("phone-1")
    phone.keep(picture(1), picture(2))
    world.shelf.name(picture(1), picture(2))
    world.settle()
    for digest, record in world.shelf.records.items():
        world.shelf.folder.discard(digest)
        world.shelf.records[digest] = replace(record, state=BlobState.WANTED)
    world.shelf.store_id = "store-2"
    world.restart_cloud()
    world.settle()
    assert len(world.shelf.stored()) == 2
    assert phone.sender.counters.again == 2
    assert phone.sender.counters.chunks == 4


@pytest.mark.requirement("OR-BLB-2")
def test_a_phone_whose_owner_says_no_offers_and_sends_nothing(world):
    phone = world.phone("phone-1")
    phone.keep(picture(1, 8 * CHUNK_BYTES))
    world.shelf.name(picture(1, 8 * CHUNK_BYTES))
    phone.allowed[0] = False
    world.settle()
    assert world.desk.counters.offers == 0
    phone.allowed[0] = True
    while phone.sender.counters.chunks < 2:
        world.turn()
    phone.allowed[0] = False
    world.desk.take("phone-1", BlobOffer(have=((digest_of(picture(1)), 1),)))
    before = phone.sender.counters.chunks
    world.settle()
    phone.sender.take(BlobWant(ranges=((digest_of(picture(1, 8 * CHUNK_BYTES)), 0, 8),)))
    world.settle()
    assert phone.sender.counters.chunks == before


@pytest.mark.requirement("OR-BLB-4")
def test_chunks_wait_while_the_link_has_something_more_urgent(world):
    phone = world.phone("phone-1")
    phone.keep(picture(1))
    world.shelf.name(picture(1))
    world.is_free = False
    world.settle(turns=20)
    assert phone.sender.counters.chunks == 0
    world.is_free = True
    world.settle()
    assert phone.sender.counters.chunks == 1


@pytest.mark.requirement("OR-BLB-3")
@pytest.mark.parametrize("harm", ["damaged", "missing"])
def test_a_blob_whose_file_was_harmed_is_reported_and_never_sent(world, harm):
    phone = world.phone("phone-1")
    phone.keep(picture(1), picture(2))
    world.shelf.name(picture(1), picture(2))
    path = phone.folder.path(digest_of(picture(1)))
    if harm == "damaged":
        path.write_bytes(picture(3))
    else:
        path.unlink()
    world.settle()
    assert world.shelf.stored() == {digest_of(picture(2))}
    assert phone.sender.counters.damaged == 1
    assert world.desk.counters.bad_chunks == world.desk.counters.restarted == 0
    assert dropped(phone) == {DropRule.BLOB_DAMAGED: 1}
    enc, body = phone.conn.execute("SELECT enc, body FROM outbox").fetchone()
    told = decode_body(EncodedBody("event", enc, body))
    assert told.kind == "blob_lost"
    assert told.fields == {"digest": digest_of(picture(1)).hex(), "reason": harm}
    assert not path.exists()


def test_another_phone_is_asked_at_once_for_what_the_first_has_lost(world):
    for name in ("phone-1", "phone-2"):
        world.phone(name).keep(picture(1))
    world.shelf.name(picture(1))
    world.phones["phone-1"].folder.discard(digest_of(picture(1)))
    world.settle(turns=10)
    assert world.shelf.senders == {digest_of(picture(1)): "phone-2"}


def test_a_chunk_that_was_damaged_on_its_way_is_asked_for_again(tmp_path):
    random = Random(7)
    harmed = []

    def harm(_name, message):
        if isinstance(message, BlobChunk) and len(harmed) < 5:
            harmed.append(message)
            return [corrupted(message, random)]
        return [message]

    world = BlobWorld(tmp_path, mangle=harm)
    seen = picture(1, 6 * CHUNK_BYTES)
    world.phone("phone-1").keep(seen)
    world.shelf.name(seen)
    world.settle(turns=600)
    assert world.shelf.folder.read(digest_of(seen)) == seen
    assert len(harmed) == 5
    assert 3 <= world.desk.counters.bad_chunks <= 5
    assert world.desk.counters.given_up == 0
    world.close()


@pytest.mark.requirement("OR-BLB-7")
def test_a_phone_that_lies_about_a_blob_is_asked_no_more_and_another_one_is(world):
    seen, false = picture(1), picture(2)
    world.shelf.name(seen)

    def offer(name):
        world.desk.take(name, BlobOffer(have=((digest_of(seen), len(seen)),)))

    def want():
        return [one for _name, one in world.desk.answers() if isinstance(one, BlobWant)]

    offer("liar")
    for _ in range(RESTARTS):
        assert want()
        world.desk.take("liar", chunk_of(digest_of(seen), false, 0))
    assert world.desk.counters.restarted == RESTARTS
    told = [one for _name, one in world.desk.answers()]
    assert told == [BlobAck(refused=((digest_of(seen), "wrong_bytes"),), store_id="store-1")]
    honest = world.phone("phone-1")
    honest.keep(seen)
    world.settle()
    assert world.shelf.senders == {digest_of(seen): "phone-1"}


@pytest.mark.requirement("OR-BLB-6")
def test_chunks_that_were_not_asked_for_are_dropped(world):
    seen = picture(1, 4 * CHUNK_BYTES)
    world.shelf.name(seen)
    for index in range(4):
        world.desk.take("phone-1", chunk_of(digest_of(seen), seen, index))
    world.desk.take("phone-1", BlobOffer(have=((digest_of(seen), len(seen)),)))
    world.desk.take("phone-2", chunk_of(digest_of(seen), seen, 0))
    world.desk.take("phone-1", chunk_of(digest_of(seen), seen, 0))
    world.desk.take("phone-1", chunk_of(digest_of(seen), seen, 0))
    assert world.desk.counters.unasked == 6
    assert world.desk.counters.chunks == 1


@pytest.mark.requirement("OR-BLB-6")
def test_what_no_committed_episode_names_is_not_asked_for_and_offered_much_later(world):
    phone = world.phone("phone-1")
    phone.keep(picture(1))
    world.settle()
    assert world.desk.counters.unknown == 1
    assert phone.sender.counters.chunks == 0
    world.shelf.name(picture(1))
    world.settle()
    assert world.desk.counters.unknown == 1
    world.clock.advance(11 * 60)
    world.settle()
    assert world.shelf.stored() == {digest_of(picture(1))}


def test_what_the_cloud_refuses_is_given_up_and_counted(world):
    phone = world.phone("phone-1")
    phone.keep(picture(1), picture(2))
    world.shelf.name(picture(1))
    world.shelf.records[digest_of(picture(1))] = BlobRecord(
        1000, BlobState.REFUSED, reason="too_large"
    )
    world.shelf.records[digest_of(picture(2))] = BlobRecord(999)
    world.settle()
    assert phone.sender.counters.refused == 2
    assert dropped(phone) == {DropRule.BLOB_REFUSED: 2}
    assert not phone.folder.exists(digest_of(picture(1)))
    assert world.bytes_sent() == 0


def test_a_full_disk_in_the_cloud_stops_the_asking_for_a_while(world, monkeypatch):
    phone = world.phone("phone-1")
    phone.keep(picture(1))
    world.shelf.name(picture(1))

    def full(*_args, **_more):
        raise OSError("No space left on device")

    monkeypatch.setattr(world.shelf, "write", full)
    world.settle(turns=30)
    assert world.desk.counters.store_errors == 1
    monkeypatch.undo()
    world.settle(turns=150)
    assert world.shelf.stored() == {digest_of(picture(1))}
    assert world.desk.counters.silent == 0


def test_a_cloud_that_holds_uploads_back_asks_for_nothing(world):
    world.phone("phone-1").keep(picture(1))
    world.shelf.name(picture(1))
    world.desk.pause(True)
    world.settle()
    assert world.bytes_sent() == 0
    world.desk.pause(False)
    world.settle()
    assert world.shelf.stored() == {digest_of(picture(1))}


def test_the_quota_gives_up_what_the_cloud_holds_before_what_it_lacks(world):
    phone = world.phone("phone-1", quota_bytes=2500)
    phone.keep(picture(1))
    world.shelf.name(picture(1))
    world.settle()
    phone.allowed[0] = False
    phone.keep(picture(2), picture(3), upload_seq=1)
    world.settle(turns=400)
    assert not phone.folder.exists(digest_of(picture(1)))
    assert blob_rows.waiting(phone.conn) == (2, 2000)
    phone.keep(picture(4), picture(5), upload_seq=2)
    world.settle(turns=400)
    assert blob_rows.waiting(phone.conn) == (2, 2000)
    assert phone.sender.counters.dropped == 2
    assert dropped(phone) == {DropRule.BLOB_OLDEST: 2}
    assert not phone.folder.exists(digest_of(picture(2)))
    assert phone.folder.exists(digest_of(picture(5)))


def test_files_of_episodes_that_were_never_closed_go_at_the_next_start(world):
    phone = world.phone("phone-1")
    old, young, named_one = (phone.folder.put(picture(number)) for number in (1, 2, 3))
    with transaction(phone.conn):
        blob_rows.record(phone.conn, [named(picture(3))], upload_seq=1, now_ms=1)
    now_s = world.clock.wall_ms() / 1000
    for digest, age_s in ((old, 7200), (young, 60), (named_one, 7200)):
        os.utime(phone.folder.path(digest), (now_s - age_s, now_s - age_s))
    world.phone("phone-1").sender.pump(is_free=True)
    assert [phone.folder.exists(one) for one in (old, young, named_one)] == [False, True, True]


def test_many_blobs_pass_through_the_few_that_are_offered_at_a_time(world):
    phone = world.phone("phone-1")
    pictures = [picture(number, 200) for number in range(OFFERED_MOST + 16)]
    phone.keep(*pictures)
    world.shelf.name(*pictures)
    world.settle(turns=200)
    assert world.shelf.stored() == set(map(digest_of, pictures))
    assert phone.sender.counters.chunks == len(pictures)


class Harm:
    """Drops, doubles, damages and holds back what passes."""

    def __init__(self, random):
        self.random = random
        self.held = []

    def __call__(self, name, message):
        fate = self.random.random()
        is_chunk = isinstance(message, BlobChunk)
        if fate < 0.15:
            return []
        if fate < 0.3:
            return [message, message]
        if is_chunk and fate < 0.4:
            return [corrupted(message, self.random)]
        if is_chunk and fate < 0.5:
            self.held.append((name, message))
            return []
        late = [one for owner, one in self.held if owner == name] if is_chunk else []
        self.held = [(owner, one) for owner, one in self.held if owner != name or not is_chunk]
        return [message, *late]


@pytest.mark.parametrize("seed", range(4))
def test_blobs_of_three_phones_arrive_whole_over_a_link_that_does_every_harm(tmp_path, seed):
    random = Random(seed)
    world = BlobWorld(tmp_path, mangle=Harm(random))
    pictures = [picture(number, random.randrange(1, 5 * CHUNK_BYTES)) for number in range(8)]
    for name in ("phone-1", "phone-2", "phone-3"):
        world.phone(name).keep(*random.sample(pictures, 5))
    shown = {one for phone in world.phones.values() for one, _path in phone.folder.files()}
    world.shelf.name(*pictures)
    for number in range(2000):
        world.turn()
        world.clock.advance(0.5)
        if number in {40, 90}:
            world.restart_cloud()
        if number in {60, 120}:
            world.phone(random.choice(sorted(world.phones)))
        if world.shelf.stored() == shown:
            break
    assert world.shelf.stored() == shown
    assert all(world.shelf.folder.read(digest) is not None for digest in shown)
    assert world.desk.counters.given_up == 0
    world.close()

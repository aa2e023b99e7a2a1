"""A disk that takes nothing: what waits is still sent, nothing is half written, and it goes on."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from random import Random

import pytest

from cloud_learner.phone_logs import read_index
from device_runtime.trajectory_log import TrajectoryLog
from sync.clock import ManualClock
from sync.codec import encode_body
from sync.database import cannot_write, create_schema, open_database, transaction
from sync.drop_rules import DropRule, totals
from sync.errors import RejectedError
from sync.outbox import Outbox, depth, enqueue, parked
from sync.outbox_quota import OutboxQuota, held_bytes, make_room, read_quota, set_quota
from sync.vocabulary import EndReason, new_uuid7
from tests.wire import World, event, upload

SIZE = len(encode_body(upload(1)).data)


@pytest.fixture
def conn(tmp_path):
    with closing(open_database(tmp_path / "device.db")) as conn:
        create_schema(conn, install_id="install")
        yield conn


def put(conn, *messages):
    with transaction(conn):
        return [enqueue(conn, message, created_at_ms=5) for message in messages]


def limit(conn, episodes):
    with transaction(conn):
        set_quota(conn, OutboxQuota(quota_bytes=episodes * SIZE + SIZE // 2, floor_bytes=0))


def fill_up(conn):
    """Let the file not grow any more, as on a full disk."""
    pages = conn.execute("PRAGMA page_count").fetchone()[0]
    conn.execute(f"PRAGMA max_page_count = {pages}")


def make_space(conn):
    conn.execute("PRAGMA max_page_count = 1000000")


def broken(number):
    one = upload(number)
    return replace(one, episode=replace(one.episode, end_reason=EndReason.ENV_ERROR))


def unjudged(number):
    return replace(upload(number), verdicts=())


def append_until_it_fails(log, *, first):
    """The error, and how many episodes the log holds then."""
    for number in range(first, 200):
        try:
            log.append(upload(number, steps=9).episode, upload(number).verdicts)
        except sqlite3.OperationalError as error:
            return error, number - 1
    raise AssertionError("the disk was never full")


def enqueue_and_break(conn):
    enqueue(conn, upload(2), created_at_ms=1)
    raise RuntimeError


def left(conn):
    return [row[0] for row in conn.execute("SELECT seq FROM outbox ORDER BY seq")]


@pytest.mark.requirement("OR-ROM-1")
def test_what_is_worth_least_goes_first_and_every_drop_is_counted(conn):
    limit(conn, 4)
    put(conn, upload(1), unjudged(2), broken(3), upload(4))
    put(conn, upload(5))
    assert left(conn) == [1, 2, 4, 5]
    put(conn, upload(6))
    assert left(conn) == [1, 4, 5, 6]
    put(conn, upload(7))
    assert left(conn) == [4, 5, 6, 7]
    counted = totals(conn)
    assert {rule: items for rule, (items, _) in counted.items()} == {
        "episode_broken": 1,
        "episode_unjudged": 1,
        "episode_oldest": 1,
    }
    assert held_bytes(conn) <= read_quota(conn).quota_bytes
    noted = conn.execute("SELECT rule, subject, bytes FROM drops ORDER BY subject").fetchall()
    assert [row[:2] for row in noted] == [
        ("episode_oldest", "1"),
        ("episode_unjudged", "2"),
        ("episode_broken", "3"),
    ]
    assert sum(row[2] for row in noted) == sum(size for _, size in counted.values())


@pytest.mark.requirement("OR-ROM-1")
def test_what_the_cloud_refused_goes_before_anything_that_can_be_sent(conn):
    limit(conn, 2)
    put(conn, upload(1), upload(2))
    box = Outbox(conn, clock=ManualClock(), random=Random(1))
    box.claim(64)
    box.reject([(2, "malformed")])
    put(conn, upload(3))
    assert left(conn) == [1, 3]
    assert totals(conn)["parked_oldest"][0] == 1


@pytest.mark.requirement("OR-ROM-1")
def test_nothing_of_worth_goes_for_an_episode_that_is_worth_less(conn):
    limit(conn, 2)
    put(conn, upload(1), upload(2))
    put(conn, broken(3))
    assert left(conn) == [1, 2, 3]
    put(conn, upload(4))
    assert left(conn) == [2, 4]
    assert totals(conn)["episode_broken"][0] == 1


@pytest.mark.requirement("OR-ROM-1")
def test_events_push_out_episodes_and_never_the_other_way(conn):
    with transaction(conn):
        set_quota(conn, OutboxQuota(quota_bytes=1_000, floor_bytes=0))
    put(conn, *map(event, range(12)))
    put(conn, upload(1))
    assert "event_oldest" not in totals(conn)
    put(conn, event(21))
    assert totals(conn)["episode_oldest"][0] == 1


@pytest.mark.requirement("OR-ROM-2")
def test_on_a_disk_that_is_nearly_full_the_outbox_does_not_grow(conn):
    put(conn, upload(1), upload(2))
    before = held_bytes(conn)
    with transaction(conn):
        make_room(
            conn,
            incoming_bytes=SIZE,
            incoming_rule=DropRule.EPISODE_OLDEST,
            now_ms=1,
            free=lambda _: 1_000,
        )
    assert held_bytes(conn) <= before - SIZE // 2


@pytest.mark.requirement("OR-ROM-3")
def test_a_dropped_message_and_its_declaration_are_one_fact(conn):
    limit(conn, 1)
    put(conn, upload(1))
    with pytest.raises(RuntimeError), transaction(conn):
        enqueue_and_break(conn)
    assert left(conn) == [1]
    assert totals(conn) == {}


@pytest.mark.requirement("OR-ROM-4")
def test_rows_of_a_full_disk_are_sent_and_settled_once_there_is_room(conn):
    put(conn, *map(upload, range(1, 6)))
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    clock = ManualClock()
    box = Outbox(conn, clock=clock, random=Random(1))
    conn.execute("PRAGMA query_only = ON")  # every write fails, as on a read-only disk
    rows = box.claim(3)
    assert [(row.seq, row.attempt) for row in rows] == [(1, 1), (2, 1), (3, 1)]
    assert box.acknowledge([1, 2]) == 0
    box.reject([(3, "malformed")])
    assert [row.seq for row in box.claim(64)] == [4, 5]
    clock.advance(60.0)
    assert [(row.seq, row.attempt) for row in box.claim(64)] == [(4, 2), (5, 2)]
    conn.execute("PRAGMA query_only = OFF")
    box.claim(64)
    assert left(conn) == [3, 4, 5]
    assert parked(conn) == ((3, "malformed"),)
    clock.advance(120.0)
    assert {row.attempt for row in box.claim(64)} == {3}


@pytest.mark.requirement("OR-ROM-4")
def test_an_episode_that_finds_no_room_leaves_nothing_behind_and_is_stored_later(tmp_path):
    log = TrajectoryLog.open(tmp_path / "phone.db", clock=ManualClock(), new_id=new_uuid7)
    with closing(log):
        log.append(upload(1).episode, upload(1).verdicts)
        fill_up(log.connection)
        error, kept = append_until_it_fails(log, first=2)
        assert cannot_write(error)
        assert log.counts().logged == kept
        assert depth(log.connection) == kept
        assert log.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        make_space(log.connection)
        log.append(upload(kept + 1).episode, upload(kept + 1).verdicts)
        assert log.counts().logged == kept + 1


def test_the_cloud_has_what_the_phone_has_but_for_declared_drops(tmp_path):
    with World(tmp_path) as world:
        cloud, device = world.cloud(), world.device()
        limit(device.conn, 3)
        sent = device.enqueue(*map(upload, range(1, 9)))
        world.settle(cloud, device)
        world.settle(device, cloud, device)
        dropped = {int(row[0]) for row in device.conn.execute("SELECT subject FROM drops")}
        stored = {seq for _device, _install, seq in cloud.rows}
    assert dropped
    episodes = stored & set(sent)
    assert episodes == set(sent) - dropped


@pytest.mark.requirement("OR-ROM-3")
def test_the_cloud_is_told_of_each_rule_once_until_there_is_news(tmp_path):
    with World(tmp_path) as world:
        cloud, device = world.cloud(), world.device()
        limit(device.conn, 2)
        device.enqueue(*map(upload, range(1, 5)))
        for _ in range(4):
            world.clock.advance(11.0)
            world.settle(device, cloud, device)
        told = [
            one.message.fields
            for one in cloud.rows.values()
            if getattr(one.message, "kind", "") == "storage_dropped"
        ]
        total = totals(device.conn)["episode_oldest"]
    assert told == [{"rule": "episode_oldest", "count": "2", "bytes": str(total[1])}]


def test_the_log_tells_a_drop_from_what_the_cloud_acknowledged(tmp_path):
    folder = tmp_path / "phone-1"
    log = TrajectoryLog.open(folder / "phone.db", clock=ManualClock(), new_id=new_uuid7)
    with closing(log):
        limit(log.connection, 2)
        for number in range(1, 5):
            log.append(upload(number).episode, upload(number).verdicts)
        counts = log.counts()
    index = read_index(folder / "phone.db")
    assert (counts.logged, counts.dropped, counts.acknowledged) == (4, 2, 0)
    assert index.dropped == {"episode-1", "episode-2"}
    assert index.waiting == {"episode-3", "episode-4"}
    assert index.acknowledged == frozenset()


def test_an_episode_that_no_message_can_hold_is_refused_before_anything_is_given_up(conn):
    limit(conn, 1)
    put(conn, upload(1))
    huge = upload(2, steps=2)
    huge = replace(huge, episode=replace(huge.episode, goal=Random(1).randbytes(4_000_000).hex()))
    with pytest.raises(RejectedError), transaction(conn):
        enqueue(conn, huge, created_at_ms=1)
    assert left(conn) == [1]

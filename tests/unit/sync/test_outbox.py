from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from sync.clock import ManualClock
from sync.codec import decode_body, encode_body
from sync.database import create_schema, open_database, transaction
from sync.outbox import Backoff, Outbox, depth, enqueue, oldest, parked
from tests.wire import event, upload


@pytest.fixture
def conn(tmp_path):
    conn = open_database(tmp_path / "device.db")
    create_schema(conn, install_id="install")
    yield conn
    conn.close()


@pytest.fixture
def clock():
    return ManualClock()


def new_outbox(conn, clock, **limits):
    return Outbox(conn, clock=clock, random=Random(1), **limits)


def put(conn, *messages):
    with transaction(conn):
        return [enqueue(conn, message, created_at_ms=1) for message in messages]


def test_a_row_of_a_transaction_that_failed_is_not_sent(conn, clock):
    conn.execute("BEGIN")
    enqueue(conn, event(1), created_at_ms=1)
    conn.rollback()
    assert new_outbox(conn, clock).claim(64) == []
    assert depth(conn) == 0


def test_rows_leave_in_order_and_carry_their_message(conn, clock):
    seqs = put(conn, event(1), event(2))
    rows = new_outbox(conn, clock).claim(64)
    assert [(row.seq, row.attempt) for row in rows] == [(seqs[0], 1), (seqs[1], 1)]
    assert [decode_body(row.body) for row in rows] == [event(1), event(2)]


def test_a_body_that_was_encoded_before_is_queued_as_it_is(conn, clock):
    put(conn, encode_body(event(4)))
    (row,) = new_outbox(conn, clock).claim(64)
    assert decode_body(row.body) == event(4)


@pytest.mark.requirement("OR-ACK-15")
def test_an_event_overtakes_episodes(conn, clock):
    put(conn, upload(1), event(2))
    rows = new_outbox(conn, clock).claim(64)
    assert [row.body.kind for row in rows] == ["event", "episode_upload"]


def test_no_more_rows_than_the_window_are_outstanding(conn, clock):
    put(conn, *map(event, range(5)))
    box = new_outbox(conn, clock)
    assert len(box.claim(3)) == 3
    assert box.claim(3) == []
    box.acknowledge([1])
    assert [row.seq for row in box.claim(3)] == [4]


@pytest.mark.requirement("OR-ACK-18")
def test_no_more_bytes_than_allowed_are_outstanding_but_one_row_always_is(conn, clock):
    put(conn, upload(1), upload(2))
    box = new_outbox(conn, clock, max_outstanding_bytes=1)
    assert [row.seq for row in box.claim(64)] == [1]
    assert box.claim(64) == []
    box.acknowledge([1])
    assert [row.seq for row in box.claim(64)] == [2]


@pytest.mark.requirement("OR-ACK-15")
def test_an_event_does_not_wait_for_episodes_that_are_on_their_way(conn, clock):
    put(conn, upload(1), upload(2))
    box = new_outbox(conn, clock, max_outstanding_bytes=1)
    box.claim(1)
    put(conn, event(3))
    assert [row.seq for row in box.claim(1)] == [3]
    assert box.claim(1) == []


@pytest.mark.requirement("OR-ACK-18")
def test_the_cloud_can_allow_fewer_bytes_and_not_more(conn, clock):
    size = len(encode_body(upload(1)).data)
    put(conn, upload(1), upload(2), upload(3), upload(4))
    box = new_outbox(conn, clock, max_outstanding_bytes=3 * size + size // 2)
    box.allow(credit_bytes=size + size // 2, backoff_s=0)
    assert len(box.claim(64)) == 1
    box.allow(credit_bytes=1 << 30, backoff_s=0)
    assert len(box.claim(64)) == 2
    box.acknowledge([1, 2, 3])
    assert len(box.claim(64)) == 1


@pytest.mark.requirement("OR-ACK-13")
def test_nothing_leaves_during_a_pause_and_everything_after_it(conn, clock):
    put(conn, event(1), upload(2))
    box = new_outbox(conn, clock)
    box.claim(1)
    box.postpone([1])
    box.allow(credit_bytes=0, backoff_s=10)
    assert box.paused
    clock.advance(9.9)
    assert box.claim(64) == []
    assert box.next_due_s() > clock.monotonic_s()
    clock.advance(5.2)  # the pause is drawn from one to one and a half times what was said
    assert [row.seq for row in box.claim(64)] == [1, 2]


@pytest.mark.requirement("OR-ACK-13")
def test_a_pause_ends_when_the_cloud_says_so_and_is_never_endless(conn, clock):
    put(conn, event(1))
    box = new_outbox(conn, clock)
    box.allow(credit_bytes=0, backoff_s=20)
    box.allow(credit_bytes=0, backoff_s=0)
    assert len(box.claim(64)) == 1
    box.allow(credit_bytes=0, backoff_s=1e9)
    clock.advance(451)
    assert not box.paused


@pytest.mark.requirement("OR-ACK-20")
def test_a_later_answer_makes_good_for_one_that_was_lost(conn, clock):
    put(conn, *map(event, range(1, 8)))
    box = new_outbox(conn, clock)
    box.claim(6)
    assert box.acknowledge([6], cumulative=3, selective=[(5, 6)]) == 5
    assert [row[0] for row in conn.execute("SELECT seq FROM outbox")] == [4, 7]
    assert box.outstanding == 1


@pytest.mark.requirement("OR-ACK-20")
def test_a_cumulative_answer_deletes_nothing_that_was_never_sent(conn, clock):
    put(conn, event(1), upload(2), event(3))
    box = new_outbox(conn, clock)
    assert [row.seq for row in box.claim(2)] == [1, 3]
    assert box.acknowledge([], cumulative=3) == 2
    assert [row.seq for row in box.claim(64)] == [2]


@pytest.mark.requirement("OR-ACK-20")
def test_a_cumulative_answer_leaves_parked_rows_where_they_are(conn, clock):
    put(conn, event(1), event(2))
    box = new_outbox(conn, clock)
    box.claim(64)
    box.reject([(1, "malformed")])
    box.acknowledge([], cumulative=2)
    assert parked(conn) == ((1, "malformed"),)


def test_the_oldest_open_row_skips_parked_ones_and_is_the_next_one_when_all_is_settled(conn, clock):
    assert oldest(conn) == 1
    put(conn, event(1), event(2))
    box = new_outbox(conn, clock)
    box.claim(64)
    box.reject([(1, "malformed")])
    assert oldest(conn) == 2
    box.acknowledge([2])
    assert oldest(conn) == 3


@pytest.mark.requirement("OR-ACK-14")
def test_an_unanswered_row_is_sent_again_after_two_seconds_and_says_so(conn, clock):
    put(conn, event(1))
    box = new_outbox(conn, clock)
    box.claim(64)
    clock.advance(1.9)
    assert box.claim(64) == []
    clock.advance(2.2)
    assert [(row.seq, row.attempt) for row in box.claim(64)] == [(1, 2)]


def test_a_cloud_that_answers_slowly_is_given_more_time(conn, clock):
    put(conn, *map(event, range(50)))
    box = new_outbox(conn, clock)
    for seq in range(1, 50):
        box.claim(1)
        clock.advance(1.9)
        box.acknowledge([seq])
    box.claim(1)
    assert box.next_due_s() - clock.monotonic_s() > 5.0


def test_an_acknowledged_row_is_gone_and_acknowledging_again_changes_nothing(conn, clock):
    put(conn, event(1), event(2))
    box = new_outbox(conn, clock)
    box.claim(64)
    assert box.acknowledge([1]) == 1
    assert box.acknowledge([1]) == 0
    assert depth(conn) == 1
    assert box.outstanding == 1


@pytest.mark.requirement("OR-ACK-4")
def test_a_rejected_row_is_parked_with_its_reason_and_never_sent_again(conn, clock):
    put(conn, event(1), event(2))
    box = new_outbox(conn, clock)
    box.claim(64)
    box.reject([(1, "unknown_version")])
    clock.advance(3600)
    assert [row.seq for row in box.claim(64)] == [2]
    assert parked(conn) == ((1, "unknown_version"),)
    assert depth(conn) == 1


@pytest.mark.requirement("OR-ACK-8")
def test_when_the_connection_is_gone_every_outstanding_row_is_due(conn, clock):
    put(conn, event(1), event(2))
    box = new_outbox(conn, clock)
    box.claim(64)
    box.expect_nothing()
    assert [row.attempt for row in box.claim(64)] == [2, 2]


def test_a_new_process_sends_every_unanswered_row_and_counts_on(conn, clock):
    put(conn, event(1))
    new_outbox(conn, clock).claim(64)
    (row,) = new_outbox(conn, clock).claim(64)
    assert row.attempt == 2


def test_a_row_that_somebody_else_had_acknowledged_is_forgotten(conn, clock):
    put(conn, event(1))
    first, second = new_outbox(conn, clock), new_outbox(conn, clock)
    first.claim(64)
    second.claim(64)
    second.acknowledge([1])
    first.expect_nothing()
    assert first.claim(64) == []
    assert first.outstanding == 0


@pytest.mark.requirement("OR-ACK-7")
def test_a_sequence_number_is_never_used_twice(conn, clock):
    put(conn, event(1))
    new_outbox(conn, clock).acknowledge([1])
    assert put(conn, event(2)) == [2]


def test_the_next_resend_is_known(conn, clock):
    put(conn, event(1))
    box = new_outbox(conn, clock)
    assert box.next_due_s() is None
    box.claim(64)
    assert 2.0 <= box.next_due_s() - clock.monotonic_s() <= 4.0


@pytest.mark.requirement("OR-ACK-14")
def test_waits_grow_to_the_cap_and_never_fall_under_the_first():
    backoff = Backoff(first_s=2.0, cap_s=60.0)
    random = Random(3)
    waits = [[backoff.delay_s(attempt, random) for _ in range(200)] for attempt in (0, 3, 50)]
    assert [max(one) for one in waits] == pytest.approx([4, 32, 60], rel=0.05)
    assert all(wait >= 2.0 for one in waits for wait in one)


def test_an_answer_settles_rows_of_its_own_installation_only(conn, clock):
    put(conn, event(1), event(2))
    conn.execute("UPDATE outbox SET install = 'other' WHERE seq = 2")
    box = new_outbox(conn, clock)
    assert [row.install for row in box.claim(64)] == ["install", "other"]
    box.reject([(2, "malformed")], install="install")
    assert parked(conn) == ()
    assert box.acknowledge([1, 2], install="install", cumulative=2) == 1
    assert box.acknowledge([], install="other", selective=[(1, 2)]) == 1


def test_rows_that_were_given_up_for_their_number_are_tried_again_by_an_update(tmp_path):
    dump = Path(__file__).parents[2] / "golden" / "device_database" / "v4.sql"
    with closing(sqlite3.connect(tmp_path / "old.db")) as raw:
        raw.executescript(dump.read_text("utf-8"))
        raw.execute("UPDATE outbox SET parked_reason = 'sequence_taken' WHERE seq = 1")
        raw.commit()
    with closing(open_database(tmp_path / "old.db")) as old:
        create_schema(old, install_id="x")
        assert [seq for seq, _reason in parked(old)] == [3]
        assert {row[0] for row in old.execute("SELECT install FROM outbox")} == {
            "install-of-version-1"
        }


def test_a_row_waits_for_several_times_the_usual_answer(conn, clock):
    put(conn, event(1), event(2))
    box = new_outbox(conn, clock)
    box.claim(1)
    clock.advance(1.9)
    box.acknowledge([1])
    box.claim(1)
    clock.advance(5.6)
    assert box.claim(1) == []
    clock.advance(0.2)
    assert [row.seq for row in box.claim(1)] == [2]


def test_a_slow_answer_holds_back_rows_that_left_before_it(conn, clock):
    put(conn, event(1))
    box = new_outbox(conn, clock)
    box.claim(1)
    box.answered(3.0)
    clock.advance(8.9)
    assert box.claim(1) == []
    clock.advance(0.2)
    assert len(box.claim(1)) == 1


def test_quick_answers_make_an_outbox_less_patient_again(conn, clock):
    put(conn, event(1))
    box = new_outbox(conn, clock)
    box.answered(20.0)
    for _ in range(60):
        box.answered(0.01)
    box.claim(1)
    assert box.next_due_s() - clock.monotonic_s() <= 4.0


def test_nothing_is_sent_again_soon_while_the_cloud_has_not_said_a_word(conn, clock):
    put(conn, event(1))
    box = new_outbox(conn, clock)
    box.ask(clock.monotonic_s())
    box.claim(1)
    clock.advance(9.9)
    assert box.claim(1) == []
    clock.advance(0.2)
    assert len(box.claim(1)) == 1


def test_a_sign_of_the_cloud_ends_that_patience(conn, clock):
    put(conn, event(1))
    box = new_outbox(conn, clock)
    box.ask(clock.monotonic_s())
    box.claim(1)
    box.ask(None)
    clock.advance(4.0)
    assert len(box.claim(1)) == 1


def test_a_row_waits_for_its_turn_while_those_before_it_are_answered(conn, clock):
    put(conn, event(1), event(2), event(3))
    box = new_outbox(conn, clock)
    box.claim(1)
    clock.advance(0.1)
    box.claim(3)
    clock.advance(1.8)
    box.acknowledge([1])
    clock.advance(1.9)  # longer ago than the first wait, and the cloud is at work
    assert box.claim(3) == []
    clock.advance(10.0)
    assert [row.seq for row in box.claim(3)] == [2, 3]


def test_a_row_that_later_ones_overtook_is_lost(conn, clock):
    put(conn, event(1), event(2))
    box = new_outbox(conn, clock)
    box.claim(1)
    clock.advance(0.1)
    box.claim(2)
    clock.advance(3.8)
    box.acknowledge([2])
    clock.advance(7.6)
    assert [row.seq for row in box.claim(2)] == [1]

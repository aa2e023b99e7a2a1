"""An outbox keeps what the cloud has not settled, whatever the cloud says and in what order."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from sync.clock import ManualClock
from sync.codec import encode_body
from sync.database import create_schema, transaction
from sync.outbox import Backoff, Outbox, depth, enqueue, parked
from sync.outbox_quota import OutboxQuota, set_quota
from tests.wire import event, upload

BODIES = [encode_body(message) for message in (event(1), event(2), upload(1), upload(2))]
SEQS = st.integers(-2, 14)
INSTALLS = st.sampled_from([None, "install", "another"])


def in_memory():
    """An empty database of a device."""
    conn = sqlite3.connect(":memory:", isolation_level=None)
    create_schema(conn, install_id="install")
    return conn


class OutboxMachine(RuleBasedStateMachine):
    """Rows as they ought to be, beside an outbox that is told anything."""

    def __init__(self):
        super().__init__()
        self.conn = in_memory()
        self.clock = ManualClock()
        self.waiting: set[int] = set()
        self.sent: set[int] = set()
        self.parked: set[int] = set()
        self.seed = 0
        self.restart()

    @rule()
    def restart(self):
        self.seed += 1
        self.outbox = Outbox(self.conn, clock=self.clock, random=Random(self.seed))
        self.paused_s = 0.0

    @rule(body=st.sampled_from(BODIES))
    def put(self, body):
        with transaction(self.conn):
            seq = enqueue(self.conn, body, created_at_ms=1)
        self.waiting.add(seq)

    @rule(window=st.integers(0, 3))
    def claim(self, window):
        before = self.outbox.outstanding
        rows = self.outbox.claim(window)
        seqs = [row.seq for row in rows]
        assert len(seqs) == len(set(seqs))
        assert set(seqs) <= self.waiting
        if window == 0 or self.clock.monotonic_s() < self.paused_s:
            assert not rows
        self.sent |= set(seqs)
        fresh = self.outbox.outstanding - before
        assert fresh <= 2 * window  # urgent rows have a window of their own

    @rule(
        named=st.sets(SEQS),
        ranges=st.lists(st.tuples(SEQS, SEQS), max_size=2),
        cumulative=SEQS,
        install=INSTALLS,
    )
    def acknowledge(self, named, ranges, cumulative, install):
        within = {
            seq
            for first, last in [*ranges, (1, cumulative)]
            for seq in self.waiting
            if first <= seq <= last
        }
        gone = (named | within) & self.sent if install != "another" else set()
        gone &= {*self.waiting, *(self.parked & named)}
        settled = self.outbox.acknowledge(
            named, install=install, cumulative=cumulative, selective=ranges
        )
        assert settled == len(gone)
        self.waiting -= gone
        self.parked -= gone

    @rule(named=st.sets(SEQS), install=INSTALLS)
    def reject(self, named, install):
        self.outbox.reject([(seq, "malformed") for seq in named], install=install)
        if install != "another":
            refused = named & self.sent & self.waiting
            self.waiting -= refused
            self.parked |= refused

    @rule(named=st.sets(SEQS))
    def postpone(self, named):
        self.outbox.postpone(named)

    @rule(credit_bytes=st.integers(-1, 3_000), backoff_s=st.floats(0, 30))
    def allow(self, credit_bytes, backoff_s):
        self.outbox.allow(credit_bytes=credit_bytes, backoff_s=backoff_s)
        self.paused_s = self.clock.monotonic_s() + backoff_s

    @rule(seconds=st.floats(0, 400))
    def pass_time(self, seconds):
        self.clock.advance(seconds)

    @invariant()
    def nothing_is_lost_or_kept_too_long(self):
        assert depth(self.conn) == len(self.waiting)
        assert {seq for seq, _reason in parked(self.conn)} == self.parked

    def teardown(self):
        self.conn.close()


OutboxMachine.TestCase.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
TestOutbox = OutboxMachine.TestCase


@given(
    first_s=st.floats(0.01, 10),
    cap_s=st.floats(0.01, 100),
    attempt=st.integers(0, 10_000),
    seed=st.integers(0, 1_000),
)
def test_a_wait_is_never_shorter_than_the_first_nor_longer_than_the_cap(
    first_s, cap_s, attempt, seed
):
    wait_s = Backoff(first_s, cap_s).delay_s(attempt, Random(seed))
    assert first_s <= wait_s <= max(first_s, cap_s)


@given(st.lists(st.sampled_from(BODIES), min_size=1, max_size=8), st.integers(0, 500))
def test_with_room_for_no_episode_the_newest_row_waits_and_every_other_is_declared(
    bodies, quota_bytes
):
    with closing(in_memory()) as conn:
        set_quota(conn, OutboxQuota(quota_bytes=quota_bytes))
        for body in bodies:
            with transaction(conn):
                newest = enqueue(conn, body, created_at_ms=1)
            left = {seq for (seq,) in conn.execute("SELECT seq FROM outbox")}
            assert newest in left
        dropped = conn.execute("SELECT subject FROM drops").fetchall()
        assert left.isdisjoint(int(subject) for (subject,) in dropped)
        assert len(left) + len(dropped) == len(bodies)

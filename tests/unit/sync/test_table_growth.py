"""What a phone does again and again costs the same however much waits in its tables."""

from __future__ import annotations

import shutil
from contextlib import closing
from random import Random

import pytest

from sync import blob_rows, inbox
from sync.clock import ManualClock
from sync.codec import encode_body
from sync.database import create_schema, open_database, transaction
from sync.outbox import Outbox, depth, enqueue, first_unsent, oldest, parked, waits_since_ms
from sync.outbox_quota import OutboxQuota, held_bytes, set_quota
from sync.vocabulary import Assignment, AssignmentId
from tests.wire import event, upload

FEW, MANY = 300, 3_000


@pytest.fixture(scope="module")
def databases(tmp_path_factory):
    """Files with so many rows in each table: refused ones first, none ever sent."""
    folder = tmp_path_factory.mktemp("filled")
    for rows in (FEW, MANY):
        with closing(open_database(folder / f"{rows}.db")) as conn:
            create_schema(conn, install_id="install")
            with transaction(conn):
                fill(conn, rows)
    return folder


def fill(conn, rows):
    body = encode_body(upload(1))
    conn.executemany(
        "INSERT INTO outbox (kind, priority, enc, body, created_at_ms, drop_rule, install, "
        "parked_reason) VALUES (?, 1, ?, ?, 1, 'episode_oldest', 'install', ?)",
        [(body.kind, body.enc, body.data, "test" if row < 10 else None) for row in range(rows)],
    )
    conn.executemany(
        "INSERT INTO inbox VALUES (?, ?, 'finished', NULL, 1)",
        [(f"a-{row}", row) for row in range(rows)],
    )
    conn.executemany(
        "INSERT INTO blobs (digest, bytes, state, upload_seq, created_at_ms) "
        "VALUES (?, 8, 'waiting', ?, 1)",
        [(row.to_bytes(32, "big"), row + 1) for row in range(rows)],
    )


def look(conn):
    for read in (depth, oldest, parked, first_unsent, waits_since_ms):
        read(conn)


def accept(conn):
    inbox.accept(conn, [Assignment(AssignmentId("new"))], received_at_ms=1)


def send_and_settle(conn):
    outbox = Outbox(conn, clock=ManualClock(), random=Random(1))
    rows = outbox.claim(8)
    assert len(rows) == 8
    assert outbox.acknowledge([], cumulative=rows[-1].seq) == 8


def offer(conn):
    before = first_unsent(conn)
    assert not blob_rows.to_offer(conn, before=before, now_ms=1, horizon_ms=1, most=64)


def queue_where_there_is_room(conn):
    enqueue(conn, event(1), created_at_ms=1)


def queue_where_there_is_none(conn):
    """With nothing refused, so that what is looked for first is nowhere."""
    set_quota(conn, OutboxQuota(quota_bytes=held_bytes(conn)))
    enqueue(conn, upload(2), created_at_ms=1)


def without_refused(conn):
    conn.execute("DELETE FROM outbox WHERE parked_reason IS NOT NULL")


def work_of(conn, job):
    """Instructions of SQLite's machine that a job takes."""
    taken = 0

    def count():
        nonlocal taken
        taken += 1

    conn.set_progress_handler(count, 1)
    job(conn)
    conn.set_progress_handler(None, 1)
    return taken


@pytest.mark.parametrize(
    ("job", "before"),
    [
        (look, None),
        (accept, None),
        (send_and_settle, None),
        (offer, None),
        (queue_where_there_is_room, None),
        (queue_where_there_is_none, without_refused),
    ],
)
def test_work_does_not_grow_with_the_tables(databases, tmp_path, job, before):
    taken = []
    for rows in (FEW, MANY):
        path = shutil.copy(databases / f"{rows}.db", tmp_path)
        with closing(open_database(path)) as conn:
            if before is not None:
                before(conn)
            taken.append(work_of(conn, job))
    assert taken[1] <= 1.2 * taken[0] + 50

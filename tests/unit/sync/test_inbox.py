from __future__ import annotations

import pytest

from sync import inbox
from sync.database import create_schema, open_database
from sync.vocabulary import Assignment, AssignmentId


def assignments(*names):
    return tuple(Assignment(AssignmentId(name), template="wifi_on") for name in names)


@pytest.fixture
def conn(tmp_path):
    conn = open_database(tmp_path / "device.db")
    create_schema(conn, install_id="install")
    yield conn
    conn.close()


def test_an_assignment_that_comes_twice_is_new_once(conn):
    assert inbox.accept(conn, assignments("a", "b"), received_at_ms=1) == assignments("a", "b")
    assert inbox.accept(conn, assignments("b", "c"), received_at_ms=2) == assignments("c")


def test_a_batch_that_names_one_assignment_twice_has_it_once(conn):
    assert inbox.accept(conn, assignments("a", "a"), received_at_ms=1) == assignments("a")


def test_what_was_not_finished_is_pending_in_the_order_of_arrival(conn):
    inbox.accept(conn, assignments("z", "a", "m"), received_at_ms=1)
    assert inbox.finish(conn, AssignmentId("a"))
    assert inbox.pending(conn) == assignments("z", "m")


def test_a_finished_assignment_stays_finished_when_it_comes_again(conn):
    inbox.accept(conn, assignments("a"), received_at_ms=1)
    inbox.finish(conn, AssignmentId("a"))
    assert inbox.accept(conn, assignments("a"), received_at_ms=2) == ()
    assert not inbox.finish(conn, AssignmentId("a"))
    assert inbox.pending(conn) == ()


def test_finishing_belongs_to_the_transaction_that_stores_the_episode(conn):
    inbox.accept(conn, assignments("a"), received_at_ms=1)
    conn.execute("BEGIN")
    inbox.finish(conn, AssignmentId("a"))
    conn.rollback()
    assert inbox.pending(conn) == assignments("a")


@pytest.mark.requirement("OR-ASG-3")
def test_a_cancelled_assignment_is_not_played_even_if_it_arrives_later(conn):
    inbox.accept(conn, assignments("a"), received_at_ms=1)
    inbox.cancel(conn, [AssignmentId("a"), AssignmentId("late")], received_at_ms=2)
    assert inbox.pending(conn) == ()
    assert inbox.accept(conn, assignments("late"), received_at_ms=3) == ()


def test_cancelling_what_is_finished_changes_nothing(conn):
    inbox.accept(conn, assignments("a"), received_at_ms=1)
    inbox.finish(conn, AssignmentId("a"))
    inbox.cancel(conn, [AssignmentId("a")], received_at_ms=2)
    states = conn.execute("SELECT state FROM inbox").fetchall()
    assert states == [("finished",)]

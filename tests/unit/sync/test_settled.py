from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.settled import MAX_RANGES, MAX_ROWS, MAX_SENDERS, SenderKey, SettledRows

SENDER = SenderKey("phone-1", "install-1", "boot-1")


def test_a_sender_that_says_nothing_of_itself_gets_ranges_only():
    settled = SettledRows()
    settled.heard(SENDER, 0)
    settled.committed(SENDER, [1, 2, 3])
    assert settled.cumulative(SENDER) == 0
    assert settled.selective(SENDER) == ((1, 3),)


@pytest.mark.requirement("OR-ACK-19")
def test_a_gap_is_passed_when_the_sender_says_that_it_holds_nothing_there():
    settled = SettledRows()
    settled.heard(SENDER, 1)
    settled.committed(SENDER, [1, 2, 5])
    assert (settled.cumulative(SENDER), settled.selective(SENDER)) == (2, ((5, 5),))
    settled.heard(SENDER, 4)
    assert (settled.cumulative(SENDER), settled.selective(SENDER)) == (3, ((5, 5),))
    settled.heard(SENDER, 5)
    assert (settled.cumulative(SENDER), settled.selective(SENDER)) == (5, ())


@pytest.mark.parametrize(
    "other", [{"install_id": "install-2"}, {"boot_id": "boot-of-a-copy"}, {"device_id": "phone-2"}]
)
def test_installs_and_processes_of_one_device_are_apart(other):
    settled = SettledRows()
    settled.heard(SENDER, 4)
    settled.committed(SENDER, [6])
    assert settled.cumulative(SENDER._replace(**other)) == 0
    assert settled.selective(SENDER._replace(**other)) == ()


def test_what_is_remembered_is_bounded():
    settled = SettledRows()
    settled.committed(SENDER, range(2, 10 * MAX_ROWS, 2))
    assert len(settled.selective(SENDER)) == MAX_RANGES
    assert settled.selective(SENDER)[-1] == (10 * MAX_ROWS - 2, 10 * MAX_ROWS - 2)
    for number in range(MAX_SENDERS):
        settled.heard(SenderKey(f"phone-{number}"), 9)
    assert settled.selective(SENDER) == ()


@pytest.mark.parametrize("oldest", [-1, -(2**63)])
def test_a_lowest_row_that_no_outbox_has_says_nothing(oldest):
    settled = SettledRows()
    settled.heard(SENDER, oldest)
    assert settled.cumulative(SENDER) == 0


@pytest.mark.requirement("OR-ACK-19")
@given(st.data())
def test_what_is_said_to_be_committed_is_committed(data):
    """Rows are committed in any order while the device settles, gives up and parks some."""
    settled, committed, open_rows = SettledRows(), set(), set(range(1, 30))
    for _ in range(data.draw(st.integers(1, 40))):
        settled.heard(SENDER, min(open_rows, default=30))
        sent = data.draw(st.sets(st.sampled_from(range(1, 30)), max_size=5)) & open_rows
        committed |= sent
        settled.committed(SENDER, sent)
        said = {seq for seq in open_rows if seq <= settled.cumulative(SENDER)}
        for first, last in settled.selective(SENDER):
            said |= open_rows & set(range(first, last + 1))
        assert said <= committed
        open_rows -= said
        open_rows -= data.draw(st.sets(st.sampled_from(range(1, 30)), max_size=2))  # given up

from contextlib import closing

import pytest

from device_runtime.transitions import InstallState, Transition, TransitionOutbox
from sync.clock import ManualClock
from sync.database import create_schema, open_database
from sync.outbox import depth


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "phone.db"
    with closing(open_database(path)) as conn:
        create_schema(conn, install_id="i")
    return path


def test_states_that_an_update_passes_through_are_kept_at_once_and_leave_with_the_last(database):
    woken = []
    report = TransitionOutbox(database, clock=ManualClock(), wake=lambda: woken.append(1))
    kept = []
    with closing(open_database(database)) as conn:
        for state in (InstallState.ANNOUNCED, InstallState.VERIFIED, InstallState.TRIAL):
            report(Transition(state, "r1"))
            kept.append((depth(conn), len(woken)))
    assert kept == [(1, 0), (2, 0), (3, 1)]


@pytest.mark.parametrize("state", ["idle", "shadow", "trial", "committed", "reverted"])
def test_a_state_in_which_an_update_stays_is_told_at_once(database, state):
    woken = []
    TransitionOutbox(database, clock=ManualClock(), wake=lambda: woken.append(1))(
        Transition(InstallState(state), "r1")
    )
    assert woken == [1]

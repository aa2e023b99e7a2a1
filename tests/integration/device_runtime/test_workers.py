"""Seats in real child processes: what is played, what hangs, what dies."""

import os
import signal

import pytest

from device_runtime.errors import DeviceError
from device_runtime.scripted import TEMPLATE, ScriptedRecipe
from device_runtime.workers import Workers
from sync.clock import SystemClock
from sync.vocabulary import Assignment, AssignmentId, DeviceId, EndReason, ReleaseId, new_uuid7

pytestmark = pytest.mark.integration


def an_assignment(seed, template=TEMPLATE):
    return Assignment(AssignmentId(f"a-{seed}"), template=template, seed=seed, step_budget=6)


@pytest.fixture
def make_workers():
    made = []

    def make(recipe=None, *, workers=2, seats=4, lease_s=20.0):
        table = Workers(
            recipe or ScriptedRecipe(),
            workers=workers,
            seats=seats,
            device_id=DeviceId("farm-1"),
            clock=SystemClock(),
            new_id=new_uuid7,
            lease_s=lease_s,
        )
        made.append(table)
        table.wait_ready()
        return table

    yield make
    for table in made:
        table.close()


def play_all(table, seeds):
    waiting, played = list(seeds), []
    while waiting or table.busy:
        while waiting and table.free:
            table.start(an_assignment(waiting.pop(0)), release_id=ReleaseId("r1"))
        played += table.turn()
    return {one.episode.assignment.seed: one for one in played}, len(played)


def test_workers_play_every_assignment_once_on_seats_of_their_own(make_workers):
    table = make_workers()

    played, count = play_all(table, range(20))

    assert count == len(played) == 20
    assert all(one.verdict.success for one in played.values())
    assert {one.episode.seat for one in played.values()} <= {0, 1, 2, 3}
    assert len({one.episode.seat for one in played.values()}) > 1
    assert {one.episode.release_id for one in played.values()} == {"r1"}
    assert table.env_steps == sum(len(one.episode.steps) for one in played.values())


def test_phone_that_hangs_costs_its_own_episode_only(make_workers):
    table = make_workers(ScriptedRecipe(hangs=frozenset({3})), lease_s=0.5)

    played, count = play_all(table, range(8))

    assert count == len(played) == 8
    assert played[3].episode.end_reason is EndReason.ENV_ERROR
    assert "did not come back within 0.5 s" in played[3].episode.end_detail
    assert "act (scripted.py)" in played[3].episode.end_detail
    assert all(played[seed].verdict.success for seed in range(8) if seed != 3)


def test_assignment_that_kills_its_worker_twice_is_given_up(make_workers):
    table = make_workers(ScriptedRecipe(kills=frozenset({5})), workers=1, seats=1)

    played, count = play_all(table, range(4, 8))

    assert count == len(played) == 4
    assert played[5].episode.end_reason is EndReason.ENV_ERROR
    assert "2 workers died" in played[5].episode.end_detail
    assert all(played[seed].verdict.success for seed in (4, 6, 7))


def test_killed_worker_is_replaced_and_nothing_is_lost(make_workers):
    table = make_workers(workers=1, seats=3)
    (pid,) = table.pids
    for seed in range(3):
        table.start(an_assignment(seed))
    os.kill(pid, signal.SIGKILL)

    played, count = play_all(table, range(3, 9))

    assert count == 9
    assert set(played) == set(range(9))
    assert all(one.verdict.success for one in played.values())
    assert table.pids != (pid,)


def test_what_cannot_be_played_is_refused_with_its_reason(make_workers):
    table = make_workers(workers=1, seats=1)

    table.start(an_assignment(1, template="elsewhere"))
    while not (refused := table.refused()):
        assert table.turn() == []

    ((assignment, error),) = refused
    assert assignment.id == "a-1"
    assert "elsewhere" in str(error)
    assert table.free == 1
    assert table.refused() == []


def test_phone_whose_code_breaks_is_an_env_error_and_its_worker_stays(make_workers):
    table = make_workers(ScriptedRecipe(hangs=None), workers=1, seats=1)  # no set to look in
    pids = table.pids

    played, _ = play_all(table, [1])

    assert played[1].episode.end_reason is EndReason.ENV_ERROR
    assert "TypeError" in played[1].episode.end_detail
    assert table.pids == pids


def test_worker_that_cannot_start_is_told_in_one_line(make_workers, tmp_path):
    from apps_mock.farm import FarmRecipe

    with pytest.raises(DeviceError, match="did not start"):
        make_workers(FarmRecipe(DeviceId("farm-1"), graphs_dir=tmp_path), workers=1, seats=1)


def test_more_workers_than_seats_are_misuse(make_workers):
    with pytest.raises(ValueError, match="a seat for each"):
        make_workers(workers=3, seats=2)

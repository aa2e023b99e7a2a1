"""A farm's recipe in real worker processes: clones, actors and faults."""

import pytest

from apps_mock.farm import FarmRecipe
from apps_mock.faults import FAULTS, draw_faults
from apps_mock.tasks import template_of
from device_runtime.stop import write_stop
from device_runtime.workers import Workers
from sync.clock import SystemClock
from sync.vocabulary import Assignment, AssignmentId, DeviceId, EndReason, new_uuid7

pytestmark = pytest.mark.integration

TEMPLATES = ("contacts_open", "clock_toggle", "tickets_orders", "settings_switch")


def played(recipe, number, *, workers=2, seats=6):
    table = Workers(
        recipe,
        workers=workers,
        seats=seats,
        device_id=DeviceId("farm-1"),
        clock=SystemClock(),
        new_id=new_uuid7,
        lease_s=60.0,
    )
    waiting = [
        Assignment(
            AssignmentId(f"a-{seed}"),
            template=TEMPLATES[seed % len(TEMPLATES)],
            seed=seed,
            actor="oracle",
            step_budget=template_of(TEMPLATES[seed % len(TEMPLATES)]).step_budget,
        )
        for seed in range(number)
    ]
    ended = []
    try:
        while waiting or table.busy:
            while waiting and table.free:
                table.start(waiting.pop())
            ended += table.turn()
    finally:
        table.close()
    return ended


def test_oracles_in_workers_succeed_as_they_do_at_home():
    ended = played(FarmRecipe(DeviceId("farm-1")), 24)

    assert len(ended) == 24
    assert all(one.verdict.success for one in ended)
    assert len({one.episode.seat for one in ended}) == 6


def test_what_was_broken_on_purpose_is_an_env_error_with_its_name():
    recipe = FarmRecipe(DeviceId("farm-1"), faults=draw_faults(1, 0.3))

    ended = played(recipe, 40, workers=1, seats=8)

    broken = [one for one in ended if one.episode.end_reason is EndReason.ENV_ERROR]
    assert len(ended) == 40
    assert 5 < len(broken) < 40
    assert all(one.verdict is None for one in broken)
    assert all(any(fault in one.episode.end_detail for fault in FAULTS) for one in broken)
    assert all(one.verdict.success for one in ended if one not in broken)


def test_a_stop_file_ends_every_seat_within_a_step_and_nobody_judges_it(tmp_path):
    table = Workers(
        FarmRecipe(DeviceId("farm-1"), folder=tmp_path),
        workers=2,
        seats=6,
        device_id=DeviceId("farm-1"),
        clock=SystemClock(),
        new_id=new_uuid7,
        lease_s=60.0,
    )
    try:
        table.wait_ready()
        write_stop(tmp_path, "enough", at_ms=0)
        for seed in range(6):
            table.start(
                Assignment(
                    AssignmentId(f"a-{seed}"),
                    template="contacts_open",
                    seed=seed,
                    actor="noop",
                    step_budget=10_000,
                )
            )
        ended = []
        while table.busy:
            ended += table.turn()
    finally:
        table.close()

    assert {one.episode.end_detail for one in ended} == {"stopped: stopped by its owner: enough"}
    assert [(len(one.episode.steps), one.verdict) for one in ended] == [(0, None)] * 6

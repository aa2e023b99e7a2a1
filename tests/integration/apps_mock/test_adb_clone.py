"""Whole episodes over real ADB end as they do in process."""

from __future__ import annotations

import pytest

from apps_mock.adb_clone import AdbClone
from apps_mock.oracle import OraclePolicy
from apps_mock.phone import MockPhone
from apps_mock.tasks import templates
from device_runtime.agent import EpisodeOrigin, run_episode
from sync.clock import ManualClock
from sync.vocabulary import Assignment, AssignmentId, DeviceId, EndReason, Split, new_uuid7


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    clone = AdbClone(tmp_path_factory.mktemp("adb"))
    clone.start()
    yield clone
    clone.close()


def episode_on(phone, oracle, template):
    assignment = Assignment(
        AssignmentId("a"),
        template=template,
        seed=11,
        split=Split.TEST,
        look=11,
        actor="oracle",
        step_budget=40,
    )
    origin = EpisodeOrigin(DeviceId("phone"))
    return run_episode(
        phone, oracle, assignment, origin=origin, clock=ManualClock(), new_id=new_uuid7
    )


@pytest.mark.parametrize("template", [template.name for template in templates()])
def test_oracle_solves_each_template_over_adb_as_in_process(clone, template):
    in_process = MockPhone()

    far = episode_on(clone, OraclePolicy(clone.phone), template)
    near = episode_on(in_process, OraclePolicy(in_process), template)

    assert far.end_reason is EndReason.FINISH
    assert clone.judge(far).success
    assert [step.action for step in far.steps] == [step.action for step in near.steps]
    assert [step.observation for step in far.steps] == [step.observation for step in near.steps]
    assert far.end_state_digest == near.end_state_digest

"""Whole episodes over real ADB end as they do in process."""

from __future__ import annotations

from itertools import cycle

import pytest

from apps_mock.adb_clone import AdbClone
from apps_mock.catalogue import LOCALES
from apps_mock.look import look_number
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


def episode_on(phone, oracle, template, locale):
    assignment = Assignment(
        AssignmentId("a"),
        template=template,
        seed=11,
        split=Split.TEST,
        look=look_number(locale, 11),
        actor="oracle",
        step_budget=40,
    )
    origin = EpisodeOrigin(DeviceId("phone"))
    return run_episode(
        phone, oracle, assignment, origin=origin, clock=ManualClock(), new_id=new_uuid7
    )


SAMPLE = list(zip([template.name for template in templates()[::12]], cycle(LOCALES)))
"""One in twelve, in turn in each locale: each plays a whole episode through an adb server."""


@pytest.mark.parametrize(("template", "locale"), SAMPLE)
def test_oracle_solves_a_template_over_adb_as_in_process(clone, template, locale):
    in_process = MockPhone()

    far = episode_on(clone, OraclePolicy(clone.phone), template, locale)
    near = episode_on(in_process, OraclePolicy(in_process), template, locale)

    assert far.end_reason in {EndReason.FINISH, EndReason.ANSWER}
    assert clone.judge(far).success
    assert [step.action for step in far.steps] == [step.action for step in near.steps]
    assert [step.observation for step in far.steps] == [step.observation for step in near.steps]
    assert far.end_state_digest == near.end_state_digest

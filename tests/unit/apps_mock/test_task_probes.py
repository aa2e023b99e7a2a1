"""Probes of clone tasks agree with the verifiers that see the whole state."""

from dataclasses import replace

import pytest

from apps_mock.actors import Actors
from apps_mock.gate_episodes import assignment_of
from apps_mock.phone import MockPhone
from apps_mock.process_shell import ProcessShell
from apps_mock.task_probes import probes_for
from apps_mock.tasks import draw, templates
from cloud_learner.judge_agreement import agreement
from device_runtime.agent import EpisodeOrigin, run_episode
from device_runtime.probes import judge_by_probes
from sync.clock import ManualClock
from sync.vocabulary import DeviceId, Split

ACTORS = ("oracle", "noop", "random")
APPS = ("settings", "contacts", "files", "messages")
SEED = 7


def both_verdicts(template, actor, seed=SEED):
    """What code and what probes say of one episode; None where no probe fits the task."""
    phone = MockPhone()
    assignment = replace(assignment_of(template, (seed, seed), Split.TEST), actor=actor)
    phone.reset(assignment)
    probes = probes_for(phone.task)
    if probes is None:
        return None
    episode = run_episode(
        phone,
        Actors().policy_for(assignment, phone),
        assignment,
        origin=EpisodeOrigin(DeviceId("test")),
        clock=ManualClock(),
        new_id=lambda: "e1",
    )
    by_probes = judge_by_probes(probes, ProcessShell(phone), episode)
    return phone.judge(episode).success, by_probes


def test_probes_agree_with_code_on_settings_contacts_files_and_messages():
    found = [
        (template.name, actor, verdicts)
        for template in templates()
        if template.app in APPS and "cross_app" not in template.tags
        for actor in ACTORS
        if (verdicts := both_verdicts(template, actor)) is not None
    ]
    compared = agreement(
        (code, None if probed.score is None else probed.success) for _, _, (code, probed) in found
    )
    wrong = [(name, actor) for name, actor, (code, probed) in found if code != probed.success]
    assert wrong == []
    assert compared.undecided.count == 0
    assert compared.n >= 90
    assert compared.false_positives.of >= 40
    assert compared.false_negatives.of >= 30


@pytest.mark.parametrize("name", ["settings_switch", "contacts_add", "files_rename"])
def test_the_probes_of_a_task_fail_before_it_is_done(name):
    phone = MockPhone()
    phone.load(name, SEED, Split.TEST, 0)
    probes = probes_for(phone.task)
    assert probes is not None
    shell = ProcessShell(phone)
    refusals = []
    for probe in probes.probes:
        assert probe.question.read is not None
        value = probe.question.read(shell.shell(probe.question.command))
        refusals.append(probe.expectation.refusal(value))
    assert any(refusals)


@pytest.mark.parametrize("name", ["settings_missing", "messages_count", "settings_permission"])
def test_what_no_probe_can_ask_has_none(name):
    assert probes_for(draw(name, seed=1, split=Split.TEST, look=0)) is None

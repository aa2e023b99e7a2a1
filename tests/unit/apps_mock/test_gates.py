from __future__ import annotations

from dataclasses import replace

import pytest

from apps_mock.gates import GateRow, near_misses, run_gates
from apps_mock.tasks import templates
from apps_mock.verifiers import verify
from sync.vocabulary import Split

PASSING = GateRow(
    template="t",
    instances=80,
    oracle=1.0,
    oracle_steps=4,
    noop=0.0,
    random=0.0,
    typing_only=0.0,
    near_misses=10,
    killed=10,
)


def test_a_sample_of_every_template_passes_its_gates():
    rows = list(run_gates(templates(), seeds=[3], looks=[5], split=Split.VALIDATION))

    assert [row.template for row in rows if not row.passed] == []
    assert len(rows) == len(templates())


@pytest.mark.slow
@pytest.mark.parametrize("template", templates(), ids=lambda template: template.name)
def test_every_template_passes_its_gates_on_twenty_seeds_and_four_looks(template):
    (row,) = run_gates([template])

    assert row.instances == 80
    assert row.passed, row
    assert row.kill_rate == 1.0


@pytest.mark.parametrize(
    "flaw",
    [{"oracle": 0.99}, {"noop": 0.02}, {"random": 0.02}, {"typing_only": 0.02}, {"killed": 9}],
)
def test_each_gate_can_fail(flaw):
    assert PASSING.passed
    assert not replace(PASSING, **flaw).passed


def test_a_template_without_near_misses_has_nothing_left_alive():
    assert replace(PASSING, near_misses=0, killed=0).kill_rate == 1.0


@pytest.mark.parametrize("template", templates(), ids=lambda template: template.name)
def test_near_misses_differ_from_the_end_state_and_are_rejected(phone_with, solve, template):
    phone = phone_with(template.name)
    solve(phone)

    misses = list(near_misses(phone.task.state, phone.state, phone.task.wanted))

    assert len(misses) >= 10
    for miss in misses:
        assert miss != phone.state
        assert not verify(phone.task.state, miss, phone.task.wanted).reached

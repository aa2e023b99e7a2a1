from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from apps_mock.alterations import altered, off_by_one, rewritten
from apps_mock.false_claims import false_claims
from apps_mock.gate_episodes import play
from apps_mock.mutators import Ending, mutants
from apps_mock.oracle import OraclePolicy
from apps_mock.phone import MockPhone
from apps_mock.tasks import template_of
from apps_mock.wanted import Answer, Wanted
from sync.vocabulary import (
    ActionKind,
    Assignment,
    AssignmentId,
    FinishStatus,
    Split,
    answer,
    finish,
)


def ending_of(name, seed=1):
    template = template_of(name)
    phone = MockPhone()
    assignment = Assignment(
        AssignmentId("x"),
        template=name,
        seed=seed,
        split=Split.TEST,
        step_budget=template.step_budget,
    )
    episode, verdict = play(phone, OraclePolicy(phone), assignment)
    assert verdict.success
    return Ending(phone.task.state, phone.state, phone.task.wanted, episode.steps[-1].action)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        (
            "contacts_edit_phone",
            {
                "bystander changed",
                "done and undone",
                "extra record",
                "missing record",
                "off by one",
                "text rewritten",
                "value altered",
                "wrong claim",
                "wrong place",
                "wrong record",
            },
        ),
        ("contacts_delete", {"done and undone", "missing record", "wrong record"}),
        ("contacts_add", {"extra record", "missing record", "off by one", "wrong place"}),
        ("tickets_open_order", {"wrong page", "bystander changed"}),
        ("ContactsNewContactDraft", {"wrong page", "text rewritten", "value altered"}),
    ],
)
def test_a_task_has_near_misses_of_every_kind_that_means_something_for_it(name, kinds):
    made = Counter(mutant.kind for mutant in mutants(ending_of(name)))

    assert kinds <= made.keys()


@pytest.mark.parametrize("name", ["contacts_edit_phone", "contacts_delete", "tickets_find"])
def test_each_near_miss_differs_from_the_end_in_state_or_claim(name):
    ending = ending_of(name)

    for mutant in mutants(ending):
        assert (mutant.state, mutant.claim) != (ending.end, ending.claim)
        assert mutant.name


def test_tables_that_are_free_have_no_bystanders():
    ending = ending_of("clock_add")
    free = replace(ending.wanted, free=(("contacts", "contacts"), ("settings", "switches")))

    names = [mutant.name for mutant in mutants(replace(ending, wanted=free))]

    assert any(name.startswith("settings.") for name in names)
    assert not any(name.startswith("settings.switches") for name in names)


@pytest.mark.parametrize(
    ("value", "near"),
    [
        ("2025-02-28", ["2025-03-01", "2025-02-27"]),
        ("23:59", ["00:00", "23:58", "00:59"]),
        ("room 19", ["room 10"]),
        (7, [8, 6]),
        ("plain", []),
        (True, []),
    ],
)
def test_values_are_off_by_one_of_what_they_count(value, near):
    assert list(off_by_one(value)) == near


@pytest.mark.parametrize("value", [True, 3, "x", (), ("a", "b"), None, 2.5])
def test_an_altered_value_is_another_one(value):
    assert altered(value) != value


def test_texts_are_rewritten_in_letters_order_and_words():
    assert {"blum Ann", "Blum", "aNN bLUM", "not Ann Blum"} & set(rewritten("Ann Blum")) == {
        "aNN bLUM",
        "not Ann Blum",
    }
    assert "Blum Ann" in set(rewritten("Ann Blum"))
    assert list(rewritten(5)) == []


def claims_of(wanted, right):
    return [claim for _, _, claim in false_claims(wanted, right)]


def test_claims_that_end_a_task_wrongly_are_all_but_the_right_one():
    plain = claims_of(Wanted("clock"), finish())
    assert finish() not in plain
    assert finish(FinishStatus.INFEASIBLE) in plain
    assert any(claim.kind is ActionKind.ANSWER for claim in plain)

    infeasible = claims_of(Wanted("clock", infeasible=True), finish(FinishStatus.INFEASIBLE))
    assert finish() in infeasible
    assert finish(FinishStatus.INFEASIBLE) not in infeasible


def test_an_answer_has_wrong_ones_of_its_type_beside_it():
    wanted = Wanted("clock", answer=Answer("time", "17:00"))
    texts = {claim.text for claim in claims_of(wanted, answer("5pm"))}

    assert {"17:01", "18:00", ""} <= texts
    assert finish() in claims_of(wanted, answer("5pm"))

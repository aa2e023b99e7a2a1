"""Batches follow from the settings alone, cover the templates evenly and keep the splits apart."""

from __future__ import annotations

from collections import Counter

from cloud_learner.batches import (
    AFTER_NEW,
    BEFORE_NEW,
    BEFORE_OLD,
    LEXICAL,
    SHOW_AGAIN,
    Practice,
    Syllabus,
    demonstrations,
    shown,
    shown_again,
    training,
    validation,
)
from cloud_learner.batches import (
    test_instances as instances_of_test,
)
from cloud_learner.curriculum import CurriculumSettings, Record
from sync.vocabulary import Purpose, Split, TemplateInfo

NEW = tuple(TemplateInfo(f"n{i}", "tickets", "tickets", 12, 3 + 3 * i) for i in range(4))
OLD = tuple(TemplateInfo(f"o{i}", "clock", "clock", 9, 4) for i in range(2))
CONTENT = Syllabus(seed=7, new=NEW, old=OLD)


def instances(plan):
    return [(p.assignment.template, p.assignment.seed, p.assignment.look) for p in plan]


def test_before_after_and_lexical_play_the_same_test_instances():
    before = instances_of_test(CONTENT, BEFORE_NEW, at_least=10, release_id="r1")
    after = instances_of_test(CONTENT, AFTER_NEW, at_least=10, release_id="r9")
    lexical = instances_of_test(CONTENT, LEXICAL, at_least=10, release_id="r9")

    assert instances(before) == instances(after) == instances(lexical)
    assert len(set(instances(before))) == len(before)
    assert {p.assignment.release_id for p in after} == {"r9"}
    assert {(p.assignment.actor, p.assignment.release_id) for p in lexical} == {("lexical", "")}


def test_evaluation_is_greedy_even_and_on_the_test_split():
    plan = instances_of_test(CONTENT, BEFORE_OLD, at_least=9, release_id="r1")

    assert Counter(p.assignment.template for p in plan) == {"o0": 5, "o1": 5}
    assert {p.assignment.split for p in plan} == {Split.TEST}
    assert {p.assignment.temperature for p in plan} == {0.0}
    assert {p.assignment.step_budget for p in plan} == {9}


def test_demonstrations_are_the_oracle_on_the_training_split():
    plan = demonstrations(CONTENT, per_new=4, per_old=1)

    assert Counter(p.app for p in plan) == {"tickets": 16, "clock": 2}
    assert {p.assignment.actor for p in plan} == {"oracle"}
    assert {p.assignment.split for p in plan} == {Split.TRAIN}
    assert len({p.assignment.id for p in plan}) == len(plan)


def test_gate_instances_stay_the_same_for_every_candidate_and_attempt():
    first = validation(CONTENT, release_id="r1", attempt=1, per_template=3)
    second = validation(CONTENT, release_id="r2", attempt=2, per_template=3)

    assert instances(first) == instances(second)
    assert not {p.assignment.id for p in first} & {p.assignment.id for p in second}
    assert {p.assignment.purpose for p in first} == {Purpose.GATE}


def test_training_mixes_apps_by_share_and_continues_where_it_stopped():
    plan = training(CONTENT, Practice(new_share=0.65), first=0, count=2000)
    resumed = training(CONTENT, Practice(new_share=0.65), first=1500, count=500)

    assert plan[1500:] == resumed
    share = sum(p.app == "tickets" for p in plan) / len(plan)
    assert 0.61 < share < 0.69
    per_template = Counter(p.assignment.template for p in plan if p.app == "tickets")
    assert max(per_template.values()) < 1.4 * min(per_template.values())
    assert {p.assignment.release_id for p in plan} == {""}


def test_training_without_old_apps_plays_the_new_one():
    alone = Syllabus(seed=1, new=NEW, old=())
    plan = training(alone, Practice(new_share=0.1), first=0, count=50)

    assert {p.app for p in plan} == {"tickets"}


def test_a_group_plays_one_task_on_one_look_and_only_whole_groups_are_planned():
    plan = training(CONTENT, Practice(new_share=0.65, group_size=4), first=8, count=15)

    assert [p.ordinal for p in plan] == list(range(8, 20))
    for start in (0, 4, 8):
        members = plan[start : start + 4]
        assert len(set(instances(members))) == 1
        assert len({p.assignment.group_id for p in members}) == 1
    assert len({p.assignment.group_id for p in plan}) == 3
    assert len(set(instances(plan))) == 3


def test_without_groups_no_episode_names_one():
    plan = training(CONTENT, Practice(new_share=0.65), first=0, count=5)

    assert {p.assignment.group_id for p in plan} == {""}


def test_training_goes_where_success_is_neither_sure_nor_hopeless():
    records = {
        "n0": Record(outcomes=(True,) * 24),
        "n1": Record(outcomes=(True, False) * 12),
        "n2": Record(outcomes=(False,) * 24),
    }
    practice = Practice(new_share=1.0, curriculum=CurriculumSettings(floor=0.15), records=records)

    counts = Counter(
        p.assignment.template for p in training(CONTENT, practice, first=0, count=2000)
    )

    assert counts["n1"] > 2.5 * counts["n0"]
    assert counts["n1"] > 2.5 * counts["n2"]
    assert abs(counts["n1"] - counts["n3"]) < 0.2 * counts["n1"]
    assert min(counts.values()) > 100


def test_a_hopeless_template_is_shown_again_on_other_instances_than_before():
    first = demonstrations(CONTENT, per_new=4, per_old=1)
    records = {"n1": Record(outcomes=(False,) * 20, shown=4, played_since_shown=20)}
    practice = Practice(new_share=1.0, curriculum=CurriculumSettings(), records=records)

    again = shown_again(CONTENT, practice, first=3)

    assert [p.assignment.id for p in again] == [f"{SHOW_AGAIN}.0000{n}" for n in (3, 4, 5)]
    assert {p.assignment.template for p in again} == {"n1"}
    assert {(p.assignment.actor, p.assignment.purpose) for p in again} == {
        ("oracle", Purpose.DEMONSTRATE)
    }
    assert len(set(instances([*first, *again]))) == len(first) + len(again)


def test_old_apps_are_never_shown_again():
    records = {"o0": Record(outcomes=(False,) * 20, shown=1, played_since_shown=20)}
    practice = Practice(new_share=0.5, curriculum=CurriculumSettings(), records=records)

    assert shown_again(CONTENT, practice, first=0) == ()


def test_another_seed_draws_other_instances():
    other = Syllabus(seed=8, new=NEW, old=OLD)
    here = instances_of_test(CONTENT, BEFORE_NEW, at_least=8, release_id="r")
    there = instances_of_test(other, BEFORE_NEW, at_least=8, release_id="r")

    assert not set(instances(here)) & set(instances(there))


def test_shown_task_is_short_reserved_and_of_the_test_split():
    (planned,) = shown(CONTENT, phone="phone-1", release_id="r3")

    assert planned.reserved_for == "phone-1"
    assert planned.assignment.template in {"n0", "n1"}
    assert planned.assignment.split is Split.TEST

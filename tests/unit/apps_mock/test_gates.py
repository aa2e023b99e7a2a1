from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import pytest

from apps_mock import gates
from apps_mock.baselines import RandomPolicy
from apps_mock.gates import (
    WEAK_MORE,
    GateRow,
    GateSettings,
    Share,
    gate,
    looks_of,
    run_gates,
)
from apps_mock.look import draw_look
from apps_mock.mutators import KINDS
from apps_mock.records import changed
from apps_mock.screen_checks import ScreenFaults
from apps_mock.tasks import template_of, templates
from sync.vocabulary import Split

ALL, NONE = Share(80, 80), Share(80, 0)
PASSING = GateRow(
    template="t",
    oracle=ALL,
    oracle_steps=4,
    noop=NONE,
    random=NONE,
    typing_only=NONE,
    kinds={"value altered": (200, 200)},
)
SAMPLED = templates()[:: max(1, len(templates()) // 12)]
ONE = GateSettings(seeds=[3], looks=looks_of(1), faces=False)


@pytest.mark.parametrize("template", SAMPLED, ids=lambda template: template.name)
def test_a_sample_of_the_templates_passes_its_gates(template):
    row = gate(template, replace(ONE, looks=looks_of(4)), set())

    assert row.faults == ()
    assert row.oracle.played == 4


@pytest.mark.slow
@pytest.mark.parametrize("template", templates(), ids=lambda template: template.name)
def test_every_template_passes_its_gates_on_twenty_seeds_and_four_looks(template):
    (row,) = run_gates([template])

    assert row.oracle.played == 80
    assert row.faults == ()


@pytest.mark.parametrize(
    ("flaw", "text"),
    [
        ({"oracle": Share(80, 79), "failed": ("seed 1 look 2: x",)}, "oracle failed 1 of 80"),
        ({"noop": Share(100, 2)}, "noop solved 2 of 100"),
        ({"random": Share(100, 2)}, "random solved 2 of 100"),
        ({"typing_only": Share(100, 2)}, "typing_only solved 2 of 100"),
        ({"kinds": {"value altered": (200, 197)}}, "took 3 near misses"),
        ({"goals": ("a fault",)}, "a fault"),
        ({"screens": ScreenFaults(untranslated={"a word": None})}, "a word"),
        ({"screens": ScreenFaults(layout={"overlap": None})}, "overlap"),
        ({"screens": ScreenFaults(faces={"unseen": None})}, "unseen"),
        ({"screens": ScreenFaults(xml={"other": None})}, "other"),
        ({"crash": "it broke"}, "it broke"),
    ],
)
def test_each_gate_can_fail(flaw, text):
    assert PASSING.passed
    row = replace(PASSING, **flaw)
    assert not row.passed
    assert text in row.faults[0]


def test_limits_of_weak_policies_do_not_hold_for_templates_that_do_not_count():
    assert replace(PASSING, counts=False, noop=Share(80, 80)).passed


def test_a_template_without_near_misses_has_nothing_left_alive():
    assert replace(PASSING, kinds={}).kill_rate == 1.0


class Lucky:
    """Plays as told: solves the instances whose number is in `hits`."""

    def __init__(self, monkeypatch, hits):
        self.count = 0
        self.hits = hits
        self.seeds = []
        monkeypatch.setattr(gates, "play", self.play)

    def play(self, _phone, _policy, assignment):
        self.count += 1
        self.seeds.append(assignment.seed)
        verdict = type("Verdict", (), {"success": self.count in self.hits})
        return None, verdict


def weak_share(settings):
    return gates._weak(template_of("clock_add"), settings, None, RandomPolicy())


def test_a_policy_that_solves_nothing_plays_the_instances_alone(monkeypatch):
    lucky = Lucky(monkeypatch, hits=())

    assert weak_share(GateSettings(seeds=range(2), looks=looks_of(4))) == Share(8, 0)
    assert lucky.seeds == [0] * 4 + [1] * 4


def test_one_lucky_hit_is_judged_on_many_other_instances(monkeypatch):
    lucky = Lucky(monkeypatch, hits={5})

    share = weak_share(GateSettings(seeds=range(20), looks=looks_of(4)))

    assert share == Share(80 + WEAK_MORE, 1)
    assert share.rate <= gates.WEAK_POLICY_LIMIT
    assert min(lucky.seeds[80:]) == 20


def test_a_template_that_is_easy_to_stumble_into_stays_condemned(monkeypatch):
    Lucky(monkeypatch, hits=range(0, 10_000, 20))

    share = weak_share(GateSettings(seeds=range(20), looks=looks_of(4)))

    assert share.played == 80 + 3 * WEAK_MORE
    assert share.rate > gates.WEAK_POLICY_LIMIT


def test_looks_go_through_the_locales():
    locales = defaultdict(set)
    for look in looks_of(8):
        locales[draw_look(Split.TEST, look).locale].add(look)

    assert {locale: len(looks) for locale, looks in locales.items()} == dict.fromkeys(
        ("en", "de", "ja", "ar"), 2
    )


def test_near_misses_are_counted_by_kind_and_survivors_are_named():
    def let_through(_before, end, _wanted):
        yield "the same once more", end

    row = gate(template_of("clock_label"), replace(ONE, mutations=let_through), set())

    assert row.kinds["user: the same once more"] == (1, 0)
    assert "user: the same once more" in row.survivors[0]
    assert len(set(row.kinds) & set(KINDS)) >= 8
    assert row.mutants - row.killed == 1


def test_a_users_near_misses_are_killed_like_any_other():
    def other_hour(_before, end, wanted):
        clock = end.app_state("clock")
        record = wanted.changes[0].record
        alarms = changed(clock.data.alarms, record, label="something else")
        yield "label", end.with_app("clock", clock.with_data(replace(clock.data, alarms=alarms)))

    row = gate(template_of("clock_label"), replace(ONE, mutations=other_hour), set())

    assert row.kinds["user: label"] == (1, 1)
    assert row.passed


def test_code_that_breaks_names_the_template_the_place_and_the_file(monkeypatch):
    def broken(_draw):
        raise KeyError("alarm")

    template = replace(template_of("clock_add"), set_up=broken)
    monkeypatch.setattr("apps_mock.tasks.template_of", lambda _name: template)

    row = gate(template, ONE, set())

    assert not row.passed
    assert "clock_add at seed 3, look 0 broke: KeyError: 'alarm' (test_gates.py:" in row.crash


def test_an_oracle_that_fails_is_named_with_its_instance(monkeypatch):
    template = template_of("clock_add")
    make = gates.Assignment

    def short(template, seed, look, split):
        return make("x", template=template.name, seed=seed, look=look, split=split, step_budget=2)

    monkeypatch.setattr(gates, "_assignment", short)

    row = gate(template, ONE, set())

    assert row.oracle == Share(1, 0)
    assert "seed 3 look 0: budget after 2 steps" in row.faults[0]

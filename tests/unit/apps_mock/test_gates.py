from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import replace

import pytest

from apps_mock import gate_weak
from apps_mock.baselines import RandomPolicy
from apps_mock.gate_episodes import GateSettings, looks_of
from apps_mock.gate_rows import WEAK_POLICY_LIMIT, GateRow, Share
from apps_mock.gate_weak import WEAK_MORE, WeakPlays
from apps_mock.gates import gate, run_gates
from apps_mock.look import draw_look, look_number
from apps_mock.mutators import KINDS
from apps_mock.phone import MockPhone
from apps_mock.plans import Press, Stage
from apps_mock.records import changed
from apps_mock.registry import APPS
from apps_mock.screen_checks import ScreenFaults, ScreenWatch
from apps_mock.tasks import template_of, templates
from apps_mock.template_checks import steps_fault
from apps_mock.wanted import Change
from apps_mock.widgets import Event, Row
from sync.vocabulary import EndReason, Split

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
        ({"screens": ScreenFaults(widgets={"a field": None})}, "a field"),
        ({"broken": ("an app broke",)}, "an app broke"),
        ({"tags": ("a tag",)}, "a tag"),
        ({"steps": "write 3"}, "write 3"),
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
        monkeypatch.setattr(gate_weak, "play", self.play)

    def play(self, _phone, _policy, assignment):
        self.count += 1
        self.seeds.append(assignment.seed)
        verdict = type("Verdict", (), {"success": self.count in self.hits})
        return type("Episode", (), {"end_reason": EndReason.FINISH}), verdict


def weak_share(settings):
    phone = MockPhone()
    plays = WeakPlays(template_of("clock_add"), settings, phone, ScreenWatch(phone, set()))
    return plays.share_of(RandomPolicy())


def test_a_policy_that_solves_nothing_plays_the_instances_alone(monkeypatch):
    lucky = Lucky(monkeypatch, hits=())

    assert weak_share(GateSettings(seeds=range(2), looks=looks_of(4))) == Share(8, 0)
    assert lucky.seeds == [0] * 4 + [1] * 4


def test_one_lucky_hit_is_judged_on_many_other_instances(monkeypatch):
    lucky = Lucky(monkeypatch, hits={5})

    share = weak_share(GateSettings(seeds=range(20), looks=looks_of(4)))

    assert share == Share(80 + WEAK_MORE, 1)
    assert share.rate <= WEAK_POLICY_LIMIT
    assert min(lucky.seeds[80:]) == 20


def test_a_template_that_is_easy_to_stumble_into_stays_condemned(monkeypatch):
    Lucky(monkeypatch, hits=range(0, 10_000, 20))

    share = weak_share(GateSettings(seeds=range(20), looks=looks_of(4)))

    assert share.played == 80 + 3 * WEAK_MORE
    assert share.rate > WEAK_POLICY_LIMIT


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
    assert row.crash.startswith("clock_add at seed 3: test_gates.py:")
    assert row.crash.endswith(": there is no 'alarm' (KeyError); repair it")


@pytest.fixture
def checked(monkeypatch):
    """The row of a template that was changed."""

    def check(name, settings=ONE, **changes):
        template = replace(template_of(name), **changes)
        monkeypatch.setattr("apps_mock.tasks.template_of", lambda _name: template)
        return gate(template, settings, set())

    return check


def set_up_with(name, **changes):
    """A template's `set_up` whose instances have other values."""
    original = template_of(name).set_up
    return lambda draw: replace(original(draw), **changes)


@pytest.mark.parametrize("declared", [2, 4, 300])
def test_steps_that_the_oracle_does_not_take_are_a_fault_that_says_what_to_write(checked, declared):
    needed = template_of("clock_add").oracle_steps

    row = checked("clock_add", oracle_steps=declared)

    text = f"oracle_steps is {declared}, the oracle needs {needed}: write {needed}"
    assert row.faults == (text,)


def test_scrolling_templates_may_declare_some_steps_more():
    scrolling = next(template for template in templates() if "scrolls" in template.tags)
    steps = scrolling.oracle_steps

    assert steps_fault(scrolling, steps - 2) == steps_fault(scrolling, steps) == ""
    assert f"write {steps + 1}" in steps_fault(scrolling, steps + 1)
    assert "write 3" in steps_fault(replace(scrolling, oracle_steps=300), 3)


def test_an_oracle_without_a_move_is_told_where_it_stood(checked):
    row = checked("clock_add", set_up=set_up_with("clock_add", plan={}))

    assert "seed 3 look 0: budget after" in row.faults[0]
    assert "stood on page ('home', '') of clock, for which the plan has no move" in row.faults[0]
    assert row.faults[0].count("repair") == 1


def test_an_oracle_that_goes_in_circles_is_told_what_it_kept_doing(checked):
    plan = {("home", ""): Press(Event("go", "nowhere"))}

    row = checked("clock_add", set_up=set_up_with("clock_add", plan=plan))

    assert "kept doing Press go nowhere on page ('home', '') of clock" in row.faults[0]


def test_a_set_up_that_draws_beside_its_draw_is_a_fault(checked):
    numbers = itertools.count()
    original = template_of("clock_add").set_up

    def unlike(draw):
        return replace(original(draw), now=f"2025-03-14T09:{next(numbers):02}")

    row = checked("clock_add", set_up=unlike)

    assert "set_up gives another state when seed 3 is drawn again" in row.crash


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"changes": (Change("nothing", None),)}, "a Change names clock.nothing, which is no"),
        ({"changes": (Change("alarms", "x9"),)}, "the record 'x9', which is not in clock.alarms"),
        ({"changes": (Change("alarms", None, (("nam", "x"),)),)}, "a Change names the field 'nam'"),
        ({"plan": {("home", ""): "go"}}, "a plan does 'go' on page ('home', '')"),
        ({"plan": {"home": Press(Event("back"))}}, "a plan has the key 'home'"),
        ({"plan": None}, "Instance.plan is None; it has to be a dict"),
        ({"data": {"alarms": ()}}, "Instance.data is {'alarms': ()}; it has to be a dataclass"),
        ({"words": {}}, "which the words of set_up lack; add"),
        ({"others": {"nowhere": None}}, "set_up speaks of an app 'nowhere' that there is not"),
        ({"stages": (Stage("nowhere", {}),)}, "set_up speaks of an app 'nowhere'"),
    ],
)
def test_what_set_up_gives_wrongly_is_named_in_one_line(checked, changes, text):
    row = checked("clock_add", set_up=set_up_with("clock_add", **changes))

    assert text in row.crash
    assert "\n" not in row.crash
    assert "KeyError" not in row.crash


def test_a_set_up_that_gives_nothing_is_named_with_its_file(checked):
    row = checked("clock_add", set_up=lambda _draw: None)

    assert "test_gates.py:" in row.crash
    assert row.crash.endswith("the template 'clock_add': set_up gave None; return an Instance")


@pytest.mark.parametrize(
    ("name", "changes", "text"),
    [
        ("clock_add", {"tags": ("scroll",)}, "there is no tag 'scroll'; use "),
        ("clock_add", {"tags": ("answer",)}, "the tag 'answer' stands without Instance.answer"),
        ("clock_add", {"tags": ("infeasible",)}, "the tag 'infeasible' stands without"),
        ("NotesIsTodo", {"tags": ("scrolls",)}, "Instance.answer is set without the tag 'answer'"),
    ],
)
def test_tags_that_do_not_fit_are_faults(checked, name, changes, text):
    assert any(text in fault for fault in checked(name, **changes).faults)


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        (lambda *_: None, "mutations(before, end, wanted) gave None; yield pairs (name, state)"),
        (lambda *_: [3], "yielded 3; yield pairs (name, state)"),
        (lambda *_: 1 / 0, "test_gates.py:"),
    ],
)
def test_a_mutator_that_gives_nonsense_is_named_in_one_line(answers, text):
    row = gate(template_of("clock_toggle"), replace(ONE, mutations=answers), set())

    assert text in row.crash
    assert "test_gates.py:" in row.crash
    assert "\n" not in row.crash


def view_with(widget):
    """The clock's view with one widget more."""
    original = APPS["clock"].view

    def view(state, look):
        screen = original(state, look)
        return screen._replace(body=(*screen.body, widget))

    return view


@pytest.mark.parametrize(
    ("widget", "text"),
    [
        (Row("a", None), "Row.subtitle is None; it has to be str"),
        (Row("a", on_tap="go"), "Row.on_tap is 'go'; it has to be Event or None"),
    ],
)
def test_widgets_of_a_wrong_type_are_faults_though_they_can_be_laid_out(monkeypatch, widget, text):
    monkeypatch.setitem(APPS, "clock", replace(APPS["clock"], view=view_with(widget)))

    row = gate(template_of("clock_toggle"), ONE, set())

    assert text in row.faults[0]
    assert "test_gates.py:" in row.faults[0]


@pytest.mark.parametrize(
    ("update", "text"),
    [
        (lambda _state, _event: None, "update gave None; return the AppState in every case"),
        (lambda state, _event: state.data.nam, "has no attribute 'nam'"),
    ],
)
def test_an_app_that_breaks_is_named_once_with_its_file(monkeypatch, update, text):
    monkeypatch.setitem(APPS, "clock", replace(APPS["clock"], update=update))

    row = gate(template_of("clock_add"), ONE, set())

    fault = next(fault for fault in row.faults if "oracle failed" in fault)
    assert text in fault
    assert "test_gates.py:" in fault
    assert fault.count("repair it") <= 1


@pytest.mark.parametrize("locale", ["ja", "ar"])
@pytest.mark.parametrize(
    ("text", "found"), [("Best before soon", True), ("Clock", False), ("12 km", False)]
)
def test_a_text_that_no_look_says_is_raw_in_other_scripts(monkeypatch, locale, text, found):
    monkeypatch.setitem(APPS, "clock", replace(APPS["clock"], view=view_with(Row(text))))
    settings = replace(ONE, looks=[look_number(locale, 0)])

    row = gate(template_of("clock_toggle"), settings, set())

    said = f"clock writes {text!r} as it is in {locale}; let the look say it"
    assert any(said in fault for fault in row.screens.untranslated) == found


def test_an_unknown_wording_is_named_with_the_file_that_asked_for_it(monkeypatch):
    def view(_state, look):
        return look.word("sav")

    monkeypatch.setitem(APPS, "clock", replace(APPS["clock"], view=view))

    row = gate(template_of("clock_toggle"), ONE, set())

    assert "test_gates.py:" in row.faults[0]
    assert "look.word has no 'sav'; use a key of look.WORDINGS" in row.faults[0]
    assert "repair" not in row.faults[0]

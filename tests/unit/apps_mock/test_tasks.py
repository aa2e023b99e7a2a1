from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from datetime import datetime

import pytest

from apps_mock.catalogue import LOCALES
from apps_mock.look import look_number
from apps_mock.tasks import add_templates, announced, draw, suites, template_of, templates
from apps_mock.templates import NOT_COUNTED
from device_runtime.errors import UnknownTaskError
from sync.vocabulary import Split

TICKET_STEPS = [3, 4, 4, 4, 5, 6, 6, 7, 7, 8, 8, 9, 11, 12]


SUITES = (
    "settings", "contacts", "clock", "tickets", "messages", "calendar", "notes", "files", "todo",
    "shop", "browser", "store",
)  # fmt: skip
TWINS = {"calendar": 17, "notes": 12, "contacts": 7, "todo": 6}
"""Least numbers of AndroidWorld's twins; `contacts` with `messages`."""


def of_suite(name):
    return [template for template in templates() if template.belongs_to(name)]


def tagged(tag):
    return [template for template in templates() if tag in template.tags]


def test_there_are_enough_templates_of_every_suite():
    assert suites()[: len(SUITES)] == SUITES
    assert {"androidworld", "cross_app", "general", "install", "web_shopping"} <= set(suites())
    assert all(of_suite(suite) for suite in suites())
    own = [template.oracle_steps for template in templates() if template.own_suite == "tickets"]
    assert own == TICKET_STEPS
    assert len(templates()) >= 110
    assert len({template.name for template in templates()}) == len(templates())


def test_there_are_enough_templates_of_every_kind():
    assert len(tagged("cross_app")) >= 20
    assert len(tagged("answer")) >= 12
    assert len(tagged("infeasible")) >= 6
    apps = Counter(template.app for template in of_suite("androidworld"))
    apps["contacts"] += apps.pop("messages", 0)
    assert all(apps[app] >= count for app, count in TWINS.items()), apps


def test_what_does_not_count_is_not_announced_for_learning():
    names = {info.name for info in announced()}

    for template in templates():
        assert (template.name in names) == (not NOT_COUNTED & set(template.tags))


def test_a_suite_over_several_apps_has_what_is_tagged_so_or_named_so():
    [template] = [one for one in templates() if one.name == "clock_add"]
    twin = replace(template, suite="androidworld", tags=("cross_app",))

    assert [twin.belongs_to(name) for name in ("clock", "androidworld", "cross_app")] == [True] * 3
    assert not twin.belongs_to("tickets")
    assert not template.belongs_to("cross_app")
    assert twin.info().suite == "androidworld"


@pytest.mark.parametrize("template", templates(), ids=lambda template: template.name)
def test_budgets_are_about_one_and_a_half_times_the_oracle(template):
    info = template.info()

    assert info.step_budget >= info.oracle_steps + 2
    assert info.step_budget <= 1.5 * info.oracle_steps + 2
    assert 2 <= len(template.phrasings) <= 4
    assert info.app == template.app
    assert template.belongs_to(info.suite)


def test_only_the_test_split_heeds_a_look_that_says_goals_in_held_out_ways():
    for seed in range(40):
        for split, held_out in itertools.product(Split, (False, True)):
            look = look_number("en", seed, held_out_phrasing=held_out)
            task = draw("clock_add", seed=seed, split=split, look=look)
            with_gaps = [
                phrasing.format_map(dict(task_words(task))) for phrasing in task.template.held_out
            ]
            assert task.held_out_phrasing == (held_out and split is Split.TEST)
            assert (task.goal in with_gaps) == task.held_out_phrasing
            assert task.state == draw("clock_add", seed=seed, split=split, look=0).state

    assert task.template.held_out


def task_words(task):
    time = dict(task.wanted.changes[0].values)["time"]
    return {"time": time}


def test_the_clock_is_in_the_state_at_reset_and_a_template_may_set_it(monkeypatch):
    [template] = [one for one in templates() if one.name == "clock_add"]
    times = {draw("clock_add", seed=seed, split=Split.TRAIN, look=0).state.now for seed in range(9)}
    assert len(times) == 9
    assert all(datetime.fromisoformat(now) for now in times)

    def set_up(source):
        return replace(template.set_up(source), now="2025-03-14T09:41")

    fixed = replace(template, set_up=set_up)
    monkeypatch.setattr("apps_mock.tasks.template_of", lambda _name: fixed)
    state = draw("clock_add", seed=1, split=Split.TRAIN, look=0).state
    assert (state.today, state.time) == ("2025-03-14", "09:41")


def test_a_users_templates_are_taken_in_once_and_for_an_app_that_there_is(monkeypatch):
    [template] = [one for one in templates() if one.name == "clock_add"]
    monkeypatch.setattr("apps_mock.tasks._ADDED", [])
    monkeypatch.setattr("apps_mock.tasks._BY_NAME", {"clock_add": template})

    add_templates([replace(template, name="mine")])

    assert templates()[-1].name == "mine"
    assert template_of("mine").app == "clock"
    with pytest.raises(UnknownTaskError, match="two templates are called 'mine'"):
        add_templates([replace(template, name="mine")])
    with pytest.raises(UnknownTaskError, match="an app 'nowhere'"):
        add_templates([replace(template, name="other", app="nowhere")])


@pytest.mark.parametrize("template", templates(), ids=lambda template: template.name)
def test_the_same_arguments_give_the_same_task(template):
    one = draw(template.name, seed=11, split=Split.TRAIN, look=2)
    two = draw(template.name, seed=11, split=Split.TRAIN, look=2)
    other = draw(template.name, seed=12, split=Split.TRAIN, look=2)

    assert one == two
    assert one.state != other.state


def test_an_unknown_template_is_refused_with_the_command_that_lists_them():
    with pytest.raises(UnknownTaskError, match="clones list"):
        template_of("settings_dance")


NAMELESS = {"no_parameters", "starts_satisfied"}


def test_goals_of_the_splits_are_disjoint_over_two_thousand_draws():
    drawn = [template.name for template in templates() if not NAMELESS & set(template.tags)]
    goals = {
        split: {
            draw(drawn[seed % len(drawn)], seed=seed, split=split, look=0).goal
            for seed in range(2000)
        }
        for split in Split
    }

    for one, other in (
        (Split.TRAIN, Split.VALIDATION),
        (Split.TRAIN, Split.TEST),
        (Split.VALIDATION, Split.TEST),
    ):
        assert not goals[one] & goals[other]


@pytest.mark.parametrize("split", list(Split))
def test_no_template_runs_out_of_entities(split):
    for number, template in enumerate(templates()):
        for seed in range(4):
            assert draw(template.name, seed=100 * seed + number, split=split, look=0).goal


@pytest.mark.parametrize("locale", LOCALES)
def test_goals_have_no_punctuation_that_would_stick_to_what_is_typed(locale):
    for number, template in enumerate(templates()):
        for split in Split:
            look = look_number(locale, number)
            goal = draw(template.name, seed=number, split=split, look=look).goal
            assert not set(".,;!?\"'") & set(goal) or locale != "en", goal
            assert len(goal.split()) <= 20

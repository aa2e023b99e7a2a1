from __future__ import annotations

import pytest

from apps_mock.tasks import draw, suites, template_of, templates
from device_runtime.errors import UnknownTaskError
from sync.vocabulary import Split

TICKET_STEPS = [3, 4, 4, 4, 5, 6, 6, 7, 7, 8, 8, 9, 11, 12]


def test_there_are_enough_templates_of_every_suite():
    by_suite = {suite: [t for t in templates() if t.app == suite] for suite in suites()}

    assert list(by_suite) == ["settings", "contacts", "clock", "tickets"]
    assert [template.oracle_steps for template in by_suite["tickets"]] == TICKET_STEPS
    assert sum(map(len, by_suite.values())) >= 24
    assert sum(len(by_suite[suite]) for suite in ("settings", "contacts", "clock")) >= 10
    assert len({template.name for template in templates()}) == len(templates())


@pytest.mark.parametrize("template", templates(), ids=lambda template: template.name)
def test_budgets_are_about_one_and_a_half_times_the_oracle(template):
    info = template.info()

    assert info.step_budget >= info.oracle_steps + 2
    assert info.step_budget <= 1.5 * info.oracle_steps + 2
    assert 2 <= len(template.phrasings) <= 4
    assert info.suite == info.app == template.app


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


def test_goals_of_the_splits_are_disjoint_over_two_thousand_draws():
    names = [template.name for template in templates()]
    goals = {
        split: {
            draw(names[seed % len(names)], seed=seed, split=split, look=0).goal
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
    for template in templates():
        for seed in range(40):
            assert draw(template.name, seed=seed, split=split, look=0).goal


def test_goals_have_no_punctuation_that_would_stick_to_what_is_typed():
    for template in templates():
        for seed in range(10):
            goal = draw(template.name, seed=seed, split=Split.TRAIN, look=0).goal
            assert not set(".,;!?\"'") & set(goal), goal
            assert len(goal.split()) <= 20

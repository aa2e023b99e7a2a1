"""The curriculum plays what can be learnt now and shows what cannot, within its limits."""

from __future__ import annotations

from random import Random

import pytest

from cloud_learner.curriculum import (
    MOST_SHOWN,
    CurriculumSettings,
    Record,
    draw,
    to_show,
    weights,
)

SETTINGS = CurriculumSettings(
    window=8, floor=0.2, hopeless_below=0.1, hopeless_after=6, shown_at_once=2, most_shown=7
)


def failed(count, **more):
    return Record(outcomes=(False,) * count, **more)


def test_an_even_chance_weighs_most_and_the_floor_least():
    found = weights(
        {"even": Record(outcomes=(True, False) * 4), "sure": Record(outcomes=(True,) * 8)},
        ["even", "sure"],
        SETTINGS,
    )

    sure = 0.2 + 0.8 * 4 * 0.9 * 0.1
    assert found["even"] == pytest.approx(1.0 / (1.0 + sure))
    assert found["sure"] == pytest.approx(sure / (1.0 + sure))


def test_success_and_failure_weigh_the_same():
    found = weights(
        {"sure": Record(outcomes=(True,) * 8), "never": failed(8)}, ["sure", "never"], SETTINGS
    )

    assert found["sure"] == pytest.approx(found["never"])


def test_only_the_latest_episodes_count():
    forgotten = Record(outcomes=(True,) * 100 + (False,) * 8)

    assert forgotten.success(8) == pytest.approx(0.1)


def test_switched_off_every_template_weighs_alike_and_nothing_is_shown():
    off = CurriculumSettings(enabled=False)
    records = {"a": failed(50, shown=1, played_since_shown=50)}

    assert weights(records, ["a", "b"], off) == {"a": 0.5, "b": 0.5}
    assert to_show(records, ["a", "b"], off) == {}


def test_a_template_is_shown_only_when_it_was_tried_often_enough_since_the_last_time():
    assert to_show({"t": failed(5, played_since_shown=5)}, ["t"], SETTINGS) == {}
    assert to_show({"t": failed(8, shown=2, played_since_shown=5)}, ["t"], SETTINGS) == {}
    assert to_show({"t": failed(8, shown=2, played_since_shown=6)}, ["t"], SETTINGS) == {"t": 2}


def test_a_template_that_succeeds_now_and_then_is_not_shown():
    once = Record(outcomes=(True, *(False,) * 7), shown=0, played_since_shown=8)

    assert to_show({"t": once}, ["t"], SETTINGS) == {}


def test_no_template_is_shown_more_often_than_allowed():
    shown = 0
    for _ in range(20):
        shown += to_show({"t": failed(8, shown=shown, played_since_shown=8)}, ["t"], SETTINGS).get(
            "t", 0
        )

    assert shown == 7


def test_what_nobody_has_played_is_not_hopeless():
    assert to_show({}, ["t"], SETTINGS) == {}


def test_drawing_follows_the_weights_and_nothing_else():
    chances = {"a": 0.7, "b": 0.3}
    random = Random(1)
    drawn = [draw(chances, random) for _ in range(4000)]

    assert drawn.count("a") / len(drawn) == pytest.approx(0.7, abs=0.03)
    assert [draw(chances, Random(9)) for _ in range(3)] == [draw(chances, Random(9))] * 3


@pytest.mark.parametrize(
    "wrong",
    [{"floor": 0.0}, {"floor": 1.5}, {"window": 0}, {"shown_at_once": 0}, {"most_shown": 9}],
)
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError):
        CurriculumSettings(**wrong)


def test_nobody_can_allow_more_demonstrations_than_the_project_does():
    assert CurriculumSettings(most_shown=MOST_SHOWN).most_shown == 8

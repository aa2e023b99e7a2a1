from __future__ import annotations

from datetime import date
from random import Random

import pytest

from apps_mock import entities
from apps_mock.entities import CITIES, PSEUDO_WORD_SHARE, Draw, members, spelled, split_of
from apps_mock.errors import TaskDrawError
from sync.vocabulary import Split

POOLS = (
    entities.FIRST_NAMES,
    entities.LAST_NAMES,
    entities.CITIES,
    entities.ALARM_LABELS,
    entities.APP_NAMES,
    entities.DEVICE_NAMES,
    entities.TIMES,
    entities.MINUTES,
)


@pytest.mark.parametrize("pool", POOLS)
def test_each_split_has_entities_and_together_they_are_the_pool(pool):
    parts = [set(members(pool, split)) for split in Split]

    assert all(len(part) >= 7 for part in parts)
    assert set.union(*parts) == set(pool)
    assert sum(map(len, parts)) == len(set(pool)) == len(pool)


def test_train_draws_mostly_pseudo_words_that_are_no_known_entities():
    draws = [Draw(Random(seed), Split.TRAIN).city() for seed in range(400)]

    pseudo = [city for city in draws if city not in CITIES]

    assert abs(len(pseudo) / len(draws) - PSEUDO_WORD_SHARE) < 0.08
    assert not set(pseudo) & {name for pool in POOLS for name in pool}


@pytest.mark.parametrize("split", [Split.VALIDATION, Split.TEST])
def test_held_out_splits_draw_real_entities_of_their_own(split):
    cities = {Draw(Random(seed), split).city() for seed in range(200)}

    assert cities == set(members(CITIES, split))


def test_a_task_never_draws_the_same_entity_twice():
    draw = Draw(Random(5), Split.TEST)

    cities = [draw.city() for _ in range(10)]

    assert len(set(cities)) == len(cities)


def test_an_exhausted_pool_is_an_error_that_says_so():
    draw = Draw(Random(5), Split.TEST)

    def exhaust() -> None:
        for _ in CITIES:
            draw.city()

    with pytest.raises(TaskDrawError, match="too few entities"):
        exhaust()


@pytest.mark.parametrize("split", list(Split))
def test_codes_and_days_belong_to_the_split(split):
    draw = Draw(Random(1), split)

    days, index = draw.days(8)

    assert split_of(draw.phone()) is split
    assert index > 0
    assert split_of(days[index]) is split
    assert len(set(days)) == 8


@pytest.mark.parametrize("split", [*Split])
def test_a_day_belongs_to_its_split_as_people_write_it(split):
    days = {Draw(Random(seed), split).day() for seed in range(80)}

    assert len(days) > 15
    for day in days:
        assert split_of(spelled(date.fromisoformat(day))) is split

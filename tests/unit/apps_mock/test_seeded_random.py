from __future__ import annotations

from random import Random

import pytest

from apps_mock.seeded_random import SeededRandom


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9, 23, 64, 365, 1000])
def test_choices_are_those_of_the_standard_generator(count):
    own, standard = SeededRandom(f"seed {count}"), Random(f"seed {count}")
    entries = range(count)

    for _ in range(200):
        assert own.choice(entries) == standard.choice(entries)
        assert own.random() == standard.random()


def test_there_is_no_choice_among_nothing():
    with pytest.raises(IndexError):
        SeededRandom("seed").choice(())

"""The size of a round, from what rounds cost and what time is left."""

from __future__ import annotations

import pytest

from cloud_learner.rhythm import Rhythm


def _rhythm(seconds: float = 20.0, rounds: int = 10) -> Rhythm:
    """Rounds of 32..64 episodes that cost two seconds each."""
    rhythm = Rhythm(32, 64)
    rhythm.spent(seconds, rounds=rounds)
    return rhythm


def test_a_round_is_small_before_its_cost_is_known():
    assert Rhythm(32, 64).episodes(left_s=1.0, episodes_left=10_000.0) == 32


@pytest.mark.parametrize(
    ("left_s", "episodes_left", "size"),
    [
        (200.0, 3200.0, 32),  # 100 rounds can be made, and 100 small ones are enough
        (200.0, 1000.0, 32),  # time to spare
        (200.0, 4000.0, 40),
        (200.0, 4001.0, 41),
        (200.0, 6400.0, 64),
        (200.0, 90_000.0, 64),  # more than can be learnt: the farm waits
        (0.0, 10.0, 64),
        (0.0, 0.0, 64),
    ],
)
def test_a_round_takes_what_has_to_be_learnt_in_the_rounds_that_can_be_made(
    left_s, episodes_left, size
):
    assert _rhythm().episodes(left_s=left_s, episodes_left=episodes_left) == size


def test_dear_rounds_are_large_ones_and_time_without_a_round_counts():
    rhythm = _rhythm()
    rhythm.spent(10.0, rounds=0)
    assert rhythm.episodes(left_s=200.0, episodes_left=3200.0) == 48


def test_rounds_that_cost_nothing_stay_small():
    assert _rhythm(seconds=0.0).episodes(left_s=200.0, episodes_left=9000.0) == 32


def test_a_rhythm_that_may_not_grow_does_not():
    rhythm = Rhythm(32, 32)
    rhythm.spent(1e6, rounds=1)
    assert rhythm.episodes(left_s=0.0, episodes_left=1e9) == 32

"""The comparison is fair where phones play different tasks, and its bounds hold at all looks."""

from __future__ import annotations

from math import inf, log, sqrt

import numpy as np
import pytest

from cloud_learner.release_comparison import (
    Comparison,
    Outcomes,
    always_valid_z,
    compare,
    own_past_of,
    sum_period,
)


def outcomes(rows):
    """Rows of (phone, stratum, is_candidate, n, successes)."""
    phone, stratum, arm, n, successes = zip(*rows, strict=True)
    return Outcomes(
        np.array(phone),
        np.array(stratum),
        np.array(arm, bool),
        np.array(n, float),
        np.array(successes, float),
    )


def compared(rows, phones, least_spread=0.005):
    return compare([sum_period(outcomes(rows), np.zeros(phones))], least_spread=least_spread)


def test_one_stratum_is_the_difference_of_two_shares():
    found = compared([(0, 0, True, 10, 9), (1, 0, False, 20, 10)], 2)

    assert found.difference == pytest.approx(0.4)
    assert (found.tasks, found.control_tasks) == (10, 20)
    assert (found.phones, found.control_phones) == (1, 1)


def test_phones_that_play_harder_tasks_are_not_taken_for_worse():
    hard, easy = 0, 1
    found = compared(
        [
            (0, hard, True, 90, 27),
            (0, easy, True, 10, 9),
            (1, hard, False, 10, 3),
            (1, easy, False, 90, 81),
        ],
        2,
    )

    assert found.difference == pytest.approx(0.0)


def test_what_only_one_arm_played_counts_nowhere():
    found = compared([(0, 0, True, 50, 0), (1, 1, False, 50, 50)], 2)

    assert found == Comparison()
    assert found.lower(0.025, 0.05) == -inf


def test_a_day_on_which_everything_fails_does_not_look_like_the_releases_fault():
    """Few phones have it on the first, good day, and most on the second, bad one."""
    good = outcomes([(0, 0, True, 10, 9), (1, 0, False, 90, 81)])
    bad = outcomes([(0, 0, True, 90, 9), (1, 0, False, 10, 1)])

    found = compare([sum_period(day, np.zeros(2)) for day in (good, bad)], least_spread=0.005)

    assert found.difference == pytest.approx(0.0)


def test_episodes_of_one_phone_that_are_all_alike_count_as_less():
    arms = ((at, at % 2 == 0) for at in range(40))
    alike = [(at, 0, arm, 20, 20 if at % 4 < 2 else 0) for at, arm in arms]
    mixed = [(at, 0, at % 2 == 0, 20, 10) for at in range(40)]

    assert compared(alike, 40).variance > 10 * compared(mixed, 40).variance


def simulated(seed, *, spread, phones=300, effect=0.0, n=30):
    rng = np.random.default_rng(seed)
    ability = rng.normal(0.0, spread, phones)
    arm = np.arange(phones) < 40

    def play(change):
        success = np.clip(0.6 + ability + change, 0.01, 0.99)
        return rng.binomial(n, success).astype(float)

    index = np.arange(phones)
    strata = np.zeros(phones, np.int64)
    counts = np.full(phones, float(n))
    past = Outcomes(index, strata, np.zeros(phones, bool), counts, play(0.0))
    now = Outcomes(index, strata, arm, counts, play(arm * effect))
    return own_past_of(past, phones), now


def test_a_phones_own_past_makes_the_comparison_sharper_and_not_biased():
    plain, adjusted, variances = [], [], []
    for seed in range(120):
        past, now = simulated(seed, spread=0.15)
        before = compare([sum_period(now, np.zeros(300))], least_spread=0.005)
        after = compare([sum_period(now, past)], least_spread=0.005)
        plain.append(before.difference)
        adjusted.append(after.difference)
        variances.append(after.variance)

    assert abs(np.mean(adjusted)) < 0.006
    assert np.var(adjusted) < 0.7 * np.var(plain)
    assert np.mean(variances) > 0.8 * np.var(adjusted)


def test_phones_that_are_alike_have_no_past_to_speak_of():
    past, _ = simulated(1, spread=0.0)

    assert np.abs(past).max() < 0.02


@pytest.mark.parametrize(("with_it", "others"), [(19, 1), (95, 5), (3, 97), (3, 17), (50, 50)])
def test_phones_that_differ_make_the_difference_as_uncertain_as_it_is(with_it, others):
    """Also where one arm has too few phones to show how much they differ."""
    phones = with_it + others
    arm = np.arange(phones) < with_it

    def standardized(seed):
        rng = np.random.default_rng(seed)
        success = np.clip(0.6 + rng.normal(0.0, 0.1, phones), 0.01, 0.99)
        played = np.full(phones, 150.0)
        rows = Outcomes(
            np.arange(phones),
            np.zeros(phones, np.int64),
            arm,
            played,
            rng.binomial(150, success).astype(float),
        )
        found = compare([sum_period(rows, np.zeros(phones))], least_spread=0.005)
        return found.difference / sqrt(found.variance)

    assert 0.8 < np.std([standardized(seed) for seed in range(150)]) < 1.25


@pytest.mark.parametrize("successes", [0, 20])
def test_arms_that_always_fail_or_always_succeed_do_not_differ_and_are_not_sure(successes):
    found = compared([(at, 0, at < 5, 20, successes) for at in range(20)], 20)

    assert found.difference == 0.0
    assert 0.0 < found.variance < 0.01
    assert found.lower(0.025, 0.05) < -0.02


def test_the_boundary_is_the_one_of_its_source():
    rho = (3 / 0.1) ** 2 / 10
    grown = 400 + rho
    expected = sqrt(2 * grown * log(1 + sqrt(grown / rho) / (2 * 0.025)) / 400)

    assert always_valid_z(400, alpha=0.025, margin=0.1) == pytest.approx(expected)
    assert 1.96 < expected < 3.2


def test_the_boundary_is_crossed_at_any_of_many_looks_no_more_often_than_stated():
    rng = np.random.default_rng(3)
    information = np.geomspace(5.0, 50_000.0, 300)
    steps = rng.normal(size=(4000, 300)) * np.sqrt(np.diff(information, prepend=0.0))
    scores = np.cumsum(steps, axis=1) / np.sqrt(information)
    bound = np.array([always_valid_z(one, alpha=0.05, margin=0.1) for one in information])

    assert (scores > bound).any(axis=1).mean() < 0.05
    assert (scores > 1.645).any(axis=1).mean() > 0.2  # which is what peeking costs


def test_parts_that_do_not_belong_together_are_refused():
    with pytest.raises(ValueError, match="one row each"):
        Outcomes(np.arange(2), np.arange(2), np.zeros(2, bool), np.ones(3), np.ones(2))

"""Bounds count phones, not only episodes; and what a phone did before is not a release's fault."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_learner.staged_bounds import (
    Share,
    Speed,
    Tally,
    excess_before,
    is_broken,
    is_held,
    share_by_phone,
    silent_share,
    slowed_share,
)
from cloud_learner.staged_plan import LIMITS, Stage, StagedPlan

PLAN = StagedPlan(stages=(Stage(1000),), seed="s")
LIMIT = LIMITS["env_errors"]
OTHERS = ([1.0] * 50, [100.0] * 50)


def tally(cases, n, excess=None):
    past = np.zeros(len(n)) if excess is None else np.asarray(excess)
    return Tally(np.array(cases, float), np.array(n, float), past)


def shared(cases, n, others=OTHERS):
    return share_by_phone(tally(cases, n), tally(*others))


def test_one_phone_whose_app_is_broken_is_one_case_however_many_episodes_it_fails():
    """It fails them at once, so it plays three times as many as the others of a small cohort."""
    share = shared([180, 1, 1], [300, 100, 100])

    assert share.cases / share.n > 0.3
    assert not is_broken(LIMIT, share)
    assert is_held(LIMIT, share)


def test_as_many_errors_on_every_phone_are_the_releases_fault():
    share = shared([36, 37, 35], [100, 100, 100])

    assert is_broken(LIMIT, share)


def test_all_that_one_phone_sends_decides_nothing():
    assert not is_broken(LIMIT, shared([400], [400]))


def test_a_hold_out_of_few_phones_that_happen_to_be_well_breaks_no_bound():
    """Three of a hundred phones are broken anyway; none of them is among the five held out."""
    share = shared([180] * 3 + [1] * 92, [300] * 3 + [100] * 92, ([5] * 5, [100] * 5))

    assert share.cases / share.n - share.control < LIMIT.share
    assert not is_broken(LIMIT, share)


def test_what_a_phone_did_before_is_taken_off():
    n = np.full(40, 200.0)
    before = np.where(np.arange(40) < 4, 120.0, 2.0)
    excess = excess_before(before, n)

    share = share_by_phone(
        tally(before[:5], n[:5], excess[:5]), tally(before[5:], n[5:], excess[5:])
    )

    assert share.cases / share.n - share.control < 0.02
    assert is_held(LIMIT, share)


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 50), st.integers(0, 50), st.floats(-1.0, 1.0)), max_size=12
    ),
    others=st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=12),
)
def test_a_share_is_one_whatever_phones_sent(rows, others):
    share = share_by_phone(
        tally([c for c, _, _ in rows], [c + d for c, d, _ in rows], [e for _, _, e in rows]),
        tally([c for c, _ in others], [c + d for c, d in others]),
    )

    assert 0 <= share.cases <= share.n
    assert 0 <= share.control_cases <= share.control_n
    assert share.alike >= 1.0
    assert share.control_alike >= 1.0
    assert not (is_broken(LIMIT, share) and is_held(LIMIT, share))
    if share.cases <= LIMIT.share * share.n:
        assert not is_broken(LIMIT, share)
        assert is_held(LIMIT, share) is (share.n >= LIMIT.from_n)


@given(st.integers(2, 400), st.data())
def test_a_bound_is_never_broken_by_fewer_cases_where_it_holds_with_more(n, data):
    cases = data.draw(st.integers(0, n))
    fewer = data.draw(st.integers(0, cases))
    control = data.draw(st.integers(0, 50))

    if not is_broken(LIMITS["crashes"], Share(cases, n, control, 50)):
        assert not is_broken(LIMITS["crashes"], Share(fewer, n, control, 50))


def speed(ms, before, n=50.0):
    count = len(ms)
    return Speed(
        np.array(ms, float),
        np.full(count, n),
        np.array(before, float),
        np.where(np.array(before) > 0, 50.0, 0.0),
    )


def test_slow_phones_in_a_small_cohort_are_not_the_releases_fault():
    share = slowed_share(PLAN, speed([900, 110, 105], [880, 100, 100]), speed([100], [100]))

    assert (share.cases, share.n) == (0, 3)


def test_phones_that_became_slower_than_twice_their_past_are_counted_from_a_floor_on():
    became = speed([1900, 600, 400, 190], [900, 100, 100, 90])

    share = slowed_share(PLAN, became, speed([100] * 10, [100] * 10))

    assert (share.cases, share.n) == (2, 4)
    assert share.control_cases == 0


def test_phones_without_a_past_are_measured_by_the_others():
    share = slowed_share(PLAN, speed([900, 550], [0, 0]), speed([300, 300], [300, 300]))

    assert (share.cases, share.n) == (1, 2)


@pytest.mark.parametrize("control", [speed([], []), speed([100], [0], n=1.0)])
def test_nothing_is_said_of_phones_that_nothing_is_known_of(control):
    assert slowed_share(PLAN, speed([9000], [0]), control).n == 0
    assert slowed_share(PLAN, speed([9000], [10], n=2.0), control).n == 0


def test_phones_that_come_seldom_are_compared_with_others_that_were_there_at_the_same_time():
    """The first stage is four days old, the second one day; silence is told after two."""
    seen = np.array([4, 1, 2, 0] * 50)  # days ago
    stage_of = np.repeat([0, 1, 2, 2], 50)
    there = np.array([seen <= 6, seen <= 3])

    share = silent_share(stage_of, there, seen > 2)

    of_first, of_second = stage_of == 0, stage_of == 1
    expected = (of_first.sum() * 0.25 + (of_second & (seen <= 3)).sum() * 0.0) / share.n
    assert share.control == pytest.approx(expected, abs=0.01)
    assert not is_broken(LIMITS["silent"], share)


def test_phones_that_fall_silent_with_it_break_the_bound_and_those_without_it_do_not():
    stage_of = np.repeat([0, 1], 40)
    there = np.ones((1, 80), bool)

    assert is_broken(LIMITS["silent"], silent_share(stage_of, there, np.arange(80) < 15))
    assert not is_broken(LIMITS["silent"], silent_share(stage_of, there, np.arange(80) > 60))
    assert silent_share(stage_of[:0], there[:, :0], np.zeros(0, bool)) == Share(is_relative=True)


def test_silence_says_nothing_where_nobody_is_left_that_it_was_not_offered_to():
    """Phones that come every third day are silent with any release."""
    share = silent_share(np.zeros(200, int), np.ones((1, 200), bool), np.arange(200) < 67)

    assert (share.cases, share.n) == (67, 200)
    assert not is_broken(LIMITS["silent"], share)
    assert is_held(LIMITS["silent"], share)


def test_stages_that_have_no_others_say_nothing_beside_those_that_have():
    """The others were all gone when the second stage began."""
    stage_of = np.repeat([0, 1, 2], 40)
    there = np.array([np.ones(120, bool), stage_of < 2])
    lost = (stage_of == 2) | (np.arange(120) % 2 == 0)

    share = silent_share(stage_of, there, lost)

    assert (share.cases, share.n) == (20, 40)
    assert share.control == 1.0


def test_slowness_says_nothing_where_nobody_plays_the_old_release():
    share = slowed_share(PLAN, speed([900] * 20, [100] * 20), speed([], []))

    assert (share.cases, share.n) == (20, 20)
    assert not is_broken(LIMITS["slowed"], share)


@pytest.mark.parametrize("bound", ["crashes", "install_failures", "env_errors", "invalid_actions"])
def test_what_is_too_much_by_itself_breaks_its_bound_without_another_arm(bound):
    share = shared([600] * 20, [1000] * 20, others=([], []))

    assert share.control_n == 0
    assert is_broken(LIMITS[bound], share)

"""Requests are grouped so that neither padding nor starting another run costs much."""

from random import Random

import pytest

from device_runtime.policy import batches


def padded(parts, lengths):
    return sum(len(part) * max(lengths[row] for row in part) for part in parts)


@pytest.mark.parametrize("count", [1, 2, 17, 64, 300])
def test_every_row_runs_once_with_rows_of_about_its_length(count):
    random = Random(count)
    lengths = [random.randint(10, 90) for _ in range(count)]
    parts = batches(range(count), lengths)
    assert sorted(row for part in parts for row in part) == list(range(count))
    flat = [lengths[row] for part in parts for row in part]
    assert flat == sorted(flat)
    assert all(len(part) * max(lengths[row] for row in part) <= 1024 for part in parts)


def test_rows_of_one_length_share_a_run():
    assert batches([4, 2, 9], [30, 30, 30]) == [[2, 4, 9]]


def test_one_long_row_does_not_make_many_short_ones_long():
    lengths = [20] * 12 + [300]
    assert batches(range(13), lengths) == [list(range(12)), [12]]


def test_a_row_that_is_longer_than_a_run_should_be_runs_alone():
    assert batches([0, 1], [3000, 5000]) == [[0], [1]]


def test_batches_cost_less_than_runs_of_sixteen():
    random = Random(1)
    lengths = [random.randint(13, 61) for _ in range(64)]
    ours = batches(range(64), lengths)
    ordered = sorted(range(64), key=lambda row: lengths[row])
    sixteens = [ordered[at : at + 16] for at in range(0, 64, 16)]
    assert padded(ours, lengths) + 70 * len(ours) <= padded(sixteens, lengths) + 70 * 4

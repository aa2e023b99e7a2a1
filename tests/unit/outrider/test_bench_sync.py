from __future__ import annotations

import pytest

from outrider.bench_sync import _fleets
from outrider.errors import MisuseError
from outrider.sync_bench_bytes import WireBytes, figures
from outrider.sync_bench_cloud import CloudSample
from outrider.sync_bench_rates import Rate, _memory_figures, _shares, kept_rate


def test_bytes_a_step_are_both_ways_together_beside_the_naive_way():
    our, naive = WireBytes(up=400, down=100, steps=10), WireBytes(up=990, down=10, steps=10)
    assert figures([("tree", our, naive)]) == {
        "tree": {
            "up_bytes_per_step": 40.0,
            "down_bytes_per_step": 10.0,
            "bytes_per_step": 50.0,
            "naive_bytes_per_step": 100.0,
            "ratio": 0.5,
        }
    }


def test_a_rate_counts_from_the_first_commit_to_the_last():
    rate = Rate(phones=2, episodes=101, seconds=2.0, cloud_cpu_s=1.01, phones_cpu_s=2.02, resent=3)
    assert rate.row() == {
        "phones": 2,
        "episodes": 101,
        "episodes_per_s": 50.0,
        "cloud_cpu_ms_per_episode": 10.0,
        "phones_cpu_ms_per_episode": 20.0,
        "resent": 3,
    }


@pytest.mark.parametrize(("many", "met"), [(80.0, True), (79.0, False)])
def test_the_largest_fleets_rate_is_held_against_the_smallests(many, met):
    rates = [
        {"phones": phones, "episodes_per_s": rate} for phones, rate in ((256, many), (1, 100.0))
    ]
    assert kept_rate(rates) == {
        "phones": 256,
        "beside": 1,
        "ratio": many / 100,
        "aim_ratio": 0.8,
        "met": met,
    }


def test_memory_is_flat_where_it_grows_by_a_twentieth_at_most():
    marks = [CloudSample(0, 0.0, 0.0, 0.0, mib << 20, 0) for mib in (100, 104, 105)]
    assert _memory_figures(10, marks, 0)["met"]
    grown = [*marks[:2], CloudSample(0, 0.0, 0.0, 0.0, 106 << 20, 0)]
    found = _memory_figures(10, grown, 0)
    assert (found["growth"], found["met"]) == (0.06, False)


@pytest.mark.parametrize(("count", "phones"), [(7, 3), (2, 5), (6, 3)])
def test_every_episode_goes_to_some_phone(count, phones):
    shares = dict(_shares(count, phones))
    assert sum(shares.values()) == count
    assert max(shares.values()) - min(shares.values()) <= 1


@pytest.mark.parametrize("phones", ["", "0", "1,x", "5000", "-1"])
def test_a_list_that_is_no_fleet_sizes_is_misuse(phones):
    with pytest.raises(MisuseError, match="fleet sizes"):
        _fleets(phones)


def test_fleet_sizes_are_read_in_order():
    assert _fleets("1, 32,256") == [1, 32, 256]

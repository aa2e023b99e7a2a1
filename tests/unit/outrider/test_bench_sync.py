from __future__ import annotations

import pytest

from outrider.bench_sync import _fleets
from outrider.errors import MisuseError
from outrider.sync_bench_bytes import WireBytes, figures
from outrider.sync_bench_rates import Rate, _shares


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
    rate = Rate(phones=2, episodes=101, seconds=2.0, cloud_cpu_s=1.01, resent=3)
    assert rate.row() == {
        "phones": 2,
        "episodes": 101,
        "episodes_per_s": 50.0,
        "cloud_cpu_ms_per_episode": 10.0,
        "resent": 3,
    }


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

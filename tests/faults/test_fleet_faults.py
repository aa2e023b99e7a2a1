"""Each fault alone, and many at once, on a small real fleet: the cloud's rows are the phones' rows.

Broker, service and phones are processes of their own, and a proxy stands between them. What is
promised for each fault stands in docs/faults.md.
"""

from __future__ import annotations

import pytest

from outrider.bench_faults import played_pool, run_schedule
from outrider.broker import Make
from outrider.fault_schedule import YEAR_MS, Deed, Fault, Schedule
from outrider.wire_faults import FRAME_FAULTS, FrameChances
from sync.mosquitto_server import mosquitto_binary

pytestmark = [pytest.mark.faults, pytest.mark.timeout(900)]

SKIPPABLE = {Fault.PHONE_DISK_READ_ONLY}
"""Faults that a machine may not let its user do."""
BROKER_FAULTS = (
    Fault.BROKER_KILLED,
    Fault.BROKER_EMPTIED,
    Fault.CLOUD_KILLED,
    Fault.NETWORK_CUT,
    Fault.CLOUD_STOPPED,
    Fault.DOUBLE,
    Fault.COPIED,
    Fault.POISON,
    Fault.OVERSIZE,
    Fault.INTRUDER,
)
"""Faults in which brokers differ."""


@pytest.fixture(scope="module")
def pool():
    return played_pool()


def schedule(*faults, chances=None, clocks=(0, 0), seed=1, harm_s=3.0):
    deeds = [Deed(0.6 + 0.2 * at, one, 0, 0.8, seed + at) for at, one in enumerate(faults)]
    return Schedule(seed, len(clocks), chances or FrameChances(), clocks, tuple(deeds), harm_s)


def assert_whole(result):
    """Nothing is broken, and the fleet did play."""
    assert result.broken == ()
    assert result.findings.episodes > 5
    assert result.findings.events


def test_rows_are_equal_after_much_went_wrong_at_once(tmp_path, pool):
    chances = FrameChances(drop=0.05, duplicate=0.05, reorder=0.05, truncate=0.05, corrupt=0.02)
    faults = (Fault.BROKER_KILLED, Fault.CLOUD_KILLED, Fault.PHONE_KILLED)
    result = run_schedule(schedule(*faults, chances=chances), pool, tmp_path)
    assert_whole(result)
    assert result.findings.redelivered
    assert {one.value for one in faults} <= result.faults.keys()


@pytest.mark.slow
@pytest.mark.parametrize("fault", list(Fault))
def test_rows_are_equal_after_one_fault(tmp_path, pool, fault):
    result = run_schedule(schedule(fault, fault), pool, tmp_path)
    if fault in SKIPPABLE and result.skipped:
        pytest.skip(f"this machine does not allow it: {result.skipped}")
    assert_whole(result)
    assert result.faults[fault.value] == 2
    if fault is Fault.COPIED:
        assert result.findings.dead_lettered  # numbers that both phones had used
    if fault is Fault.LEARNER_KILLED:
        assert result.learner.rounds
        assert result.learner.adapters


@pytest.mark.slow
@pytest.mark.parametrize("fault", BROKER_FAULTS)
def test_rows_are_equal_after_one_fault_on_mosquitto(tmp_path, pool, fault, require):
    require(mosquitto_binary() is not None, "mosquitto is not installed")
    result = run_schedule(schedule(fault, fault), pool, tmp_path, make=Make.MOSQUITTO)
    assert_whole(result)
    assert result.faults[fault.value] == 2


@pytest.mark.slow
@pytest.mark.parametrize("fault", FRAME_FAULTS)
def test_rows_are_equal_after_harm_to_packets(tmp_path, pool, fault):
    chances = FrameChances(**{fault: 0.02 if fault in {"cut", "stall"} else 0.2})
    result = run_schedule(schedule(chances=chances), pool, tmp_path)
    assert_whole(result)
    assert result.faults[f"frame_{fault}"]


@pytest.mark.slow
@pytest.mark.parametrize("offset_ms", [YEAR_MS, -YEAR_MS])
def test_rows_are_equal_where_clocks_are_a_year_off(tmp_path, pool, offset_ms):
    result = run_schedule(schedule(Fault.PHONE_KILLED, clocks=(offset_ms, 0)), pool, tmp_path)
    assert_whole(result)

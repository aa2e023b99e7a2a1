from __future__ import annotations

import pytest

from sync.admission import Admission, AdmissionLimits
from sync.clock import ManualClock

LIMITS = AdmissionLimits(credit=64, queue_limit=100, longest_pause_s=30.0)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def admission(clock):
    return Admission(clock, LIMITS)


def commits(admission, *, took_s, times=60, messages=8):
    for _ in range(times):
        admission.committed(messages, took_s=took_s)


def test_a_quick_database_gives_each_device_all_that_it_may_have(admission):
    commits(admission, took_s=0.01)
    admission.heard("one")
    granted = admission.grant(0, ceiling=64)
    assert (granted.credit, granted.credit_bytes, granted.backoff_ms) == (64, 1 << 20, 0)


def test_slow_commits_lower_the_credit_and_quick_ones_raise_it_again(admission):
    admission.heard("one")
    commits(admission, took_s=3.0)
    assert admission.grant(0, ceiling=64).credit == 16
    commits(admission, took_s=0.1, times=1)
    assert admission.grant(0, ceiling=64).credit == 64


def test_no_more_is_outstanding_than_large_batches_take_in_a_moment(admission):
    for number in range(10):
        admission.heard(f"device-{number}")
    commits(admission, took_s=0.5, messages=50)
    assert admission.grant(0, ceiling=64).credit == 10


def test_small_quick_batches_never_lower_the_credit(admission):
    admission.heard("one")
    commits(admission, took_s=0.5, messages=1)
    assert admission.grant(0, ceiling=64).credit == 64


@pytest.mark.requirement("OR-ACK-16")
def test_devices_that_send_share_what_the_fleet_may_have(admission, clock):
    commits(admission, took_s=0.01, messages=64)
    for number in range(512):
        admission.heard(f"device-{number}")
    shared = admission.grant(0, ceiling=64)
    assert (shared.credit, shared.credit_bytes) == (8, 64 << 10)
    clock.advance(11.0)
    admission.heard("device-0")
    granted = admission.grant(0, ceiling=64)
    assert (granted.credit, granted.credit_bytes) == (64, 1 << 20)


@pytest.mark.requirement("OR-ACK-16")
def test_every_device_may_always_send_one(admission):
    commits(admission, took_s=9.0)
    for number in range(1000):
        admission.heard(f"device-{number}")
    granted = admission.grant(0, ceiling=64)
    assert (granted.credit, granted.credit_bytes) == (1, 64 << 10)


def test_a_ceiling_of_nothing_holds_all_uploads_back(admission):
    assert admission.grant(0, ceiling=0).credit == 0


@pytest.mark.requirement("OR-ACK-12")
def test_a_queue_over_its_limit_pauses_the_devices_until_it_is_worked_off(admission):
    commits(admission, took_s=1.0, messages=50)
    assert admission.grant(100, ceiling=64).backoff_ms == 0
    assert admission.grant(300, ceiling=64).backoff_ms == pytest.approx(4000, rel=0.01)
    assert admission.grant(10**6, ceiling=64).backoff_ms == 30_000


@pytest.mark.requirement("OR-ACK-12")
def test_a_database_that_fails_doubles_the_pause_and_one_commit_ends_it(admission):
    pauses = []
    for _ in range(7):
        admission.failed()
        pauses.append(admission.grant(0, ceiling=64).backoff_ms)
    assert pauses == [1000, 2000, 4000, 8000, 16000, 30000, 30000]
    admission.committed(1, took_s=0.1)
    assert admission.grant(0, ceiling=64).backoff_ms == 0


def test_what_is_committed_together_takes_a_moment_whatever_the_rate(admission):
    assert admission.batch() == 16
    commits(admission, took_s=10.0, messages=100)
    assert admission.batch() == 16
    commits(admission, took_s=0.1, messages=100)
    assert admission.batch() == pytest.approx(250, abs=2)

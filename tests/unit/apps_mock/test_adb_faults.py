"""Faults of the wire: when they strike, what is on record, how they are written."""

from __future__ import annotations

import pytest

from apps_mock.adb_faults import STANDING_FAULTS, Fault, FaultKind, Injected, WireFaults, fault_of


def struck(faults, kind=FaultKind.NO_IDLE, times=1, where="uiautomator dump"):
    return [faults.strikes(kind, where) is not None for _ in range(times)]


def test_nothing_strikes_unless_it_is_armed():
    faults = WireFaults()

    assert struck(faults, times=3) == [False] * 3
    assert faults.injected == ()


def test_fault_strikes_as_often_as_it_was_armed_for_and_is_on_record():
    faults = WireFaults()
    faults.inject(FaultKind.NO_IDLE, times=2)

    assert struck(faults, times=4) == [True, True, False, False]
    assert faults.injected == (Injected(FaultKind.NO_IDLE, None, "uiautomator dump"),) * 2
    assert faults.armed == ()


def test_faults_of_a_kind_strike_one_after_the_other():
    faults = WireFaults()
    faults.inject(FaultKind.SLOW, amount=1)
    faults.inject(FaultKind.SLOW, amount=2)

    amounts = [faults.strikes(FaultKind.SLOW, "x").amount for _ in range(2)]

    assert amounts == [1, 2]


def test_fault_without_end_strikes_until_it_is_cleared():
    faults = WireFaults()
    faults.inject(FaultKind.SECURE, times=None)

    assert struck(faults, FaultKind.SECURE, 3) == [True] * 3
    faults.clear(FaultKind.SECURE)

    assert struck(faults, FaultKind.SECURE, 2) == [False] * 2
    assert len(faults.injected) == 3


def test_clearing_one_kind_leaves_the_others():
    faults = WireFaults([Fault(FaultKind.DROP), Fault(FaultKind.HANG)])

    faults.clear(FaultKind.DROP)

    assert [fault.kind for fault in faults.armed] == [FaultKind.HANG]
    assert faults.is_armed(FaultKind.HANG)
    assert not faults.is_armed(FaultKind.DROP)


def test_fault_waits_for_the_command_that_it_is_for():
    faults = WireFaults()
    faults.inject(FaultKind.HANG, only="screencap")

    assert struck(faults, FaultKind.HANG, where="shell:input tap 1 1") == [False]
    assert struck(faults, FaultKind.HANG, where="exec:screencap -p") == [True]


def test_share_is_decided_by_the_seed():
    def strikes(seed):
        faults = WireFaults([Fault(FaultKind.DROP, times=None, share=0.3)], seed=seed)
        return struck(faults, FaultKind.DROP, 200)

    assert strikes(1) == strikes(1)
    assert strikes(1) != strikes(2)
    assert 30 < sum(strikes(1)) < 90


def test_fault_that_found_no_occasion_is_armed_again_and_not_on_record():
    faults = WireFaults()
    faults.inject(FaultKind.DROP, amount=10**6)
    fault = faults.take(FaultKind.DROP, "shell:echo")

    assert faults.armed == ()
    faults.put_back(fault)

    assert [one.amount for one in faults.armed] == [10**6]
    assert faults.injected == ()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("drop", Fault(FaultKind.DROP)),
        ("drop:4096", Fault(FaultKind.DROP, 4096)),
        ("anr@0.02", Fault(FaultKind.ANR, None, None, 0.02)),
        ("no_idlex3", Fault(FaultKind.NO_IDLE, None, 3)),
        ("slow:50@0.5x9", Fault(FaultKind.SLOW, 50, 9, 0.5)),
        ("secure", Fault(FaultKind.SECURE, None, None)),
        ("inject_deniedx1", Fault(FaultKind.INJECT_DENIED, None, 1)),
    ],
)
def test_fault_is_written_as_its_kind_with_amount_share_and_times(text, fault):
    assert fault_of(text) == fault


@pytest.mark.parametrize(
    "text", ["", "nothing", "drop:", "drop:-1", "drop@2", "drop@", "dropx", ":"]
)
def test_what_is_no_fault_is_told_with_what_there_is(text):
    with pytest.raises(ValueError, match=r"inject_denied|probability"):
        fault_of(text)


def test_standing_faults_are_ways_of_a_phone_to_be():
    assert FaultKind.INJECT_DENIED in STANDING_FAULTS
    assert FaultKind.DROP not in STANDING_FAULTS

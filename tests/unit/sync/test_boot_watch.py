"""A device that starts again is no double; two of one name are."""

from __future__ import annotations

import pytest

from sync.boot_watch import CONTENDED_S, PARTING_S, BootWatch


def test_a_restart_a_reconnect_and_a_birth_that_comes_twice_are_no_doubles():
    watch = BootWatch()
    births = [("a", 1), ("a", 2), ("a", 2), ("b", 3), ("a", 2), ("b", 4), ("c", 5)]
    found = [
        watch.born("p", boot, epoch, now_s=float(at)) for at, (boot, epoch) in enumerate(births)
    ]
    assert found == [None] * len(births)
    assert not watch.is_contended("p", now_s=10.0)


@pytest.mark.requirement("OR-PRE-4")
def test_a_boot_that_comes_back_after_another_one_is_a_double():
    watch = BootWatch()
    watch.born("p", "a", 5, now_s=0.0)
    watch.born("p", "b", 6, now_s=1.0)

    double = watch.born("p", "a", 6, now_s=1.3)

    assert (double.device_id, double.boot_id, double.other_boot_id) == ("p", "a", "b")
    assert double.how == "came_back"
    assert watch.is_contended("p", now_s=2.0)
    assert not watch.is_contended("q", now_s=2.0)


def test_a_double_is_told_once_an_hour():
    watch = BootWatch()
    watch.born("p", "a", 1, now_s=0.0)
    found = []
    for turn in range(2, 40):
        boot = "ab"[turn % 2 == 0]
        found.append(watch.born("p", boot, turn, now_s=float(turn)))
    assert sum(one is not None for one in found) == 1
    assert watch.is_contended("p", now_s=39.0)
    assert not watch.is_contended("p", now_s=39.0 + CONTENDED_S)


def test_a_replaced_boot_that_goes_on_speaking_is_a_double():
    watch = BootWatch()
    watch.born("p", "a", 1, now_s=0.0)
    watch.born("p", "b", 1, now_s=100.0)
    assert watch.heard("p", "b", now_s=101.0) is None
    assert watch.heard("p", "a", now_s=100.0 + PARTING_S / 2) is None

    double = watch.heard("p", "a", now_s=100.0 + PARTING_S)

    assert (double.boot_id, double.other_boot_id, double.how) == ("a", "b", "side_by_side")


def test_messages_of_devices_that_were_never_born_say_nothing():
    assert BootWatch().heard("p", "a", now_s=0.0) is None

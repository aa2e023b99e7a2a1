"""Waiting for answers ends by the answers, by the time, or by Ctrl-C, and tells how far it came."""

from __future__ import annotations

import signal
from itertools import count

import pytest

from outrider.fleet_wait import wait_for

LONG_S = 3600.0


def test_the_wait_ends_with_the_answer():
    seen = count()
    assert wait_for(lambda: next(seen), lambda number: number == 2, wait_s=LONG_S) == 2


def test_no_time_is_one_look():
    seen = count()
    assert wait_for(lambda: next(seen), lambda _: False, wait_s=0.0) == 0


@pytest.mark.timeout(60)
def test_ctrl_c_ends_the_wait_and_not_the_program():
    looks = count()

    def look():
        if not next(looks):
            signal.raise_signal(signal.SIGINT)
        return ["phone-1"]

    assert wait_for(look, lambda waiting: not waiting, wait_s=LONG_S) == ["phone-1"]


@pytest.mark.timeout(60)
def test_the_second_ctrl_c_ends_a_look_that_hangs():
    def look():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        wait_for(look, lambda _: False, wait_s=LONG_S)

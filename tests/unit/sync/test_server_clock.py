"""The cloud's time on a device whose own clock is wrong."""

from __future__ import annotations

import pytest

from sync.clock import ManualClock
from sync.server_clock import ServerClock

YEAR_MS = 365 * 86_400_000
TRUE_MS = 1_800_000_000_000


def ask(clock, server, *, round_trip_s, server_ms):
    """One question and its answer, whose time is that of the middle of the round trip."""
    asked_s = clock.monotonic_s()
    clock.advance(round_trip_s)
    server.heard(server_ms + round(round_trip_s * 500), asked_s=asked_s)


@pytest.mark.parametrize("off_ms", [YEAR_MS, -YEAR_MS, 0])
def test_a_clock_that_is_off_by_a_year_is_corrected(off_ms):
    clock = ManualClock(TRUE_MS + off_ms)
    server = ServerClock(clock)

    ask(clock, server, round_trip_s=0.1, server_ms=TRUE_MS)

    assert server.offset_ms == -off_ms
    assert server.wall_ms() == TRUE_MS + 100
    clock.advance(60)
    assert server.wall_ms() == TRUE_MS + 60_100


def test_slow_answers_do_not_count_beside_quick_ones():
    clock = ManualClock(TRUE_MS)
    server = ServerClock(clock)
    for _ in range(5):
        asked_s = clock.monotonic_s()
        clock.advance(9.0)
        server.heard(clock.wall_ms(), asked_s=asked_s)  # all of the delay was on the way there
    for _ in range(3):
        asked_s = clock.monotonic_s()
        clock.advance(0.02)
        server.heard(clock.wall_ms() - 10, asked_s=asked_s)
    assert server.offset_ms == 0


def test_before_the_cloud_was_heard_the_floor_of_an_earlier_process_holds():
    clock = ManualClock(TRUE_MS - YEAR_MS)
    server = ServerClock(clock, floor_ms=TRUE_MS)
    clock.advance(5)
    assert server.wall_ms() == TRUE_MS + 5_000
    assert server.offset_ms is None


def test_a_device_that_never_heard_of_the_cloud_has_its_own_clock_only():
    clock = ManualClock(TRUE_MS)
    server = ServerClock(clock)
    assert server.wall_ms() == TRUE_MS
    assert server.floor_ms == 0


def test_time_never_goes_back():
    clock = ManualClock(TRUE_MS)
    server = ServerClock(clock)
    ask(clock, server, round_trip_s=0.0, server_ms=TRUE_MS + 10_000)
    before_ms = server.wall_ms()
    server.heard(TRUE_MS - YEAR_MS)
    for _ in range(40):
        ask(clock, server, round_trip_s=0.0, server_ms=TRUE_MS - 10_000)
    assert server.wall_ms() >= before_ms


def test_a_jump_of_the_devices_clock_changes_nothing():
    class Jumping(ManualClock):
        jump_ms = 0

        def wall_ms(self):
            return super().wall_ms() + self.jump_ms

    clock = Jumping(TRUE_MS)
    server = ServerClock(clock)
    ask(clock, server, round_trip_s=0.0, server_ms=TRUE_MS)
    clock.jump_ms = YEAR_MS
    assert server.wall_ms() == TRUE_MS

"""Expiry is judged by the cloud's time, whatever the phone's own clock says."""

from __future__ import annotations

import pytest

from sync.clock import ManualClock, SystemClock
from sync.server_clock import ServerClock
from sync.trust import TrustedClient

YEAR_MS = 365 * 86_400_000


def client(fleet, name, clock):
    folder = fleet.phone(name).folder
    return TrustedClient(folder / "trust", fleet._fetch, clock=clock)


@pytest.mark.requirement("OR-PRE-6")
@pytest.mark.parametrize("off_ms", [YEAR_MS, -YEAR_MS])
def test_a_phone_whose_clock_is_off_by_a_year_takes_what_is_valid(make_fleet, off_ms):
    fleet = make_fleet()
    fleet.publish(1)
    own = ManualClock(SystemClock().wall_ms() + off_ms)
    server = ServerClock(own)
    server.heard(SystemClock().wall_ms(), asked_s=own.monotonic_s())

    assert client(fleet, "right", server).channel("canary").id == "r1"


@pytest.mark.requirement("OR-PRE-6")
def test_a_phone_whose_clock_was_set_back_takes_nothing_that_has_expired(make_fleet):
    fleet = make_fleet()
    fleet.publish(1)
    own = ManualClock(SystemClock().wall_ms())
    server = ServerClock(own, floor_ms=SystemClock().wall_ms() + YEAR_MS)

    with pytest.raises(Exception, match="expired") as refused:
        client(fleet, "late", server).channel("canary")

    assert refused.value.reason == "expired"

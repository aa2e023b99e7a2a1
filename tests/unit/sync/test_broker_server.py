from __future__ import annotations

import pytest

from sync.broker_server import wait_for
from sync.clock import ManualClock
from sync.errors import BrokerError

NATS_CONNECT_S = 5.1
"""How long nats-server may hold a reload up for a connection that is being made."""


def test_a_reload_that_waits_for_a_connection_in_the_making_is_waited_for():
    clock = ManualClock()
    begun_s = clock.monotonic_s()
    wait_for(lambda: clock.monotonic_s() - begun_s > NATS_CONNECT_S, clock, why="never")
    assert clock.monotonic_s() - begun_s < 2 * NATS_CONNECT_S


def test_a_reload_that_never_comes_is_an_error_that_says_why():
    with pytest.raises(BrokerError, match="see the log"):
        wait_for(lambda: False, ManualClock(), why="see the log")

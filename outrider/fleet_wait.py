"""Waiting for what devices answer to an order that was given already."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

from outrider.interrupts import stop_on_interrupt

_LOOK_S: Final = 0.25

Seen = TypeVar("Seen")


def wait_for(look: Callable[[], Seen], holds: Callable[[Seen], bool], *, wait_s: float) -> Seen:
    """What `look` gives once it holds, or when the time is up or Ctrl-C ends the wait.

    The second Ctrl-C ends the program, where a look hangs. The order stands in each case; whoever
    gave it is told how far it came.
    """
    deadline_s = time.monotonic() + wait_s
    with stop_on_interrupt(second_ends=True) as stop:
        while not holds(seen := look()) and time.monotonic() < deadline_s:
            if stop.wait(_LOOK_S):
                break
    return seen

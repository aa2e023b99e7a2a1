"""A child that ends when its parent is gone, however the parent ended."""

from __future__ import annotations

import os
import threading

PARENT_VARIABLE = "OUTRIDER_PARENT_PID"
_LOOK_S = 0.5


def stop_without_parent(stop: threading.Event) -> None:
    """Set `stop` once the process named by `OUTRIDER_PARENT_PID` is no longer our parent."""
    wanted = os.environ.get(PARENT_VARIABLE, "")
    if not wanted.isdigit():
        return

    def watch() -> None:
        while not stop.wait(_LOOK_S):
            if os.getppid() != int(wanted):
                stop.set()

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()

"""Children that end when their parent is gone, however the parent ended."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from pathlib import Path

PARENT_VARIABLE = "OUTRIDER_PARENT_PID"
_LOOK_S = 0.5
_GRACE_S = 8.0


def stop_without_parent(stop: threading.Event) -> None:
    """Set `stop` once the process named by `OUTRIDER_PARENT_PID` is no longer our parent.

    A process that does not end within seconds after that is killed: what it stored is whole, and
    a new run must not find it still at work.
    """
    wanted = os.environ.get(PARENT_VARIABLE, "")
    if not wanted.isdigit():
        return

    def watch() -> None:
        while not stop.wait(_LOOK_S):
            if os.getppid() != int(wanted):
                stop.set()
                threading.Event().wait(_GRACE_S)
                os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


class Guard:
    """Ends a program that does not watch its parent, when this process ends without doing so.

    It is a shell that waits for the end of a pipe that only this process holds open.

    Args:
        pid_file: where the program keeps its process id.
    """

    def __init__(self, pid_file: Path) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", 'read -r _ || kill "$(cat "$0")" 2>&-', str(pid_file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def close(self) -> None:
        """Stop guarding. Idempotent."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()

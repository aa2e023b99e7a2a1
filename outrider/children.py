"""Child processes of one command: started, read line by line, restarted, ended by pid.

Children run in sessions of their own, so that Ctrl-C at the terminal reaches only the parent, which
ends them in order. A child that loses its parent ends itself (`OUTRIDER_PARENT_PID`).
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from outrider.parent import PARENT_VARIABLE

STOP_S = 20.0
_READER_S = 5.0
_MOST_RESTARTS = 5
_RESTARTS_WITHIN_S = 120.0


@dataclass(frozen=True, slots=True)
class ChildEvent:
    """One JSON line that a child wrote, or the news that it ended ("exited")."""

    role: str
    fields: dict[str, Any]  # whatever the child's command prints

    @property
    def name(self) -> str:
        """The event's name."""
        return str(self.fields.get("event", ""))


class Child:
    """One `outrider` command as a child process; its JSON lines go to `events`.

    Args:
        arguments: words after `outrider`.
        log: file that takes its stderr.
        holds: files that it keeps open, and with them the locks on them.
    """

    def __init__(
        self,
        role: str,
        arguments: Sequence[str],
        *,
        log: Path,
        events: queue.Queue[ChildEvent],
        holds: Sequence[int] = (),
    ) -> None:
        self.role = role
        self._restarted_s: list[float] = []
        self._holds = tuple(holds)
        self._arguments = list(arguments)
        self._log = log
        self._events = events
        self._process: subprocess.Popen[str] | None = None
        self._patience_ends_s: float | None = None
        self._reader: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return self._process is not None and self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """What it ended with; None while it runs."""
        return None if self._process is None else self._process.poll()

    def start(self) -> None:
        """Start the process."""
        self._log.parent.mkdir(parents=True, exist_ok=True)
        environment = {
            **os.environ,
            PARENT_VARIABLE: str(os.getpid()),
            "OMP_NUM_THREADS": "1",
            "PYTHONUNBUFFERED": "1",
        }
        with self._log.open("ab") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "outrider", *self._arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env=environment,
                start_new_session=True,
                pass_fds=self._holds,
            )
        self._patience_ends_s = None
        assert self._process.stdout is not None
        self._reader = threading.Thread(
            target=self._read, args=(self._process, self._process.stdout), daemon=True
        )
        self._reader.start()

    def restart(self) -> bool:
        """Start it again after it ended by itself; False where that happened too often lately."""
        now_s = time.monotonic()
        recent = [at_s for at_s in self._restarted_s if now_s - at_s < _RESTARTS_WITHIN_S]
        self._restarted_s = [*recent, now_s]
        if len(recent) >= _MOST_RESTARTS:
            return False
        self.start()
        return True

    def ask_to_stop(self) -> None:
        """Send SIGTERM; `wait_stopped` waits."""
        if self._process is not None and self.running:
            self._process.send_signal(signal.SIGTERM)
            self._patience_ends_s = time.monotonic() + STOP_S

    def wait_stopped(self) -> None:
        """Wait until it has ended; `STOP_S` after it was asked to, it is killed.

        Children that were asked together are so waited for together, however many hang.
        """
        if self._process is None:
            return
        now_s = time.monotonic()
        ends_s = now_s + STOP_S if self._patience_ends_s is None else self._patience_ends_s
        try:
            self._process.wait(max(0.0, ends_s - now_s))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._reader is not None:
            self._reader.join(_READER_S)

    def last_words(self) -> str:
        """The last line of its stderr."""
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return lines[-1][:300] if lines else "it said nothing"

    def _read(self, process: subprocess.Popen[str], stdout: IO[str]) -> None:
        with stdout:
            for line in stdout:
                try:
                    fields = json.loads(line)
                except ValueError:
                    continue
                if isinstance(fields, dict):
                    self._events.put(ChildEvent(self.role, fields))
        code = process.wait()
        self._events.put(ChildEvent(self.role, {"event": "exited", "code": code}))

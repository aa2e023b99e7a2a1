"""`outrider up` as a process that a test starts, watches, harms and ends."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
WAIT_S = 900.0

SMALL = """
[service]
linger_s = 0.5
progress_s = 0.2
[campaign]
demonstrations = 1
old_demonstrations = 1
evaluate_new = 14
evaluate_old = 17
in_flight_limit = 64
reserve_minutes = 0.2
[gate]
per_template = 1
"""

Event = dict[str, Any]


def prepared(folder: Path) -> Path:
    """A data folder with the shipped base's graphs, which are exported once for all tests."""
    from exporters.base import DEFAULT_BASE_DIR, ensure_exported

    graphs = ensure_exported(DEFAULT_BASE_DIR, ROOT / "build" / "test-bases")
    shutil.copytree(graphs, folder / "base" / graphs.name)
    return folder


def up_command(folder: Path, *more: object, env_steps: int = 300) -> list[str]:
    """Words of a small campaign; its settings lie beside the folder."""
    config = folder.with_name(f"{folder.name}.toml")
    if not config.exists():
        config.write_text(SMALL)
    words = ["up", "--data", folder, "--config", config, "--json", "--seed", 1, "--minutes", 8]
    words += ["--env-steps", env_steps, "--warm-up-updates", 10, "--seats", 8, *more]
    return [sys.executable, "-m", "outrider", *map(str, words)]


class Up:
    """One `outrider up`, its events, and every process below it."""

    def __init__(self, folder: Path, *more: object, env_steps: int = 300) -> None:
        self.folder = folder
        self.events: list[Event] = []
        self.family: set[psutil.Process] = set()
        self.errors = ""
        self._changed = threading.Condition()
        self.process = subprocess.Popen(
            up_command(folder, *more, env_steps=env_steps),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def wait_for(self, wanted: Callable[[Event], bool]) -> Event:
        """The first event that is wanted; fails where the process ends without it."""
        with self._changed:
            self._changed.wait_for(
                lambda: any(map(wanted, self.events)) or self.process.poll() is not None, WAIT_S
            )
            found = [event for event in self.events if wanted(event)]
        assert found, f"{self.events[-3:]} {self.errors}"
        return found[0]

    def wait_phase(self, phase: str) -> Event:
        """The event of a phase's begin."""
        return self.wait_for(lambda one: one["event"] == "phase" and one["phase"] == phase)

    def wait_role(self, role: str) -> Event:
        """The event of a part's start."""
        return self.wait_for(lambda one: one["event"] == "started" and one["role"] == role)

    def kill_part(self, role: str) -> int:
        """SIGKILL the newest process of a part; its id."""
        pid = [one["pid"] for one in self.named("started") if one["role"] == role][-1]
        os.kill(pid, signal.SIGKILL)
        return int(pid)

    def named(self, name: str) -> list[Event]:
        """The events of one name, so far."""
        return [event for event in self.events if event["event"] == name]

    def interrupt(self, times: int = 1) -> None:
        """What Ctrl-C sends, so many times in a row."""
        for _ in range(times):
            self.process.send_signal(signal.SIGINT)

    def end(self) -> int:
        """Wait for its end; the exit code."""
        code = self.process.wait(WAIT_S)
        self._reader.join(WAIT_S)
        self._read_errors()
        return code

    def survivors(self, within_s: float = 0.0) -> list[psutil.Process]:
        """Processes below it that live after `within_s`."""
        _gone, alive = psutil.wait_procs(self.family, timeout=within_s)
        return alive

    def close(self) -> None:
        """Leave nothing running, whatever the test found."""
        if self.process.poll() is None:
            self._note_family()
            self.process.kill()
        for one in self.survivors():
            one.kill()
        self.process.wait(20)
        self._reader.join(20)
        self._read_errors()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        if not self.process.stderr.closed:
            self.errors += self.process.stderr.read()
            self.process.stderr.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stdout:
            for line in stdout:
                self._note_family()
                with self._changed:
                    self.events.append(json.loads(line))
                    self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def _note_family(self) -> None:
        try:
            self.family.update(psutil.Process(self.process.pid).children(recursive=True))
        except psutil.NoSuchProcess:
            return

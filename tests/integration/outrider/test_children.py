"""Child processes of a command: asked together, waited for together."""

import os
import queue
import signal
import subprocess

import pytest

from outrider import children
from outrider.children import Child
from sync.local_ports import free_port

pytestmark = pytest.mark.integration


@pytest.fixture
def waits(monkeypatch):
    """How long each wait for a process was to take at most."""
    seen, real = [], subprocess.Popen.wait

    def wait(process, timeout=None):
        if timeout is not None:
            seen.append(timeout)
        return real(process, timeout)

    monkeypatch.setattr(subprocess.Popen, "wait", wait)
    return seen


def test_children_that_hang_are_killed_after_one_patience_for_all(tmp_path, monkeypatch, waits):
    monkeypatch.setattr(children, "STOP_S", 1.0)
    words = ["phone", "run", "--json", "--mock", "--broker", f"mqtt://127.0.0.1:{free_port()}"]
    hanging = []
    for name in ("one", "two", "three"):
        told = [*words, "--data", str(tmp_path / "data" / name)]
        hanging.append(Child(name, told, log=tmp_path / name, events=queue.Queue()))
    for child in hanging:
        child.start()
        child._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, child._process.pid, os.WSTOPPED)

    for child in hanging:
        child.ask_to_stop()
    for child in hanging:
        child.wait_stopped()

    assert [child.exit_code for child in hanging] == [-signal.SIGKILL] * 3
    assert len(waits) == 3
    assert sum(waits) < 1.5 * children.STOP_S

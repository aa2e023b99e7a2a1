"""A phone's own machine: the runtime plays with an adb server and the device extra's core alone."""

import json
import subprocess
import sys

import pytest

from apps_mock.adb_server import MockAdbDaemon
from apps_mock.own_goals import OwnGoalPhone
from device_runtime.adb_server_process import AdbServerProcess
from sync.vocabulary import Assignment, AssignmentId

pytestmark = pytest.mark.timeout(120)
ABSENT = ("adbutils", "psutil", "torch", "onnx", "transformers", "safetensors", "gymnasium")


@pytest.fixture
def phone(tmp_path):
    """A mock phone on an adb server: its serial, and the server's port."""
    clone = OwnGoalPhone()
    clone.reset(Assignment(AssignmentId("a"), goal="Open the settings", seed=1))
    daemon, server = MockAdbDaemon(clone), AdbServerProcess(tmp_path / "adb")
    daemon.start()
    server.start()
    server.client().connect(daemon.serial)
    yield daemon.serial, server.port
    server.stop()
    daemon.stop()


def test_a_goal_is_played_where_neither_torch_nor_adbutils_is_installed(root, phone):
    serial, port = phone
    words = ["do", "Open the settings", "--serial", serial, "--adb-port", str(port)]
    words += ["--yes", "--steps", "3", "--json"]
    script = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({ABSENT!r}))\n"
        "from outrider.cli import run\n"
        f"sys.exit(run({words!r}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["event"] for line in lines].count("step") >= 1
    assert lines[-1]["event"] == "summary"
    assert lines[-1]["end_reason"] in {"finish", "budget", "answer"}

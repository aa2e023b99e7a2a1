"""`outrider phone mock` as a process: first its address, then each verdict, then a clean end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from random import Random

import pytest

from apps_mock.oracle import OraclePolicy
from apps_mock.phone import MockPhone
from device_runtime.adb_phone import AdbPhone
from device_runtime.adb_server_process import AdbServerProcess
from device_runtime.ports import PolicyRequest
from outrider import cli
from sync.history import EMPTY_HISTORY
from sync.vocabulary import ActionKind

TASK = "settings_switch"
SEED = 3
COMMAND = ["phone", "mock", "--task", TASK, "--seed", str(SEED), "--json"]


@pytest.fixture
def adb(tmp_path):
    server = AdbServerProcess(tmp_path / "adb")
    server.start()
    yield server.client()
    server.stop()


@pytest.fixture
def mock():
    process = subprocess.Popen(
        [sys.executable, "-m", "outrider", *COMMAND],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


def next_event(process, name: str) -> dict[str, object]:
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == name:
            return event
    raise AssertionError(f"it ended without {name}: {process.stderr.read()}")


def oracle_actions():
    """What solves the task, found on a phone in process."""
    phone = MockPhone()
    task = phone.load(TASK, SEED, look=SEED)
    oracle = OraclePolicy(phone)
    while True:
        request = PolicyRequest(phone.observe(), task.goal, EMPTY_HISTORY, Random(0))
        action = oracle.decide([request])[0].action
        if action.kind is ActionKind.FINISH:
            return
        yield action
        phone.act(action)


def test_the_verdict_is_told_when_taps_over_adb_change_it(mock, adb):
    first = json.loads(mock.stdout.readline())
    assert first["serial"] == f"127.0.0.1:{first['port']}"
    assert next_event(mock, "verdict")["success"] is False
    adb.connect(first["serial"])
    phone = AdbPhone(adb, first["serial"])
    for action in oracle_actions():
        phone.observe()
        assert phone.act(action).valid
    while not (verdict := next_event(mock, "verdict"))["success"]:
        continue
    assert verdict["side_effects"] == []
    assert verdict["failed"] == []


def test_ctrl_c_ends_it_with_its_summary(mock):
    next_event(mock, "verdict")
    mock.send_signal(signal.SIGINT)
    assert next_event(mock, "summary")["success"] is False
    assert mock.wait(20) == 0
    assert mock.stderr.read() == ""


def test_an_unknown_task_is_one_line_of_misuse(capsys):
    assert cli.run(["phone", "mock", "--task", "nothing", "--json"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "outrider clones list" in captured.err


def test_a_port_in_use_is_one_line(capsys, mock):
    port = json.loads(mock.stdout.readline())["port"]
    assert cli.run([*COMMAND, "--port", str(port)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "choose another port" in captured.err

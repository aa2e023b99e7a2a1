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
from device_runtime.phone_questions import Answer
from device_runtime.ports import PolicyRequest
from device_runtime.recording import Recording, write_recording
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
def mock(request):
    command = getattr(request, "param", COMMAND)
    process = subprocess.Popen(
        [sys.executable, "-m", "outrider", *command],
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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_so_too_in_a_shells_background_where_ctrl_c_is_ignored(number):
    ignoring = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, "-m", "outrider"]
    process = subprocess.Popen(
        [*ignoring, *COMMAND], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        next_event(process, "verdict")
        process.send_signal(number)
        assert next_event(process, "summary")["success"] is False
        assert process.wait(20) == 0
        assert process.stderr.read() == ""
    finally:
        process.kill()
        process.communicate()


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


SEVERAL = "phone mock --count 2 --api 29 --display rotated --locale de --fault anr --json".split()


@pytest.mark.parametrize("mock", [SEVERAL], indirect=True)
def test_several_free_phones_are_of_the_wanted_kind_and_tell_their_faults(mock, adb):
    serials = [next_event(mock, "started")["serial"] for _ in range(2)]
    for serial in serials:
        adb.connect(serial)
    second = serials[1]

    facts = adb.shell(second, "getprop ro.build.version.sdk; getprop persist.sys.locale").stdout
    dump = adb.shell(second, "uiautomator dump /dev/tty").stdout

    assert facts.split() == [b"29", b"de"]
    assert b'rotation="1"' in dump
    struck = next_event(mock, "fault")
    assert (struck["serial"], struck["kind"]) == (second, "anr")
    mock.send_signal(signal.SIGINT)
    summary = next_event(mock, "summary")
    assert (summary["phones"], summary["faults"]) == (serials, 1)


@pytest.fixture
def recording(tmp_path):
    answers = {"wm size": Answer(b"Physical size: 11x22\n"), "getprop": Answer(b"[a.b]: [c]\n")}
    path = tmp_path / "phone.zip"
    write_recording(Recording(1_700_000_000_000, answers), path)
    return path


def test_a_recording_answers_in_a_phones_place(recording, adb):
    command = [sys.executable, "-m", "outrider", "phone", "mock", "--json", "--replay"]
    process = subprocess.Popen([*command, str(recording)], stdout=subprocess.PIPE, text=True)
    try:
        serial = json.loads(process.stdout.readline())["serial"]
        adb.connect(serial)

        assert adb.shell(serial, "wm size | cut -d' ' -f3").stdout == b"11x22\n"
        process.send_signal(signal.SIGINT)
        assert json.loads(process.stdout.readlines()[-1])["serial"] == serial
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--fault", "nothing"], "inject_denied"),
        (["--api", "30"], "API level"),
        (["--auth", "maybe"], "maybe"),
        (["--display", "three"], "three"),
        (["--latency", "late"], "late"),
        (["--locale", "xx"], "locale"),
        (["--screen", "12x2400"], "screen size"),
        (["--replay", "x.zip", "--task", TASK], "leave --task"),
    ],
)
def test_a_kind_of_phone_that_there_is_not_is_one_line_of_misuse(capsys, options, text):
    assert cli.run(["phone", "mock", "--json", *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert text in captured.err

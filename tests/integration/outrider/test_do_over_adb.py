"""`outrider do` on a mock phone behind a real adb server, as on a person's phone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from apps_mock.adb_clone import AdbClone
from apps_mock.own_goals import OwnGoalPhone
from apps_mock.phone_state import LAUNCHER
from device_runtime.trajectory_log import TrajectoryLog
from outrider import cli
from sync.clock import SystemClock
from sync.vocabulary import Assignment, AssignmentId, EpisodeId, VerdictSource, new_uuid7

POLICY = """
from sync.step_text import label_beside
from sync.vocabulary import finish, tap_element, scroll, Direction

switched = []

def decide(request):
    screen = request.observation
    if switched:
        switched.clear()
        return finish()
    for index, element in enumerate(screen.elements):
        if element.checkable and label_beside(element, screen.elements) == "Wi-Fi":
            switched.append(index)
            return tap_element(screen, index)
    for index, element in enumerate(screen.elements):
        if element.clickable and element.label in {"Network", "Settings"}:
            return tap_element(screen, index)
    return scroll(Direction.RIGHT)
"""
WAITING = """
from sync.vocabulary import wait

def decide(request):
    return wait(200)
"""
PROBES = 'goal = "Turn Wi-Fi {way}"\n\n[[check]]\nprobe = "wifi"\nis = "{way}"\n'


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    clone = AdbClone(tmp_path_factory.mktemp("adb"), phone=OwnGoalPhone())
    clone.phone.reset(Assignment(AssignmentId("a"), goal="anything", seed=3))
    clone.start()
    yield clone
    clone.close()


@pytest.fixture
def phone(clone):
    """The phone at its start, and how commands name it."""
    with clone.daemon.lock:
        clone.phone.reset(Assignment(AssignmentId("a"), goal="anything", seed=3))
    return ("--serial", clone.daemon.serial, "--adb-port", str(clone.server.port))


@pytest.fixture
def data(tmp_path):
    """A fleet's folder with one phone that ran."""
    folder = tmp_path / "data" / "phones" / "phone-1"
    opened(folder).close()
    return tmp_path / "data"


def opened(folder):
    return TrajectoryLog.open(folder / "phone.db", clock=SystemClock(), new_id=new_uuid7)


def probes_for_wifi(clone, tmp_path):
    """A probe file for turning Wi-Fi the other way round than it is."""
    switches = {each.id: each.on for each in clone.phone.state.app_state("settings").data.switches}
    file = tmp_path / "wifi.toml"
    file.write_text(PROBES.format(way="off" if switches["Wi-Fi"] else "on"))
    return file


def run_json(capsys, *arguments):
    code = cli.run(["do", *map(str, arguments), "--json"])
    captured = capsys.readouterr()
    return code, [json.loads(line) for line in captured.out.splitlines()], captured.err


def policy_file(tmp_path, text):
    file = tmp_path / "policy.py"
    file.write_text(text)
    return str(file)


def test_probes_judge_a_goal_and_the_thumb_is_logged_beside_them(
    capsys, clone, phone, data, tmp_path
):
    probes = probes_for_wifi(clone, tmp_path)
    code, rows, errors = run_json(
        capsys,
        *phone,
        *("--probe", probes, "--policy", policy_file(tmp_path, POLICY)),
        *("--data", data, "--thumb", "down", "--yes"),
    )
    assert (code, errors) == (0, "")
    steps = [row for row in rows if row["event"] == "step"]
    assert steps[-2]["action"] == "tap CheckBox beside 'Wi-Fi'"
    assert all(step["labels"] for step in steps)
    sources = {row["source"]: row["success"] for row in rows if row["event"] == "verdict"}
    assert sources == {"probe": True, "owner": False}
    assert (rows[-1]["success"], rows[-1]["thumb"], rows[-1]["logged"]) == (True, "down", True)

    with_log = opened(data / "phones" / "phone-1")
    _, verdicts = with_log.read(EpisodeId(rows[-1]["id"]))
    with_log.close()
    assert {verdict.source for verdict in verdicts} == {VerdictSource.PROBE, VerdictSource.OWNER}


def test_an_episode_is_judged_later_and_again(capsys, clone, phone, data, tmp_path):
    _, rows, _ = run_json(
        capsys, "wait", *phone, "--steps", 1, "--data", data,
        "--policy", policy_file(tmp_path, WAITING),
    )  # fmt: skip
    episode_id = rows[-1]["id"]
    versions = []
    for said in ("down", "up"):
        command = ["episodes", "judge", episode_id, said, "--data", str(data), "--json"]
        assert cli.run(command) == 0
        versions.append(json.loads(capsys.readouterr().out)["version"])
    log = opened(data / "phones" / "phone-1")
    _, verdicts = log.read(EpisodeId(episode_id))
    waiting = log.outbox_counts()[0]
    log.close()
    assert versions == ["0001", "0002"]
    assert [verdict.score for verdict in sorted(verdicts, key=lambda v: v.verifier_version)] == [
        0.0,
        1.0,
    ]
    assert waiting == 3


def test_a_dry_run_does_nothing_to_the_phone(capsys, clone, phone, tmp_path):
    before = clone.phone.state
    code, rows, _ = run_json(
        capsys, "Turn Wi-Fi on", *phone, "--dry-run", "--policy", policy_file(tmp_path, POLICY)
    )
    assert code == 0
    assert [row["event"] for row in rows] == ["would", "summary"]
    assert "Settings" in rows[0]["action"]
    assert clone.phone.state is before


def test_a_phone_that_is_not_there_is_one_line(capsys, clone):
    code, rows, errors = run_json(
        capsys, "x", "--serial", "nowhere:1", "--adb-port", clone.server.port
    )
    assert (code, rows) == (2, [])
    assert "nowhere:1 is not listed" in errors
    assert "adb connect nowhere:1" in errors


def test_ctrl_c_ends_within_a_step_and_leaves_the_phone_at_home(clone, phone, data, tmp_path):
    with clone.daemon.lock:
        clone.phone.open_app("Settings")
    command = [sys.executable, "-m", "outrider", "do", "wait", *phone, "--json", "--steps", "500"]
    command += ["--policy", policy_file(tmp_path, WAITING), "--data", str(data)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )
    seen = [json.loads(process.stdout.readline()) for _ in range(2)]
    with clone.daemon.lock:
        clone.phone.open_app("Settings")
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    rows = [*seen, *map(json.loads, out.splitlines())]
    assert (process.returncode, errors) == (0, "")
    assert rows[-1]["end_reason"] == "guard"
    assert rows[-1]["end_detail"].startswith("stopped: ")
    assert len([row for row in rows if row["event"] == "step"]) <= len(seen) + 2
    assert clone.phone.state.foreground == LAUNCHER
    log = opened(data / "phones" / "phone-1")
    assert log.counts().logged == 1
    log.close()

"""`outrider cloud serve` behind a real broker, and `outrider audit` on what it leaves."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from outrider.cli import run as run_command
from sync.broker import BrokerProcess
from sync.codec import decode_episode, encode_episode
from sync.messages import Role
from sync.mqtt import PahoTransport
from sync.vocabulary import Split

pytestmark = pytest.mark.timeout(300)  # whole processes on a machine that may be busy

CONFIG = """
[service]
tick_s = 0.02
linger_s = 0.5
progress_s = 0.05
[campaign]
env_steps = 60
minutes = 5
old_demonstrations = 1
evaluate_new = 6
evaluate_old = 2
in_flight_limit = 12
settle_timeout_s = 20.0
[gate]
per_template = 2
"""

FLIP_SUCCESS = "UPDATE episodes SET success = NOT success WHERE row = 20"
FLIP_VERDICT = """UPDATE verdicts SET score = 1 - score
    WHERE episode_id = (SELECT id FROM episodes WHERE row = 20)"""
SWAP_BODY = """UPDATE episode_bodies SET body = (SELECT body FROM episode_bodies WHERE row = 21)
    WHERE row = 20"""


def plays(assignment, _release_id):
    return assignment.actor == "oracle" or assignment.seed % 2 == 0


def outrider(*arguments):
    return [sys.executable, "-m", "outrider", *map(str, arguments)]


class Fleet:
    """A data folder with a broker, whose accounts the service and a farm have."""

    def __init__(self, folder):
        self.folder = folder
        self.broker = BrokerProcess(folder / "broker", fleet="home")
        self.broker.start()
        self.farm_address = self.broker.add_device("farm-1")
        self.password = folder / "password.txt"
        self.password.write_text(self.broker.address("cloud").password + "\n")
        (folder / "cloud.toml").write_text(CONFIG)

    def serve(self, *more):
        """The service as a child process; its stdout is a pipe."""
        options = ["--data", self.folder, "--config", self.folder / "cloud.toml", "--json"]
        options += ["--broker", f"mqtt://127.0.0.1:{self.broker.port}"]
        options += ["--credentials", self.password, "--port", "0", *more]
        return subprocess.Popen(
            outrider("cloud", "serve", *options),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """A broker and its accounts."""
    made = Fleet(tmp_path_factory.mktemp("commands"))
    yield made
    made.broker.stop()


def killed_while_it_stores(service):
    """Kill a service as soon as it says that it has stored something."""
    for line in service.stdout:
        event = json.loads(line)
        if event["event"] == "progress" and event["episodes"]:
            service.kill()
            break
    service.communicate(timeout=60)


@pytest.fixture(scope="module")
def events(fleet, make_device, make_learner):
    """What services printed about one campaign: interrupted twice, then killed, then to its end."""
    first = fleet.serve()
    started = [json.loads(first.stdout.readline())]
    first.send_signal(signal.SIGINT)
    first.send_signal(signal.SIGINT)
    _out, errors = first.communicate(timeout=60)
    assert first.returncode == 0, errors

    farm = make_device(fleet.folder, "farm-1", Role.FARM, PahoTransport(fleet.farm_address), plays)
    killed_while_it_stores(fleet.serve())

    last = fleet.serve("--until-finished")
    started.append(json.loads(last.stdout.readline()))
    learner, finished = make_learner(fleet.folder), threading.Event()

    def learn():
        while not finished.wait(0.02):
            learner.turn()

    learning = threading.Thread(target=learn)
    learning.start()
    out, errors = last.communicate(timeout=200)
    finished.set()
    learning.join(10)
    farm.stop()
    assert last.returncode == 0, errors
    return [*started, *(json.loads(line) for line in out.splitlines())]


@pytest.fixture
def run(capsys):
    """`run(…)`: one command in this process; its exit code, JSON lines and stderr."""

    def call(*arguments):
        code = run_command([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return code, [json.loads(line) for line in printed.out.splitlines()], printed.err

    return call


@pytest.fixture
def copied(events, fleet, tmp_path):
    """A copy of the campaign's folder that may be damaged."""
    del events
    for name in ("cloud/cloud.db", "phones/farm-1/phone.db"):
        (tmp_path / name).parent.mkdir(parents=True)
        source = sqlite3.connect(fleet.folder / name)
        target = sqlite3.connect(tmp_path / name)
        source.backup(target)
        source.close()
        target.close()
    return tmp_path


def change(path, statement):
    with sqlite3.connect(path) as connection:
        assert connection.execute(statement).rowcount == 1
    connection.close()


def test_serve_tells_of_its_start_phases_releases_and_gates(events):
    assert [event["event"] for event in events[:2]] == ["started", "started"]
    assert all(event["port"] > 0 and event["pid"] != os.getpid() for event in events[:2])
    phases = [event["phase"] for event in events if event["event"] == "phase"]
    assert phases[0] in {"demonstrate", "warm_up"}
    assert phases[-1] == "finished"
    releases = [event["release_id"] for event in events if event["event"] == "release"]
    gates = [event["release_id"] for event in events if event["event"] == "gate"]
    assert releases[:2] == ["r0001", "r0002"]
    assert gates == releases


def test_summary_comes_last_and_is_valid(events):
    summary = events[-1]

    assert summary["event"] == "summary"
    assert summary["valid"] is True, summary
    assert summary["test"]["after"]["n"] == 6
    assert summary["episodes"]["lost"] == 0


def test_nothing_is_lost_or_played_twice_over_a_kill(events):
    episodes = events[-1]["episodes"]

    assert episodes["logged"] == episodes["acknowledged"] == episodes["stored"]


def test_a_finished_campaign_is_not_run_again(events, fleet):
    again = fleet.serve("--until-finished")
    out, errors = again.communicate(timeout=120)

    last = json.loads(out.splitlines()[-1])
    assert again.returncode == 0, errors
    assert last["test"] == events[-1]["test"]
    assert last["episodes"]["stored"] == events[-1]["episodes"]["stored"]


def test_audit_of_an_untouched_folder_finds_only_what_the_device_pretends(run, copied, events):
    code, lines, _errors = run("audit", "--data", copied, "--json")

    summary = lines[-1]
    differing = [line for line in lines if line["event"] == "difference"]
    # the device of this test only says that it installs; an audit sees that, and nothing else
    assert [(line["what"], line["device_id"]) for line in differing] == [
        ("not_installed", "farm-1")
    ]
    assert (code, summary["clean"]) == (1, False)
    assert summary["trained_on_test"] == []
    assert summary["test"]["after-new"]["store"] == events[-1]["test"]["after"]


@pytest.mark.parametrize(
    ("database", "statement", "what"),
    [
        ("cloud/cloud.db", FLIP_SUCCESS, "miscounted"),
        ("cloud/cloud.db", FLIP_VERDICT, "differs"),
        ("cloud/cloud.db", SWAP_BODY, "differs"),
        ("cloud/cloud.db", "DELETE FROM episodes WHERE row = 20", "missing_in_store"),
        ("phones/farm-1/phone.db", "DELETE FROM episodes WHERE seq = 20", "missing_on_phone"),
    ],
)
def test_audit_lists_what_was_tampered_with(run, copied, database, statement, what):
    change(copied / database, statement)

    code, lines, errors = run("audit", "--data", copied, "--json")

    found = [line["what"] for line in lines if line["event"] == "difference"]
    assert code == 1
    assert what in found
    assert len(errors.splitlines()) == 1


def test_audit_finds_a_test_episode_that_was_trained_on(run, copied):
    with sqlite3.connect(copied / "cloud/cloud.db") as connection:
        (body,) = connection.execute(
            "SELECT body FROM episode_bodies JOIN episodes USING (row) WHERE batch = 'train'"
        ).fetchone()
        episode = decode_episode(body)
        moved = replace(episode, assignment=replace(episode.assignment, split=Split.TEST))
        connection.execute(
            "UPDATE episode_bodies SET body = ? "
            "WHERE row = (SELECT row FROM episodes WHERE id = ?)",
            (encode_episode(moved), episode.id),
        )
    connection.close()

    code, lines, _errors = run("audit", "--data", copied, "--json")

    assert code == 1
    assert lines[-1]["trained_on_test"] == [episode.id]


def test_audit_without_a_cloud_is_misuse(run, tmp_path):
    code, lines, errors = run("audit", "--data", tmp_path, "--json")

    assert (code, lines) == (2, [])
    assert "--data" in errors


def test_serve_with_a_broken_config_starts_nothing(run, tmp_path):
    config = tmp_path / "cloud.toml"
    config.write_text("[campaign]\nepochs = 3\n")

    code, lines, errors = run("cloud", "serve", "--data", tmp_path / "d", "--config", config)

    assert (code, lines) == (1, [])
    assert "epochs" in errors
    assert not (tmp_path / "d").exists()


def test_a_new_token_is_shown_once_and_kept_as_a_hash(run, tmp_path):
    code, lines, _errors = run("cloud", "token", "--data", tmp_path, "--json")

    assert code == 0
    assert lines[0]["token"] not in (tmp_path / "cloud" / "token").read_text()

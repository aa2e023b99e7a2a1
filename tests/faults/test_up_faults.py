"""`outrider up` is called wrongly, is interrupted, loses its parts, and is killed itself."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading

import pytest

from cloud_learner.phone_logs import find_logs, read_index
from outrider import cli
from tests.fleet import Up, prepared

pytestmark = pytest.mark.timeout(1200)  # whole campaigns, on machines that may be busy

CHILDREN_END_WITHIN_S = 25.0
LONGER = 1200  # environment steps, so that there is time to do harm while the fleet learns


@pytest.fixture
def folder(tmp_path):
    """A data folder with the graphs of the shipped base."""
    return prepared(tmp_path / "fleet")


@pytest.fixture
def start():
    """`start(folder, …)`: an `outrider up` that is ended with the test."""
    running = []

    def call(folder, *more, **options):
        running.append(Up(folder, *more, **options))
        return running[-1]

    yield call
    for up in running:
        up.close()


@pytest.fixture
def taken():
    """A port that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def audit(folder, capsys):
    code = cli.run(["audit", "--data", str(folder), "--json"])
    return code, json.loads(capsys.readouterr().out.splitlines()[-1])


def assert_whole(up, capsys):
    """The campaign is finished, every row is there once, and the audit finds nothing."""
    assert up.end() == 0, up.errors
    summary = up.events[-1]
    episodes = summary["episodes"]
    assert summary["phase"] == "finished"
    assert episodes["logged"] == episodes["acknowledged"] == episodes["stored"]
    assert episodes["lost"] == 0
    code, found = audit(up.folder, capsys)
    assert (code, found["clean"], found["differences"]) == (0, True, 0)
    assert found["episodes"]["stored"] == episodes["stored"]
    return summary


def stop_with_rows_outstanding(cloud, folder):
    """Stop the cloud's process at a moment when phones have rows that it has not acknowledged."""
    pause = threading.Event()
    while True:
        os.kill(cloud, signal.SIGSTOP)
        for _ in range(50):
            if any(read_index(path).waiting for path in find_logs(folder / "phones")):
                return
            pause.wait(0.02)
        os.kill(cloud, signal.SIGCONT)  # nobody had anything to play: let it assign more
        pause.wait(0.1)


# called wrongly


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--app", "cooking"], 2, "no app 'cooking'"),
        (["--app", "clock"], 2, "both the new app and an old one"),
        (["--base", "nowhere"], 2, "no base's card"),
        (["--config", "nowhere.toml"], 2, "cannot be read"),
        (["--minutes", "0"], 2, "--minutes"),
        (["--port", "99999"], 2, "--port"),
        (["--learner", "magic"], 2, "--learner"),
    ],
)
def test_what_cannot_work_is_one_line_and_leaves_nothing(tmp_path, capsys, words, code, says):
    folder = tmp_path / "fleet"
    assert cli.run(["up", "--data", str(folder), "--json", *words]) == code
    printed = capsys.readouterr()
    assert says in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert not folder.exists()


def test_broken_config_is_named_with_its_key_before_anything_starts(tmp_path, capsys):
    config = tmp_path / "up.toml"
    config.write_text("[campaign]\ndemonstrations = 9\n")
    folder = tmp_path / "fleet"
    assert cli.run(["up", "--data", str(folder), "--config", str(config)]) == 2
    assert "demonstrations is 0..4, got 9" in capsys.readouterr().err
    assert not folder.exists()


@pytest.mark.parametrize("option", ["--port", "--broker-port"])
def test_port_that_is_taken_is_named_before_anything_starts(tmp_path, capsys, taken, option):
    folder = tmp_path / "fleet"
    assert cli.run(["up", "--data", str(folder), option, str(taken)]) == 1
    printed = capsys.readouterr()
    assert f"port {taken}" in printed.err
    assert printed.err.count("\n") == 1
    assert not folder.exists()


def test_data_that_is_a_file_stays_as_it_is(tmp_path, capsys):
    file = tmp_path / "file"
    file.write_text("mine")
    assert cli.run(["up", "--data", str(file)]) == 2
    assert "is a file" in capsys.readouterr().err
    assert file.read_text() == "mine"


# interrupted


def test_interrupted_twice_while_it_prepares_nothing_has_started(tmp_path, start):
    up = start(tmp_path / "fleet")
    up.wait_for(lambda event: event["event"] == "preparing")
    up.interrupt(times=2)
    assert up.end() == 130
    assert up.errors == ""
    assert [event["event"] for event in up.events] == ["preparing"]
    assert up.survivors() == []


def test_interrupted_twice_while_its_parts_start_none_of_them_stays(folder, start):
    up = start(folder)
    up.wait_role("cloud")
    up.interrupt(times=2)
    assert up.end() == 130
    assert up.errors == ""
    assert up.family
    assert up.survivors() == []


@pytest.mark.slow
def test_campaign_that_is_interrupted_again_and_again_is_finished(folder, start, capsys):
    for phase, times in (("demonstrate", 1), ("warm_up", 2), ("learn", 2)):
        up = start(folder, env_steps=LONGER)
        up.wait_phase(phase)
        up.interrupt(times)
        assert up.end() == 130
        assert up.survivors() == []
        assert up.events[-1]["event"] == "summary"
        assert up.events[-1]["phase"] == phase
        assert up.events[-1]["valid"] is False
        assert up.events[-1]["episodes"]["lost"] == 0
    summary = assert_whole(start(folder, env_steps=LONGER), capsys)
    assert summary["env_steps"] >= LONGER


# parts are killed


@pytest.mark.slow
@pytest.mark.parametrize("role", ["cloud", "learner", "farm", "phone"])
def test_part_that_is_killed_while_it_learns_is_started_again(folder, start, capsys, role):
    up = start(folder, env_steps=LONGER)
    up.wait_phase("learn")
    killed = up.kill_part(role)
    again = up.wait_for(
        lambda event: (
            (event["event"], event["role"]) == ("started", role) and event["pid"] != killed
        )
    )
    assert again["pid"]
    summary = assert_whole(up, capsys)
    assert summary["env_steps"] >= LONGER
    assert [event["role"] for event in up.named("restarted")] == [role]


@pytest.mark.slow
def test_broker_that_is_killed_with_acknowledgements_outstanding_loses_nothing(
    folder, start, capsys
):
    up = start(folder, env_steps=LONGER)
    port = up.wait_role("broker")["port"]
    cloud = up.wait_role("cloud")["pid"]
    up.wait_phase("learn")
    stop_with_rows_outstanding(cloud, folder)
    killed = up.kill_part("broker")
    os.kill(cloud, signal.SIGCONT)
    again = up.wait_for(
        lambda event: (
            (event["event"], event["role"]) == ("started", "broker") and event["pid"] != killed
        )
    )
    assert again["port"] == port
    summary = assert_whole(up, capsys)
    assert summary["episodes"]["redelivered"] >= 1


# killed itself


@pytest.mark.slow
def test_children_end_with_a_killed_parent_and_the_next_start_goes_on(folder, start, capsys):
    first = start(folder, env_steps=LONGER)
    first.wait_phase("learn")
    first.process.kill()
    assert first.end() == -signal.SIGKILL
    second = start(folder, env_steps=LONGER)  # it waits for the parts of the first
    assert first.survivors(CHILDREN_END_WITHIN_S) == []
    summary = assert_whole(second, capsys)
    assert summary["env_steps"] >= LONGER


def test_second_start_in_a_folder_that_is_in_use_is_refused(folder, start, capsys):
    up = start(folder)
    up.wait_role("broker")
    assert cli.run(["up", "--data", str(folder)]) == 1
    assert "is in use by another" in capsys.readouterr().err
    up.interrupt()
    assert up.end() == 130

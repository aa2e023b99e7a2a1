"""`outrider broker run`: a broker that a cloud can use, comes back, and ends with its command."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from contextlib import contextmanager

import pytest

from outrider import cli
from sync.broker_address import parse_url
from sync.conformance import Bench, Outcome, run
from sync.kept_accounts import KeptAccounts
from sync.local_ports import accepts
from sync.mosquitto_server import mosquitto_binary


@contextmanager
def running(folder, make):
    """The command as a process, and its first line."""
    command = [sys.executable, "-m", "outrider", "broker", "run", "--data", str(folder), "--json"]
    process = subprocess.Popen(
        [*command, "--make", make], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process, json.loads(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("make", ["nats", pytest.param("mosquitto", marks=pytest.mark.slow)])
def test_a_broker_runs_comes_back_and_ends_with_its_command(tmp_path, require, make):
    if make == "mosquitto":
        require(mosquitto_binary() is not None, "mosquitto is not installed")
    with running(tmp_path, make) as (process, started):
        file = tmp_path / "broker" / "cloud-password"
        accounts = KeptAccounts(tmp_path / "broker", fleet="home")
        address = accounts.address()
        port = parse_url(started["url"]).port

        assert started["event"] == "started"
        assert started["credentials"] == str(file)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert (file.read_text().strip(), port) == (address.password, address.port)
        os.kill(started["pid"], signal.SIGKILL)
        again = json.loads(process.stdout.readline())
        assert (again["event"], accepts(port)) == ("restarted", True)
        bench = Bench(service=address, fleet="home")
        (found,) = run(bench, address.protocol, only=("OR-BRK-2",))
        assert found.outcome is Outcome.PASS

        process.send_signal(signal.SIGTERM)
        said, errors = process.communicate(timeout=60)

    assert json.loads(said.splitlines()[-1]) == {
        "event": "summary",
        "broker": make,
        "restarts": 1,
    }
    assert (process.returncode, accepts(port)) == (0, False)
    assert address.password not in said + errors


def test_a_folder_of_another_broker_is_refused_in_one_line(tmp_path, require, capsys):
    require(mosquitto_binary() is not None, "mosquitto is not installed")
    with running(tmp_path, "nats") as (process, _started):
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)

    assert cli.run(["broker", "run", "--data", str(tmp_path), "--make", "mosquitto"]) == 1
    assert "choose another directory" in capsys.readouterr().err

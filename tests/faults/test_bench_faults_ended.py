"""`outrider bench faults` is called wrongly, is interrupted, and is killed itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest

from outrider import cli

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

PARTS = 4
"""Broker, service and two phones at least."""
GONE_WITHIN_S = 30.0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--minutes", "0"], "--minutes is more than 0"),
        (["--minutes", "-1"], "--minutes"),
        (["--minutes", "nan"], "--minutes"),
        (["--schedules", "0"], "--schedules"),
        (["--seed-base", "x"], "--seed-base"),
        (["--keep", "/dev/null/x"], "name another folder"),
    ],
)
def test_what_cannot_work_is_one_line_before_anything_starts(capsys, words, says):
    assert cli.run(["bench", "faults", "--json", *words]) == 2
    printed = capsys.readouterr()
    assert says in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


@pytest.fixture
def bench(tmp_path):
    """A bench in a process of its own, whose fleets lie in `tmp_path`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "outrider", "bench", "faults", "--json", "--minutes", "9"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    yield process
    process.kill()
    process.communicate()


def wait_for(condition):
    deadline_s = time.monotonic() + 120.0
    while not condition():
        assert time.monotonic() < deadline_s
        threading.Event().wait(0.2)


def family(process, folder):
    """Every process of the bench, once its fleet plays."""

    def plays():
        return len(list(folder.glob("*/phones/*/phone.db"))) > 1 and len(found()) > PARTS

    def found():
        return psutil.Process(process.pid).children(recursive=True)

    wait_for(plays)
    return found()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_bench_sums_up_and_leaves_nothing(bench, tmp_path, number):
    members = family(bench, tmp_path)
    bench.send_signal(number)
    bench.send_signal(number)  # impatience hurts nothing
    out, err = bench.communicate(timeout=120)
    assert (bench.returncode, err) == (130, "")
    summary = json.loads(out.splitlines()[-1])
    assert (summary["event"], summary["interrupted"]) == ("summary", True)
    assert summary["schedules"] == summary["clean"]
    assert psutil.wait_procs(members, GONE_WITHIN_S)[1] == []
    assert list(tmp_path.glob("outrider-faults-*")) == []


@pytest.mark.slow
def test_no_part_outlives_a_bench_that_is_killed(bench, tmp_path):
    members = family(bench, tmp_path)
    bench.kill()
    assert psutil.wait_procs(members, GONE_WITHIN_S)[1] == []

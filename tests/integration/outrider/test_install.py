"""Real installs of the device extra, from the package index, into fresh environments."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]
ROOT = Path(__file__).parents[3]
OF_TERMUX = "1.29.0"
MOST_DISK_MIB = 300 * 10**6 // 1024**2
MOST_MEMORY_MIB = 150 * 10**6 // 1024**2


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """What the benchmark prints, with every Python that this machine has."""
    command = [sys.executable, "benchmarks/bench_install.py", "--every"]
    command += ["--onnxruntime", OF_TERMUX, "--venvs", str(tmp_path_factory.mktemp("venvs"))]
    ran = subprocess.run(
        command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_every_python_and_the_onnxruntime_of_termux_decide_alike(measured):
    versions = {(row["python"].rpartition(".")[0], row["onnxruntime"]) for row in measured["rows"]}

    assert measured["alike"]
    assert {runtime for _, runtime in versions} > {OF_TERMUX}
    assert ("3.11", OF_TERMUX) in versions


def test_every_install_is_small_and_without_torch(measured):
    for row in measured["rows"]:
        assert not row["has_torch"]
        assert row["size_mib"] < MOST_DISK_MIB
        assert row["peak_rss_mib"] < MOST_MEMORY_MIB

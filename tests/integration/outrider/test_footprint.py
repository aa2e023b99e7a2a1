"""What an agent on a phone costs: memory, what it loads, and what has to be installed for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from apps_mock.adb_server import MockAdbDaemon
from apps_mock.own_goals import OwnGoalPhone
from device_runtime.adb_server_process import AdbServerProcess
from sync.broker import BrokerProcess
from sync.messages import AssignmentBatch, Birth, EpisodeUpload
from sync.mqtt import PahoTransport
from sync.session import CloudSession
from sync.vocabulary import Assignment, AssignmentId

pytestmark = pytest.mark.timeout(120)
MOST_MEMORY = 150 * 10**6
MOST_DISK = 300 * 10**6
PHONE = "phone-1"
GOAL = "Open the settings"
OF_THE_CLOUD = {
    *("torch", "transformers", "peft", "onnx", "onnxscript", "safetensors"),
    *("fastapi", "uvicorn", "sqlalchemy", "alembic", "fsspec", "httpx"),
}
OWN = "sync device_runtime apps_mock exporters cloud_learner outrider".split()
OF_THE_CLONES = {"apps_mock"}
OF_THE_TESTS = {"gymnasium", "psutil", "rapidocr", "cv2", "pytest"}


@pytest.fixture
def phone(tmp_path):
    """A mock phone on an adb server: its serial, and the server's port."""
    clone = OwnGoalPhone()
    clone.reset(Assignment(AssignmentId("a"), goal=GOAL, seed=1))
    daemon, server = MockAdbDaemon(clone), AdbServerProcess(tmp_path / "adb")
    daemon.start()
    server.start()
    server.client().connect(daemon.serial)
    yield daemon.serial, server.port
    server.stop()
    daemon.stop()


@pytest.fixture
def broker(tmp_path):
    process = BrokerProcess(tmp_path / "broker", fleet="home")
    process.add_device(PHONE)
    process.start()
    yield process
    process.stop()


@pytest.fixture
def uploads(broker):
    """What a phone sent back; its birth is answered with one goal for the policy it has."""
    came: list[EpisodeUpload] = []

    def ingest(batch):
        for item in batch:
            if isinstance(item.message, EpisodeUpload):
                came.append(item.message)
            if isinstance(item.message, Birth):
                one = Assignment(AssignmentId("a-1"), goal=GOAL, seed=1, step_budget=6)
                session.send(PHONE, AssignmentBatch(assignments=(one,)))
        return {}

    session = CloudSession(
        transport=PahoTransport(broker.address()), fleet="home", ingest=ingest, files=None
    )
    session.start()
    assert session.wait_connected(10)
    yield came
    session.close()


def test_an_agent_with_the_shipped_base_stays_small_and_loads_no_training_stack(
    root, tmp_path, phone, broker, uploads
):
    (serial, port), address = phone, broker.address(PHONE)
    secret = tmp_path / "secret"
    secret.write_text(address.password, encoding="utf-8")
    words = ["phone", "run", "--json", "--id", PHONE, "--data", str(tmp_path / "data")]
    words += ["--credentials", str(secret), "--broker", f"mqtt://{address.host}:{address.port}"]
    words += ["--serial", serial, "--adb-port", str(port), "--episodes", "1", "--guard", "none"]

    done = subprocess.run(
        [sys.executable, "-m", "tests.footprint", *words],
        cwd=root,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    cost = json.loads(done.stderr.splitlines()[-1])
    [upload] = uploads
    assert upload.episode.steps
    assert all(step.decisions for step in upload.episode.steps)
    assert 0 < cost["peak_bytes"] < MOST_MEMORY
    assert not (OF_THE_CLOUD | OF_THE_TESTS | OF_THE_CLONES) & set(cost["loaded"])


# --- what has to be installed -----------------------------------------------------------------


def needed(name: str, extra: str = "") -> dict[str, Distribution]:
    """The installed distributions that one needs here, itself among them, by canonical name."""
    found: dict[str, Distribution] = {}
    wanted = [(name, extra)]
    while wanted:
        name, extra = wanted.pop()
        package = found[canonicalize_name(name)] = distribution(name)
        for requirement in map(Requirement, package.requires or ()):
            marker, its_name = requirement.marker, canonicalize_name(requirement.name)
            if its_name not in found and (marker is None or marker.evaluate({"extra": extra})):
                wanted += [(its_name, each) for each in ("", *requirement.extras)]
    return found


def size_of(package: Distribution) -> int:
    files = (Path(package.locate_file(file)) for file in package.files or ())
    return sum(file.stat().st_size for file in files if file.is_file())


def test_the_device_extra_needs_little_disk_and_no_training_stack(root):
    packages = needed("outrider", "device")
    own = (file for name in OWN for file in (root / name).rglob("*") if file.is_file())
    own_bytes = sum(file.stat().st_size for file in own)

    assert {"onnxruntime", "numpy", "pillow", "adbutils", "tuf", "typer"} <= set(packages)
    assert not OF_THE_CLOUD & set(packages)
    assert 50 * 10**6 < own_bytes + sum(map(size_of, packages.values())) < MOST_DISK

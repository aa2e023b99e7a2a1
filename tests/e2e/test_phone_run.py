"""`outrider phone run` as a process: one phone, its assignments, its log."""

import json
import os
import subprocess
import sys
import threading

import pytest

from device_runtime.log_rescue import damaged_copies
from device_runtime.trajectory_log import TrajectoryLog
from sync.broker import BrokerProcess
from sync.clock import SystemClock
from sync.messages import AssignmentBatch, Birth, EpisodeUpload
from sync.mqtt import PahoTransport
from sync.session import CloudSession
from sync.vocabulary import Assignment, AssignmentId, Split, new_uuid7

pytestmark = pytest.mark.timeout(120)
PHONE = "phone-1"
READ_ONLY = """
import sys
from pathlib import Path
from outrider import cli
from outrider.fault_disk import make_read_only
make_read_only(Path(sys.argv[1]))
where = ["--data", sys.argv[2], "--broker", "mqtt://127.0.0.1:1"]
sys.exit(cli.run(["phone", "run", "--mock", "--json", *where]))
"""


@pytest.fixture
def broker(tmp_path):
    process = BrokerProcess(tmp_path / "broker", fleet="home")
    process.add_device(PHONE)
    process.start()
    yield process
    process.stop()


@pytest.fixture
def cloud(broker):
    """Answers a phone's birth with one assignment; `.uploads` is what came back."""
    uploads, assigned = [], threading.Event()

    def ingest(batch):
        for item in batch:
            if isinstance(item.message, EpisodeUpload):
                uploads.append(item.message)
            if isinstance(item.message, Birth) and not assigned.is_set():
                assigned.set()
                one = Assignment(
                    AssignmentId("a-1"),
                    template="tickets_orders",
                    seed=3,
                    split=Split.TEST,
                    actor="oracle",
                    step_budget=12,
                )
                session.send(PHONE, AssignmentBatch(assignments=(one,)))
        return {}

    session = CloudSession(
        transport=PahoTransport(broker.address()), fleet="home", ingest=ingest, files=None
    )
    session.uploads = uploads
    session.start()
    assert session.wait_connected(10)
    yield session
    session.close()


def run_phone(root, broker, tmp_path, *options):
    address = broker.address(PHONE)
    secret = tmp_path / "secret"
    secret.write_text(address.password, encoding="utf-8")
    return subprocess.run(
        [
            *(sys.executable, "-m", "outrider", "phone", "run", "--json", "--id", PHONE),
            *("--data", str(tmp_path / "data"), "--credentials", str(secret)),
            *("--broker", f"mqtt://{address.host}:{address.port}", *options),
        ],
        cwd=root,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


@pytest.mark.parametrize("kind", ["--mock", "--mock-adb"])
def test_phone_plays_its_assignment_step_by_step(root, broker, cloud, tmp_path, kind):
    result = run_phone(root, broker, tmp_path, kind, "--episodes", "1")

    assert result.returncode == 0, result.stderr
    events = [json.loads(line) for line in result.stdout.splitlines()]
    steps = [event for event in events if event["event"] == "step"]
    [episode] = [event for event in events if event["event"] == "episode"]
    assert events[0]["event"] == "started"
    assert (episode["template"], episode["score"]) == ("tickets_orders", 1.0)
    assert [step["index"] for step in steps] == list(range(episode["steps"]))
    assert events[-1]["event"] == "summary"
    assert (events[-1]["logged"], events[-1]["acknowledged"]) == (1, 1)
    [upload] = cloud.uploads
    assert upload.episode.device_id == PHONE
    assert upload.verdicts[0].success


def database(tmp_path):
    path = tmp_path / "data" / "phones" / PHONE / "phone.db"
    path.parent.mkdir(parents=True)
    return path


def test_phone_whose_database_is_noise_keeps_it_aside_and_plays(root, broker, cloud, tmp_path):
    path = database(tmp_path)
    path.write_bytes(b"not a database at all" * 400)
    result = run_phone(root, broker, tmp_path, "--mock", "--episodes", "1")
    assert result.returncode == 0, result.stderr
    assert [upload.episode.assignment.id for upload in cloud.uploads] == ["a-1"]
    assert len(damaged_copies(path)) == 1


@pytest.mark.parametrize("has_database", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_phone_on_a_read_only_disk_ends_with_one_line(root, tmp_path, has_database):
    path = database(tmp_path)
    if has_database:
        TrajectoryLog.open(path, clock=SystemClock(), new_id=new_uuid7).close()
    result = subprocess.run(
        [sys.executable, "-c", READ_ONLY, str(path.parent), str(tmp_path / "data")],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    if "unshare" in result.stderr or "mount" in result.stderr:
        pytest.skip(f"this machine does not allow it: {result.stderr.splitlines()[-1]}")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert str(path) in result.stderr or "Read-only" in result.stderr
    assert result.stdout == ""

"""`outrider phone run` as a process: one phone, its assignments, its log."""

import json
import os
import subprocess
import sys
import threading

import pytest

from sync.broker import BrokerProcess
from sync.messages import AssignmentBatch, Birth, EpisodeUpload
from sync.mqtt import PahoTransport
from sync.session import CloudSession
from sync.vocabulary import Assignment, AssignmentId, Split

pytestmark = pytest.mark.timeout(120)
PHONE = "phone-1"


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

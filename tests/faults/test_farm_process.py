"""The farm as a process of its own, with a real broker, killed and stopped while it plays."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from device_runtime.trajectory_log import TrajectoryLog
from sync.broker import BrokerProcess
from sync.clock import SystemClock
from sync.messages import AssignmentBatch, Birth, EpisodeUpload
from sync.mqtt import PahoTransport
from sync.session import CloudSession
from sync.vocabulary import Assignment, AssignmentId, Split, new_uuid7

pytestmark = pytest.mark.timeout(180)

ROOT = Path(__file__).resolve().parents[2]
FARM = "farm-1"
TEMPLATES = ("settings_switch", "contacts_search", "clock_add", "tickets_orders")


class Cloud:
    """A cloud that counts: it sends assignments to a farm and keeps what comes back."""

    def __init__(self, broker):
        self.uploads = Counter()
        self.births = threading.Semaphore(0)
        self._changed = threading.Condition()
        self.session = CloudSession(
            transport=PahoTransport(broker.address()),
            fleet="home",
            ingest=self._ingest,
            files=None,
        )

    def wait_uploads(self, number, timeout_s=60):
        with self._changed:
            enough = self._changed.wait_for(lambda: len(self.uploads) >= number, timeout_s)
            assert enough, f"{len(self.uploads)} of {number} episodes came"

    def assign(self, numbers):
        assignments = tuple(
            Assignment(
                AssignmentId(f"a-{number}"),
                template=TEMPLATES[number % len(TEMPLATES)],
                seed=number,
                split=Split.TRAIN,
                actor="oracle",
                step_budget=20,
            )
            for number in numbers
        )
        self.session.send(FARM, AssignmentBatch(assignments=assignments))

    def _ingest(self, batch):
        with self._changed:
            for item in batch:
                if isinstance(item.message, Birth):
                    self.births.release()
                if isinstance(item.message, EpisodeUpload):
                    self.uploads[item.message.episode.id] += 1
            self._changed.notify_all()
        return {}


@pytest.fixture
def broker(tmp_path):
    process = BrokerProcess(tmp_path / "broker", fleet="home")
    process.add_device(FARM)
    process.start()
    yield process
    process.stop()


@pytest.fixture
def cloud(broker):
    made = Cloud(broker)
    made.session.start()
    assert made.session.wait_connected(10)
    yield made
    made.session.close()


@pytest.fixture
def start_farm(broker, tmp_path):
    address = broker.address(FARM)
    secret = tmp_path / "farm.secret"
    secret.write_text(address.password + "\n", encoding="utf-8")
    running = []

    def start(*extra):
        command = [
            *(sys.executable, "-m", "outrider", "farm", "--json", "--id", FARM, "--seats", "4"),
            *("--data", str(tmp_path / "data"), "--credentials", str(secret)),
            *("--broker", f"mqtt://{address.host}:{address.port}"),
            *extra,
        ]
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        running.append(process)
        assert json.loads(process.stdout.readline())["event"] == "started"
        return process

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=20)


def logged(tmp_path):
    path = tmp_path / "data" / "phones" / FARM / "phone.db"
    log = TrajectoryLog.open(path, clock=SystemClock(), new_id=new_uuid7)
    try:
        return [(episode, verdicts) for episode, verdicts in log.episodes()], log.counts()
    finally:
        log.close()


def test_killed_farm_plays_every_assignment_exactly_once(cloud, start_farm, tmp_path):
    first = start_farm()
    assert cloud.births.acquire(timeout=30)
    cloud.assign(range(120))
    cloud.wait_uploads(5)
    first.send_signal(signal.SIGKILL)
    first.wait(20)

    second = start_farm()
    cloud.wait_uploads(120)
    second.send_signal(signal.SIGTERM)
    output, errors = second.communicate(timeout=20)

    episodes, counts = logged(tmp_path)
    played = Counter(episode.assignment.id for episode, _ in episodes)
    assert second.returncode == 0, errors
    assert played == Counter({f"a-{number}": 1 for number in range(120)})
    assert set(cloud.uploads) == {episode.id for episode, _ in episodes}
    assert all(verdict.success for _, [verdict] in episodes)
    assert counts.acknowledged == counts.logged == 120
    summary = json.loads(output.splitlines()[-1])
    assert (summary["event"], summary["logged"], summary["env_errors"]) == ("summary", 120, 0)


def test_farm_that_is_interrupted_twice_ends_cleanly_and_leaves_whole_episodes(
    cloud, start_farm, tmp_path
):
    farm = start_farm()
    assert cloud.births.acquire(timeout=30)
    cloud.assign(range(200))
    cloud.wait_uploads(3)

    farm.send_signal(signal.SIGINT)
    farm.send_signal(signal.SIGINT)
    output, errors = farm.communicate(timeout=20)

    episodes, counts = logged(tmp_path)
    assert farm.returncode == 0, errors
    assert errors == ""
    assert json.loads(output.splitlines()[-1])["logged"] == counts.logged == len(episodes)
    assert 3 <= counts.logged < 200
    assert all(verdict.success for _, [verdict] in episodes)


def test_broker_that_is_killed_makes_nothing_lost_and_nothing_double(
    broker, cloud, start_farm, tmp_path
):
    restarted = threading.Event()
    broker.watch(lambda pid: restarted.set())
    farm = start_farm()
    assert cloud.births.acquire(timeout=30)
    cloud.assign(range(80))
    cloud.wait_uploads(5)
    os.kill(broker.pid, signal.SIGKILL)
    assert restarted.wait(30)

    cloud.wait_uploads(80)
    farm.send_signal(signal.SIGTERM)
    farm.communicate(timeout=20)

    episodes, counts = logged(tmp_path)
    assert set(cloud.uploads) == {episode.id for episode, _ in episodes}
    assert counts.acknowledged == counts.logged == 80

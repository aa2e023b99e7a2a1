"""SIGKILL to `outrider phone run` between the acceptance of an assignment and its play."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from device_runtime.trajectory_log import TrajectoryLog
from sync import inbox
from sync.broker import BrokerProcess
from sync.clock import SystemClock
from sync.fetch import DirectoryFiles
from sync.messages import AssignmentBatch, AssignmentsAccepted, Birth, EpisodeUpload
from sync.mqtt import PahoTransport
from sync.session import CloudSession
from sync.vocabulary import Assignment, AssignmentId
from tests.fleet import prepared

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(900)]

FLEET = "home"
PHONE = "phone-1"
TASKS = tuple(AssignmentId(f"task-{number}") for number in range(3))
WAIT_S = 240.0


class Cloud:
    """A cloud that keeps whatever its phone says, in order."""

    def __init__(self, broker: BrokerProcess, folder: Path) -> None:
        self.heard: queue.SimpleQueue[object] = queue.SimpleQueue()
        self.played: list[AssignmentId] = []
        self._rows: set[tuple[str, int]] = set()
        self.session = CloudSession(
            transport=PahoTransport(broker.address("cloud")),
            fleet=FLEET,
            ingest=self._take,
            files=DirectoryFiles(folder),
        )

    def _take(self, batch):
        for one in batch:
            is_new = one.stream == "outbox" and (one.install_id, one.seq) not in self._rows
            if is_new and isinstance(one.message, EpisodeUpload):
                self._rows.add((one.install_id, one.seq))
                self.played.append(one.message.episode.assignment.id)
            self.heard.put(one.message)
        return {}

    def wait_for(self, kind: type[object]) -> object:
        while not isinstance(message := self.heard.get(timeout=WAIT_S), kind):
            pass
        return message

    def assign(self) -> None:
        """Hand out all tasks, again and again until they are accepted, as the real one does."""
        tasks = tuple(
            Assignment(one, template="settings_switch", suite="settings", step_budget=4)
            for one in TASKS
        )
        self.session.send(PHONE, AssignmentBatch(assignments=tasks))


@pytest.fixture
def broker(tmp_path):
    broker = BrokerProcess(tmp_path / "broker", fleet=FLEET)
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
def cloud(broker, tmp_path):
    cloud = Cloud(broker, tmp_path)
    cloud.session.start()
    assert cloud.session.wait_connected(WAIT_S)
    yield cloud
    cloud.session.close()


@contextmanager
def running(broker: BrokerProcess, data: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The real command on a mock phone; it is killed in the end."""
    address = broker.add_device(PHONE)
    url = f"mqtt://{address.username}:{address.password}@{address.host}:{address.port}"
    words = ["phone", "run", "--mock", "--id", PHONE, "--data", str(data), "--fleet", FLEET]
    process = subprocess.Popen(
        [sys.executable, "-m", "outrider", *words, "--broker", url, "--json"],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_what_was_accepted_and_not_played_is_played_once_by_the_next_process(
    broker, cloud, tmp_path
):
    data = prepared(tmp_path / "fleet")
    with running(broker, data) as phone:
        cloud.wait_for(Birth)
        cloud.assign()
        cloud.wait_for(AssignmentsAccepted)
        phone.send_signal(signal.SIGKILL)
        phone.wait()
    (file,) = (data / "phones").rglob("*.db")
    log = TrajectoryLog.open(file, clock=SystemClock(), new_id=lambda: "x")
    waiting = {one.id for one in inbox.pending(log.connection)}
    log.close()
    assert waiting, "it was killed too late to see anything"
    with running(broker, data):
        cloud.wait_for(Birth)
        cloud.assign()  # nobody knows what became of the first: said again
        while len(cloud.played) < len(TASKS):
            cloud.wait_for(EpisodeUpload)
    assert sorted(cloud.played) == sorted(TASKS)

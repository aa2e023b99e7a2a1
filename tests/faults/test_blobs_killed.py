"""Phones and cloud are killed while pictures travel: each picture arrives whole, and once."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from device_runtime.trajectory_log import TrajectoryLog
from sync.blob_folder import BlobFolder
from sync.blobs import CHUNK_BYTES, digest_of
from sync.broker import BrokerProcess
from sync.clock import SystemClock
from sync.messages import ScreenPicture
from sync.vocabulary import new_uuid7
from tests.blob_world import picture
from tests.wire import episode

pytestmark = pytest.mark.timeout(180)

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 90.0
PICTURES = 24


class Scene:
    """A broker, and processes that can be killed and started again."""

    def __init__(self, folder):
        self.folder = folder
        self.broker = BrokerProcess(folder / "broker", fleet="home")
        self.broker.start()
        self.running = {}

    def start(self, name):
        address = self.broker.address() if name == "cloud" else self.broker.add_device(name)
        role = "cloud" if name == "cloud" else "phone"
        with (self.folder / f"{name}.err").open("ab") as errors:
            self.running[name] = subprocess.Popen(
                [
                    *(sys.executable, "-m", "tests.blob_processes", role, str(self.folder)),
                    *(address.host, str(address.port), address.username, address.password),
                ],
                cwd=ROOT,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )

    def kill(self, name):
        process = self.running.pop(name)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(WAIT_S)

    def check_running(self):
        """Nobody ended but by our hand."""
        for name, process in self.running.items():
            assert process.poll() is None, (self.folder / f"{name}.err").read_text()[-2000:]

    def close(self):
        for name in list(self.running):
            self.kill(name)
        self.broker.stop()

    def arrived(self):
        """Digests of the pictures that the cloud's database says are stored."""
        with closing(sqlite3.connect(self.folder / "cloud.db")) as conn:
            try:
                rows = conn.execute("SELECT digest FROM blobs WHERE state = 'stored'")
                return {digest for (digest,) in rows}
            except sqlite3.OperationalError:  # the tables are not there yet
                return set()

    def wait_arrived(self, number):
        deadline = time.monotonic() + WAIT_S
        while len(self.arrived()) < number:
            self.check_running()
            assert time.monotonic() < deadline, f"{len(self.arrived())} of {number} arrived"
            time.sleep(0.02)

    def wait_told(self, name):
        """Until the phone knows that nothing of its pictures is left to send."""
        deadline = time.monotonic() + WAIT_S
        query = "SELECT count(*) FROM blobs WHERE state = 'waiting'"
        while True:
            with closing(sqlite3.connect(self.folder / f"{name}.db")) as conn:
                (left,) = conn.execute(query).fetchone()
            if not left:
                return
            assert time.monotonic() < deadline, f"{left} pictures wait on {name}"
            time.sleep(0.05)


@pytest.fixture
def scene(tmp_path):
    scene = Scene(tmp_path)
    yield scene
    scene.close()


def show(folder, name, pictures):
    """The log of a phone that saw these, four to an episode."""
    log = TrajectoryLog.open(folder / f"{name}.db", clock=SystemClock(), new_id=new_uuid7)
    blobs = BlobFolder(folder / f"{name}-blobs")
    for first in range(0, len(pictures), 4):
        shown = pictures[first : first + 4]
        ended = replace(episode(first, device=name), id=f"{name}-{first}")
        named = tuple(
            ScreenPicture(
                screen=digest_of(data).hex()[::-1], blob=blobs.put(data), size_bytes=len(data)
            )
            for data in shown
        )
        log.append_many([(ended, ())], screens={ended.id: named})
    log.close()


def check(scene, pictures):
    """Every picture is in the store, whole."""
    assert scene.arrived() == {digest_of(data).hex() for data in pictures}
    store = BlobFolder(scene.folder / "blobs")
    assert all(store.read(digest_of(data)) == data for data in pictures)
    assert not list((scene.folder / "blobs" / "incoming").glob("*"))


@pytest.mark.requirement("OR-BLB-9")
@pytest.mark.parametrize(
    "victims",
    [
        pytest.param(("cloud", "phone-1"), id="cloud_and_phone"),
        pytest.param(("cloud", "cloud", "cloud"), id="cloud", marks=pytest.mark.slow),
        pytest.param(("phone-1", "phone-2", "phone-1"), id="phones", marks=pytest.mark.slow),
    ],
)
def test_pictures_arrive_whole_though_both_ends_are_killed_half_way(scene, tmp_path, victims):
    random = Random(len(victims))
    pictures = [picture(n, random.randrange(1, 4 * CHUNK_BYTES)) for n in range(PICTURES)]
    show(tmp_path, "phone-1", pictures)
    show(tmp_path, "phone-2", pictures[PICTURES // 2 :])
    for name in ("cloud", "phone-1", "phone-2"):
        scene.start(name)
    for number, victim in enumerate(victims, start=1):
        scene.wait_arrived(number * PICTURES // (len(victims) + 2))
        scene.kill(victim)
        scene.start(victim)
    scene.wait_arrived(PICTURES)
    for name in ("phone-1", "phone-2"):
        scene.wait_told(name)
    check(scene, pictures)

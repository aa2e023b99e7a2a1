"""A farm and a phone as users start them, told to send pictures: each screen travels once."""

from __future__ import annotations

import queue
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from cloud_learner.blob_intake import BlobIntake
from cloud_learner.blob_store import BlobStore
from cloud_learner.ingest import Ingest
from cloud_learner.store import Database, sqlite_url
from sync.broker import BrokerProcess
from sync.clock import SystemClock
from sync.fetch import DirectoryFiles
from sync.messages import AssignmentBatch, Birth
from sync.mqtt import PahoTransport
from sync.session import CloudSession
from sync.vocabulary import Assignment, AssignmentId, Split, new_uuid7

pytestmark = [pytest.mark.timeout(400), pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 150.0
DEVICES = {"farm-1": ("farm", "--seats", "2"), "phone-9": ("phone", "run", "--mock")}
TEMPLATES = ("settings_switch", "clock_add")


def start(broker, folder, name):
    address = broker.add_device(name)
    secret = folder / f"{name}.secret"
    secret.write_text(address.password + "\n", encoding="utf-8")
    with (folder / f"{name}.out").open("w") as output:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "outrider", *DEVICES[name], "--json", "--id", name),
                *("--data", str(folder / "data"), "--credentials", str(secret)),
                *("--broker", f"mqtt://{address.host}:{address.port}", "--upload-screens"),
            ],
            cwd=ROOT,
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def assignments(name):
    return AssignmentBatch(
        assignments=tuple(
            Assignment(
                AssignmentId(f"{name}-{seed}"),
                template=template,
                seed=seed,
                split=Split.TRAIN,
                actor="oracle",
                step_budget=20,
            )
            for seed, template in enumerate(TEMPLATES)
        )
    )


def wait_for_screens(store, number):
    """Until so many screens of committed episodes have their pictures here."""
    deadline = time.monotonic() + WAIT_S
    while True:
        counts = store.counts()
        if counts["blob_screens"] >= number and not counts["blobs_wanted"]:
            return counts
        assert time.monotonic() < deadline, counts
        time.sleep(0.2)


def test_a_farm_and_a_phone_that_play_the_same_send_each_screen_once(tmp_path):
    births = queue.SimpleQueue()
    with ExitStack() as stack:
        broker = BrokerProcess(tmp_path / "broker", fleet="home")
        broker.start()
        stack.callback(broker.stop)
        database = stack.enter_context(closing(Database(sqlite_url(tmp_path / "cloud.db"))))
        clock = SystemClock()
        store = BlobStore(database, tmp_path / "blobs", clock=clock, new_id=new_uuid7)
        intake = stack.enter_context(closing(BlobIntake(store, clock=clock)))
        ingest = Ingest(database, clock=clock)

        def commit(batch):
            refused = ingest.commit(batch)
            for one in batch:
                if isinstance(one.message, Birth):
                    births.put(one.device_id)
            return refused

        session = stack.enter_context(
            closing(
                CloudSession(
                    transport=PahoTransport(broker.address()),
                    fleet="home",
                    ingest=commit,
                    files=DirectoryFiles(tmp_path),
                    blobs=intake.take,
                )
            )
        )
        intake.start(session)
        session.start()
        for name in DEVICES:
            process = start(broker, tmp_path, name)
            stack.callback(process.wait, 60)
            stack.callback(process.terminate)
        born = set()
        while born != set(DEVICES):
            born.add(births.get(timeout=WAIT_S))
        for name in DEVICES:
            session.send(name, assignments(name))
        counts = wait_for_screens(store, 12)
        assert counts["blobs_stored"] < counts["blob_screens"]
        assert intake.stats().desk.shared > 0
        assert intake.stats().desk.chunk_bytes == counts["blob_bytes_stored"]

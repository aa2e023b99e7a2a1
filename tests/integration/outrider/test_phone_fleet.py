"""`outrider phone run --all` over a real adb server: phones that are there, and one that comes."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading

import pytest

from apps_mock.adb_server import MockAdbDaemon
from apps_mock.phone import MockPhone
from device_runtime.adb_server_process import AdbServerProcess
from sync.local_ports import free_port
from sync.vocabulary import Split

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def server(tmp_path):
    process = AdbServerProcess(tmp_path / "adb")
    process.start()
    yield process
    process.stop()


@pytest.fixture
def phones():
    """`phones()`: one more mock phone on the wire."""
    daemons = []

    def make():
        phone = MockPhone(serial=f"clone-{len(daemons)}")
        phone.load("contacts_search", 3, Split.TRAIN, 3)
        daemons.append(MockAdbDaemon(phone))
        daemons[-1].start()
        return daemons[-1]

    yield make
    for daemon in daemons:
        daemon.stop()


class Run:
    """The command as a process; its JSON lines as they come."""

    def __init__(self, root, *options):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "outrider", "phone", "run", "--all", "--json", *options],
            cwd=root,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.seen, self._lines = [], queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with self.process.stdout as lines:
            for line in lines:
                self._lines.put(json.loads(line))

    def wait_for(self, count, **wanted):
        """Read on until `count` lines hold these fields."""

        def found():
            return [line for line in self.seen if wanted.items() <= line.items()]

        while len(found()) < count:
            self.seen.append(self._lines.get(timeout=60))
        return found()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        return code, self.wait_for(1, event="summary")[0]


def test_all_phones_are_run_and_one_that_comes_later_too(root, server, phones, tmp_path):
    client = server.client()
    first, second = phones(), phones()
    client.connect(first.serial)
    client.connect(second.serial)
    run = Run(
        root,
        *("--data", str(tmp_path / "data"), "--adb-port", str(server.port)),
        *("--broker", f"mqtt://127.0.0.1:{free_port()}"),
    )
    try:
        started = run.wait_for(2, event="started", role="phone")
        assert {line["serial"] for line in started} == {first.serial, second.serial}
        third = phones()
        client.connect(third.serial)
        started = run.wait_for(3, event="started", role="phone")
        assert len({line["pid"] for line in started}) == 3
        ids = {line["device_id"] for line in started}
        assert {path.name for path in (tmp_path / "data" / "phones").iterdir()} == ids
    finally:
        code, summary = run.stop()
    assert (code, summary["phones"]) == (0, 3)

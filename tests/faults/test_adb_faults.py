"""A phone over ADB whose parts are killed or cut off: typed errors in time, and a way back."""

from __future__ import annotations

import os
import signal

import pytest

from apps_mock.adb_clone import AdbClone
from apps_mock.adb_server import MockAdbDaemon
from apps_mock.errors import DaemonError
from device_runtime.adb_server_process import AdbServerProcess
from device_runtime.errors import PhoneLostError, SettingsError
from sync.vocabulary import Assignment, AssignmentId, Key, press


@pytest.fixture
def clone(tmp_path):
    clone = AdbClone(tmp_path / "adb")
    clone.start()
    clone.reset(Assignment(AssignmentId("a"), template="contacts_search", seed=1))
    yield clone
    clone.close()


def test_killed_adb_server_is_a_lost_phone(clone):
    os.kill(clone.server.pid, signal.SIGKILL)
    clone.server.stop()  # collects the dead child

    with pytest.raises(PhoneLostError):
        clone.observe()
    with pytest.raises(PhoneLostError):
        clone.act(press(Key.HOME))


def test_stopped_daemon_is_a_lost_phone(clone):
    clone.daemon.stop()

    with pytest.raises(PhoneLostError):
        clone.observe()


def test_phone_that_comes_back_is_used_again(clone):
    before = clone.observe()
    clone.daemon.stop()
    again = MockAdbDaemon(clone.phone, port=clone.daemon.port)
    again.start()
    try:
        client = clone.server.client()
        client.disconnect(again.serial)
        client.connect(again.serial)

        assert clone.observe() == before
    finally:
        again.stop()


def test_connecting_to_nothing_is_a_lost_phone_in_time(clone):
    clone.daemon.stop()
    client = clone.server.client()
    client.disconnect(clone.daemon.serial)

    with pytest.raises(PhoneLostError, match="not listed"):
        client.connect(clone.daemon.serial, timeout_s=0.3)


def test_adb_server_ends_when_it_is_told_to(tmp_path):
    server = AdbServerProcess(tmp_path)
    server.start()
    pid = server.pid
    assert server.client().host("version") == "0029"

    server.stop()
    server.stop()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(PhoneLostError, match="no adb server"):
        server.client().devices()


def test_adb_server_keeps_its_keys_in_its_own_folder(tmp_path):
    server = AdbServerProcess(tmp_path / "adb")
    server.start()
    server.stop()

    assert (tmp_path / "adb" / "adb-server.log").is_file()


def test_server_of_a_killed_run_is_ended_by_the_next_one(tmp_path):
    killed = AdbServerProcess(tmp_path)
    killed.start()
    orphan = killed._process

    server = AdbServerProcess(tmp_path)
    server.start()
    server.stop()

    assert orphan.wait(10) == -signal.SIGTERM


def test_missing_adb_program_is_told_before_anything_starts(tmp_path):
    server = AdbServerProcess(tmp_path, binary=tmp_path / "no-adb")

    with pytest.raises(SettingsError, match="no-adb"):
        server.start()


def test_program_that_is_no_adb_server_is_told_with_its_log(tmp_path):
    program = tmp_path / "adb"
    program.write_text("#!/bin/sh\necho broken >&2\nexit 1\n")
    program.chmod(0o700)

    with pytest.raises(PhoneLostError, match=r"adb-server\.log"):
        AdbServerProcess(tmp_path / "folder", binary=program).start()

    assert b"broken" in (tmp_path / "folder" / "adb-server.log").read_bytes()


def test_nothing_of_a_clone_is_left_when_it_cannot_start(clone, tmp_path):
    second = AdbClone(tmp_path / "second", port=clone.daemon.port)

    with pytest.raises(DaemonError, match="choose another port"):
        second.start()

    assert second.server.pid is None
    assert not (tmp_path / "second").exists()

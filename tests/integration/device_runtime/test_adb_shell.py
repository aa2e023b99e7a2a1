"""One way into a phone's shell, on new phones and on those whose adb tells no exit codes."""

from __future__ import annotations

import pytest

from apps_mock.adb_profile import PhoneProfile
from apps_mock.adb_server import MockAdbDaemon
from apps_mock.phone import MockPhone
from device_runtime.adb_dump import take_dump
from device_runtime.adb_server_process import AdbServerProcess
from device_runtime.adb_shell import AdbShell
from device_runtime.ui_tree import parse
from outrider.doctor_fixes import to_restore
from outrider.owned_phone import conditions_of


@pytest.fixture(params=[23, 34], ids=["without shell v2", "with shell v2"])
def daemon(request):
    phone = MockPhone()
    phone.load("contacts_search", 1)
    daemon = MockAdbDaemon(phone, profile=PhoneProfile(api=request.param))
    daemon.start()
    yield daemon
    daemon.stop()


@pytest.fixture
def client(daemon, tmp_path):
    server = AdbServerProcess(tmp_path)
    server.start()
    client = server.client()
    client.connect(daemon.serial)
    yield client
    server.stop()


def test_a_command_tells_its_output_and_its_code(client, daemon):
    result = AdbShell(client, daemon.serial).shell("echo here; test 1 = 2")
    assert result.stdout.split() == [b"here"]
    assert result.exit_code == 1


def test_a_dump_is_taken(client, daemon):
    assert parse(take_dump(client, daemon.serial)).roots


def test_what_the_guard_and_the_doctor_ask_is_answered(client, daemon):
    shell = AdbShell(client, daemon.serial)
    assert conditions_of(shell).battery_percent is not None
    assert to_restore(shell) == []

"""The way to a phone: each state of server and phone has its mending."""

import contextlib
import socket
import threading

import pytest

from device_runtime.adb import AdbClient
from outrider import doctor_link
from outrider.doctor_link import phone_finding, reach
from outrider.doctor_machine import adb_program, protocol_of
from outrider.findings import fine
from sync.local_ports import free_port


@pytest.mark.parametrize(
    ("devices", "serial", "found", "hint"),
    [
        ({}, None, "lists none", "USB debugging"),
        ({}, "A1", "lists none", "USB debugging"),
        ({"A1": "device", "B2": "offline"}, None, "several: A1 device, B2 offline", "--serial"),
        ({"A1": "device"}, "B2", "B2 is not listed", "plug it in"),
        ({"A1": "device"}, "10.0.0.5:5555", "not listed", "adb connect 10.0.0.5:5555"),
        ({"A1": "unauthorized"}, None, "unauthorized", "Allow"),
        ({"A1": "authorizing"}, None, "authorizing", "unlocked"),
        ({"A1": "offline"}, None, "offline", "unplug"),
        ({"A1": "recovery"}, None, "recovery", "into Android"),
        ({"A1": "bootloader"}, None, "bootloader", "fastboot reboot"),
        ({"A1": "no permissions (user x); see [u]"}, None, "may not be opened", "plugdev"),
        ({"A1": "strange"}, None, "strange", "restart"),
    ],
)
def test_a_phone_that_cannot_be_asked_is_named_with_what_to_do(devices, serial, found, hint):
    finding = phone_finding(devices, serial)
    assert not finding.ok
    assert found in finding.found
    assert hint in finding.hint


@pytest.mark.parametrize(
    ("devices", "serial"),
    [({"A1": "device"}, None), ({"A1": "device", "B2": "device"}, "B2"), ({"A1": "device"}, "A1")],
)
def test_the_only_phone_and_the_named_one_are_taken(devices, serial):
    assert phone_finding(devices, serial) == fine("phone", serial or "A1")


@contextlib.contextmanager
def server(*answers):
    """Somebody who answers each connection with the next of `answers`; None: not at all."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        held = []

        def serve():
            for answer in answers:
                try:
                    link, _ = listener.accept()
                except OSError:
                    return
                link.recv(1000)
                held.append(link)
                if answer is not None:
                    link.sendall(answer)
                    link.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
    for link in held:
        link.close()


def reached(port, serial=None, program_version=41):
    return reach(AdbClient(port), port, serial=serial, program_version=program_version)


def test_no_server_is_told_apart():
    one = reached(free_port())
    assert one.serial is None
    assert one.findings[0].found.startswith("none at port")
    assert "adb start-server" in one.findings[0].hint


def test_a_wedged_server_is_told_apart(monkeypatch):
    monkeypatch.setattr(doctor_link, "ANSWER_S", 0.1)
    with server(None) as port:
        [finding] = reached(port).findings
    assert "does not answer" in finding.found
    assert "kill-server" in finding.hint


def test_somebody_elses_port_is_told_apart():
    with server(b"HTTP/1.1 400 Bad Request\r\n") as port:
        [finding] = reached(port).findings
    assert "is none" in finding.found


def test_a_server_of_another_version_is_a_fault_and_phones_are_looked_at_all_the_same():
    row = b"A1\tdevice\n"
    with server(b"OKAY00040020", b"OKAY%04x%s" % (len(row), row)) as port:
        one = reached(port)
    assert [finding.ok for finding in one.findings] == [False, True]
    assert "version 32" in one.findings[0].found
    assert "kill-server" in one.findings[0].hint
    assert one.serial == "A1"


def test_the_program_and_its_number_are_found():
    finding = adb_program()
    assert finding.ok
    assert protocol_of(finding) == 41


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("echo 'Android Debug Bridge version 1.0.31'", "too old"),
        ("echo 'not found' >&2; exit 127", "does not run: not found"),
    ],
)
def test_a_program_that_is_too_old_or_broken_is_named(monkeypatch, tmp_path, script, found):
    program = tmp_path / "adb"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setattr("device_runtime.adb_server_process.find_adb", lambda: program)
    finding = adb_program()
    assert not finding.ok
    assert found in finding.found

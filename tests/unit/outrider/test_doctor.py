"""What the doctor finds on this machine."""

from __future__ import annotations

import json

import pytest

from outrider import cli, doctor, doctor_machine
from sync.local_ports import free_port


@pytest.fixture(autouse=True)
def no_adb_server(monkeypatch):
    """Nobody's adb server is asked here."""
    monkeypatch.setattr(doctor, "ADB_PORT", free_port())


def test_this_machine_is_well(capsys, tmp_path):
    assert cli.run(["doctor", "--json", "--data", str(tmp_path)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["check"] for line in lines[:-1]} >= {"python", "broker", "adb", "disk"}
    assert lines[-1] == {"event": "summary", "ok": True, "checks": len(lines) - 1, "missing": []}


def test_an_absent_part_is_named_with_what_to_do(capsys, monkeypatch):
    monkeypatch.setitem(doctor_machine.EXTRAS, "device", ("a_module_that_does_not_exist",))
    assert cli.run(["doctor", "--json"]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out.splitlines()[-1])["missing"] == ["extra device"]
    assert captured.err == "error: extra device: pip install 'outrider[device]'\n"


def test_a_machine_that_only_drives_phones_is_well_without_the_cloud(capsys, monkeypatch):
    monkeypatch.setitem(doctor_machine.EXTRAS, "cloud", ("a_module_that_does_not_exist",))
    assert cli.run(["doctor", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    [cloud] = [line for line in lines if line.get("check") == "extra cloud"]
    assert (cloud["ok"], cloud["level"]) == (False, "advice")
    assert cloud["hint"] == "pip install 'outrider[cloud]'"


def test_the_disk_of_a_folder_that_does_not_exist_yet_is_its_parents(tmp_path):
    found = {
        finding.check: finding
        for finding in doctor_machine.machine_findings(tmp_path / "new" / "er")
    }
    assert found["disk"].found.endswith("GiB free")


@pytest.mark.parametrize("free", [0, doctor_machine.LEAST_FREE_BYTES - 1])
def test_a_full_disk_is_a_finding(monkeypatch, tmp_path, free):
    monkeypatch.setattr(doctor_machine, "LEAST_FREE_BYTES", 2**62 + free)
    found = {finding.check: finding for finding in doctor_machine.machine_findings(tmp_path)}
    assert not found["disk"].ok
    assert "free some disk" in found["disk"].hint

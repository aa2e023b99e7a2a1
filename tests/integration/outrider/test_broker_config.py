"""`outrider broker config`: a broker that is started with its files meets the protocol's rules."""

from __future__ import annotations

import json
import os
import queue
import stat
import subprocess
import sys
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from outrider.broker import PLUGIN
from outrider.cli import build_app
from outrider.errors import MisuseError
from sync.broker_server import wait_for
from sync.clock import SystemClock
from sync.credentials import CredentialStore, EnrolledTransport
from sync.local_ports import accepts, free_port
from sync.mosquitto_server import mosquitto_binary
from sync.mqtt import PahoTransport
from sync.nats_server import NatsServer
from sync.ports import Connected, Disconnected
from tests.certificates import Authority

RULES = (
    "OR-BRK-1,OR-BRK-2,OR-BRK-11,OR-BRK-12,OR-BRK-13,OR-BRK-14,OR-BRK-17,OR-BRK-18,OR-OWN-2,"
    "OR-ASG-2"
)

WAIT_S = 60.0


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path / "certificates")


def run(*arguments):
    return CliRunner().invoke(build_app(), [str(one) for one in arguments])


def written(tmp_path, make, *arguments):
    """The folder of files for a broker with two devices on a free port, and the port."""
    folder, port = tmp_path / "out", free_port()
    user = ("--run-as", "root") if make == "mosquitto" and os.geteuid() == 0 else ()
    done = run(
        *("broker", "config", make, "--out", folder, "--host", "127.0.0.1", "--port", port),
        *("--device", "phone-1", "--device", "phone-2", "--json", *user, *arguments),
    )
    assert done.exit_code == 0, done.output
    return folder, port


@contextmanager
def running(make, folder, port, require):
    if make == "mosquitto":
        require(mosquitto_binary() is not None, "mosquitto is not installed")
        command = [mosquitto_binary(), "-c", folder / "mosquitto.conf"]
    else:
        command = NatsServer().command(folder)
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder)
        try:
            wait_for(lambda: accepts(port), SystemClock(), why="the broker did not come up")
            yield
        finally:
            process.terminate()
            process.wait(10.0)


def conformance(port, *arguments, scheme="mqtt", protocol="3.1.1"):
    """Outcome by requirement, as the command tells them."""
    done = run(
        *("sync", "conformance", "--json", "--broker", f"{scheme}://127.0.0.1:{port}"),
        *("--only", RULES, "--protocol", protocol, *arguments),
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {one["id"]: (one["outcome"], one["detail"]) for one in lines[:-1]}, done


def by_password(folder):
    credentials = folder / "credentials"
    return (
        *("--user", "cloud", "--password-file", credentials / "cloud"),
        *("--device", f"phone-1={credentials / 'phone-1'}"),
        *("--device", f"phone-2={credentials / 'phone-2'}"),
    )


def all_pass(found, *, apart_from=()):
    assert set(found) == set(RULES.split(","))
    assert {key for key, one in found.items() if one[0] != "pass"} == set(apart_from), found


@pytest.mark.parametrize("make", [pytest.param("nats", marks=pytest.mark.slow), "mosquitto"])
def test_passwords_over_tls(tmp_path, make, authority, require):
    certificate, key = authority.issue("broker")
    folder, port = written(tmp_path, make, "--certificate", certificate, "--key", key)
    with running(make, folder, port, require):
        found, _ = conformance(port, *by_password(folder), "--ca", authority.path, scheme="mqtts")
        other = Authority(tmp_path / "other")
        stranger, done = conformance(port, *by_password(folder), "--ca", other.path, scheme="mqtts")
    all_pass(found)
    assert stranger == {}
    assert "certificate verify failed" in str(done.exception)


def test_dynamic_security(tmp_path, require):
    require(PLUGIN.exists(), "mosquitto's dynamic security plugin is not installed")
    folder, port = written(tmp_path, "mosquitto", "--dynsec")
    with running("mosquitto", folder, port, require):
        found, _ = conformance(port, *by_password(folder), protocol="5")
    all_pass(found)


def test_certificates_instead_of_passwords(tmp_path, authority, require):
    certificate, key = authority.issue("broker")
    folder, port = written(
        tmp_path, "mosquitto", "--mtls", "--certificate", certificate, "--key", key,
        "--client-ca", authority.path,
    )  # fmt: skip
    accounts = {name: authority.issue(name) for name in ("cloud", "phone-1", "phone-2")}
    assert not (folder / "credentials").exists()
    with running("mosquitto", folder, port, require):
        devices = [f"{name}={one}:{its}" for name, (one, its) in accounts.items()][1:]
        found, _ = conformance(
            *(port, "--ca", authority.path),
            *("--certificate", accounts["cloud"][0], "--key", accounts["cloud"][1]),
            *("--device", devices[0], "--device", devices[1]),
            scheme="mqtts",
        )
        without, done = conformance(port, "--ca", authority.path, scheme="mqtts")
    all_pass(found, apart_from={"OR-BRK-1"})  # there is no password that could be wrong
    assert found["OR-BRK-1"][0] == "not_applicable"
    assert without == {}
    assert done.exit_code != 0


def test_files_are_for_their_owners_eyes(tmp_path):
    folder, _ = written(tmp_path, "mosquitto")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.rglob("*") if path.is_file()}
    assert modes == {0o600}
    secret = (folder / "credentials" / "phone-1").read_text().strip()
    assert secret not in (folder / "passwords").read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ("nats", "--mtls"),
        ("nats", "--dynsec"),
        ("mosquitto", "--mtls"),
        ("mosquitto", "--certificate", "x.pem"),
        ("mosquitto", "--mtls", "--dynsec"),
        ("mosquitto", "--device", "cloud"),
        ("mosquitto", "--device", "a.b"),
        ("mosquitto", "--fleet", "a/b"),
        ("nats", "--fleet", ""),
        ("mosquitto", "--host", "x\nuser root"),
        ("mosquitto", "--run-as", "x\nallow_anonymous true"),
        ("mosquitto", "--data", "/nowhere"),
    ],
)
def test_what_makes_no_sense_is_refused_and_writes_nothing(tmp_path, arguments):
    done = run("broker", "config", *arguments, "--out", tmp_path / "out")
    assert isinstance(done.exception, MisuseError)
    assert not (tmp_path / "out").exists()


def test_files_of_before_are_never_written_over(tmp_path):
    folder, _ = written(tmp_path, "mosquitto")
    before = (folder / "passwords").read_bytes()
    done = run("broker", "config", "mosquitto", "--out", folder)
    assert "is not empty" in str(done.exception)
    assert (folder / "passwords").read_bytes() == before


@pytest.mark.slow
def test_phones_enrol_at_a_broker_with_dynamic_security_and_are_revoked_there(tmp_path, require):
    require(PLUGIN.exists(), "mosquitto's dynamic security plugin is not installed")
    folder, port = written(tmp_path, "mosquitto", "--dynsec")
    data, phone = tmp_path / "data", tmp_path / "phone"
    serve = [
        *(sys.executable, "-m", "outrider", "cloud", "serve", "--data", data, "--port", "0"),
        *("--broker", f"mqtt://127.0.0.1:{port}", "--json"),
        *("--credentials", folder / "credentials" / "cloud"),
        *("--dynsec-admin", folder / "credentials" / "admin"),
    ]
    with running("mosquitto", folder, port, require):
        process = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
        try:
            api = json.loads(process.stdout.readline())["port"]
            invited = run("fleet", "invite", "--data", data, "--json")
            token = json.loads(invited.stdout.splitlines()[0])["token"]
            url = f"http://127.0.0.1:{api}"
            entered = run("phone", "enroll", "--url", url, "--token", token, "--phone", phone)
            assert entered.exit_code == 0, entered.output
            stored = CredentialStore(phone).read()
            events = queue.SimpleQueue()
            transport = EnrolledTransport(CredentialStore(phone), PahoTransport)
            transport.connect(events.put)
            assert events.get(timeout=WAIT_S) == Connected()
            revoked = run("fleet", "revoke", stored.device_id, "--yes", "--data", data)
            assert revoked.exit_code == 0, revoked.output
            assert isinstance(events.get(timeout=WAIT_S), Disconnected)
            transport.close()
        finally:
            process.terminate()
            process.wait(WAIT_S)
            process.stdout.close()
    assert stored.broker_url == f"mqtt://127.0.0.1:{port}"

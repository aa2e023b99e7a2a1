"""The conformance kit: our brokers meet everything, and a broker that does not is found out."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from outrider.cli import build_app
from sync.broker_address import MqttAddress, MqttProtocol
from sync.conformance import Bench, Outcome, run
from sync.conformance_bench import CHECKS
from sync.errors import BrokerError, LinkLostError
from sync.local_ports import free_port
from sync.messages import Birth
from sync.mosquitto_server import MosquittoServer
from sync.requirements import BY_ID
from sync.session import DeviceSession
from sync.vocabulary import DeviceId
from tests.brokers import FAST_WAYS, make_broker
from tests.conftest import require

NAMES = ("phone-1", "phone-2")
PERMISSIONS = ("OR-BRK-11", "OR-BRK-12", "OR-BRK-13", "OR-BRK-14", "OR-BRK-18", "OR-OWN-2")
QUICK = (
    "OR-BRK-1",
    "OR-BRK-2",
    "OR-BRK-7",
    "OR-BRK-8",
    "OR-BRK-16",
    "OR-BRK-17",
    "OR-ASG-2",
    *PERMISSIONS,
)


@pytest.fixture(params=FAST_WAYS, scope="module")
def broker(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet") / "broker"
    broker = make_broker(request.param, folder, require, ack_wait_s=1)
    broker.process.start()
    yield broker
    broker.process.stop()


@pytest.fixture
def bench(broker):
    return Bench(
        service=broker.address(),
        fleet="home",
        devices=(broker.address(NAMES[0]), broker.address(NAMES[1])),
        accounts=broker.process,
        patience_s=3.0,
        names=NAMES,
    )


def outcomes(bench, protocol, only):
    return {one.id: (one.outcome, one.detail) for one in run(bench, protocol, only=only)}


@pytest.mark.requirement("OR-BRK-8", "OR-FIL-3", "OR-REL-3", "OR-BRK-13")
@pytest.mark.slow
def test_our_brokers_meet_every_requirement(bench, broker):
    found = outcomes(bench, broker.protocol, ())
    assert set(found) == set(BY_ID)
    assert {key: one for key, one in found.items() if one[0] is Outcome.FAIL} == {}
    passed = {key for key, one in found.items() if one[0] is Outcome.PASS}
    assert passed >= CHECKS.keys() - {"OR-BRK-9"}
    with bench.cloud() as later:
        later.subscribe("or/1/home/#")
        assert later.next(0.5) is None, "the kit left a retained message"


def test_a_device_can_do_no_more_than_its_account_allows(bench, broker):
    found = outcomes(bench, broker.protocol, QUICK)
    assert {key: one for key, one in found.items() if one[0] is not Outcome.PASS} == {}


def test_without_accounts_of_devices_permissions_are_not_judged(bench, broker):
    found = outcomes(replace(bench, devices=None, accounts=None), broker.protocol, PERMISSIONS)
    assert {one[0] for one in found.values()} == {Outcome.NOT_APPLICABLE}


def test_a_fleet_that_is_in_use_is_left_alone(bench, broker, tmp_path):
    session = DeviceSession(
        transport=broker.transport("phone-3"),
        database=tmp_path / "device.db",
        fleet="home",
        birth=Birth(device_id=DeviceId("phone-3")),
    )
    session.start()
    assert session.wait_connected(20.0)
    try:
        with pytest.raises(BrokerError, match=r"'phone-3' .* is connected"):
            outcomes(bench, broker.protocol, ("OR-BRK-2",))
    finally:
        session.close()


class OpenMosquitto(MosquittoServer):
    """A Mosquitto as one finds them: anybody may do anything."""

    def configure(self, directory, state):
        super().configure(directory, state)
        config = directory / self.config_file
        lines = config.read_text().splitlines()
        kept = [line for line in lines if not line.startswith(("password", "acl", "allow_anon"))]
        config.write_text("\n".join([*kept, "allow_anonymous true", ""]))


@pytest.fixture
def open_broker(tmp_path, monkeypatch, require):
    monkeypatch.setattr("tests.brokers.MosquittoServer", OpenMosquitto)
    broker = make_broker("mosquitto-3.1.1", tmp_path / "open", require)
    broker.process.start()
    yield broker
    broker.process.stop()


def test_a_broker_without_permissions_is_found_out(open_broker):
    bench = Bench(
        service=open_broker.address(),
        fleet="home",
        devices=(open_broker.address(NAMES[0]), open_broker.address(NAMES[1])),
        names=NAMES,
        patience_s=1.0,
    )
    found = outcomes(bench, MqttProtocol.V3_1_1, ("OR-BRK-1", "OR-BRK-2", *PERMISSIONS))
    failed = {key for key, one in found.items() if one[0] is Outcome.FAIL}
    assert failed == {"OR-BRK-1", *PERMISSIONS}


def command(*arguments):
    """What `outrider sync conformance` prints: its JSON lines, its exit code, and all text."""
    done = CliRunner().invoke(build_app(), ["sync", "conformance", "--json", *arguments])
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return lines, done


def test_the_command_tells_each_result_and_no_secret(broker, tmp_path):
    files = {name: tmp_path / name for name in NAMES}
    for name, file in files.items():
        file.write_text(broker.address(name).password + "\n")
    service = broker.address()
    url = f"mqtt://cloud:{service.password}@127.0.0.1:{service.port}"
    arguments = [
        "--broker",
        url,
        "--protocol",
        str(broker.protocol),
        "--only",
        "OR-BRK-2,OR-BRK-16",
    ]
    for name, file in files.items():
        arguments += ["--device", f"{name}={file}"]
    lines, done = command(*arguments)
    assert [(one["id"], one["outcome"]) for one in lines[:-1]] == [
        ("OR-BRK-2", "pass"),
        ("OR-BRK-16", "not_applicable"),
    ]
    assert lines[-1] == {
        "event": "summary",
        "pass": 1,
        "fail": 0,
        "not_applicable": 1,
        "failed": [],
    }
    assert done.exit_code == 0
    assert service.password not in done.output


def test_a_fleets_own_broker_is_checked_with_accounts_made_for_it(broker):
    data = broker.process._directory.parent
    before = broker.process.devices
    lines, done = command("--data", str(data), "--only", "OR-BRK-16,OR-BRK-11", "--patience", "3")
    assert done.exit_code == 0
    assert lines[-1]["pass"] == 2
    assert broker.process.devices == before


def test_a_broker_that_fails_is_exit_code_1(open_broker):
    url = f"mqtt://cloud:whatever@127.0.0.1:{open_broker.process.port}"
    lines, done = command("--broker", url, "--only", "OR-BRK-1")
    assert lines[-1]["failed"] == ["OR-BRK-1 (3.1.1)"]
    assert done.exit_code != 0
    assert "whatever" not in done.output


def closes_at_once(peer):
    """Say nothing."""
    del peer


def is_no_mqtt(peer):
    peer.recv(4096)
    peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def lets_in_and_leaves(peer):
    peer.recv(4096)
    peer.sendall(b"\x20\x02\x00\x00")


@contextmanager
def listening(behave):
    """The port of a server that treats each connection in one way."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            with suppress(OSError):
                while True:
                    with server.accept()[0] as peer, suppress(OSError):
                        behave(peer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize(
    ("behave", "says"),
    [
        (closes_at_once, "does not answer as an MQTT broker does"),
        (is_no_mqtt, "does not answer as an MQTT broker does"),
        (lets_in_and_leaves, "takes no subscription"),
    ],
)
def test_what_is_no_broker_is_one_clear_error(behave, says):
    with listening(behave) as port, pytest.raises(BrokerError, match=says) as caught:
        outcomes(
            Bench(service=MqttAddress("127.0.0.1", port, "cloud", "", ""), fleet="home"),
            MqttProtocol.V3_1_1,
            ("OR-BRK-2",),
        )
    assert "\n" not in str(caught.value)


def test_a_broker_that_goes_away_ends_the_checks(tmp_path):
    broker = make_broker("nats-3.1.1", tmp_path / "broker", require)
    broker.process.start()
    bench = Bench(service=broker.address(), fleet="home", wait_s=1.0, patience_s=1.0)
    checks = run(bench, MqttProtocol.V3_1_1, only=("OR-BRK-2", "OR-BRK-3", "OR-BRK-4"))
    assert next(checks).outcome is Outcome.PASS
    broker.process.stop()
    assert next(checks).outcome is Outcome.FAIL
    with pytest.raises(LinkLostError, match="since OR-BRK-3 was checked"):
        next(checks)


def test_no_broker_is_one_clear_error_without_the_password():
    address = MqttAddress("127.0.0.1", free_port(), "cloud", "cloud", "hush-hush")
    with pytest.raises(LinkLostError, match="start it or correct the address") as caught:
        outcomes(Bench(service=address, fleet="home"), MqttProtocol.V3_1_1, ())
    assert "hush-hush" not in str(caught.value) + repr(address)

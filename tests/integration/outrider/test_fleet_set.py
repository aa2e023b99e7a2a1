"""`outrider fleet set`: over a real broker to devices that are there, away, and of another mind."""

from __future__ import annotations

import json

import pytest
import structlog

from device_runtime.remote_settings import RemoteSettings
from outrider import cli
from sync.broker import BrokerProcess
from sync.clock import SystemClock
from sync.messages import Birth
from sync.mqtt import PahoTransport
from sync.session import DeviceSession
from sync.vocabulary import DeviceId

pytestmark = pytest.mark.integration
WAIT_S = 20.0


@pytest.fixture(autouse=True)
def _quiet_devices():
    """The devices run in this process, whose stdout is the command's."""
    with structlog.testing.capture_logs():
        yield


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """A fleet's folder whose broker runs."""
    folder = tmp_path_factory.mktemp("fleet")
    broker = BrokerProcess(folder / "broker", fleet="home")
    broker.start()
    yield folder, broker
    broker.stop()


@pytest.fixture
def phone(fleet):
    """`phone(name)`: a device of the fleet that is there, and what it was set to."""
    folder, broker = fleet
    sessions = []

    def make(name):
        home = folder / "phones" / name
        home.mkdir(parents=True, exist_ok=True)
        settings = RemoteSettings(home, clock=SystemClock())
        session = DeviceSession(
            transport=PahoTransport(broker.add_device(name)),
            database=home / "phone.db",
            fleet="home",
            birth=Birth(device_id=DeviceId(name)),
            settings=settings,
        )
        sessions.append(session)
        session.start()
        assert session.wait_connected(WAIT_S)
        return settings

    yield make
    for session in sessions:
        session.close()


def run(capsys, fleet, *words):
    code = cli.run(["fleet", "set", *words, "--data", str(fleet[0]), "--wait", "15", "--json"])
    said = capsys.readouterr()
    return code, [json.loads(line) for line in said.out.splitlines()], said.err


def test_a_phone_takes_a_temperature_and_says_so(capsys, fleet, phone):
    settings = phone("p-one")

    code, lines, _ = run(capsys, fleet, "temperature=0.5", "--device", "p-one")

    assert code == 0
    assert settings.number("temperature") == 0.5
    assert lines[0] == {
        "event": "setting",
        "device_id": "p-one",
        "version": 1,
        "taken": True,
        "values": {
            "temperature": 0.5,
            "health_every_s": 15.0,
            "outbox_quota_mb": 256.0,
            "log_quota_mb": 512.0,
            "upload_screens": False,
        },
        "refused": {},
        "unknown": 0,
    }
    assert lines[-1] == {
        "event": "summary",
        "devices": 1,
        "taken": 1,
        "refused": [],
        "waiting": [],
    }


def test_what_a_phone_refuses_is_told_by_key_and_is_a_failure(capsys, fleet, phone):
    settings = phone("p-two")

    code, lines, error = run(
        capsys, fleet, "temperature=9", "colour=red", "health_every_s=30", "--device", "p-two"
    )

    assert code == 1
    assert lines[0]["refused"] == {"temperature": "range", "colour": "unknown"}
    assert lines[0]["unknown"] == 1
    assert settings.number("health_every_s") == 30.0
    assert settings.number("temperature") == 0.0
    assert len(error.strip().splitlines()) == 1


def test_all_devices_that_ever_announced_themselves_are_set_away_ones_included(
    capsys, fleet, phone
):
    phone("p-three")
    gone = phone("p-four")
    assert gone.number("temperature") == 0.0

    code, lines, _ = run(capsys, fleet, "temperature=0.25", "--all")

    assert code == 0
    told = {line["device_id"] for line in lines if line["event"] == "setting"}
    assert {"p-three", "p-four"} <= told


@pytest.mark.parametrize(
    "words",
    [
        ["temperature=0.5"],
        ["temperature=0.5", "--all", "--device", "p"],
        ["temperature", "--all"],
        ["=1", "--all"],
    ],
)
def test_misuse_is_one_line_and_exit_code_2(capsys, fleet, words):
    code, _, error = run(capsys, fleet, *words)
    assert code == 2
    assert len(error.strip().splitlines()) == 1


def test_a_folder_without_a_broker_is_misuse(capsys, tmp_path):
    code = cli.run(["fleet", "set", "temperature=1", "--all", "--data", str(tmp_path)])
    assert code == 2
    assert "--broker" in capsys.readouterr().err

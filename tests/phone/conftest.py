"""The phone that these tests look at: `--serial S` names one's own; else a mock one over real ADB.

    pytest tests/phone --serial S [--adb-port P]

They are harmless: home screen and settings app only, nothing is typed into anything that sends,
no setting is changed, and the phone is left on its home screen.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from device_runtime.adb import AdbClient
from device_runtime.adb_phone import AdbPhone
from device_runtime.adb_settings import AdbPhoneSettings
from sync.vocabulary import Assignment, AssignmentId, Observation, open_app

ADB_PORT = 5037
ANDROID_SETTINGS = "com.android.settings"
CLONES = "org.outrider.clones"
HARMLESS = AdbPhoneSettings(stops_apps=False)
MOCK = AdbPhoneSettings(settle_s=0.5, settle_poll_s=0.02, retry_pause_s=0.02)


def pytest_addoption(parser):
    parser.addoption("--serial", help="Run on this phone, as the adb server lists it.")
    parser.addoption("--adb-port", type=int, default=ADB_PORT, help="Port of that adb server.")


@dataclass
class Subject:
    """A phone, and what these tests must know of it.

    Attributes:
        settings_app: package of its settings.
        searched_app: package of an app whose first page has a search.
        is_mock: whether everything must be there that a physical phone may lack.
    """

    phone: AdbPhone
    client: AdbClient
    settings_app: str
    searched_app: str
    is_mock: bool

    def open(self, package: str) -> Observation:
        """The first page of an app."""
        if self.client.shell(self.phone.serial, f"pm path {package}").exit_code != 0:
            self.may_lack(package)
        outcome = self.phone.act(open_app(package))
        assert outcome.valid, outcome.detail
        return self.phone.observe()

    def may_lack(self, what: str):
        """End the test where a physical phone lacks something; the mock lacks nothing."""
        if self.is_mock:
            pytest.fail(f"the mock phone has no {what}", pytrace=False)
        pytest.skip(f"this phone has no {what}")


def _own(serial: str, port: int) -> Subject:
    client = AdbClient(port)
    state = client.devices().get(serial, "not listed")
    if state != "device":
        pytest.exit(f"{serial} is {state}: outrider doctor --serial {serial} says what to do", 2)
    phone = AdbPhone(client, serial, settings=HARMLESS)
    if client.shell(serial, f"pm path {ANDROID_SETTINGS}").exit_code == 0:
        return Subject(phone, client, ANDROID_SETTINGS, ANDROID_SETTINGS, is_mock=False)
    return Subject(phone, client, f"{CLONES}.settings", f"{CLONES}.contacts", is_mock=False)


@pytest.fixture(scope="session")
def _subject(request, tmp_path_factory):
    serial = request.config.getoption("--serial", None)
    if serial is not None:
        subject = _own(serial, request.config.getoption("--adb-port", ADB_PORT))
        yield subject
        subject.phone.reset(_GO_HOME)
        subject.phone.close()
        return
    from apps_mock.adb_clone import AdbClone
    from apps_mock.own_goals import OwnGoalPhone

    clone = AdbClone(tmp_path_factory.mktemp("adb"), phone=OwnGoalPhone())
    clone.start()
    try:
        clone.reset(_GO_HOME)
        client = clone.server.client()
        phone = AdbPhone(client, clone.daemon.serial, settings=MOCK)
        yield Subject(phone, client, f"{CLONES}.settings", f"{CLONES}.contacts", is_mock=True)
    finally:
        clone.close()


_GO_HOME = Assignment(AssignmentId("phone"), goal="Show the home screen", seed=1)


@pytest.fixture
def subject(_subject) -> Subject:
    """The phone on its home screen."""
    _subject.phone.reset(_GO_HOME)
    return _subject

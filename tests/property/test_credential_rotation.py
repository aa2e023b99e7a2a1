"""New credentials of a phone, with either side killed at any point: it always gets in, by one.

The phone's store, the cloud's tables and its carrier are the real ones; the broker is one password.
What dies does so between two deeds that reach somebody else: a message, an account, a commit.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloud_learner.fleet_carrier import FleetCarrier
from cloud_learner.fleet_desk import FleetDesk
from cloud_learner.ingest import Ingest
from cloud_learner.store import Database, sqlite_url
from sync.clock import ManualClock
from sync.credentials import CredentialStore
from sync.enrolment import Enrolment, EnrolmentRequest, new_key, public_key_of
from sync.messages import Birth, Event, NewCredentials
from sync.session import Received
from sync.vocabulary import DeviceId, new_uuid7


class KilledError(Exception):
    """The process ends here."""


class Side:
    """A process that is killed before its n-th deed, once; 0 never."""

    def __init__(self) -> None:
        self.deeds_left = 0

    def deed(self) -> None:
        self.deeds_left -= 1
        if self.deeds_left == 0:
            raise KilledError


class Rotation:
    """One phone, its broker and its cloud."""

    def __init__(self, database: Database, folder: Path, name: str) -> None:
        self.name = name
        self.cloud, self.phone = Side(), Side()
        self.clock = ManualClock()
        self.desk = FleetDesk(database, clock=self.clock, new_id=new_uuid7)
        self.ingest = Ingest(database, clock=self.clock)
        self.password = "first"
        self.mail: list[NewCredentials] = []
        self._secrets = folder / "secrets"
        self._phone_folder = folder / name
        self._phone_folder.mkdir(parents=True)
        self._seq = 0
        self._outbox: list[Event] = []
        self._enrol()
        self.restart()

    def _enrol(self) -> None:
        (claim,) = self.desk.claims.invite(1, minutes=1, labels={})
        key = public_key_of(new_key())
        self.desk.claims.claim(EnrolmentRequest(token=claim.token, public_key=key, name=self.name))
        given_to_it = Enrolment(
            device_id=self.name,
            fleet="home",
            broker_url="mqtt://127.0.0.1:1883",
            client_id=self.name,
            password=self.password,
        )
        CredentialStore(self._phone_folder).write(given_to_it, url="")

    def restart(self) -> None:
        """Both processes begin anew; what is on disk is all that they know."""
        self.store = CredentialStore(self._phone_folder)
        self.carrier = FleetCarrier(
            self.desk.store,
            self.desk.task_store,
            downlink=self,
            accounts=self,  # type: ignore[arg-type]  # of the accounts only what a rotation needs
            secrets_dir=self._secrets,
            clock=self.clock,
        )

    def send(self, device_id: str, message: NewCredentials) -> None:
        self.cloud.deed()
        if device_id == self.name:
            self.mail.append(message)

    def announce(self, announcement: object) -> None:
        """No release is announced here."""

    def forget(self, device_id: str) -> None:
        """Nobody is revoked here."""

    def set_password(self, device_id: str, password: str) -> None:
        self.cloud.deed()
        if device_id == self.name:
            self.password = password
        self.cloud.deed()

    def carry(self) -> None:
        self.carrier.tick()

    def take(self) -> None:
        """The phone takes what it was sent, and writes down what it has to say of it."""
        mail, self.mail = self.mail, []
        for offered in mail:
            self.phone.deed()
            if self.store.take(offered):
                self.phone.deed()
                fields = {"version": str(offered.version)}
                self._outbox.append(Event(kind="credentials_stored", fields=fields))

    def upload(self) -> None:
        """Rows arrive at least once."""
        for event in self._outbox:
            self._seq += 1
            self._commit(event, "outbox")
        self._outbox.clear()

    def connect(self) -> bool:
        """Connect as the phone does, and say so; whether it was let in."""
        if self.store.address().password != self.password:
            self.store.refused()
            return False
        self.store.worked()
        self.phone.deed()
        birth = Birth(device_id=DeviceId(self.name), boot_id="b1", credentials=self.store.version())
        self._commit(birth, "live")
        return True

    def rotate(self) -> None:
        self.desk.rotate(self.name, days=1)

    def _commit(self, message: Event | Birth, stream: str) -> None:
        row = Received(
            device_id=self.name,
            message=message,
            install_id="i1",
            boot_id="b1",
            stream=stream,
            seq=self._seq,
            attempt=1,
            sent_at_ms=1,
            received_at_ms=1,
            redelivered=False,
        )
        assert self.ingest.commit([row]) == {}


DEEDS: dict[str, Callable[[Rotation], object]] = {
    "rotate": Rotation.rotate,
    "carry": Rotation.carry,
    "take": Rotation.take,
    "upload": Rotation.upload,
    "connect": Rotation.connect,
    "restart": Rotation.restart,
}
NAMES = (f"phone-{number}" for number in count(1))


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rotation")
    database = Database(sqlite_url(folder / "cloud.db"))
    yield database, folder
    database.close()


steps = st.lists(
    st.tuples(
        st.sampled_from(sorted(DEEDS)), st.sampled_from(["", "cloud", "phone"]), st.integers(1, 3)
    ),
    max_size=16,
)


@pytest.mark.requirement("OR-ENR-3")
@settings(max_examples=40)
@given(steps)
def test_a_phone_gets_in_by_exactly_one_password_wherever_a_rotation_is_broken_off(place, plan):
    database, folder = place
    world = Rotation(database, folder, next(NAMES))
    world.rotate()
    for name, killed, after in plan:
        world.cloud.deeds_left = after if killed == "cloud" else 0
        world.phone.deeds_left = after if killed == "phone" else 0
        try:
            DEEDS[name](world)
        except KilledError:
            world.restart()
        stored = world.store.read()
        assert [stored.password, stored.next_password].count(world.password) == 1
        if name == "restart" or killed:
            assert any(_gets_in(world) for _ in range(3))
    world.cloud.deeds_left = world.phone.deeds_left = 0
    for _ in range(3):
        for deed in ("carry", "take", "upload", "carry", "connect", "connect"):
            DEEDS[deed](world)
    row = world.desk.device(world.name)
    assert not row["rotating"]
    assert world.store.read().password == world.password != "first"
    assert world.store.read().next_password == ""
    assert row["credentials"] == world.store.read().credentials


def _gets_in(world: Rotation) -> bool:
    world.phone.deeds_left = 0
    return world.connect()

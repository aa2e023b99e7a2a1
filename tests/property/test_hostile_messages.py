"""Whatever a phone or a cloud is sent on any topic: it is counted, and it ends nothing.

The real handlers take messages that are well formed and absurd, and golden ones with spoilt bytes.
A sound message stands behind each, in the same batch, and must fare as if it stood alone.
"""

from __future__ import annotations

from collections import deque
from random import Random

import pytest
from hypothesis import given, settings
from sqlalchemy import func, select

from cloud_learner.blob_store import BlobStore
from cloud_learner.ingest import Ingest
from cloud_learner.store import Database, sqlite_url
from cloud_learner.tables import DEVICE_EVENTS
from device_runtime.owner import DeskRules
from device_runtime.phone_owner import PhoneOwner
from device_runtime.remote_settings import RemoteSettings
from device_runtime.stop import StopSwitch
from sync import inbox, topics
from sync.blob_desk import BlobDesk
from sync.blob_sender import BlobSettings
from sync.clock import ManualClock
from sync.cloud_link import CloudLink, CloudOutlets
from sync.codec import Sender, encode_body, sealed
from sync.credentials import CredentialStore
from sync.database import create_schema, open_database, transaction
from sync.device_link import DeviceLink, DeviceOutlets
from sync.enrolment import Enrolment
from sync.fetch import DirectoryFiles
from sync.loopback import LoopbackBroker
from sync.messages import Acknowledgement, Birth
from sync.outbox import depth, enqueue
from sync.ports import Connected, Incoming
from sync.vocabulary import DeviceId
from tests.hostile import payloads
from tests.wire import FLEET, event

PHONE, SOUND, CHANNEL = "phone-1", "phone-2", "stable"
UP = [name for row in topics.TABLE if row.direction is topics.Direction.UP for name in row.messages]
DOWN = [name for row in topics.TABLE for name in row.messages if name not in UP]
EXAMPLES = [6, pytest.param(250, marks=pytest.mark.slow)]
"""Of each kind of message."""
SAYS = {
    "acknowledgement": {
        "install_id": "install",
        "boot": "",
        "rejected": [[1, "sequence_taken"], [2, "malformed"]],
        "sequences": [3],
    },
    "blob_offer": {"have": [[bytes(32), 5]]},
}
"""Values that let a sample through to who acts on it."""


class Cloud:
    """The service's link with its real ingest, blobs and files."""

    def __init__(self, folder):
        self.clock = ManualClock()
        self.database = Database(sqlite_url(folder / "cloud.db"))
        ingest = Ingest(self.database, clock=self.clock)
        ids = iter(range(10**6))
        self.shelf = BlobStore(
            self.database, folder / "blobs", clock=self.clock, new_id=lambda: f"id-{next(ids)}"
        )
        self.desk = BlobDesk(self.shelf, clock=self.clock)
        self.blobs = 0
        self.link = CloudLink(
            transport=LoopbackBroker().transport("cloud"),
            sink=lambda _event: None,
            fleet=FLEET,
            shards=None,
            files=DirectoryFiles(folder),
            outlets=CloudOutlets(
                ingest=ingest.commit,
                dead_letter=ingest.bury,
                connected=lambda _online: None,
                blobs=self.take_blob,
            ),
            boot_id="cloud",
            clock=self.clock,
            random=Random(0),
        )
        self.link.pump()
        self.link.take([Connected()])

    def take_blob(self, device_id, message):
        self.blobs += 1
        self.desk.take(device_id, message)

    def take(self, *incoming):
        self.link.take(incoming)
        self.link.pump()
        self.desk.tick()
        self.shelf.commit()
        for device_id, message in self.desk.answers():
            self.link.send(device_id, message)

    @property
    def counted(self):
        said = self.link.counters
        known = said.received + said.dead_lettered + said.chunks + said.stale_offline + self.blobs
        return known + said.withheld + said.emptied

    def stored_events(self):
        with self.database.read() as connection:
            query = select(func.count()).where(DEVICE_EVENTS.c.device_id == SOUND)
            return connection.execute(query).scalar_one()


def sound_event(number):
    """An event of another phone."""
    sender = Sender(SOUND, install_id="install-2", boot_id="boot-2")
    payload = sealed(
        encode_body(event(number)), sender, stream="outbox", seq=number, sent_at_ms=number
    )
    return Incoming(topics.build(FLEET, topics.EVENT, SOUND), payload)


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("kind", UP)
def test_no_message_of_a_phone_ends_the_cloud_or_holds_back_its_neighbour(tmp_path, kind, examples):
    cloud = Cloud(tmp_path)
    topic = topics.build(FLEET, topics.kind_of(kind), PHONE)
    taken = 0

    @settings(max_examples=examples)
    @given(payloads(kind, PHONE, SAYS.get(kind, {})))
    def hear(payload):
        nonlocal taken
        taken += 1
        before = cloud.counted
        cloud.take(Incoming(topic, payload), sound_event(taken))
        assert cloud.counted >= before + 2

    hear()
    assert cloud.stored_events() == taken
    cloud.database.close()


class Phone:
    """A device's link with its real owner, settings, credentials and blobs."""

    def __init__(self, folder):
        self.clock = ManualClock()
        self.conn = open_database(folder / "phone.db")
        with transaction(self.conn):
            create_schema(self.conn, install_id="install")
        switch = StopSwitch(folder / "owner", clock=self.clock, permit_s=100.0)
        owner = PhoneOwner(
            switch, DeskRules(1.0, folder / "owner"), clock=self.clock, new_id=lambda: "question"
        )
        enrolled = CredentialStore(folder / "owner")
        given = Enrolment(
            device_id=PHONE, fleet=FLEET, broker_url="mqtt://b:1", client_id="c", password="p"
        )
        enrolled.write(given, url="http://cloud")
        self.switch = switch
        self.handed = deque(maxlen=1)
        self.link = DeviceLink(
            transport=LoopbackBroker().transport(PHONE),
            sink=lambda _event: None,
            conn=self.conn,
            fleet=FLEET,
            birth=Birth(device_id=DeviceId(PHONE)),
            boot_id="phone-boot",
            outlets=DeviceOutlets(
                inbox=self.handed.append,
                chunk=self.handed.append,
                connected=lambda _online: None,
                acknowledged=lambda: None,
                control=owner.control,
                heard=switch.heard,
                settings=RemoteSettings(folder / "owner", clock=self.clock),
                credentials=enrolled,
            ),
            clock=self.clock,
            random=Random(0),
            blobs=BlobSettings(folder / "blobs"),
        )
        self.link.pump()
        self.link.take([Connected()])
        self.queue(1, 2, 3)

    def queue(self, *numbers):
        with transaction(self.conn):
            return [enqueue(self.conn, event(one), created_at_ms=1) for one in numbers]

    def take(self, *incoming):
        self.link.take(incoming)
        self.link.pump()
        self.clock.advance(3.0)
        self.switch.reason()
        inbox.pending(self.conn)
        self.link.resume()

    def install(self, seq):
        query = "SELECT install FROM outbox WHERE seq = ?"
        return self.conn.execute(query, (seq,)).fetchone()[0]


def sound_answer(install, *sequences):
    """The cloud has committed rows, and takes as many as there may be by now."""
    sender = Sender(PHONE, install_id="cloud", boot_id="cloud")
    message = Acknowledgement(install_id=install, sequences=sequences, credit=1_000)
    payload = sealed(encode_body(message), sender, stream="live", seq=1, sent_at_ms=1)
    return Incoming(topics.build(FLEET, topics.ACK, PHONE), payload)


@pytest.mark.parametrize("examples", EXAMPLES)
@pytest.mark.parametrize("kind", DOWN)
def test_no_message_to_a_phone_ends_its_wire(tmp_path, kind, examples):
    phone = Phone(tmp_path)
    owner = CHANNEL if kind == "release_announcement" else PHONE
    topic = topics.build(FLEET, topics.kind_of(kind), owner)

    @settings(max_examples=examples)
    @given(payloads(kind, owner, SAYS.get(kind, {})))
    def hear(payload):
        phone.take(Incoming(topic, payload))

    hear()
    waited = depth(phone.conn)
    [seq] = phone.queue(9)
    assert depth(phone.conn) == waited + 1
    phone.clock.advance(1_000.0)
    install = phone.install(seq)
    phone.take(sound_answer(install))  # whatever it was told before, it sends the row now
    phone.take(sound_answer(install, seq))
    assert depth(phone.conn) == waited
    assert phone.link.counters.unkept == 0
    phone.conn.close()

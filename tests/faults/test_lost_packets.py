"""Packets that matter once and are lost: a connection that would hear nothing is made again."""

from __future__ import annotations

from random import Random

import pytest

import sync.mqtt
from outrider.mqtt_frames import FrameSplitter, Packet
from outrider.wire_proxy import CountingProxy
from sync import outbox
from sync.broker import BrokerProcess
from sync.broker_address import MqttAddress
from sync.codec import encode_body
from sync.database import open_database, transaction
from sync.fetch import DirectoryFiles
from sync.messages import Birth
from sync.mqtt import PahoTransport
from sync.session import CloudSession, DeviceSession
from sync.vocabulary import DeviceId
from tests.wire import upload

pytestmark = pytest.mark.faults

WAIT_S = 60.0


class Swallow:
    """Loses the first packet of a kind, and passes on all else."""

    def __init__(self, kind):
        self.kind = kind
        self.lost = 0

    def flow(self, _connection, _direction):
        return _SwallowingFlow(self)


class _SwallowingFlow:
    def __init__(self, owner):
        self._owner = owner
        self._splitter = FrameSplitter()

    async def carry(self, data, write):
        for frame in self._splitter.feed(data):
            if frame.kind == self._owner.kind and not self._owner.lost:
                self._owner.lost += 1
            else:
                await write(frame.raw)

    def close(self):
        pass


@pytest.fixture
def broker(tmp_path):
    broker = BrokerProcess(tmp_path / "broker", fleet="home")
    broker.start()
    yield broker
    broker.stop()


def through(address, proxy):
    return MqttAddress(
        host=address.host,
        port=proxy.port,
        client_id=address.client_id,
        username=address.username,
        password=address.password,
    )


@pytest.mark.parametrize("whose", ["phone", "cloud"])
def test_a_lost_subscription_is_noticed_and_made_again(broker, tmp_path, monkeypatch, whose):
    monkeypatch.setattr(sync.mqtt, "SUBSCRIBE_TIMEOUT_S", 0.5)
    swallow, rows = Swallow(Packet.SUBSCRIBE), []

    def ingest(batch):
        rows.extend(one.seq for one in batch if one.stream == "outbox")
        return {}

    with CountingProxy("127.0.0.1", broker.port, flow=swallow.flow) as proxy:
        addresses = {"phone": broker.add_device("phone-1"), "cloud": broker.address()}
        addresses[whose] = through(addresses[whose], proxy)
        cloud = CloudSession(
            transport=PahoTransport(addresses["cloud"]),
            fleet="home",
            ingest=ingest,
            files=DirectoryFiles(tmp_path),
            random=Random(1),
        )
        phone = DeviceSession(
            transport=PahoTransport(addresses["phone"]),
            database=tmp_path / "phone.db",
            fleet="home",
            birth=Birth(device_id=DeviceId("phone-1")),
            random=Random(2),
        )
        cloud.start()
        phone.start()
        conn = open_database(tmp_path / "phone.db")
        with transaction(conn):
            seq = outbox.enqueue(conn, encode_body(upload(1)), created_at_ms=1)
        phone.wake()
        assert phone.wait_drained(WAIT_S)
        stats = {"phone": phone.stats(), "cloud": cloud.stats()}[whose]
        phone.close()
        cloud.close()
        conn.close()
    assert set(rows) == {seq}
    assert swallow.lost == 1
    assert stats.connects == 2

"""A phone and a cloud as processes of their own, so that they can be killed while blobs travel.

`python -m tests.blob_processes phone|cloud FOLDER HOST PORT USER PASSWORD`, until it is killed.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from sync.blob_sender import BlobSettings
from sync.broker_address import MqttAddress
from sync.clock import SystemClock
from sync.fetch import DirectoryFiles
from sync.messages import Birth
from sync.mqtt import PahoTransport
from sync.session import CloudSession, DeviceSession
from sync.vocabulary import DeviceId, new_uuid7


def phone(folder: Path, address: MqttAddress) -> None:
    """Send what the phone's database and folder hold."""
    session = DeviceSession(
        transport=PahoTransport(address),
        database=folder / f"{address.username}.db",
        fleet="home",
        birth=Birth(device_id=DeviceId(address.username)),
        blobs=BlobSettings(folder / f"{address.username}-blobs"),
    )
    session.start()
    threading.Event().wait()


def cloud(folder: Path, address: MqttAddress) -> None:
    """Take episodes and blobs into the folder's database and store."""
    from cloud_learner.blob_intake import BlobIntake
    from cloud_learner.blob_store import BlobStore
    from cloud_learner.ingest import Ingest
    from cloud_learner.store import Database, sqlite_url

    database = Database(sqlite_url(folder / "cloud.db"))
    clock = SystemClock()
    store = BlobStore(database, folder / "blobs", clock=clock, new_id=new_uuid7)
    intake = BlobIntake(store, clock=clock)
    session = CloudSession(
        transport=PahoTransport(address),
        fleet="home",
        ingest=Ingest(database, clock=clock).commit,
        files=DirectoryFiles(folder / "served"),
        blobs=intake.take,
    )
    intake.start(session)
    session.start()
    threading.Event().wait()


if __name__ == "__main__":
    role, where, host, port, user, password = sys.argv[1:]
    known = MqttAddress(host=host, port=int(port), client_id=user, username=user, password=password)
    (phone if role == "phone" else cloud)(Path(where), known)

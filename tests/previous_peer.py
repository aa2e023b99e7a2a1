"""A device or a cloud of the minor version before, as a program: the real code of then.

    python tests/previous_peer.py tests/golden/sync_v1.zip device|cloud FOLDER < address.json

It imports `sync` from the archive that its first argument names, so it is never part of a test's
own process. What it saw goes to stdout as one line of JSON.
"""

from __future__ import annotations

import json
import queue
import sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])

import sync
from sync import outbox
from sync.database import open_database, transaction
from sync.fetch import DirectoryFiles
from sync.messages import AssignmentBatch, Birth, EpisodeUpload, Event, ReleaseAnnouncement
from sync.mqtt import MqttAddress, PahoTransport
from sync.session import CloudSession, DeviceSession
from sync.vocabulary import (
    Action,
    ActionKind,
    Assignment,
    AssignmentId,
    DeviceId,
    EndReason,
    Episode,
    EpisodeId,
    FinishStatus,
    Observation,
    Step,
)

WAIT_S = 30.0
ROWS = 3


def tell(what: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def device(folder: Path, address: MqttAddress) -> dict[str, object]:
    session = DeviceSession(
        transport=PahoTransport(address),
        database=folder / "old.db",
        fleet="home",
        birth=Birth(device_id=DeviceId(address.client_id)),
    )
    session.start()
    session.wait_connected(WAIT_S)
    action = Action(ActionKind.FINISH, status=FinishStatus.COMPLETE)
    episode = Episode(
        EpisodeId("e1"),
        Assignment(AssignmentId("a0")),
        DeviceId(address.client_id),
        "an old goal",
        tuple(Step(number, Observation(1080, 2400), action) for number in range(30)),
        EndReason.FINISH,
    )
    conn = open_database(folder / "old.db")
    with transaction(conn):
        for number in range(ROWS - 1):
            outbox.enqueue(conn, Event(kind="old", fields={"n": str(number)}), created_at_ms=1)
        outbox.enqueue(conn, EpisodeUpload(episode=episode), created_at_ms=1)
    conn.close()
    session.wake()
    drained = session.wait_drained(WAIT_S)
    messages = [type(session.next_message(WAIT_S)).__name__ for _ in range(2)]
    fetched = len(b"".join(session.fetch("adapter.bin")))
    stats = session.stats()
    session.close()
    return {
        "drained": drained,
        "messages": sorted(messages),
        "fetched": fetched,
        "parked": stats.parked,
        "malformed": stats.counters.malformed,
    }


def cloud(folder: Path, address: MqttAddress) -> dict[str, object]:
    heard: queue.SimpleQueue[object] = queue.SimpleQueue()

    def ingest(batch):
        for one in batch:
            heard.put(one)
        return {}

    session = CloudSession(
        transport=PahoTransport(address), fleet="home", ingest=ingest, files=DirectoryFiles(folder)
    )
    session.start()
    session.wait_connected(WAIT_S)
    session.announce(ReleaseAnnouncement(channel="stable", release_id="r1", version=1))
    tell({"ready": True})
    rows: dict[int, str] = {}
    steps = 0
    while len(rows) < ROWS:
        one = heard.get(timeout=WAIT_S)
        if isinstance(one.message, Birth):
            batch = AssignmentBatch(assignments=(Assignment(AssignmentId("a1")),))
            session.send(one.device_id, batch)
        if one.stream == "outbox":
            rows[one.seq] = type(one.message).__name__
            if isinstance(one.message, EpisodeUpload):
                steps = len(one.message.episode.steps)
    sys.stdin.read()  # until the test has seen enough
    stats = session.stats()
    session.close()
    return {
        "rows": sorted(rows.values()),
        "steps": steps,
        "dead_lettered": stats.counters.dead_lettered,
    }


def main() -> None:
    assert sys.argv[1] in str(sync.__file__), "this is not the code of then"
    given = json.loads(sys.stdin.readline())
    play = {"device": device, "cloud": cloud}[sys.argv[2]]
    tell(play(Path(sys.argv[3]), MqttAddress(**given)))


main()

"""How much the wire carries: episode uploads a minute, CPU per upload, and the way there and back.

A real broker, sessions over paho, one SQLite file per device and one for the cloud, all on this
machine. CPU is that of this process: outbox, both sessions, decoding and the cloud's insert.
Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import platform
import sqlite3
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import psutil

from sync import outbox
from sync.broker import SERVICE, BrokerProcess
from sync.broker_address import MqttProtocol
from sync.broker_server import BrokerServer
from sync.codec import encode_body, encode_episode
from sync.database import open_database, transaction
from sync.fetch import DirectoryFiles
from sync.messages import Birth, EpisodeUpload
from sync.mosquitto_server import MosquittoServer
from sync.mqtt import PahoTransport
from sync.nats_server import NatsServer
from sync.session import CloudSession, DeviceSession, Received
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    Decision,
    DeviceId,
    Element,
    EndReason,
    Episode,
    EpisodeId,
    Observation,
    Step,
    new_uuid7,
    tap,
)

WAIT_S = 120.0


def episode(random: Random, device: str, *, steps: int = 10, elements: int = 30) -> EpisodeUpload:
    """An upload of about the size that a farm sends."""
    screens = [
        Observation(
            1080,
            2400,
            tuple(
                Element(
                    "android.widget.TextView",
                    (0, 70 * row, 1080, 70 * row + 70),
                    text=f"{random.getrandbits(48):x}",
                    resource_id=f"org.example.app:id/row_{row}",
                    package="org.example.app",
                    clickable=True,
                )
                for row in range(elements)
            ),
        )
        for _ in range(3)
    ]
    return EpisodeUpload(
        episode=Episode(
            id=EpisodeId(new_uuid7()),
            assignment=Assignment(AssignmentId(new_uuid7())),
            device_id=DeviceId(device),
            goal="open row 7",
            steps=tuple(
                Step(
                    index,
                    screens[index % 3],
                    tap(0.5, 0.5, 7),
                    decisions=(
                        Decision("type", 1, -random.random(), b"\xff\xf0"),
                        Decision("pointer", 7, -random.random(), b"\xff" * 4),
                    ),
                    input_digest=random.randbytes(32).hex(),
                )
                for index in range(steps)
            ),
            end_reason=EndReason.FINISH,
        )
    )


class Store:
    """The cloud's side: one insert per row, one transaction per batch."""

    def __init__(self, path: Path) -> None:
        self._conn = sqlite3.connect(path, check_same_thread=False)
        self._conn.execute("PRAGMA journal_mode = WAL")
        self._conn.execute(
            "CREATE TABLE rows (device TEXT, install TEXT, seq INTEGER, body BLOB, "
            "PRIMARY KEY (device, install, seq))"
        )

    def commit(self, batch: Sequence[Received]) -> Mapping[int, str]:
        """Insert what is new."""
        with self._conn:
            self._conn.executemany(
                "INSERT INTO rows VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                [
                    (one.device_id, one.install_id, one.seq, encode_episode(one.message.episode))
                    for one in batch
                    if isinstance(one.message, EpisodeUpload)
                ],
            )
        return {}


WAYS: dict[str, BrokerServer] = {
    "nats-3.1.1": NatsServer(),
    "mosquitto-3.1.1": MosquittoServer(),
    "mosquitto-5": MosquittoServer(),
}


def run(folder: Path, *, devices: int, uploads: int, way: str) -> dict[str, float]:
    """Measure `uploads` uploads of each of `devices` devices."""
    random = Random(1)
    broker = BrokerProcess(folder / "broker", fleet="bench", server=WAYS[way])
    names = [f"device-{number}" for number in range(devices)]
    broker.add_devices(names)
    began_s = time.perf_counter()
    broker.start()
    start_s, began_s = time.perf_counter() - began_s, time.perf_counter()
    broker.add_device("one-more")
    add_s = time.perf_counter() - began_s

    def transport(name: str) -> PahoTransport:
        protocol = MqttProtocol(way.partition("-")[2])
        return PahoTransport(replace(broker.address(name), protocol=protocol))

    cloud = CloudSession(
        transport=transport(SERVICE),
        fleet="bench",
        ingest=Store(folder / "cloud.db").commit,
        files=DirectoryFiles(folder),
    )
    cloud.start()
    cloud.wait_connected(WAIT_S)
    sessions = [
        DeviceSession(
            transport=transport(name),
            database=folder / f"{name}.db",
            fleet="bench",
            birth=Birth(device_id=DeviceId(name)),
        )
        for name in names
    ]
    for session in sessions:
        session.start()
        session.wait_connected(WAIT_S)
    conns = [open_database(folder / f"{name}.db") for name in names]
    bodies = [[encode_body(episode(random, name)) for _ in range(uploads)] for name in names]

    def put(which: int, number: int) -> None:
        with transaction(conns[which]):
            outbox.enqueue(conns[which], bodies[which][number], created_at_ms=0)
        sessions[which].wake()

    ways_s = []
    for number in range(min(20, uploads)):
        began_s = time.perf_counter()
        put(0, number)
        sessions[0].wait_drained(WAIT_S)
        ways_s.append(time.perf_counter() - began_s)
    cpu_s, began_s = time.process_time(), time.perf_counter()
    for number in range(uploads):
        for which in range(devices):
            put(which, number)
    drained = all(session.wait_drained(WAIT_S) for session in sessions)
    wall_s, cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_s
    child = psutil.Process(broker.pid)
    broker_cpu, broker_bytes = child.cpu_times(), child.memory_info().rss
    resent = sum(session.stats().counters.resent for session in sessions)
    for session in sessions:
        session.close()
    cloud.close()
    broker.stop()
    if not drained:
        raise SystemExit(f"rows were left after {WAIT_S:.0f} s: give the machine more room")
    total = devices * uploads
    return {
        "uploads_per_minute": round(total / wall_s * 60),
        "cpu_ms_per_upload": round(1000 * cpu_s / total, 2),
        "body_bytes": round(statistics.mean(len(b.data) for row in bodies for b in row)),
        "way_there_and_back_ms_p50": round(1000 * statistics.median(ways_s), 1),
        "resent": resent,
        "broker_start_ms": round(1000 * start_s, 1),
        "broker_add_account_ms": round(1000 * add_s, 1),
        "broker_cpu_ms_per_upload": round(1000 * (broker_cpu.user + broker_cpu.system) / total, 2),
        "broker_mib": round(broker_bytes / 2**20, 1),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=4)
    parser.add_argument("--uploads", type=int, default=250, help="per device")
    parser.add_argument("--way", choices=sorted(WAYS), default="nats-3.1.1", help="broker and MQTT")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = run(
            Path(folder), devices=arguments.devices, uploads=arguments.uploads, way=arguments.way
        )
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    )
    print(
        json.dumps(
            {
                "bench": "wire",
                "way": arguments.way,
                "devices": arguments.devices,
                "uploads": arguments.devices * arguments.uploads,
                **figures,
                "machine": platform.machine(),
                "commit": commit.stdout.strip(),
            }
        )
    )


if __name__ == "__main__":
    main()

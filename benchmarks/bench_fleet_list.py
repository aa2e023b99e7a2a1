"""What listing a fleet of N devices costs, from the database to rows: one JSON line.

python benchmarks/bench_fleet_list.py --devices 10000
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from apps_mock.tasks import announced
from cloud_learner import device_rows
from cloud_learner.fleet_desk import FleetDesk
from cloud_learner.store import Database, insert_all_new, sqlite_url
from cloud_learner.tables import DEVICES, PHONES
from sync.clock import SystemClock
from sync.messages import Health
from sync.vocabulary import new_uuid7

PAGE = 1000


def main() -> None:
    """Fill a database, list it, and say what that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=10_000)
    count = parser.parse_args().devices
    with TemporaryDirectory() as folder:
        database = Database(sqlite_url(Path(folder) / "cloud.db"))
        desk = FleetDesk(database, clock=SystemClock(), new_id=new_uuid7)
        fill(database, count)
        everything_s, rows = timed(desk, "")
        filtered_s, found = timed(desk, "model=Pixel*,android>=13,online=true,site=lab")
        started_s = time.process_time()
        desk.devices(limit=100)
        first_page_s = time.process_time() - started_s
        database.close()
    print(
        json.dumps(
            {
                "bench": "fleet_list",
                "devices": rows,
                "all_cpu_s": round(everything_s, 3),
                "filtered_cpu_s": round(filtered_s, 3),
                "found": found,
                "first_100_cpu_s": round(first_page_s, 4),
                "machine": platform.machine(),
            }
        )
    )


def timed(desk: FleetDesk, where: str) -> tuple[float, int]:
    """CPU seconds of reading all pages that a filter finds, and how many devices those hold."""
    started_s = time.process_time()
    after, rows = "", 0
    while True:
        page = desk.devices(where=where, after=after, limit=PAGE)
        rows += len(page["devices"])
        after = page["next"]
        if not after:
            return time.process_time() - started_s, rows


def fill(database: Database, count: int) -> None:
    """Devices of five models and three Android versions, half of them online."""
    templates = msgspec.to_builtins(announced())
    health = msgspec.to_builtins(Health(at_ms=1, battery_percent=70, temperature_c=31.5))
    phones, devices = [], []
    for number in range(count):
        name = f"phone-{number:06d}"
        phones.append(
            {
                "device_id": name,
                "role": "phone",
                "seats": 1,
                "boot_id": name,
                "epoch": 1,
                "online": number % 2 == 0,
                "suite_version": "1",
                "policy_io_version": "1",
                "base_digest": "b" * 64,
                "channel": "stable",
                "release_id": "r0001",
                "templates": templates,
                "health": health,
                "first_seen_ms": 1,
                "last_seen_ms": 2,
            }
        )
        attributes = {"model": f"Pixel {number % 5}", "android": str(12 + number % 3)}
        labels = {"site": "lab" if number % 7 == 0 else "street"}
        devices.append({**device_rows.new_row(name), "attributes": attributes, "labels": labels})
    with database.write() as connection:
        insert_all_new(connection, PHONES, phones)
        insert_all_new(connection, DEVICES, devices)


if __name__ == "__main__":
    main()

"""Rows of the phone = rows of the cloud, each once, whatever the network and the processes do."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sync import inbox
from sync.clock import ManualClock
from sync.database import create_schema, open_database, transaction
from sync.loopback import NO_FAULTS, Faults
from sync.messages import AssignmentBatch
from sync.outbox import Outbox, depth, enqueue, parked
from sync.vocabulary import Assignment, AssignmentId
from tests.wire import World, event

chance = st.sampled_from([0.0, 0.1, 0.4])
faults = st.builds(Faults, drop=chance, duplicate=chance, reorder=chance)
deeds = st.lists(
    st.sampled_from(["enqueue", "turn", "wait", "cut", "kill broker", "new device", "new cloud"]),
    max_size=25,
)


@pytest.mark.requirement("OR-ACK-1", "OR-ACK-3")
@settings(max_examples=40)
@given(faults, deeds, st.integers(0, 2**32))
def test_every_row_is_committed_exactly_once(faults, deeds, seed):
    with (
        tempfile.TemporaryDirectory() as folder,
        World(Path(folder), faults=faults, seed=seed) as world,
    ):
        clouds, device, enqueued, installs = [world.cloud()], world.device(), 0, set()
        for deed in [*deeds, "enqueue"]:
            match deed:
                case "enqueue":
                    device.enqueue(event(enqueued), event(enqueued + 1))
                    enqueued += 2
                case "wait":
                    world.clock.advance(3.0)
                case "cut":
                    world.broker.cut("phone-1")
                case "kill broker":
                    world.broker.kill()
                    world.broker.restart()
                case "new device":
                    device = world.device()
                case "new cloud":
                    clouds.append(world.cloud())
            world.settle(device, clouds[-1], turns=1)
        world.broker.faults = NO_FAULTS
        for _ in range(60):
            world.clock.advance(7.0)
            world.broker.redeliver()
            world.settle(device, clouds[-1], turns=3)
        rows = {key: one for cloud in clouds for key, one in cloud.rows.items()}
        installs = {install for _device, install, _seq in rows}
        assert depth(device.conn) == 0
        assert installs == {"install-phone-1"}
        assert sorted(int(one.message.fields["number"]) for one in rows.values()) == list(
            range(enqueued)
        )


class NumberedRows:
    """A store that refuses a row whose number another row has, as the cloud's does."""

    def __init__(self):
        self.rows = {}

    def take(self, batch):
        refused = {}
        for place, one in enumerate(batch):
            if one.stream == "outbox":
                key = (one.install_id, one.seq)
                if self.rows.setdefault(key, one.message) != one.message:
                    refused[place] = "sequence_taken"
        return refused

    def numbers(self):
        return sorted(int(one.fields["number"]) for one in self.rows.values())


@pytest.mark.requirement("OR-ACK-9", "OR-ACK-10", "OR-ACK-11")
@settings(max_examples=20)
@given(
    faults,
    st.lists(
        st.sampled_from(["queue 0", "queue 1", "send 0", "send 1", "use 0", "use 1", "wait"]),
        max_size=25,
    ),
    st.integers(0, 2**32),
)
def test_two_devices_with_one_copied_database_lose_and_double_nothing(faults, deeds, seed):
    with (
        tempfile.TemporaryDirectory() as folder,
        World(Path(folder), faults=faults, seed=seed) as world,
    ):
        store, number = NumberedRows(), 4
        cloud, first = world.cloud(store.take), world.device()
        first.enqueue(*map(event, range(number)))
        world.settle(first, cloud, turns=2)
        devices = (first, world.copy("phone-1"))
        for deed in [*deeds, "queue 0", "queue 1", "send 0", "use 1"]:
            what, _, which = deed.partition(" ")
            if what == "wait":
                world.clock.advance(1000.0)
            elif what == "queue":
                devices[int(which)].enqueue(event(number))
                number += 1
            else:
                world.broker.cut("phone-1")
                world.clock.advance(1.0)
                heard = (cloud,) if what == "use" else ()  # or it answers whoever comes next
                world.settle(devices[int(which)], *heard, turns=3)
        world.broker.faults = NO_FAULTS
        for device in devices:
            for _ in range(20):
                world.clock.advance(1000.0)
                world.broker.redeliver()
                world.settle(device, cloud, turns=3)
            assert (depth(device.conn), parked(device.conn)) == (0, ())
        assert store.numbers() == list(range(number))


@settings(max_examples=40)
@given(faults, st.integers(0, 2**32))
def test_every_assignment_is_handed_on_exactly_once(faults, seed):
    with (
        tempfile.TemporaryDirectory() as folder,
        World(Path(folder), faults=faults, seed=seed) as world,
    ):
        cloud, device = world.cloud(), world.device()
        world.settle(device, cloud)
        ids = [AssignmentId(f"a{number}") for number in range(8)]
        for round_number in range(12):
            if round_number == 8:
                world.broker.faults = NO_FAULTS
            batch = tuple(Assignment(one) for one in ids)
            cloud.link.send("phone-1", AssignmentBatch(assignments=batch))
            world.clock.advance(12.0)
            world.settle(device, cloud)
        handed = [one.id for batch in device.inbox for one in batch.assignments]
        assert sorted(handed) == ids
        assert sorted(one.id for one in inbox.pending(device.conn)) == ids


class CrashingConnection:
    """A connection whose process dies at the n-th statement: nothing after it happens."""

    def __init__(self, conn: sqlite3.Connection, lives: int) -> None:
        self._conn = conn
        self._lives = lives

    def _spend(self) -> None:
        if self._lives == 0:
            self._conn.close()  # an open transaction is rolled back, as after SIGKILL
            raise KeyboardInterrupt
        self._lives -= 1

    def execute(self, *arguments):
        self._spend()
        return self._conn.execute(*arguments)

    def executemany(self, *arguments):
        self._spend()
        return self._conn.executemany(*arguments)

    def commit(self):
        self._spend()
        self._conn.commit()

    def rollback(self):
        """A dead process rolls nothing back by itself; closing did."""


@given(st.integers(0, 30))
def test_a_crash_at_any_write_neither_loses_nor_invents_a_row(lives):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "device.db"
        conn = open_database(path)
        create_schema(conn, install_id="install")
        kept: list[int] = []
        acknowledged: list[int] = []
        dying = CrashingConnection(conn, lives)
        try:
            for number in range(3):
                with transaction(dying):
                    seq = enqueue(dying, event(number), created_at_ms=1)
                kept.append(seq)
            box = Outbox(dying, clock=ManualClock(), random=Random(0))
            for row in box.claim(2):
                acknowledged.append(row.seq)
                box.acknowledge([row.seq])
        except KeyboardInterrupt:
            pass
        survivor = open_database(path)
        left = {seq for (seq,) in survivor.execute("SELECT seq FROM outbox")}
        survivor.close()
        conn.close()
        done = set(acknowledged)
        assert set(kept) - done <= left
        assert left <= set(kept) | set(done)
        assert not left & set(acknowledged[:-1])

"""SIGKILL to a learner at any moment: it goes on, and no half-written checkpoint is ever loaded."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from sqlalchemy import select

from cloud_learner.checkpoints import load_checkpoint
from cloud_learner.families import family_of
from cloud_learner.store import Database, sqlite_url
from cloud_learner.tables import ADAPTERS, LEARNER_METRICS, LEARNER_STATE
from sync.adapter_file import unpack
from tests.learner_program import DIGEST, SETTINGS, made_network

pytestmark = [pytest.mark.faults, pytest.mark.integration, pytest.mark.timeout(900)]
ROOT = Path(__file__).resolve().parents[2]
KILLED = -9
WAIT_S = 300.0


class Campaign:
    """A folder, and the program whose learners live and die in it."""

    def __init__(self, folder: Path, process: subprocess.Popen[str], *, rounds: int) -> None:
        self.folder = folder
        self.rounds = rounds
        self._process = process
        self._network = family_of(made_network()).identity(base_digest=DIGEST, rank=SETTINGS.rank)

    def run(self, **order: Any) -> int:
        """Let one learner live as ordered; its exit status."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(order) + "\n")
        stdin.flush()
        return int(stdout.readline())

    def checkpoint(self) -> Any:
        """What a learner would go on from now; a damaged file would raise."""
        return load_checkpoint(self.folder / "checkpoints", network=self._network)

    def rows(self, statement: Any) -> list[Any]:
        """Rows of the cloud database."""
        database = Database(sqlite_url(self.folder / "cloud.db"), migrate=False)
        try:
            with database.read() as connection:
                return list(connection.execute(statement))
        finally:
            database.close()

    def curve(self) -> dict[int, float]:
        """Success of the episodes that each round learnt from; the last word on a round counts."""
        found = self.rows(
            select(LEARNER_METRICS.c.round, LEARNER_METRICS.c.metrics).order_by(
                LEARNER_METRICS.c.row
            )
        )
        return {
            row.round: row.metrics["training_success"]
            for row in found
            if "training_success" in row.metrics
        }

    def adapters(self) -> list[str]:
        """Names of what was delivered, in order; each file is whole."""
        found = self.rows(select(ADAPTERS.c.name, ADAPTERS.c.digest).order_by(ADAPTERS.c.ordinal))
        for row in found:
            file = self.folder / "adapters" / f"{row.name}.bin"
            assert unpack(file.read_bytes()).digest == row.digest
        return [row.name for row in found]

    def finish(self) -> None:
        """Warm up, learn and settle without another kill."""
        for phase in ("warm_up", "learn", "settle"):
            assert self.run(phase=phase) == 0


@contextmanager
def campaign(folder: Path, *, rounds: int) -> Iterator[Campaign]:
    episodes = rounds * SETTINGS.episodes_per_round
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.learner_program", str(folder), str(episodes)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield Campaign(folder, process, rounds=rounds)
    finally:
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        process.wait(WAIT_S)


def kill_and_look(one: Campaign, order: dict[str, Any], reached: int) -> int:
    """Kill a learner, then read what is left; the round from which the next one goes on."""
    assert one.run(**order) in {KILLED, 0}
    left = one.checkpoint()
    one.adapters()
    if left is None:
        assert reached == 0
        return 0
    assert left.round_index >= reached, "a checkpoint went back"
    assert all(bool(torch.isfinite(value).all()) for value in left.adapter.values())
    return int(left.round_index)


def require_whole_curve(one: Campaign) -> None:
    """Every episode was learnt from, in order, and the optimiser went on where it was."""
    assert sorted(one.curve()) == list(range(1, one.rounds + 1))
    state = one.checkpoint()
    assert state.round_index == one.rounds
    assert state.settled
    assert int(state.algorithm["optimiser"]["state"][0]["step"]) == one.rounds
    reported = dict(map(tuple, one.rows(select(LEARNER_STATE.c.key, LEARNER_STATE.c.value))))
    assert reported["round"] == one.rounds


def test_killed_inside_a_checkpoint_it_goes_on(tmp_path):
    with campaign(tmp_path / "killed", rounds=4) as one:
        assert one.run(phase="warm_up") == 0
        reached = 0
        for call in (1, 4, 6, 7):  # adapter's file, previous checkpoint, newest checkpoint
            reached = kill_and_look(one, {"call": call}, reached)
        assert 0 < reached < one.rounds
        one.finish()
        require_whole_curve(one)
        assert one.adapters() == ["warm-up", "round-00002", "round-00004"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_twenty_kills_at_random_leave_the_curve_of_a_run_without(tmp_path, seed):
    random = Random(seed)
    with campaign(tmp_path / "undisturbed", rounds=24) as calm:
        begun_s = time.monotonic()
        calm.finish()
        pace_s = (time.monotonic() - begun_s) / calm.rounds
        require_whole_curve(calm)
        expected, names = calm.curve(), calm.adapters()
    with campaign(tmp_path / "killed", rounds=24) as one:
        reached, kills = 0, 0
        for _ in range(20):
            order: dict[str, Any] = (
                {"call": random.randint(1, 12)}
                if random.random() < 0.6
                else {"seconds": random.uniform(0.01, 4.0 * pace_s)}
            )
            phase = "learn" if reached else random.choice(["warm_up", "learn"])
            if not one.adapters():
                phase = "warm_up"
            reached = kill_and_look(one, {**order, "phase": phase}, reached)
            kills += reached < one.rounds
        one.finish()
        require_whole_curve(one)
        assert kills >= 10
        assert reached > 0
        assert one.curve().keys() == expected.keys()
        assert one.adapters() == names

"""`outrider cloud learn` under torchrun: two processes give the curve of one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

from cloud_learner.store import Database, sqlite_url
from cloud_learner.tables import ADAPTERS, LEARNER_METRICS, LEARNER_STATE
from exporters.base import save_base
from tests.learner_program import enter, made_network, prepare

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.timeout(600)]
ROOT = Path(__file__).resolve().parents[3]
EPISODES = 128
ROUNDS = 4
FIGURES = ("loss", "critic_loss", "entropy", "grad_norm", "ratio_mean", "value_mean")


def learnt(folder: Path, base: Path, *launcher: str) -> list[dict[str, float]]:
    """Let a learner learn all there is; the figures of its rounds."""
    prepare(folder / "cloud", episodes=EPISODES, shows=False)
    database = Database(sqlite_url(folder / "cloud" / "cloud.db"), migrate=False)
    enter(database, "warm_up")
    words = ["outrider", "cloud", "learn", "--json", "--data", str(folder), "--base", str(base)]
    process = subprocess.Popen(
        [sys.executable, "-m", *launcher, *words],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for(process, lambda: rows(database, select(ADAPTERS.c.name)))
        enter(database, "learn")
        wait_for(process, lambda: reported(database).get("round") == ROUNDS)
        enter(database, "settle")
        wait_for(process, lambda: reported(database).get("settled"))
        enter(database, "show")
        assert process.wait(120) == 0
    finally:
        process.kill()
        process.wait()
        figures = rows(database, select(LEARNER_METRICS.c.metrics).order_by(LEARNER_METRICS.c.row))
        database.close()
    return [one for (one,) in figures if "training_success" in one]


def rows(database, statement):
    with database.read() as connection:
        return list(connection.execute(statement))


def reported(database):
    return dict(map(tuple, rows(database, select(LEARNER_STATE.c.key, LEARNER_STATE.c.value))))


def wait_for(process, holds):
    while not holds():
        assert process.poll() is None, "the learner ended early: its message stands on stderr"
        time.sleep(0.2)


def test_two_processes_give_the_loss_curve_of_one(tmp_path):
    base = tmp_path / "base"
    save_base(made_network(), base, {"note": "tiny, for tests"})

    single = learnt(tmp_path / "one", base)
    double = learnt(
        tmp_path / "two",
        base,
        *("torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m"),
    )

    assert len(single) == len(double) == ROUNDS
    for name in FIGURES:
        np.testing.assert_allclose(
            [row[name] for row in double],
            [row[name] for row in single],
            rtol=5e-3,
            atol=5e-3,
            err_msg=name,
        )
    losses = [row["loss"] for row in single]
    assert max(losses) - min(losses) > 1e-3  # it learnt: the curve is no line

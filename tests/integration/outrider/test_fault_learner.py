"""The check of what a learner left finds a lost round, a broken adapter and a missing lineage."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pytest

from cloud_learner.checkpoints import Checkpoint, save_checkpoint
from cloud_learner.store import Database, sqlite_url
from outrider.fault_learner import LearnerOrder, check_learner, identity
from sync.adapter_file import pack, unpack

ROUNDS = 2


@pytest.fixture
def order(tmp_path):
    """What a learner left after two rounds and one adapter."""
    order = LearnerOrder(tmp_path / "learner", tmp_path / "cloud.db")
    Database(sqlite_url(order.database)).close()
    network = identity()
    save_checkpoint(order.checkpoints, Checkpoint(network, round_index=ROUNDS))
    tensors = {"layer.lora_A": np.ones((2, 2), np.float32)}
    data = pack(tensors, base_digest="f" * 64, policy_io_version="1")
    order.adapters.mkdir()
    (order.adapters / "round-00002.bin").write_bytes(data)
    change(
        order,
        "INSERT INTO adapters VALUES ('round-00002', 1, 'update', 'delivered', "
        f"'{unpack(data).digest}', {len(data)}, 2, '', 8, 1)",
        "INSERT INTO trained_on VALUES (1, 8, 'round-00002', 32)",
        *(
            f"INSERT INTO learner_metrics (round, at_ms, metrics) VALUES ({number}, 1, '{{}}')"
            for number in range(1, ROUNDS + 1)
        ),
    )
    return order


def change(order, *statements):
    with closing(sqlite3.connect(order.database)) as conn, conn:
        for statement in statements:
            conn.execute(statement)


def test_whole_work_is_clean(order):
    found = check_learner(order, [0, 2])
    assert (found.broken, found.rounds, found.adapters) == ((), ROUNDS, 1)


def test_a_round_that_was_undone_is_found(order):
    assert "the learner went back" in check_learner(order, [3]).broken[0]


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("DELETE FROM learner_metrics WHERE round = 1", "1 rounds of the learner were never told"),
        ("DELETE FROM trained_on", "adapter round-00002 has no lineage"),
        ("INSERT INTO trained_on VALUES (8, 9, 'warm-up', 4)", "both learnt from row 8"),
        ("UPDATE adapters SET digest = 'x'", "is not the one that was handed over"),
    ],
)
def test_rows_that_are_missing_or_wrong_are_found(order, statement, says):
    change(order, statement)
    (said,) = check_learner(order, []).broken
    assert says in said


def test_an_adapter_that_is_not_whole_is_found(order):
    file = order.adapters / "round-00002.bin"
    file.write_bytes(file.read_bytes()[:-3])
    assert "cannot be read" in check_learner(order, []).broken[0]


def test_a_learner_that_left_nothing_or_nothing_whole_is_found(order):
    file = order.checkpoints / "learner.pt"
    file.write_bytes(file.read_bytes()[:-3])
    assert "cannot go on" in check_learner(order, []).broken[0]
    file.unlink()
    assert check_learner(order, []).broken == ("the learner left no checkpoint",)

"""The learner of the fault bench: the real one, on a tiny base, and what must hold of its work.

It learns from what the fleet's phones upload, in the cloud's own database, and ends and begins as
often as it is killed.
"""

from __future__ import annotations

import sqlite3
import sys
import threading
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final

import structlog
import torch

from cloud_learner.algorithm_settings import STABILISED, ReplaySettings
from cloud_learner.campaign import Phase
from cloud_learner.checkpoints import Checkpoint, NetworkIdentity, load_checkpoint
from cloud_learner.errors import CheckpointError
from cloud_learner.families import family_of
from cloud_learner.learner import Learner
from cloud_learner.learner_settings import LearnerSettings
from cloud_learner.learner_store import AdapterKind, LearnerStore
from cloud_learner.store import Database, sqlite_url
from exporters.families.layout_t5 import LayoutT5, LayoutT5Config
from exporters.lora import adapter_tensors
from outrider.fault_parts import PART_FAILED, end_with_parent, part
from sync.adapter_file import pack, unpack
from sync.clock import SystemClock
from sync.errors import IntegrityError, ProjectError, RejectedError, TransientError

BASE_DIGEST: Final = "f" * 64
SETTINGS: Final = LearnerSettings(
    rank=2,
    episodes_per_round=4,
    updates_per_round=1,
    rounds_per_release=2,
    algorithm=replace(
        STABILISED,
        critic_warm_up_rounds=1,
        trajectories_per_update=4,
        demo_steps_new=0,
        demo_steps_old=0,
        success_steps=4,
        replay=ReplaySettings(capacity=12),
    ),
)
_TICK_S: Final = 0.1

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class LearnerOrder:
    """What the learner's process is told.

    Attributes:
        folder: its own: checkpoints, adapters and what it says.
        database: the cloud's file.
    """

    folder: Path
    database: Path

    @property
    def checkpoints(self) -> Path:
        """Where it writes how far it came."""
        return self.folder / "checkpoints"

    @property
    def adapters(self) -> Path:
        """Where it writes what is to be released."""
        return self.folder / "adapters"


@dataclass(frozen=True, slots=True)
class LearnerFindings:
    """What a learner left; it is clean where `broken` is empty.

    Attributes:
        rounds: how many it learnt.
        adapters: how many it handed over for a release.
    """

    broken: tuple[str, ...]
    rounds: int
    adapters: int


def run_learner(order: LearnerOrder) -> None:
    """The learner's process, until SIGTERM."""
    with part(order.folder / "learner.log") as stop:
        end_with_parent()
        try:
            database = Database(sqlite_url(order.database), migrate=False)
            learner = _learner(order, database)
            try:
                _learn(learner, order, stop)
                learner.save()
            finally:
                database.close()
        except ProjectError as error:
            sys.stderr.write(f"error: {' '.join(str(error).split())}\n")
            sys.exit(PART_FAILED)


def _learn(learner: Learner, order: LearnerOrder, stop: threading.Event) -> None:
    """Learn whatever there is; nothing but the end of its warm-up decides on the phase here."""
    while not stop.is_set():
        try:
            did = learner.poll()
            if not did and learner.state.delivered:
                _enter_learning(order)
        except (TransientError, sqlite3.OperationalError) as error:
            _log.warning("poll_postponed", error=str(error))
            did = False
        if not did:
            stop.wait(_TICK_S)


def _enter_learning(order: LearnerOrder) -> None:
    with closing(sqlite3.connect(order.database)) as conn, conn:
        conn.execute(
            "UPDATE campaign SET state = json_set(state, '$.phase', ?) "
            "WHERE json_extract(state, '$.phase') = ?",
            (Phase.LEARN.value, Phase.WARM_UP.value),
        )


def _learner(order: LearnerOrder, database: Database) -> Learner:
    return Learner(
        LearnerStore(database, adapters_dir=order.adapters, clock=SystemClock()),
        _base(),
        base_digest=BASE_DIGEST,
        settings=SETTINGS,
        export=lambda network, _episodes, _steps: pack(
            adapter_tensors(network), base_digest=BASE_DIGEST, policy_io_version="1"
        ),
        checkpoints_dir=order.checkpoints,
    )


def _base() -> LayoutT5:
    """The same tiny base in every process."""
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        small = LayoutT5(LayoutT5Config(d_model=16, d_ff=32, heads=2, encoder_layers=1))
    return small.eval().requires_grad_(requires_grad=False)


def identity() -> NetworkIdentity:
    """Which network the bench's checkpoints are of."""
    return family_of(_base()).identity(base_digest=BASE_DIGEST, rank=SETTINGS.rank)


def left_at(order: LearnerOrder) -> Checkpoint | None:
    """What the next learner would go on from; None where there is nothing.

    Raises: CheckpointError: it could not go on.
    """
    return load_checkpoint(order.checkpoints, network=identity())


def check_learner(order: LearnerOrder, reached: Iterable[int]) -> LearnerFindings:
    """What a learner left after all, where its processes had `reached` these rounds when killed."""
    try:
        checkpoint = left_at(order)
    except CheckpointError as error:
        return LearnerFindings((f"the learner cannot go on: {error}",), 0, 0)
    if checkpoint is None:
        return LearnerFindings(("the learner left no checkpoint",), 0, 0)
    with closing(sqlite3.connect(f"file:{order.database}?mode=ro", uri=True)) as conn:
        broken = (
            *_went_back(checkpoint, reached),
            *_untold(conn, checkpoint),
            *_unlike_their_rows(conn, order),
            *_without_lineage(conn),
        )
        adapters = conn.execute("SELECT count(*) FROM adapters").fetchone()[0]
    return LearnerFindings(broken, checkpoint.round_index, int(adapters))


def _went_back(checkpoint: Checkpoint, reached: Iterable[int]) -> list[str]:
    rounds = [*reached, checkpoint.round_index]
    broken = [] if rounds == sorted(rounds) else [f"the learner went back: rounds {rounds}"]
    if not all(bool(torch.isfinite(value).all()) for value in checkpoint.adapter.values()):
        broken.append("the learner's weights are not finite")
    return broken


def _untold(conn: sqlite3.Connection, checkpoint: Checkpoint) -> list[str]:
    """Rounds of the checkpoint of which the store holds no figures."""
    told = {int(number) for (number,) in conn.execute("SELECT round FROM learner_metrics")}
    missing = set(range(1, checkpoint.round_index + 1)) - told
    return [f"{len(missing)} rounds of the learner were never told"] if missing else []


def _unlike_their_rows(conn: sqlite3.Connection, order: LearnerOrder) -> list[str]:
    """Adapters whose file is not whole, or not what the store says."""
    broken = []
    for name, digest in conn.execute("SELECT name, digest FROM adapters"):
        try:
            found = unpack((order.adapters / f"{name}.bin").read_bytes()).digest
        except (OSError, RejectedError, IntegrityError) as error:
            broken.append(f"adapter {name} cannot be read: {error}")
        else:
            if found != digest:
                broken.append(f"adapter {name} is not the one that was handed over")
    return broken


def _without_lineage(conn: sqlite3.Connection) -> list[str]:
    """Adapters of which nobody knows what they learnt from, and rows that two learnt from.

    The warm-up's is not among them: the fleet shows nothing, so it learnt from nothing.
    """
    batches = list(
        conn.execute("SELECT first_row, last_row, adapter FROM trained_on ORDER BY first_row")
    )
    known = {adapter for _first, _last, adapter in batches}
    broken = [
        f"adapter {name} has no lineage"
        for name, kind in conn.execute("SELECT name, kind FROM adapters")
        if kind == AdapterKind.UPDATE and name not in known
    ]
    for (_first, last, one), (first, _last, other) in pairwise(batches):
        if first <= last:
            broken.append(f"{one} and {other} both learnt from row {first}")
    return broken

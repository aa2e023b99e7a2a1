"""A learner that a test kills again and again, at places that the test chooses.

    python -m tests.learner_program FOLDER N    orders on stdin, answers on stdout, a line each

FOLDER gets a cloud database with a campaign, demonstrations and N training episodes. An order is
JSON: {"call": N} kills the learner right before its Nth call into the file system that makes a
write durable (half of what was to be flushed is lost), {"seconds": S} after a time; {"phase": P}
says which phase it finds the campaign in. The answer is the exit status. Every learner is a fork of
this process, which has loaded everything, so a kill costs milliseconds.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from sqlalchemy import select, update

from apps_mock.baselines import RandomPolicy
from apps_mock.farm import play
from apps_mock.tasks import templates
from cloud_learner.algorithm_settings import STABILISED, ReplaySettings
from cloud_learner.campaign_store import CampaignStore
from cloud_learner.imitation import ImitationSettings
from cloud_learner.ingest_store import Origin, record_episode
from cloud_learner.learner import Learner
from cloud_learner.learner_settings import LearnerSettings
from cloud_learner.learner_store import LearnerStore
from cloud_learner.settings import CampaignSettings
from cloud_learner.store import Database, sqlite_url
from cloud_learner.tables import CAMPAIGN
from exporters.families.layout_t5 import LayoutT5, LayoutT5Config
from exporters.lora import adapter_tensors
from outrider.log_lines import log_to_stderr
from sync.adapter_file import pack
from sync.clock import SystemClock
from sync.messages import EpisodeUpload
from sync.vocabulary import Assignment, AssignmentId, Purpose, Verdict, VerdictSource

DIGEST = "d" * 64
SETTINGS = LearnerSettings(
    rank=4,
    episodes_per_round=4,
    updates_per_round=1,
    rounds_per_release=2,
    warm_up=ImitationSettings(updates=2, batch_steps=8),
    algorithm=replace(
        STABILISED,
        critic_warm_up_rounds=1,
        trajectories_per_update=4,
        demo_steps_new=4,
        demo_steps_old=4,
        success_steps=4,
        replay=ReplaySettings(capacity=12),
    ),
)


def made_network() -> LayoutT5:
    """The same tiny base in every process."""
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        small = LayoutT5(LayoutT5Config(d_model=16, d_ff=32, heads=2, encoder_layers=1))
    return small.eval().requires_grad_(requires_grad=False)


def prepare(folder: Path, *, episodes: int, shows: bool = True) -> None:
    """A campaign whose demonstrations and training episodes are stored.

    Args:
        shows: whether a demonstration succeeded; without one there is no warm-up.
    """
    folder.mkdir(parents=True, exist_ok=True)
    database = Database(sqlite_url(folder / "cloud.db"))
    CampaignStore(database, clock=SystemClock()).begin(
        CampaignSettings(env_steps=10_000, old_apps=("settings",), seed=1)
    )
    played = _played(4, Purpose.DEMONSTRATE) + _played(episodes, Purpose.TRAIN)
    for seq, episode in enumerate(played, start=1):
        won = shows if episode.assignment.purpose is Purpose.DEMONSTRATE else seq % 3 == 0
        verdict = Verdict(episode.id, "state", "1", VerdictSource.CODE, float(won), progress=0.0)
        with database.write() as connection:
            upload = EpisodeUpload(episode=episode, verdicts=(verdict,))
            record_episode(connection, Origin(episode.device_id, "install", seq, 1), upload)
    database.close()


def _played(count: int, purpose: Purpose) -> list[Any]:
    known = [one for one in templates() if one.app == "tickets"]
    assignments = [
        Assignment(
            AssignmentId(f"{purpose}-{index}"),
            template=known[index % len(known)].name,
            suite="tickets",
            seed=index,
            look=index,
            actor="random",
            purpose=purpose,
            step_budget=4,
        )
        for index in range(count)
    ]
    policy = RandomPolicy()
    return [one.episode for one in play(assignments, lambda *_: policy, seats=4)]


def enter(database: Database, phase: str) -> None:
    """Put the campaign into a phase."""
    with database.write() as connection:
        state = connection.execute(select(CAMPAIGN.c.state)).scalar_one()
        connection.execute(update(CAMPAIGN).values(state={**state, "phase": phase}))


def learn(folder: Path, base: LayoutT5, phase: str) -> None:
    """One learner process: resume, do what there is to do, save, end."""
    database = Database(sqlite_url(folder / "cloud.db"), migrate=False)
    enter(database, phase)
    learner = Learner(
        LearnerStore(database, adapters_dir=folder / "adapters", clock=SystemClock()),
        base,
        base_digest=DIGEST,
        settings=SETTINGS,
        export=lambda network, _episodes, _steps: pack(
            adapter_tensors(network), base_digest=DIGEST, policy_io_version="1"
        ),
        checkpoints_dir=folder / "checkpoints",
    )
    while learner.poll():
        pass
    learner.save()
    database.close()


def die_at(call: int) -> None:
    """Kill this process right before its `call`th durable step, with half of the flush undone."""
    left = call

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                if real is real_fsync and os.fstat(arguments[0]).st_size:
                    _halve(arguments[0])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments)

        return step

    real_fsync = os.fsync
    for name in ("fsync", "link", "replace"):
        setattr(os, name, watched(getattr(os, name)))


def _halve(descriptor: int) -> None:
    try:
        os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
    except OSError:
        return  # a folder


def obey(folder: Path, base: LayoutT5, order: dict[str, Any]) -> int:
    """Run one learner as ordered; its exit status, negative where a signal ended it."""
    child = os.fork()
    if child == 0:
        if "call" in order:
            die_at(order["call"])
        if "seconds" in order:
            timer = threading.Timer(order["seconds"], os.kill, (os.getpid(), signal.SIGKILL))
            timer.daemon = True
            timer.start()
        try:
            learn(folder, base, order.get("phase", "learn"))
        except BaseException:  # noqa: BLE001 - a fork must never return
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    log_to_stderr()
    place = Path(sys.argv[1])
    network = made_network()
    prepare(place, episodes=int(sys.argv[2]))
    print("ready", flush=True)  # noqa: T201 - orders are taken from now on
    for line in sys.stdin:
        print(obey(place, network, json.loads(line)), flush=True)  # noqa: T201 - the answer

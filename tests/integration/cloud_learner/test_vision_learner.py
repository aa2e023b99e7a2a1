"""The learner on a Hugging Face checkpoint: from demonstrations to a phone without torch."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from sqlalchemy import select, update

from apps_mock.actors import Actors
from apps_mock.farm import play
from cloud_learner.algorithm_settings import FilteredBCSettings
from cloud_learner.campaign_store import CampaignStore
from cloud_learner.imitation import ImitationSettings
from cloud_learner.ingest_store import Origin, record_episode
from cloud_learner.learner import Learner
from cloud_learner.learner_settings import LearnerSettings
from cloud_learner.learner_store import LearnerStore
from cloud_learner.settings import CampaignSettings
from cloud_learner.store import Database, sqlite_url
from cloud_learner.tables import CAMPAIGN, LEARNER_METRICS, LEARNER_STATE
from device_runtime.onnx_text_policy import OnnxTextPolicy
from device_runtime.picture_keeper import PictureKeeper
from exporters.opened_base import open_base
from outrider import cli
from sync.adapter_file import adapter_digest, unpack
from sync.clock import SystemClock
from sync.messages import EpisodeUpload
from sync.picture_folder import PictureFolder
from sync.trust import Repository
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    Purpose,
    Release,
    ReleaseId,
    Verdict,
    VerdictSource,
)
from tests.vlm_checkpoints import tiny_t5

pytestmark = pytest.mark.integration

TEMPLATE = "contacts_open"
SETTINGS = LearnerSettings(
    name="filtered_bc",
    rank=8,
    episodes_per_round=2,
    updates_per_round=1,
    rounds_per_release=1,
    parity_steps=3,
    warm_up=ImitationSettings(
        learning_rate=1e-2, updates=32, batch_steps=4, shares={"new": 1.0}, dropout=0.0
    ),
    algorithm=FilteredBCSettings(
        learning_rate=1e-4, demo_steps_new=2, demo_steps_old=0, success_steps=2
    ),
)

# What a phone does: no torch, no transformers, no exporters.
PHONE = """
import json, sys
from pathlib import Path
from apps_mock.actors import Actors
from apps_mock.farm import play
from device_runtime.installer import Installer, enrol
from device_runtime.policies import Policies
from device_runtime.slots import PhoneBase
from sync.trust import TrustedClient
from sync.vocabulary import Assignment, AssignmentId, ReleaseId

graphs, bundle, root, phone = map(Path, sys.argv[1:5])
policies = Policies(graphs)
base = PhoneBase(policies.base_digest, policies.policy_io_version)
enrol(phone, root.read_bytes(), base)
outcome = Installer(phone, TrustedClient(phone / "trust", lambda path: [])).apply_bundle(bundle)
installed = outcome.installed
adapter = installed.read()
policies.load_adapter(installed.release_id, adapter.tensors, base_digest=adapter.base_digest)
assignment = Assignment(
    id=AssignmentId("a"), template=sys.argv[5], seed=1, temperature=0.0, step_budget=6
)
(played,) = play([assignment], Actors(policies).policy_for, release_id=installed.release_id)
print(json.dumps({
    "applied": outcome.applied,
    "success": played.verdict.success,
    "versions": sorted({step.policy_version for step in played.episode.steps}),
    "loaded": sorted({"torch", "transformers", "peft", "onnx", "exporters"} & set(sys.modules)),
}))
"""


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    torch.set_num_threads(1)
    return tiny_t5(tmp_path_factory.mktemp("checkpoint") / "t5")


@pytest.fixture(scope="module")
def base(checkpoint, tmp_path_factory):
    return open_base(checkpoint, tmp_path_factory.mktemp("graphs"))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    return PictureFolder(tmp_path_factory.mktemp("pictures"))


def played(actors, folder, *, count, actor, purpose, budget=6):
    """Episodes whose pictures are kept."""
    wanted = [
        Assignment(
            id=AssignmentId(f"{purpose}-{index}"),
            template=TEMPLATE,
            suite="contacts",
            seed=1,
            look=0,
            actor=actor,
            purpose=purpose,
            temperature=1.0 if actor == "release" else 0.0,
            step_budget=budget,
        )
        for index in range(count)
    ]

    def policy_for(assignment, phone):
        return PictureKeeper(actors.policy_for(assignment, phone), folder)

    return [one.episode for one in play(wanted, policy_for, seats=2)]


@pytest.fixture(scope="module")
def demonstrations(pictures):
    return played(Actors(), pictures, count=2, actor="oracle", purpose=Purpose.DEMONSTRATE)


@pytest.fixture(scope="module")
def training(base, pictures):
    """What the base itself plays, before it has learnt anything."""
    actors = Actors(OnnxTextPolicy(base.graphs))
    return played(actors, pictures, count=4, actor="release", purpose=Purpose.TRAIN, budget=2)


@pytest.fixture(scope="module")
def episodes(demonstrations, training):
    return demonstrations, training


class Cloud:
    """A database as the service leaves it for the learner."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.database = Database(sqlite_url(folder / "cloud.db"))
        self.store = LearnerStore(
            self.database, adapters_dir=folder / "adapters", clock=SystemClock()
        )
        settings = CampaignSettings(app="contacts", env_steps=100, old_apps=(), seed=1)
        CampaignStore(self.database, clock=SystemClock()).begin(settings)
        self._seq = 0

    def enter(self, phase: str) -> None:
        with self.database.write() as connection:
            state = connection.execute(select(CAMPAIGN.c.state)).scalar_one()
            connection.execute(update(CAMPAIGN).values(state={**state, "phase": phase}))

    def ingest(self, episodes, *, score) -> None:
        for episode in episodes:
            verdict = Verdict(episode.id, "state", "1", VerdictSource.CODE, score, progress=score)
            self._seq += 1
            with self.database.write() as connection:
                origin = Origin(episode.device_id, "install", self._seq, 1)
                upload = EpisodeUpload(episode=episode, verdicts=(verdict,))
                assert record_episode(connection, origin, upload)

    def learner(self, base, read, *, settings=SETTINGS) -> Learner:
        return Learner(
            self.store,
            base.network,
            base_digest=base.digest,
            settings=settings,
            export=base.exporter(pictures=lambda _episode: read, rank=settings.rank),
            checkpoints_dir=self.folder / "checkpoints",
            pictures=lambda _episode: read,
        )

    def rounds(self):
        with self.database.read() as connection:
            rows = connection.execute(select(LEARNER_METRICS.c.metrics))
            return [row for row in rows.scalars() if "training_success" in row]

    def reported(self, key):
        with self.database.read() as connection:
            return connection.execute(
                select(LEARNER_STATE.c.value).where(LEARNER_STATE.c.key == key)
            ).scalar()


@pytest.fixture
def cloud(tmp_path):
    cloud = Cloud(tmp_path / "cloud")
    yield cloud
    cloud.database.close()


def run(learner) -> None:
    while learner.poll():
        pass


def test_a_checkpoint_learns_in_the_learner_and_plays_on_a_phone_without_torch(
    cloud, base, pictures, episodes, tmp_path
):
    demonstrations, training = episodes
    cloud.ingest(demonstrations, score=1.0)
    learner = cloud.learner(base, pictures.read)
    cloud.enter("warm_up")
    run(learner)
    cloud.enter("learn")
    cloud.ingest(training, score=0.0)
    run(learner)

    rows = cloud.store.adapters()
    assert [row.name for row in rows] == ["warm-up", "round-00001", "round-00002"]
    figures = cloud.rounds()[-1]
    assert (figures["left_out_steps"], figures["missing_picture_steps"]) == (0.0, 0.0)
    data = cloud.store.adapter_path("round-00002").read_bytes()
    adapter = unpack(data)
    assert (adapter.base_digest, adapter.policy_io_version) == (
        base.digest,
        base.network.language.version,
    )
    repository = Repository.create(tmp_path / "tuf", tmp_path / "keys", clock=SystemClock())
    release = Release(
        id=ReleaseId("r1"),
        version=1,
        base_digest=adapter.base_digest,
        adapter_digest=adapter_digest(data),
        adapter_size_bytes=len(data),
        policy_io_version=adapter.policy_io_version,
        created_at_ms=1,
        quantisation=adapter.quantisation,
    )
    bundle = repository.publish(release, data, "stable")

    found = on_a_phone(base.graphs, bundle, repository.root_bytes, tmp_path)

    assert found == {"applied": True, "success": True, "versions": ["r1"], "loaded": []}


def on_a_phone(graphs, bundle, root, folder):
    (folder / "root.json").write_bytes(root)
    parts = (graphs, bundle, folder / "root.json", folder / "phone", TEMPLATE)
    done = subprocess.run(
        [sys.executable, "-c", PHONE, *map(str, parts)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_steps_whose_picture_never_came_are_left_out_and_counted(
    cloud, base, pictures, demonstrations, training
):
    lost: set[str] = set()
    quick = replace(SETTINGS, warm_up=replace(SETTINGS.warm_up, updates=1), parity_steps=1)
    learner = cloud.learner(
        base, lambda digest: None if digest in lost else pictures.read(digest), settings=quick
    )
    cloud.ingest(demonstrations, score=1.0)
    cloud.enter("warm_up")
    run(learner)
    cloud.enter("learn")
    cloud.ingest(training[:2], score=0.0)
    lost.add(training[0].steps[0].observation.screenshot)

    run(learner)
    assert cloud.rounds() == []  # it may still come
    learner._played._patience_s = 0.0
    run(learner)

    figures = cloud.rounds()[-1]
    assert figures["missing_picture_steps"] >= 1.0
    assert figures["left_out_steps"] == figures["missing_picture_steps"]


def test_a_restarted_learner_goes_on_with_its_checkpoint(cloud, base, pictures, demonstrations):
    quick = replace(SETTINGS, warm_up=replace(SETTINGS.warm_up, updates=2), parity_steps=1)
    cloud.ingest(demonstrations, score=1.0)
    cloud.enter("warm_up")
    first = cloud.learner(base, pictures.read, settings=quick)
    run(first)

    again = cloud.learner(base, pictures.read, settings=quick)

    assert again.state.delivered == ["warm-up"]
    kept, restored = first.state.adapter, again.state.adapter
    assert kept.keys() == restored.keys()
    assert all(torch.equal(value, restored[name]) for name, value in kept.items())


def test_the_command_learns_on_a_checkpoint(checkpoint, demonstrations, tmp_path, capsys):
    cloud = Cloud(tmp_path / "cloud")
    bare = [replace(one, steps=_unseen(one.steps)) for one in demonstrations]
    cloud.ingest(bare, score=1.0)
    cloud.enter("warm_up")
    ended = threading.Event()

    def end_once_delivered() -> None:
        while not cloud.store.adapters() and not ended.is_set():
            time.sleep(0.05)
        cloud.enter("finished")

    ending = threading.Thread(target=end_once_delivered)
    ending.start()
    command = ["cloud", "learn", "--data", str(tmp_path), "--base", str(checkpoint), "--json"]
    try:
        code = cli.run([*command, "--learner", "filtered_bc", "--warm-up-updates", "1"])
    finally:
        ended.set()
        ending.join()
        cloud.database.close()

    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    lines = [json.loads(line) for line in printed]  # beside the log, which goes there in a test
    assert code == 0
    assert (lines[0]["event"], lines[0]["learner"]) == ("started", "filtered_bc")
    assert lines[-1]["delivered"] == ["warm-up"]


def _unseen(steps):
    """Steps of a phone that takes no pictures."""
    return tuple(
        replace(step, observation=replace(step.observation, screenshot=None)) for step in steps
    )

"""Releases on their way to playing devices: broker, signatures, installer, ONNX policy, clones."""

import threading
from itertools import count

import numpy as np
import pytest
import torch

from apps_mock.actors import Actors
from apps_mock.farm import mock_phone
from device_runtime.held_bases import HeldBases
from device_runtime.installer import enrol
from device_runtime.settings import Settings
from device_runtime.slots import Slots
from device_runtime.supervisor import Supervisor
from device_runtime.transitions import EVENT_KIND
from exporters.base import ensure_exported, load_base, save_base
from exporters.families.layout_t5 import LayoutT5, LayoutT5Config
from exporters.lora import adapter_tensors, attach
from outrider.device_wiring import assemble, local_seats, open_policy
from sync.adapter_file import adapter_digest, pack
from sync.base_file import pack_base
from sync.broker import BrokerProcess
from sync.clock import SystemClock
from sync.messages import (
    AssignmentBatch,
    Birth,
    EpisodeUpload,
    Event,
    ReleaseAnnouncement,
    Role,
)
from sync.mqtt import PahoTransport
from sync.policy_io import POLICY_IO_VERSION
from sync.repository import Repository
from sync.session import CloudSession
from sync.update_pack import RepositoryFiles
from sync.vocabulary import Assignment, AssignmentId, DeviceId, Release, ReleaseId

pytestmark = pytest.mark.timeout(180)

FARM = DeviceId("farm-1")
WAIT_S = 60


@pytest.fixture(scope="module")
def base(tmp_path_factory, root):
    """A small untrained base: its graphs, its digest, and the tensors of an adapter for it.

    Exporting takes long; the graphs are kept in build/ by the digest of the base.
    """
    return exported_base(tmp_path_factory.mktemp("base"), root, d_ff=32)


@pytest.fixture(scope="module")
def new_base(tmp_path_factory, root):
    """Another one, of another size."""
    return exported_base(tmp_path_factory.mktemp("new-base"), root, d_ff=48)


def exported_base(source, root, *, d_ff):
    torch.manual_seed(0)
    network = LayoutT5(LayoutT5Config(d_model=32, d_ff=d_ff, heads=2, encoder_layers=1))
    digest = save_base(network, source, {})
    graphs = ensure_exported(source, root / "build" / "test-bases")
    return graphs, digest, adapter_tensors(attach(load_base(source), rank=2))


class Scene:
    """A broker, a signing cloud that keeps what comes in, and one farm in a thread."""

    def __init__(self, folder, base):
        self.base_dir, self.base_digest, self._tensors = base
        self.folder = folder
        self.broker = BrokerProcess(folder / "broker", fleet="home")
        self.broker.add_device(FARM)
        self.broker.start()
        self.repository = Repository.create(folder / "tuf", folder / "keys", clock=SystemClock())
        self.changed = threading.Condition()
        self.messages = []
        self.cloud = CloudSession(
            transport=PahoTransport(self.broker.address()),
            fleet="home",
            ingest=self._ingest,
            files=RepositoryFiles(folder / "tuf"),
        )
        self.cloud.start()
        assert self.cloud.wait_connected(10)
        self._numbers = count()
        self._stop = threading.Event()
        self._thread = None

    def start_farm(self):
        secret = self.folder / "secret"
        address = self.broker.address(FARM)
        secret.write_text(address.password, encoding="utf-8")
        settings = Settings(
            device_id=FARM,
            data_dir=self.folder,
            broker_url=f"mqtt://{address.host}:{address.port}",
            credentials_file=secret,
            channel="canary",
            seats=3,
            base_dir=self.base_dir,
        )
        enrol(settings.phone_dir, self.repository.root_bytes)
        policy = open_policy(settings)
        parts = assemble(
            settings,
            role=Role.FARM,
            table=local_seats(
                settings, [mock_phone() for _ in range(3)], Actors(policy).policy_for
            ),
            seats=3,
            policy=policy,
            host=policy,
        )
        supervisor = Supervisor(parts, settings, clock=SystemClock(), report=lambda *_, **__: None)
        self.slots = Slots(settings.phone_dir)
        self.bases = HeldBases(settings.phone_dir)
        self._thread = threading.Thread(target=supervisor.run, args=(self._stop,))
        self._thread.start()

    def close(self):
        self._stop.set()
        if self._thread is not None:
            self._thread.join(20)
        self.cloud.close()
        self.broker.stop()

    def publish(self, version, *, base_digest=None, scale=1.0, new_base=None):
        """Sign and announce a release, of the farm's own base or with a new one."""
        shapes, packed = self._tensors, None
        if new_base is not None:
            graphs, base_digest, shapes = new_base
            packed = pack_base(graphs)
        tensors = {
            name: (np.full_like(value, 0.01 * version) * scale).astype(np.float32)
            for name, value in shapes.items()
        }
        data = pack(
            tensors,
            base_digest=base_digest or self.base_digest,
            policy_io_version=POLICY_IO_VERSION,
        )
        release = Release(
            ReleaseId(f"r{version}"),
            version=version,
            base_digest=base_digest or self.base_digest,
            adapter_digest=adapter_digest(data),
            adapter_size_bytes=len(data),
            policy_io_version=POLICY_IO_VERSION,
        )
        self.repository.publish(release, data, "canary", base=packed)
        self.cloud.announce(
            ReleaseAnnouncement(channel="canary", release_id=release.id, version=version)
        )
        return release.id

    def assign(self, number, **options):
        batch = tuple(
            Assignment(
                AssignmentId(f"a-{next(self._numbers)}"),
                template="settings_switch",
                seed=seed,
                step_budget=4,
                **options,
            )
            for seed in range(number)
        )
        self.cloud.send(FARM, AssignmentBatch(assignments=batch))
        return {item.id for item in batch}

    def wait(self, condition):
        with self.changed:
            assert self.changed.wait_for(condition, WAIT_S), self.messages[-3:]

    def of(self, kind):
        return [item for item in self.messages if isinstance(item, kind)]

    def wait_born(self, release_id="factory"):
        self.wait(lambda: any(item.release_id == release_id for item in self.of(Birth)))

    def wait_played(self, ids):
        def episodes():
            return [
                item.episode for item in self.of(EpisodeUpload) if item.episode.assignment.id in ids
            ]

        self.wait(lambda: len(episodes()) == len(ids))
        return episodes()

    def states(self, release_id):
        return [
            (item.fields["state"], item.fields["reason"])
            for item in self.of(Event)
            if item.kind == EVENT_KIND and item.fields["release_id"] == release_id
        ]

    def _ingest(self, batch):
        with self.changed:
            self.messages += [item.message for item in batch]
            self.changed.notify_all()
        return {}


@pytest.fixture
def scene(tmp_path, base):
    made = Scene(tmp_path, base)
    yield made
    made.close()


def test_release_is_delivered_verified_and_acts_in_the_next_episodes(scene):
    scene.start_farm()
    scene.wait_born()
    before = scene.wait_played(scene.assign(3))
    release = scene.publish(1)
    scene.wait_born(release)
    after = scene.wait_played(scene.assign(6))
    scene.wait(lambda: ("committed", "") in scene.states(release))

    assert {episode.release_id for episode in before} == {"factory"}
    assert {episode.release_id for episode in after} == {release}
    assert {step.policy_version for episode in after for step in episode.steps} == {release}
    assert [state for state, _ in scene.states(release)] == [
        "announced",
        "downloading",
        "verified",
        "staged",
        "trial",
        "committed",
    ]
    assert scene.slots.state().trial_left is None


def test_log_probabilities_and_digests_are_recorded_with_each_step(scene):
    scene.start_farm()
    scene.wait_born()

    steps = [step for item in scene.wait_played(scene.assign(3)) for step in item.steps]

    assert all(step.input_digest for step in steps)
    assert all(
        step.log_prob == pytest.approx(sum(one.log_prob for one in step.decisions))
        for step in steps
    )


def test_pinned_episodes_are_played_by_the_release_that_they_name(scene):
    scene.start_farm()
    scene.wait_born()
    older = scene.publish(1)
    scene.wait_born(older)
    newer = scene.publish(2)
    scene.wait_born(newer)

    pinned = scene.wait_played(scene.assign(2, release_id=older))
    factory = scene.wait_played(scene.assign(2, release_id="factory"))
    current = scene.wait_played(scene.assign(2))

    assert {episode.release_id for episode in pinned} == {older}
    assert {episode.release_id for episode in factory} == {"factory"}
    assert {episode.release_id for episode in current} == {newer}


def test_release_for_another_base_is_refused_and_play_goes_on(scene):
    scene.start_farm()
    scene.wait_born()
    foreign = scene.publish(1, base_digest="f" * 64)
    scene.wait(lambda: scene.states(foreign))
    episodes = scene.wait_played(scene.assign(3))

    assert ("idle", "base_mismatch") in scene.states(foreign)
    assert {episode.release_id for episode in episodes} == {"factory"}


def test_new_base_comes_with_its_release_and_goes_again(scene, new_base):
    scene.start_farm()
    scene.wait_born()
    old = scene.publish(1)
    scene.wait_born(old)
    new = scene.publish(2, new_base=new_base)
    scene.wait_born(new)

    on_new = scene.wait_played(scene.assign(3))
    pinned = scene.wait_played(scene.assign(2, release_id=old))
    back = scene.publish(3)
    scene.wait_born(back)
    on_old = scene.wait_played(scene.assign(2))

    assert {episode.release_id for episode in on_new} == {new}
    assert {episode.release_id for episode in pinned} == {old}
    assert {episode.release_id for episode in on_old} == {back}
    assert ("committed", "") in scene.states(new)
    assert scene.bases.holds(new_base[1])


def test_assignment_pinned_to_a_release_that_nobody_signed_is_rejected(scene):
    scene.start_farm()
    scene.wait_born()
    [unknown] = scene.assign(1, release_id="r99")

    def rejected():
        return [item for item in scene.of(Event) if item.kind == "assignment_rejected"]

    scene.wait(rejected)

    assert rejected()[0].fields["assignment_id"] == unknown
    assert rejected()[0].fields["reason"] == "unknown_release"

"""From a logged step to what its policy was trained on, and from a release to those steps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import insert, select

from cloud_learner.errors import UnknownRowError
from cloud_learner.ingest import Ingest
from cloud_learner.learner_store import AdapterKind, LearnerStore
from cloud_learner.lineage_store import LineageStore, row_ranges
from cloud_learner.tables import RELEASES, TRAINED_ON
from sync.adapter_file import pack
from sync.clock import ManualClock
from sync.messages import EpisodeUpload
from sync.session import Received
from tests.wire import episode

pytestmark = pytest.mark.integration


class Scene:
    """A cloud database with episodes of two phones, adapters and releases."""

    def __init__(self, folder, database):
        self.clock = ManualClock()
        self.database = database
        self.ingest = Ingest(self.database, clock=self.clock)
        self.learner = LearnerStore(
            self.database, adapters_dir=folder / "adapters", clock=self.clock
        )
        self.lineage = LineageStore(self.database)
        self.count = 0
        self.delivered = ""

    def played(self, device, *policies, release="factory"):
        """Store an episode of one step for each policy that acted; its row."""
        self.count += 1
        made = episode(self.count, steps=len(policies) or 2, device=device)
        steps = tuple(
            replace(step, policy_version=policy)
            for step, policy in zip(made.steps, policies, strict=False)
        )
        made = replace(made, release_id=release, steps=steps or made.steps)
        self.ingest.commit(
            [
                Received(
                    device_id=device,
                    message=EpisodeUpload(episode=made),
                    install_id="i",
                    boot_id="b",
                    stream="outbox",
                    seq=self.count,
                    attempt=1,
                    sent_at_ms=0,
                    received_at_ms=0,
                    redelivered=False,
                )
            ]
        )
        return self.count

    def deliver(self, name, rows, release=None):
        data = pack({}, base_digest="b" * 64, policy_io_version="1")
        self.learner.deliver_adapter(
            data,
            name=name,
            kind=AdapterKind.UPDATE,
            round_index=len(name),
            watermark=max(rows, default=0),
            parent=self.delivered,
            learnt_rows=rows,
        )
        self.delivered = name
        if release is not None:
            self.release(release, name)

    def release(self, release, adapter):
        with self.database.write() as connection:
            version = len(connection.execute(select(RELEASES.c.id)).all()) + 1
            connection.execute(
                insert(RELEASES).values(
                    id=release,
                    version=version,
                    state="promoted",
                    kind="update",
                    adapter=adapter,
                    digest="d",
                    parent="",
                    watermark=0,
                    env_steps=0,
                    created_at_ms=0,
                    decided_at_ms=0,
                    validation_n=0,
                    validation_successes=0,
                    validation_env_errors=0,
                    notes="",
                )
            )


@pytest.fixture
def scene(tmp_path, database):
    return Scene(tmp_path, database)


def test_rows_become_ranges_without_gaps():
    assert row_ranges([1, 2, 3, 5, 9, 10]) == [(1, 3), (5, 5), (9, 10)]
    assert row_ranges([]) == []


def test_a_release_was_trained_on_its_own_batch_and_on_all_before_it(scene):
    rows = [scene.played("p1") for _ in range(4)] + [scene.played("p2") for _ in range(3)]
    scene.deliver("warm-up", rows[:4], "r1")
    scene.deliver("round-1", [rows[4], rows[6]], "r2")
    batches = scene.lineage.of_release("r2")
    assert [(one.adapter, one.releases, one.episodes, one.steps) for one in batches] == [
        ("round-1", ("r2",), 2, 4),
        ("warm-up", ("r1",), 4, 8),
    ]
    assert (batches[0].first_row, batches[0].last_row) == (5, 7)
    assert [one.row for one in scene.lineage.episodes_of("r2")] == [1, 2, 3, 4, 5, 7]
    assert [one.row for one in scene.lineage.episodes_of("r1")] == [1, 2, 3, 4]


def test_an_episode_belongs_to_the_first_adapter_that_learnt_from_it(scene):
    rows = [scene.played("p1") for _ in range(3)]
    scene.deliver("a", rows[:2], "r1")
    scene.deliver("b", rows, "r2")
    assert [(one.row, one.adapter) for one in scene.lineage.episodes_of("r2")] == [
        (1, "a"),
        (2, "a"),
        (3, "b"),
    ]


def test_delivering_a_name_again_adds_what_the_dead_learner_did_not_tell(scene):
    rows = [scene.played("p1") for _ in range(3)]
    scene.deliver("a", rows[:2], "r1")
    scene.delivered = ""
    scene.deliver("a", rows)
    assert [one.row for one in scene.lineage.episodes_of("r1")] == [1, 2, 3]


def test_a_step_leads_to_the_batch_of_the_release_that_acted_in_it(scene):
    learnt = [scene.played("p1") for _ in range(2)]
    scene.deliver("a", learnt, "r1")
    scene.deliver("b", [], "r2")
    scene.played("p2", "r1", "r2", release="r2")
    first, second = (scene.lineage.of_step("episode-3", index) for index in (0, 1))
    assert (first.policy_release, [one.adapter for one in first.batches]) == ("r1", ["a"])
    assert (second.policy_release, [one.adapter for one in second.batches]) == ("r2", ["b", "a"])
    assert (first.device_id, first.learnt_by, first.learnt_releases) == ("p2", "", ())
    whole = scene.lineage.of_step("episode-3")
    assert (whole.policy_release, whole.step) == ("r2", None)


def test_a_step_tells_who_learnt_from_it(scene):
    row = scene.played("p1", "factory")
    scene.deliver("a", [row], "r1")
    scene.release("r2", "a")
    origin = scene.lineage.of_step("episode-1", 0)
    assert (origin.policy_release, origin.batches) == ("factory", ())
    assert (origin.learnt_by, origin.learnt_releases) == ("a", ("r1", "r2"))


@pytest.mark.parametrize("asked", [("episode-9", None), ("episode-1", 2), ("episode-1", -1)])
def test_what_was_never_logged_is_unknown(scene, asked):
    scene.played("p1")
    with pytest.raises(UnknownRowError):
        scene.lineage.of_step(*asked)


def test_a_release_that_the_learner_did_not_make_is_unknown(scene):
    with pytest.raises(UnknownRowError):
        scene.lineage.of_release("r9")


def test_a_devices_data_is_in_every_release_from_the_first_that_learnt_from_it(scene):
    rows = [scene.played(device) for device in ("p1", "p1", "p2", "p1", "p2")]
    scene.deliver("a", rows[:2], "r1")
    scene.deliver("b", rows[2:4], "r2")
    scene.deliver("c", rows[4:], "r3")
    use = scene.lineage.of_device("p2")
    assert (use.episodes, use.adapters, use.releases) == (2, ("b", "c"), ("r2", "r3"))
    assert scene.lineage.of_device("p1").releases == ("r1", "r2", "r3")
    scene.played("p3")
    assert scene.lineage.of_device("p3").releases == ()


def test_a_device_that_nobody_heard_of_is_unknown(scene):
    scene.played("p1")
    with pytest.raises(UnknownRowError):
        scene.lineage.of_device("p9")


def test_ranges_hold_only_what_was_learnt_from(scene):
    rows = [scene.played("p1") for _ in range(6)]
    scene.deliver("a", [rows[index] for index in (0, 2, 3, 5)])
    with scene.database.read() as connection:
        kept = connection.execute(
            select(TRAINED_ON.c.first_row, TRAINED_ON.c.last_row).order_by(TRAINED_ON.c.first_row)
        ).all()
    assert [tuple(one) for one in kept] == [(1, 1), (3, 4), (6, 6)]

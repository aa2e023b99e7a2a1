"""The learner on a real database: demonstrations, warm-up, rounds, settling, and restarts."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from sqlalchemy import select, update

from apps_mock.baselines import RandomPolicy
from apps_mock.farm import play
from apps_mock.oracle import OraclePolicy
from apps_mock.tasks import templates
from cloud_learner import device_rows
from cloud_learner.algorithm_settings import ALGORITHMS, STABILISED, ReplaySettings
from cloud_learner.batch import trajectory_of
from cloud_learner.campaign_store import CampaignStore
from cloud_learner.device_store import DeviceStore
from cloud_learner.errors import CheckpointError, SettingsError
from cloud_learner.imitation import ImitationSettings
from cloud_learner.ingest_store import Origin, record_episode
from cloud_learner.learner import Learner
from cloud_learner.learner_settings import LearnerSettings
from cloud_learner.learner_store import LearnerStore
from cloud_learner.scoring import Scorer
from cloud_learner.settings import CampaignSettings
from cloud_learner.store import Database, sqlite_url
from cloud_learner.tables import ADAPTERS, CAMPAIGN, LEARNER_METRICS, LEARNER_STATE
from cloud_learner.verdict_store import store_late_verdict
from device_runtime.policy import OnnxPolicy
from exporters import adapter_export
from exporters.adapter_export import AdapterExporter
from exporters.base import base_digest, ensure_exported, load_base, save_base
from exporters.errors import ParityError
from exporters.families.layout_t5 import LayoutT5, LayoutT5Config, text_table_of
from exporters.lora import adapter_tensors, attach
from sync.adapter_file import pack, unpack
from sync.clock import SystemClock
from sync.messages import EpisodeUpload
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    Decision,
    EndReason,
    EpisodeId,
    Purpose,
    Verdict,
    VerdictSource,
    new_uuid7,
)

DIGEST = "d" * 64
QUICK = LearnerSettings(
    rank=4,
    episodes_per_round=4,
    updates_per_round=1,
    rounds_per_release=2,
    control_cpu_s=30.0,
    warm_up=ImitationSettings(updates=3, batch_steps=8),
    control=ImitationSettings(learning_rate=3e-4, updates=40, batch_steps=8),
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


@pytest.fixture(scope="module")
def network():
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        small = LayoutT5(LayoutT5Config(d_model=16, d_ff=32, heads=2, encoder_layers=1))
    return small.eval().requires_grad_(requires_grad=False)


def _assignments(count, app, actor, purpose):
    known = [one for one in templates() if one.app == app]
    return [
        Assignment(
            AssignmentId(f"{purpose}-{app}-{index}"),
            template=known[index % len(known)].name,
            suite=app,
            seed=index,
            look=index,
            actor=actor,
            purpose=purpose,
            step_budget=6 if actor == "random" else known[index % len(known)].step_budget,
        )
        for index in range(count)
    ]


def _played(assignments, policy_for):
    return [one.episode for one in play(assignments, policy_for, seats=4)]


@pytest.fixture(scope="module")
def demonstrations():
    """Oracle episodes of the new app and of an old one."""

    def oracle(_assignment, phone):
        return OraclePolicy(phone)

    return [
        episode
        for app in ("tickets", "settings")
        for episode in _played(_assignments(3, app, "oracle", Purpose.DEMONSTRATE), oracle)
    ]


@pytest.fixture(scope="module")
def training():
    """Episodes of an actor that plays at random."""
    policy = RandomPolicy()
    return _played(
        _assignments(20, "tickets", "random", Purpose.TRAIN), lambda _assignment, _phone: policy
    )


class CpuMeter:
    """Time that passes by the call."""

    def __init__(self, per_look_s: float) -> None:
        self.now_s, self._per_look_s = 0.0, per_look_s

    def __call__(self) -> float:
        self.now_s += self._per_look_s
        return self.now_s


@dataclass
class Cloud:
    """A database as the service leaves it for the learner."""

    folder: Path
    database: Database
    base: LayoutT5
    seq: int = 0

    @property
    def store(self) -> LearnerStore:
        return LearnerStore(
            self.database, adapters_dir=self.folder / "adapters", clock=SystemClock()
        )

    def enter(self, phase: str) -> None:
        """Put the campaign into a phase."""
        with self.database.write() as connection:
            state = connection.execute(select(CAMPAIGN.c.state)).scalar_one()
            connection.execute(update(CAMPAIGN).values(state={**state, "phase": phase}))

    def ingest(self, episodes, *, won=lambda index: index % 3 == 0, judged=True) -> None:
        """Store episodes in this order, as ingest does; without a verdict if nobody judged."""
        for index, episode in enumerate(episodes):
            score = 1.0 if won(index) else 0.0
            verdict = Verdict(episode.id, "state", "1", VerdictSource.CODE, score, progress=score)
            self.seq += 1
            with self.database.write() as connection:
                origin = Origin(episode.device_id, "install", self.seq, 1)
                assert record_episode(
                    connection,
                    origin,
                    EpisodeUpload(episode=episode, verdicts=(verdict,) if judged else ()),
                )

    def pass_time(self, active_s: float) -> None:
        """Say how long the campaign has run."""
        with self.database.write() as connection:
            connection.execute(update(CAMPAIGN).values(active_s=active_s))

    def learner(self, settings=QUICK, *, export=None, cpu_time_s=None, **more) -> Learner:
        """A learner process on this database and its checkpoints."""
        return Learner(
            self.store,
            self.base,
            base_digest=DIGEST,
            settings=settings,
            export=export or packed,
            checkpoints_dir=self.folder / "checkpoints",
            cpu_time_s=cpu_time_s or CpuMeter(0.1),
            **more,
        )

    def state(self) -> dict[str, object]:
        """What the learner reported last."""
        with self.database.read() as connection:
            rows = connection.execute(select(LEARNER_STATE.c.key, LEARNER_STATE.c.value))
            return {row.key: row.value for row in rows}

    def metrics(self) -> list[dict[str, float]]:
        """The figures of every round."""
        with self.database.read() as connection:
            rows = connection.execute(
                select(LEARNER_METRICS.c.metrics).order_by(LEARNER_METRICS.c.row)
            )
            return [row for row in rows.scalars() if "training_success" in row]

    def adapters(self) -> list[str]:
        """Names of the delivered adapters in order."""
        with self.database.read() as connection:
            return list(
                connection.execute(select(ADAPTERS.c.name).order_by(ADAPTERS.c.ordinal)).scalars()
            )


def packed(network, _episodes, _steps):
    return pack(adapter_tensors(network), base_digest=DIGEST, policy_io_version="1")


def run(learner) -> None:
    """Poll until there is nothing to do."""
    while learner.poll():
        pass


@pytest.fixture
def cloud(tmp_path, network):
    database = Database(sqlite_url(tmp_path / "cloud.db"))
    CampaignStore(database, clock=SystemClock()).begin(
        CampaignSettings(env_steps=100, old_apps=("settings",), seed=1, group_size=8)
    )
    yield Cloud(tmp_path, database, copy.deepcopy(network))
    database.close()


@pytest.fixture
def warmed(cloud, demonstrations):
    """A cloud whose warm-up has been delivered, in phase learn, and its learner."""
    cloud.ingest(demonstrations, won=lambda _index: True)
    learner = cloud.learner()
    cloud.enter("demonstrate")
    run(learner)
    cloud.enter("warm_up")
    run(learner)
    cloud.enter("learn")
    return cloud, learner


def play_alone(cloud):
    """Let the campaign's episodes be no groups."""
    with cloud.database.write() as connection:
        settings = connection.execute(select(CAMPAIGN.c.settings)).scalar_one()
        connection.execute(update(CAMPAIGN).values(settings={**settings, "group_size": 1}))


@pytest.mark.parametrize("phase", ["demonstrate", "learn"])
def test_who_compares_episodes_refuses_a_campaign_that_plays_none_alike(cloud, phase):
    play_alone(cloud)
    cloud.enter(phase)
    with pytest.raises(SettingsError, match=r"--group-size 8") as caught:
        cloud.learner(LearnerSettings(name="grpo", algorithm=ALGORITHMS["grpo"])).poll()
    assert "\n" not in str(caught.value)


def test_whoever_comes_late_without_a_checkpoint_is_told_what_is_missing(cloud):
    cloud.enter("learn")
    with pytest.raises(CheckpointError, match="no checkpoint tells of its warm-up"):
        cloud.learner().poll()


def test_a_campaign_from_demonstrations_to_settling(warmed, training):
    cloud, learner = warmed
    assert cloud.adapters() == ["warm-up"]
    assert not learner.finished

    cloud.ingest(training[:10])
    run(learner)
    assert cloud.adapters() == ["warm-up", "round-00002"]
    cloud.enter("settle")
    run(learner)

    assert cloud.adapters() == ["warm-up", "round-00002", "round-00003"]
    state = cloud.state()
    assert (state["round"], state["settled"]) == (3, True)
    assert state["consumed_row"] == 16
    assert state["cpu_s"] > 0
    assert len(cloud.metrics()) == 3
    rows = cloud.store.adapters()
    assert [row.parent for row in rows] == ["", "warm-up", "round-00002"]
    assert [row.watermark for row in rows] == [6, 14, 16]
    cloud.enter("show")
    assert learner.finished


def test_rounds_grow_where_the_time_left_is_short(warmed, training):
    cloud, _learner = warmed
    settings = replace(QUICK, most_episodes_per_round=6)
    learner = cloud.learner(settings, now_s=CpuMeter(10.0))
    cloud.ingest(training[:4])
    assert learner.poll()  # one round of four; now it is known that a round costs ten seconds
    assert len(cloud.metrics()) == 1
    cloud.ingest(training[4:20])
    cloud.pass_time(CampaignSettings().learn_until_s - 10.0)

    run(learner)
    learner.save()

    assert len(cloud.metrics()) == 1 + 2
    assert learner.state.consumed_row == 6 + 4 + 2 * 6


def test_the_delivered_file_is_the_learners_adapter(warmed, training):
    cloud, learner = warmed
    cloud.ingest(training[:8])
    run(learner)

    delivered = [
        unpack(cloud.store.adapter_path(name).read_bytes()).tensors for name in cloud.adapters()
    ]

    assert delivered[0].keys() == delivered[1].keys()
    assert any((delivered[0][name] != delivered[1][name]).any() for name in delivered[0])


def test_only_the_adapter_is_trained(warmed, training, network):
    cloud, learner = warmed
    cloud.ingest(training[:8])
    run(learner)

    before = network.state_dict()
    assert all(torch.equal(value, before[name]) for name, value in cloud.base.state_dict().items())


def test_defect_6_env_errors_are_consumed_and_never_a_reward(warmed, training):
    """The released code: a broken evaluator made every reward 0."""
    cloud, learner = warmed
    broken = [
        dataclasses.replace(episode, end_reason=EndReason.ENV_ERROR) for episode in training[:4]
    ]
    cloud.ingest(broken)
    run(learner)
    assert cloud.state()["consumed_row"] == 10
    assert cloud.metrics() == []

    cloud.ingest(training[4:8], won=lambda _index: True)
    run(learner)

    assert [row["training_success"] for row in cloud.metrics()] == [1.0]


def test_what_nobody_judged_is_consumed_and_never_a_failure(warmed, training):
    cloud, learner = warmed
    cloud.ingest(training[:4], judged=False)
    run(learner)
    assert cloud.state()["consumed_row"] == 10
    assert cloud.metrics() == []


def test_defect_8_rows_are_read_once_in_order_and_acknowledged_by_watermark(warmed, training):
    """The released code: its queue was a pickle file, rewritten under a lock."""
    cloud, learner = warmed
    read = []
    inner = learner._trajectory
    learner._trajectory = lambda one, **more: (read.append(one.row), inner(one, **more))[1]

    for start in (0, 3, 9):
        cloud.ingest(training[start : {0: 3, 3: 9, 9: 12}[start]])
        run(learner)
        assert cloud.state()["consumed_row"] == 6 + {0: 3, 3: 9, 9: 12}[start]

    assert read == list(range(7, 19))


def test_a_late_demonstration_hides_no_training_episode(warmed, demonstrations, training):
    cloud, learner = warmed
    cloud.ingest(training[:4])
    run(learner)
    learner.save()
    cloud.ingest(training[4:7])
    late = replace(
        demonstrations[0],
        id=EpisodeId("late"),
        assignment=replace(demonstrations[0].assignment, id=AssignmentId("late")),
    )
    cloud.ingest([late, training[7]], won=lambda _index: True)

    again = cloud.learner()
    run(again)

    assert len(cloud.metrics()) == 2
    assert cloud.state()["consumed_row"] == 15


def test_a_learner_that_was_killed_reads_the_same_rows_and_delivers_nothing_twice(warmed, training):
    cloud, learner = warmed
    cloud.ingest(training[:12])
    run(learner)
    first = [(row.name, row.digest) for row in cloud.store.adapters()]
    assert cloud.state()["round"] == 3  # the third is in no checkpoint

    again = cloud.learner()
    assert again.state.round_index == 2
    assert again.state.consumed_row == 14
    cloud.ingest(training[12:20])
    run(again)

    assert cloud.state()["consumed_row"] == 26
    assert [(row.name, row.digest) for row in cloud.store.adapters()][:2] == first
    assert cloud.adapters() == ["warm-up", "round-00002", "round-00004"]


def test_a_restart_goes_on_with_weights_critic_and_optimiser(warmed, training):
    cloud, learner = warmed
    cloud.ingest(training[:8])
    run(learner)
    learner.save()

    again = cloud.learner()
    again.poll()
    again.save()

    first, second = learner.state, again.state
    for name, kept, restored in (
        ("adapter", first.adapter, second.adapter),
        ("reference", first.reference, second.reference),
        ("critics", first.algorithm["critics"], second.algorithm["critics"]),
    ):
        assert kept.keys() == restored.keys()
        assert all(torch.equal(value, restored[key]) for key, value in kept.items()), name
    steps = [one.algorithm["optimiser"]["state"][0]["step"] for one in (first, second)]
    assert steps == [2, 2]
    assert second.cpu_s == pytest.approx(first.cpu_s)


def test_a_warm_up_that_was_killed_is_made_again_and_delivered_once(cloud, demonstrations):
    cloud.ingest(demonstrations, won=lambda _index: True)
    cloud.enter("warm_up")

    def refuse(_network, _episodes, _steps):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(cloud.learner(export=refuse))
    run(cloud.learner())
    run(cloud.learner())

    assert cloud.adapters() == ["warm-up"]


def test_settling_twice_delivers_once(warmed, training):
    cloud, learner = warmed
    cloud.ingest(training[:8])
    run(learner)
    cloud.enter("settle")
    run(learner)

    run(cloud.learner())

    assert cloud.adapters() == ["warm-up", "round-00002"]
    assert cloud.state()["settled"] is True


def test_the_control_arm_spends_its_cpu_and_learns_from_demonstrations_alone(
    cloud, demonstrations, training
):
    learner = cloud.learner(replace(QUICK, name="bc", algorithm=None), cpu_time_s=CpuMeter(0.25))
    cloud.ingest(demonstrations, won=lambda _index: True)
    cloud.enter("warm_up")
    run(learner)
    cloud.enter("learn")
    cloud.ingest(training[:12])
    run(learner)
    steps = cloud.store.campaign().env_steps

    share = min(1.0, steps / 100)
    assert steps > 20
    assert cloud.state()["cpu_s"] == pytest.approx(30.0 * share, abs=2.0)
    assert all("imitation_loss" in row for row in cloud.metrics()[:1])
    assert all("policy_loss" not in row for row in cloud.metrics())
    assert cloud.adapters() == ["warm-up", "round-00002"]


def test_steps_whose_encoding_differs_are_counted_and_left_out(warmed, training):
    cloud, learner = warmed
    foreign = [
        replace(
            episode,
            steps=tuple(
                replace(step, decisions=_one_decision(), input_digest="0" * 64)
                for step in episode.steps
            ),
        )
        for episode in training[:4]
    ]
    cloud.ingest(foreign)
    run(learner)

    (row,) = cloud.metrics()
    assert row["left_out_steps"] == sum(len(episode.steps) for episode in foreign)


def _one_decision():
    return (Decision("type", 9, -1.0, b"\x00" * 3),)


def test_an_adapter_that_the_export_refuses_stops_neither_learner_nor_later_ones(warmed, training):
    cloud, learner = warmed
    refused = iter([True, False])
    inner = learner._delivery._export

    def once(network, episodes, steps):
        if next(refused):
            raise ParityError("they differ")
        return inner(network, episodes, steps)

    learner._delivery._export = once
    cloud.ingest(training[:16])
    run(learner)

    assert cloud.adapters() == ["warm-up", "round-00004"]
    assert cloud.state()["round"] == 4


def _of_release(episodes, release_id):
    """The episodes as if that release had played them."""
    return [
        replace(
            episode,
            release_id=release_id,
            assignment=replace(episode.assignment, actor="release"),
            steps=tuple(replace(step, policy_version=release_id) for step in episode.steps),
        )
        for episode in episodes
    ]


def test_an_episode_of_an_unknown_version_is_left_out_counted_and_training_goes_on(
    warmed, training
):
    cloud, learner = warmed
    cloud.ingest(_of_release(training[:3], "r9999"))
    cloud.ingest(_of_release(training[3:7], "factory"))
    run(learner)

    (row,) = cloud.metrics()
    assert row["unknown_version_episodes"] == 3.0
    assert cloud.state()["consumed_row"] == 13
    assert cloud.state()["round"] == 1


def test_one_step_of_an_unknown_version_is_enough_to_leave_an_episode_out(warmed, training):
    cloud, learner = warmed
    (mixed,) = _of_release(training[:1], "factory")
    last = replace(mixed.steps[-1], policy_version="r9999")
    cloud.ingest([replace(mixed, steps=(*mixed.steps[:-1], last))])
    cloud.ingest(training[1:5])
    run(learner)

    (row,) = cloud.metrics()
    assert row["unknown_version_episodes"] == 1.0


def test_a_round_without_a_usable_step_is_counted_and_the_next_one_learns(warmed, training):
    cloud, learner = warmed
    foreign = [
        replace(
            episode,
            steps=tuple(
                replace(step, decisions=_one_decision(), input_digest="0" * 64)
                for step in episode.steps
            ),
        )
        for episode in training[:4]
    ]
    cloud.ingest(foreign)
    run(learner)
    cloud.ingest(training[4:8], won=lambda _index: True)
    run(learner)

    first, second = cloud.metrics()
    assert first["left_out_steps"] > 0
    assert second["left_out_steps"] == 0
    assert learner._learning.is_finite()


def test_an_adapter_that_became_nan_is_taken_back_and_learning_goes_on(warmed, training):
    cloud, learner = warmed
    cloud.ingest(training[:4])
    run(learner)
    with torch.no_grad():
        learner._learning._trainable[0].fill_(float("nan"))
    cloud.ingest(training[4:8])
    run(learner)

    assert cloud.adapters() == ["warm-up"]
    assert learner._learning.is_finite()

    cloud.ingest(training[8:16])
    run(learner)
    assert cloud.adapters() == ["warm-up", "round-00004"]


@pytest.mark.parametrize("name", ["filtered_bc", "digirl", "grpo", "gigpo", "a_ride_published"])
def test_every_algorithm_goes_on_after_a_kill(cloud, demonstrations, training, name):
    small = {"demo_steps_new": 2, "demo_steps_old": 2, "success_steps": 2}
    algorithm = replace(ALGORITHMS[name], trajectories_per_update=2, **small)
    settings = replace(QUICK, name=name, algorithm=algorithm)
    learner = cloud.learner(settings)
    cloud.ingest(demonstrations, won=lambda _index: True)
    cloud.enter("warm_up")
    run(learner)
    cloud.enter("learn")
    cloud.ingest(_in_groups(training[:8]))
    run(learner)
    saved = learner.state.algorithm

    again = cloud.learner(settings)
    again.poll()
    restored = copy.deepcopy(again._learning._algorithm.state_dict())
    cloud.ingest(_in_groups(training[8:16]))
    run(again)

    assert restored["rounds"] == saved["rounds"] == 2
    kept, found = saved["optimiser"]["state"], restored["optimiser"]["state"]
    assert {key: float(one["step"]) for key, one in kept.items()} == {
        key: float(one["step"]) for key, one in found.items()
    }
    assert cloud.adapters() == ["warm-up", "round-00002", "round-00004"]


def _in_groups(episodes):
    return [
        replace(episode, assignment=replace(episode.assignment, group_id=f"g{index // 8}"))
        for index, episode in enumerate(episodes)
    ]


def test_a_checkpoint_of_another_learner_is_refused_in_one_line(warmed):
    cloud, learner = warmed
    learner.save()

    with pytest.raises(CheckpointError, match=r"learner a_ride, not digirl") as caught:
        cloud.learner(replace(QUICK, name="digirl", algorithm=ALGORITHMS["digirl"]))

    assert "\n" not in str(caught.value)


def test_a_checkpoint_of_another_rank_is_refused(warmed):
    cloud, learner = warmed
    learner.save()

    with pytest.raises(CheckpointError, match="rank"):
        cloud.learner(replace(QUICK, rank=8))


def test_a_demonstration_that_comes_while_learning_is_learnt_from(warmed, demonstrations, training):
    cloud, learner = warmed
    cloud.ingest(training[:4])
    run(learner)
    before = len(learner._learning.demonstrations["new"])
    more = replace(
        demonstrations[0],
        id=EpisodeId("again"),
        assignment=replace(demonstrations[0].assignment, id=AssignmentId("demonstrate-again.0")),
    )
    cloud.ingest([more], won=lambda _index: True)
    run(learner)

    assert len(learner._learning.demonstrations["new"]) == before + 1


def _judge(cloud, episode, *, success, version="1"):
    """A judge's verdict, as it comes when an episode has long been stored."""
    score = 1.0 if success else 0.0
    verdict = Verdict(episode.id, "judge", version, VerdictSource.JUDGE, score, progress=score)
    with cloud.database.write() as connection:
        assert store_late_verdict(connection, verdict)


def _revoke(cloud, device_id):
    """Revoke a phone with its data."""
    with cloud.database.write() as connection:
        device_rows.ensure(connection, device_id)
    DeviceStore(cloud.database, clock=SystemClock(), new_id=new_uuid7).revoke(
        device_id, reason="stolen", forget_data=True
    )


def _outcomes(learner):
    """Row and success of everything that the algorithm replays."""
    return {one.row: one.success for one in learner._learning._algorithm.replay}


def test_a_judge_who_comes_late_makes_an_unjudged_episode_one_to_learn_from(warmed, training):
    cloud, learner = warmed
    cloud.ingest(training[:4], judged=False)
    run(learner)
    assert cloud.metrics() == []

    for episode in training[:4]:
        _judge(cloud, episode, success=True)
    run(learner)

    (row,) = cloud.metrics()
    assert (row["training_success"], row["judged_late_episodes"]) == (1.0, 4.0)
    assert _outcomes(learner) == dict.fromkeys(range(7, 11), True)
    assert cloud.state()["consumed_row"] == 10


def test_a_late_verdict_turns_what_was_learnt_from_an_episode(warmed, training):
    cloud, learner = warmed
    cloud.ingest(training[:2], judged=False)
    for episode in training[:2]:
        _judge(cloud, episode, success=True)
    cloud.ingest(training[2:4], won=lambda _index: False)
    run(learner)
    assert _outcomes(learner) == {7: True, 8: True, 9: False, 10: False}

    _judge(cloud, training[0], success=False, version="2")
    cloud.ingest(training[4:7], won=lambda _index: False)
    run(learner)

    assert _outcomes(learner)[7] is False
    assert sorted(_outcomes(learner)) == list(range(7, 14))
    held = learner._learning._algorithm.anchors.successes.trajectories()
    assert [one.row for one in held] == [8]


def test_a_demonstration_that_is_judged_a_failure_is_imitated_no_more(
    cloud, demonstrations, training
):
    cloud.ingest(demonstrations, judged=False)
    for episode in demonstrations:
        _judge(cloud, episode, success=True)
    learner = cloud.learner()
    cloud.enter("warm_up")
    run(learner)
    kept = learner._learning.demonstrations["new"]
    assert {one.row for one in kept.trajectories()} == {1, 2, 3}

    _judge(cloud, demonstrations[0], success=False, version="2")
    cloud.enter("learn")
    cloud.ingest(training[:4])
    run(learner)

    assert {one.row for one in kept.trajectories()} == {2, 3}


def test_a_verdict_on_what_was_not_read_yet_is_read_once_with_it(warmed, training):
    cloud, learner = warmed
    cloud.ingest(training[:4], judged=False)
    for episode in training[:4]:
        _judge(cloud, episode, success=True)
    run(learner)

    (row,) = cloud.metrics()
    assert row["judged_late_episodes"] == 0.0


@pytest.mark.parametrize("name", ["a_ride", "filtered_bc", "digirl", "grpo"])
def test_what_a_revoked_phone_played_is_learnt_from_no_more(cloud, demonstrations, training, name):
    """Neither from memory, nor after a restart, nor what had been read for the next round."""
    algorithm = replace(ALGORITHMS[name], trajectories_per_update=2)
    settings = replace(QUICK, name=name, algorithm=algorithm)
    cloud.ingest(demonstrations, won=lambda _index: True)
    learner = cloud.learner(settings)
    cloud.enter("warm_up")
    run(learner)
    cloud.enter("learn")
    stolen = [replace(one, device_id="stolen") for one in training[:7:2]]
    cloud.ingest(_in_groups(stolen + training[1:7:2]), won=lambda index: index < 2)
    run(learner)
    assert _rows_in(learner) & set(range(7, 11))

    _revoke(cloud, "stolen")
    cloud.ingest(_in_groups(training[8:12]))
    run(learner)

    assert not _rows_in(learner) & set(range(7, 11))
    assert cloud.metrics()[-1]["revoked_episodes"] == 4.0
    learner.save()
    again = cloud.learner(settings)
    again.poll()
    assert not _rows_in(again) & set(range(7, 11))


def _rows_in(learner):
    """Rows of everything that a learner still learns from."""
    memories = [learner._pending, *_trajectories_in(learner._learning)]
    return {one.row for memory in memories for one in memory}


def _trajectories_in(learning):
    algorithm = learning._algorithm
    yield algorithm.anchors.successes.trajectories()
    yield learning._drill._successes.trajectories()
    yield from (one.trajectories() for one in learning.demonstrations.values())
    yield getattr(algorithm, "replay", ())
    yield [kept.trajectory for kept in getattr(algorithm, "_pool", ())]
    if groups := getattr(algorithm, "groups", None):
        yield [one.trajectory for group in groups._groups for one in group.members]
        yield from (one.trajectories for one in groups._gathering.values())


@pytest.fixture(scope="module")
def exported(network, tmp_path_factory):
    """The tiny base as files, and its graphs."""
    source = tmp_path_factory.mktemp("tiny")
    save_base(network, source, {"note": "arbitrary, for tests"})
    return source, ensure_exported(source, tmp_path_factory.mktemp("graphs"))


def test_what_is_checked_is_what_phones_unpack(exported, training, monkeypatch):

    source, graphs = exported
    base = load_base(source)
    adapted = attach(copy.deepcopy(base), 4)
    with torch.no_grad():
        for name, value in adapted.named_parameters():
            if ".lora_" in name:
                value.add_(torch.randn(value.shape, generator=torch.Generator().manual_seed(2)) / 9)
    checked = []
    inner = adapter_export.check

    def check(network, graphs_dir, tensors, inputs):
        checked.append((adapter_tensors(network), tensors))
        return inner(network, graphs_dir, tensors, inputs)

    monkeypatch.setattr(adapter_export, "check", check)
    exporter = AdapterExporter(base, base_digest=base_digest(base), graphs_dir=graphs, rank=4)
    data = exporter(adapted, training[:2], 4)

    ((in_torch, on_phone),) = checked
    shipped, own = unpack(data).tensors, adapter_tensors(adapted)
    assert all((shipped[name] == on_phone[name]).all() for name in shipped)
    assert all((shipped[name] == in_torch[name]).all() for name in shipped)
    assert any((shipped[name] != own[name]).any() for name in shipped)


def test_the_weights_that_acted_have_a_ratio_of_one(exported, network):
    """π of torch is μ as a phone recorded it through ONNX, on real clone episodes."""
    source, graphs = exported
    base = load_base(source)
    adapted = attach(copy.deepcopy(base), 4)
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for name, value in adapted.named_parameters():
            if ".lora_" in name:
                value.add_(torch.randn(value.shape, generator=generator) * 0.2)
    policy = OnnxPolicy(graphs)
    policy.load_adapter("r1", adapter_tensors(adapted))
    policy.use("r1")
    assignments = [
        replace(one, actor="release", release_id="r1", step_budget=5)
        for one in _assignments(24, "tickets", "random", Purpose.TRAIN)
    ]
    episodes = _played(assignments, lambda _assignment, _phone: policy)

    table = text_table_of(base)
    steps = [
        step
        for row, episode in enumerate(episodes)
        for step in trajectory_of(episode, table, row=row, app="tickets", success=False).steps
    ]
    with torch.no_grad():
        scores = Scorer(base, adapted, table)(steps)
        other = Scorer(base, None, table)(steps)

    assert len(steps) > 20
    assert all(step.usable for step in steps)
    torch.testing.assert_close(scores.log_prob, scores.log_mu, atol=1e-3, rtol=0)
    assert (other.log_prob - other.log_mu).abs().max() > 0.01

"""A learner that reads slowly holds the fleet back, and nothing that was played is lost."""

from __future__ import annotations

from collections import Counter

from cloud_learner.campaign import Phase
from cloud_learner.campaign_store import CampaignStore
from cloud_learner.report_store import EpisodeFilter
from cloud_learner.settings import CampaignSettings, GateSettings
from cloud_learner.store import Database, sqlite_url
from sync.clock import SystemClock
from sync.messages import Role
from sync.vocabulary import Purpose

LIMIT = 10
SETTINGS = CampaignSettings(
    env_steps=60,
    minutes=5,
    reserve_minutes=0.5,
    old_demonstrations=1,
    evaluate_new=6,
    evaluate_old=4,
    in_flight_limit=LIMIT,
    group_size=2,
    settle_timeout_s=20.0,
    gate=GateSettings(per_template=2),
)


def test_a_slow_learner_holds_the_farm_back_and_loses_nothing(
    request, tmp_path, loopback, make_scene
):
    make_device, make_learner, run_campaign = (
        request.getfixturevalue(name) for name in ("make_device", "make_learner", "run_campaign")
    )
    scene = make_scene(tmp_path, loopback.transport("cloud", service=True), campaign=SETTINGS)
    scene.service.start()
    farm = make_device(
        tmp_path, "farm-slow", Role.FARM, loopback.transport("farm-slow"), lambda *_: True
    )
    learner = make_learner(tmp_path, reads_at_once=1)
    database = Database(sqlite_url(tmp_path / "cloud" / "cloud.db"), migrate=False)
    facts = CampaignStore(database, clock=SystemClock())
    waiting = []
    turn = learner.turn

    def watched() -> None:
        turn()
        if learner.store.campaign().phase == Phase.LEARN:
            waiting.append(facts.facts(0.0).unconsumed)

    learner.turn = watched
    run_campaign(scene, learner)
    farm.stop()
    database.close()

    assert scene.service.phase is Phase.FINISHED
    assert LIMIT - 2 < max(waiting) <= LIMIT
    trained = [one for one in farm.played if one.purpose is Purpose.TRAIN]
    stored = scene.service._reports.episodes(EpisodeFilter(purpose="train"), limit=10_000)
    assert Counter(one.id for one in trained) == Counter(row["assignment_id"] for row in stored)
    assert {row["id"] for row in stored} <= set(learner.seen)
    assert len(learner.seen) == len(set(learner.seen))
    groups = Counter(one.group_id for one in trained)
    assert set(groups.values()) == {2}

"""What a staged release is judged by: phones that fall silent, idle or slow, and late episodes."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from sqlalchemy import insert, update

from cloud_learner.device_rows import ensure
from cloud_learner.staged_offer import offer_of
from cloud_learner.staged_release import Abort, StagedPhase
from cloud_learner.tables import DEVICES, EPISODES
from tests.staged_fleet import HOUR_S, TWO_STAGES, StagedFleet

ENDS = (StagedPhase.PROMOTED, StagedPhase.ROLLED_BACK, StagedPhase.PAUSED)
PLAN = replace(TWO_STAGES, silence_s=6 * HOUR_S)


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch):
    """Nobody cuts the power here."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)


@pytest.fixture
def fleet(tmp_path):
    made = StagedFleet(tmp_path)
    made.hour(episodes=6)
    made.stage(PLAN)
    made.hour()
    yield made
    made.database.close()


def device_rows(fleet, **values):
    """Rows of all phones' devices as enrolment and health leave them."""
    with fleet.database.write() as connection:
        for name in fleet.phones:
            ensure(connection, name)
        connection.execute(update(DEVICES).values(revision=1, **values))


def test_phones_that_die_before_they_say_that_they_were_told_count_as_silent(tmp_path):
    fleet = StagedFleet(tmp_path)
    offer = offer_of("r2", 2, PLAN, 0)
    fleet.gone = {name for name, phone in fleet.phones.items() if offer.includes(phone.cohort)}
    assert len(fleet.gone) > 3
    fleet.stage(PLAN)

    fleet.until(*ENDS)

    assert "silent" in fleet.why(StagedPhase.ROLLING_BACK)


def test_phones_that_were_silent_before_are_not_the_releases_fault(fleet):
    fleet.gone = {name for name in list(fleet.phones)[::2] if name not in fleet.may_have_it()}
    fleet.hour(3, times=8)

    silent = fleet.evidence.evidence(fleet.store.get("r2")).shares["silent"]

    assert silent.cases == 0
    assert silent.control_cases == len(fleet.gone)


def test_phones_that_have_it_and_play_nothing_count_as_idle(fleet, monkeypatch):
    play = fleet._play
    monkeypatch.setattr(
        fleet, "_play", lambda name, phone: None if phone.release_id == "r2" else play(name, phone)
    )

    fleet.until(*ENDS)

    assert "idle" in fleet.why(StagedPhase.ROLLING_BACK)


def test_phones_that_play_nothing_with_either_release_are_not_idle_by_it(fleet):
    fleet.hour(episodes=0, times=8)

    idle = fleet.evidence.evidence(fleet.store.get("r2")).shares["idle"]

    assert idle.cases == idle.n > 0
    assert idle.control_cases == idle.control_n > 0
    assert fleet.phase is StagedPhase.GATING


def test_phones_that_take_ten_times_as_long_to_decide_stop_it(fleet):
    fleet.decide_ms = lambda release: 1000.0 if release == "r2" else 100.0

    fleet.until(*ENDS)

    assert "slowed" in fleet.why(StagedPhase.ROLLING_BACK)


def test_phones_of_each_common_model_are_compared_among_themselves(fleet):
    device_rows(fleet, attributes={"model": "a"})
    with fleet.database.write() as connection:
        names = sorted(fleet.phones)
        is_other = DEVICES.c.device_id.in_(names[::3])
        connection.execute(update(DEVICES).where(is_other).values(attributes={"model": "b"}))
        rare = DEVICES.c.device_id == names[1]
        connection.execute(update(DEVICES).where(rare).values(attributes={"model": "c"}))
    fleet.hour(3, times=2)

    found = fleet.evidence.evidence(fleet.store.get("r2"))

    assert set(found.models) == {"a", "b"}
    of_all, of_both = found.comparison, list(found.models.values())
    assert 0 < sum(one.tasks for one in of_both) <= of_all.tasks
    assert sum(one.phones for one in of_both) in {of_all.phones, of_all.phones - 1}


def test_a_revoked_phone_is_waited_for_by_nobody(fleet):
    fleet.hour(3, times=2)
    device_rows(fleet)
    gone = sorted(fleet.offered())[:2]
    with fleet.database.write() as connection:
        connection.execute(
            update(DEVICES).where(DEVICES.c.device_id.in_(gone)).values(revoked_at_ms=1)
        )
    fleet.gone = set(gone)
    fleet.hour(3, times=8)
    silent = fleet.evidence.evidence(fleet.store.get("r2")).shares["silent"]
    assert silent.cases == 0

    fleet.store.tell("r2", Abort("ann", "enough"))
    fleet.hour(times=2)

    assert fleet.phase is StagedPhase.ROLLED_BACK
    assert "every phone" in fleet.why(StagedPhase.ROLLED_BACK)


def test_episodes_that_were_played_before_it_began_count_in_neither_arm(fleet):
    """Phones that were away bring them late, and only phones without the release have them."""
    fleet.hour(3, times=2)
    device_rows(fleet, clock_offset_ms=-500)
    staged = fleet.store.get("r2")
    known = fleet.evidence.evidence(staged).comparison
    name = min(set(fleet.phones) - fleet.offered())
    late = {
        "device_id": name,
        "release_id": "r1",
        "success": False,
        "received_at_ms": fleet.clock.wall_ms(),
    }
    with fleet.database.write() as connection:
        like = dict(connection.execute(EPISODES.select().limit(1)).mappings().one())
        del like["row"]
        for at, ended_at_ms in enumerate((staged.stages_began_ms[0] - 1, late["received_at_ms"])):
            row = {**like, **late, "id": f"l{at}", "seq": 9000 + at, "ended_at_ms": ended_at_ms}
            connection.execute(insert(EPISODES).values(**row))

    counted = fleet.evidence.evidence(staged).comparison

    assert counted.control_tasks - known.control_tasks == 1

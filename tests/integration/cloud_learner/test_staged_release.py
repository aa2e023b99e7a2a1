"""Staged releases over a real database and a real signed channel."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from cloud_learner.staged_plan import Limit
from cloud_learner.staged_release import Abort, Approve, Pause, Resume, StagedPhase
from cloud_learner.staged_store import is_whole
from sync.cohorts import is_held_out
from tests.staged_fleet import TWO_STAGES, StagedFleet, described

ENDS = (StagedPhase.PROMOTED, StagedPhase.ROLLED_BACK, StagedPhase.PAUSED)


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch):
    """Nobody cuts the power here."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def kind(request):
    return request.param


@pytest.fixture
def fleet(tmp_path, database):
    made = StagedFleet(tmp_path, database=database)
    made.hour(episodes=6)
    return made


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"], indirect=True)
def test_a_good_release_reaches_all_but_the_hold_out_and_then_everybody(fleet):
    held_out = {name for name in fleet.phones if is_held_out(name, TWO_STAGES.hold_out_bps)}
    fleet.stage()

    fleet.until(*ENDS)

    assert fleet.phase is StagedPhase.PROMOTED
    assert held_out
    assert not held_out & fleet.offered()
    fleet.hour()
    assert fleet.offered() == set(fleet.phones)
    assert fleet.signer.channel("stable").release_id == "r2"


def test_a_bad_release_is_taken_back_from_its_first_stage(fleet):
    fleet.success = lambda release: 0.1 if release == "r2" else 0.7
    fleet.stage()

    fleet.until(*ENDS)

    assert fleet.phase is StagedPhase.ROLLED_BACK
    assert len(fleet.offered()) < len(fleet.phones) / 2
    pointer = fleet.signer.channel("stable")
    assert pointer.release_id == "r2-back"
    assert pointer.version == 3
    assert fleet.signer.adapter("r2-back") == fleet.signer.adapter("r1")
    assert {phone.release_id for phone in fleet.phones.values()} == {"r2-back"}


def test_a_release_that_crashes_phones_is_taken_back_by_its_bound(fleet):
    for phone in fleet.phones.values():
        phone.fails = "crash_loop"
    fleet.stage()

    fleet.until(*ENDS)

    entries = [logged.entry for logged in fleet.store.log("r2")]
    assert "crashes" in next(one.reason for one in entries if one.now == "rolling_back")
    assert fleet.phase is StagedPhase.ROLLED_BACK


def test_phones_that_were_told_and_say_nothing_count_as_failures(fleet, monkeypatch):
    monkeypatch.setattr(fleet, "_event", lambda *_args: None)
    monkeypatch.setattr(fleet, "_play", lambda *_args: None)
    fleet.stage()

    fleet.until(*ENDS)

    entries = [logged.entry for logged in fleet.store.log("r2")]
    assert "install_failures" in next(one.reason for one in entries if one.now == "rolling_back")


def test_without_evidence_a_person_is_asked_and_silence_takes_it_back(fleet):
    hopeless = replace(TWO_STAGES, pause_s=6 * 3600.0)
    hopeless = replace(hopeless, stages=tuple(replace(one, tasks=10**6) for one in hopeless.stages))
    fleet.stage(hopeless)

    fleet.until(*ENDS, episodes=1)

    assert fleet.phase is StagedPhase.PAUSED
    fleet.until(StagedPhase.ROLLED_BACK, episodes=1)
    assert "nobody decided" in [logged.entry.reason for logged in fleet.store.log("r2")]


def test_a_kill_between_signing_and_remembering_changes_nothing(fleet, monkeypatch):
    fleet.success = lambda release: 0.1 if release == "r2" else 0.7
    fleet.stage()
    tell = fleet.store.tell

    def die(release_id, event):
        if type(event).__name__ == "Carried":
            raise KeyboardInterrupt
        return tell(release_id, event)

    for _ in range(40):
        monkeypatch.setattr(fleet.store, "tell", die)
        with pytest.raises(KeyboardInterrupt):
            fleet.hour(3, times=30)
        fleet.start()
        tell = fleet.store.tell
        fleet.director.tick()
        if fleet.phase is StagedPhase.ROLLING_BACK:
            break

    fleet.until(StagedPhase.ROLLED_BACK)
    assert [release.id for release in fleet.signer.releases()] == ["r1", "r2", "r2-back"]
    assert is_whole(fleet.store.log("r2"))


def test_a_person_pauses_resumes_and_aborts_with_a_reason(fleet):
    fleet.stage()
    fleet.hour()
    fleet.store.tell("r2", Pause("ben", "I want to look"))
    fleet.hour(times=3)
    assert fleet.phase is StagedPhase.PAUSED
    assert fleet.signer.channel("stable").staged is not None

    fleet.store.tell("r2", Resume("ben", "looks fine"))
    fleet.hour()
    fleet.store.tell("r2", Abort("ann", "changed my mind"))
    fleet.until(StagedPhase.ROLLED_BACK)

    said = [(entry.entry.who, entry.entry.reason) for entry in fleet.store.log("r2")]
    assert ("ben", "I want to look") in said
    assert ("ben", "looks fine") in said
    assert ("ann", "changed my mind") in said


def test_a_channel_that_somebody_else_moves_pauses_the_release(fleet):
    fleet.stage()
    fleet.hour()
    newer = fleet.signer.release("r2")
    fleet.signer.publish(
        replace(newer, id="hand-made", version=9), fleet.signer.adapter("r2"), "stable"
    )

    fleet.hour()

    assert fleet.phase is StagedPhase.PAUSED
    fleet.store.tell("r2", Abort("ann", "superseded"))
    fleet.until(StagedPhase.ROLLED_BACK)
    assert fleet.signer.channel("stable").release_id == "hand-made"


def test_a_channel_that_was_moved_below_the_release_is_led_back_to_what_it_was_moved_to(fleet):
    """Phones that have r3 cannot go down to r2, so they get r2's adapter as a higher version."""
    fleet.signer.publish(*described("r3", 3))
    fleet.stage(release_id="r3")
    fleet.hour()
    fleet.signer.set_channel("stable", "r2")
    fleet.store.tell("r3", Abort("ann", "r2 will do"))

    fleet.hour()

    assert fleet.signer.channel("stable").release_id == "r3-back"
    assert fleet.signer.adapter("r3-back") == fleet.signer.adapter("r2")


def test_a_second_release_waits_for_the_first_and_is_cancelled_once_it_cannot_follow(fleet):
    fleet.signer.publish(
        replace(fleet.signer.release("r2"), id="r3", version=3), fleet.signer.adapter("r2")
    )
    fleet.stage()
    fleet.hour()
    fleet.store.draft("r3", replaces="r1", plan=TWO_STAGES, who="ann")
    fleet.store.tell("r3", Approve("ann"))

    fleet.hour()

    assert fleet.store.get("r3").state.phase is StagedPhase.APPROVED

    fleet.until(*ENDS)
    fleet.hour()

    assert fleet.store.get("r3").state.phase is StagedPhase.CANCELLED
    assert "points at r2 now" in fleet.store.log("r3")[-1].entry.reason


def test_a_changed_line_of_the_audit_log_shows(fleet):
    from sqlalchemy import update

    from cloud_learner.tables import STAGED_LOG

    fleet.stage()
    fleet.hour()
    assert is_whole(fleet.store.log("r2"))

    with fleet.database.write() as connection:
        connection.execute(update(STAGED_LOG).where(STAGED_LOG.c.row == 2).values(who="eve"))

    assert not is_whole(fleet.store.log("r2"))


@pytest.mark.slow
def test_a_broken_bound_counts_only_beyond_what_the_others_have(fleet):
    tight = replace(TWO_STAGES, limits={**TWO_STAGES.limits, "undecided": Limit(0.0, 10)})
    fleet.stage(tight)
    fleet.until(*ENDS)

    assert fleet.phase is StagedPhase.PROMOTED


@pytest.mark.slow
def test_an_announcement_that_fails_holds_nothing_up(fleet):
    fleet.downlink.is_cut = True
    fleet.stage()

    fleet.until(*ENDS)

    assert fleet.phase is StagedPhase.PROMOTED
    assert fleet.downlink.announced == []

"""`outrider release stage …` on a fleet's folder, and the same orders over the API."""

from __future__ import annotations

import json
import os

import pytest
from sqlalchemy import delete, func, select

from cloud_learner.staged_release import StagedPhase
from cloud_learner.tables import STAGED_LOG
from outrider.cli import run
from tests.staged_fleet import StagedFleet

PLAN = [
    *("--stages", "30,100", "--hold-out", "20", "--margin", "0.2", "--least-tasks", "60"),
    *("--soak-hours", "1", "--who", "ann"),
]


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch):
    """Nobody cuts the power here."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)


@pytest.fixture
def fleet(tmp_path):
    made = StagedFleet(tmp_path)
    made.hour(episodes=4)
    yield made
    made.database.close()


def said(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines() if line[0] == "{"]


def told(fleet, capsys, *words):
    """Exit code and lines of a command on the fleet's folder."""
    capsys.readouterr()
    code = run([*words, "--data", str(fleet.folder), "--json"])
    return code, said(capsys)


def test_a_dry_run_tells_cohorts_tasks_and_days_and_changes_nothing(fleet, capsys):
    code, lines = told(fleet, capsys, "release", "stage", "r2", *PLAN, "--dry-run")

    assert code == 0
    *stages, summary = lines
    assert [stage["share_percent"] for stage in stages] == [30.0, 100.0]
    assert sum(stage["phones"] for stage in stages) + summary["held_out"] == summary["phones"]
    assert stages[0]["tasks"] > 0
    assert summary["days"] > 0
    assert summary["falls_short"] == []
    assert 0 < stages[1]["least_margin"] < stages[0]["least_margin"] < 0.2
    assert summary["phase"] == "dry_run"
    assert fleet.store.all() == []


def test_a_dry_run_says_what_a_stage_could_show_at_best(fleet, capsys):
    words = ("release", "stage", "r2", *PLAN, "--dry-run", "--give-up-days", "0.5")

    code, lines = told(fleet, capsys, *words, "--margin", "0.01")

    assert (code, lines[-1]["days"]) == (0, None)
    assert "margin of" in lines[-1]["falls_short"][0]
    assert run([*words, "--margin", "0.01", "--data", str(fleet.folder)]) == 0
    assert "widen it with" in " ".join(capsys.readouterr().out.split())


def test_phones_that_are_gone_are_not_counted_on(fleet, capsys):
    fleet.gone = set(list(fleet.phones)[:12])
    fleet.clock.advance(8 * 24 * 3600)
    fleet.deliver()

    code, lines = told(fleet, capsys, "release", "stage", "r2", *PLAN, "--dry-run")

    assert code == 0
    assert (lines[-1]["phones"], lines[-1]["phones_gone"]) == (18, 12)
    assert sum(line["phones"] for line in lines[:-1]) + lines[-1]["held_out"] == 18


def test_a_release_is_staged_watched_paused_resumed_and_aborted(fleet, capsys):
    code, lines = told(fleet, capsys, "release", "stage", "r2", *PLAN)
    assert (code, lines[-1]["phase"]) == (0, "approved")
    fleet.hour(3)

    for word, phase in (("pause", "paused"), ("resume", "widening"), ("abort", "rolling_back")):
        code, lines = told(
            fleet, capsys, "release", word, "r2", "--who", "ben", "--reason", f"to {word}"
        )
        assert (code, lines[-1]["phase"]) == (0, phase)
    fleet.until(StagedPhase.ROLLED_BACK)

    code, lines = told(fleet, capsys, "release", "status", "r2")
    assert (code, lines[-1]["phase"]) == (0, "rolled_back")
    assert lines[-1]["roll_back_version"] == 3
    code, lines = told(fleet, capsys, "release", "audit-log", "r2")
    assert code == 0
    assert lines[-1] == {
        "event": "summary", "release_id": "r2", "entries": len(lines) - 1, "whole": True
    }  # fmt: skip
    assert ("ben", "to pause") in [(line.get("who"), line.get("reason")) for line in lines]


def test_what_cannot_be_staged_is_told_in_one_line(fleet, capsys):
    for words, why in (
        (("stage", "r9", *PLAN), "r9 is not signed"),
        (("stage", "r1", *PLAN), "is not above"),
        (("stage", "r2", "--channel", "beta"), "points at no release"),
        (("stage", "r2", "--stages", "1,100"), "widen it"),
        (("stage", "r2", "--stages", "50,10"), "wider than the one before"),
        (("stage", "r2", "--stages", "inf"), "the plan cannot be"),
        (("stage", "r2", "--stages", "nan"), "the plan cannot be"),
        (("stage", "r2", *PLAN, "--margin", "nan"), "margin is between"),
        (("stage", "r2", *PLAN, "--give-up-days", "inf"), "within a year"),
        (("stage", "r2", *PLAN, "--soak-hours", "nan"), "within a year"),
        (("stage", "r2", *PLAN, "--alpha-worse", "2"), "alpha_worse is between"),
        (("pause", "r2", "--reason", "x"), "no staged release"),
    ):
        code = run(["release", *words, "--data", str(fleet.folder), "--json"])
        errors = capsys.readouterr().err.strip().splitlines()
        assert code == 1, words
        assert len(errors) == 1
        assert why in errors[0]


def test_misuse_is_told_as_misuse(fleet, capsys, tmp_path):
    for words in (
        ("stage", "r2", "--stages", "some"),
        ("stage", "r2", "--where", "model"),
        ("pause", "r2", "--reason", " "),
    ):
        assert run(["release", *words, "--data", str(fleet.folder)]) == 2, words
    assert run(["release", "status", "--data", str(tmp_path / "nothing")]) == 2


def test_a_draft_waits_for_another_person(fleet, capsys):
    told(fleet, capsys, "release", "stage", "r2", *PLAN, "--draft")
    fleet.hour()
    assert fleet.phase is StagedPhase.DRAFT

    code, _ = told(fleet, capsys, "release", "approve", "r2", "--who", "eve", "--reason", "ok")

    assert code == 0
    fleet.hour()
    assert fleet.phase is StagedPhase.SOAKING


def test_phones_can_be_named_and_asked_for_by_attributes(fleet, capsys):
    code, lines = told(
        fleet, capsys, "release", "stage", "r2", *PLAN, "--least-phones", "2", "--dry-run",
        "--where", "role=farm", "--allow", "p001", "--allow", "p002", "--deny", "p002",
    )  # fmt: skip

    assert code == 0
    assert [line["phones_in_all"] for line in lines[:-1]] in ([0, 0], [1, 1])


@pytest.mark.parametrize("lines", ["last", "all"])
def test_an_audit_log_that_lost_its_end_is_not_whole(fleet, capsys, lines):
    told(fleet, capsys, "release", "stage", "r2", *PLAN)
    fleet.hour()
    assert told(fleet, capsys, "release", "audit-log", "r2")[0] == 0

    with fleet.database.write() as connection:
        last = select(func.max(STAGED_LOG.c.row)).scalar_subquery()
        gone = delete(STAGED_LOG)
        connection.execute(gone if lines == "all" else gone.where(STAGED_LOG.c.row == last))

    code, said = told(fleet, capsys, "release", "audit-log", "r2")
    assert (code, said[-1]["whole"]) == (1, False)
    assert told(fleet, capsys, "release", "status", "r2")[0] == 0

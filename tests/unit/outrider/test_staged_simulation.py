"""Simulated releases end as the engine says, and the same seed ends the same."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from cloud_learner.staged_release import StagedPhase
from outrider.cli import run
from outrider.staged_simulation import SimulatedFleet, simulate
from outrider.staged_world import SCENARIOS, Scenario, World

BUSY = World(tasks_per_day=60.0)
KNOWN = {scenario.name: scenario for scenario in SCENARIOS}


def test_a_good_release_is_promoted_and_the_same_seed_ends_the_same():
    fleet = SimulatedFleet(300, BUSY)

    first, second = (simulate(fleet, KNOWN["equal"], 5) for _ in range(2))

    assert first == second
    assert first.phase is StagedPhase.PROMOTED
    assert first.reached > 0.8 * fleet.size


@pytest.mark.parametrize(
    "name", ["worse_by_15", "crash_loop", "silent", "idle", "slow", "invalid_actions"]
)
def test_a_release_that_is_bad_in_any_one_way_is_taken_back_early(name):
    ending = simulate(SimulatedFleet(300, BUSY), KNOWN[name], 5)

    assert ending.phase is StagedPhase.ROLLED_BACK
    assert ending.reached < 0.12 * 300


def test_a_release_that_is_bad_on_one_model_only_is_taken_back():
    world = replace(BUSY, model=0.2)

    ending = simulate(SimulatedFleet(300, world), KNOWN["bad_on_one_model"], 5)

    assert ending.phase is StagedPhase.ROLLED_BACK


def test_phones_that_are_broken_or_slow_anyway_do_not_stop_a_good_release():
    world = replace(BUSY, broken=0.15, slow=0.15)

    assert simulate(SimulatedFleet(300, world), KNOWN["equal"], 3).phase is StagedPhase.PROMOTED


def test_phones_that_come_once_in_days_bring_what_they_played_meanwhile():
    world = replace(BUSY, away_days=1.5)
    fleet = SimulatedFleet(300, world)

    assert simulate(fleet, KNOWN["equal"], 4).phase is StagedPhase.PROMOTED
    assert simulate(fleet, Scenario("bad", effect=-0.3), 4).phase is StagedPhase.ROLLED_BACK


def test_the_bench_tells_shares_with_intervals_and_whether_its_aims_are_met(capsys):
    words = ("--phones", "200", "--releases", "2", "--success", "0.5,0.8", "--off", "0.1")

    assert (
        run(["bench", "staged-release", *words, "--scenarios", "equal,worse_by_15", "--json"]) == 0
    )

    *rows, summary = map(json.loads, capsys.readouterr().out.splitlines())
    assert [row["scenario"] for row in rows] == ["equal", "worse_by_15"]
    assert rows[0]["promoted"]["n"] == 2
    assert rows[1]["reached_percent"]["over_3"]["n"] == 2
    assert summary["world"]["success"] == [0.5, 0.8]
    assert set(summary["aims"]) == {
        "phones", "bad_reached_at_most_3_percent", "good_stopped_at_most_5_percent"
    }  # fmt: skip


@pytest.mark.parametrize("words", [("--success", "2"), ("--success", "x"), ("--phones", "3")])
def test_what_cannot_be_simulated_is_misuse(words):
    assert run(["bench", "staged-release", *words]) == 2

"""Schedules of faults are pure functions of their seeds, and together they do everything."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from outrider.bench_faults import repeat_command
from outrider.broker import Make
from outrider.fault_schedule import HARM_S, MEANING, Fault, schedule_of
from outrider.wire_faults import FRAME_FAULTS

DOCS = Path(__file__).parents[3] / "docs" / "faults.md"
TABLE_ROW = re.compile(r"^\| `(\w+)`(?:, `(\w+)`)? \|", re.MULTILINE)
"""The names in the first column of the page's tables."""


@pytest.mark.parametrize("seed", [0, 1, 7, 10**9])
def test_a_seed_always_makes_the_same_schedule(seed):
    assert schedule_of(seed) == schedule_of(seed)
    assert schedule_of(seed) != schedule_of(seed + 1)


def test_as_many_seeds_as_there_are_faults_do_each_of_them():
    schedules = [schedule_of(seed) for seed in range(100, 100 + len(Fault))]
    assert {deed.fault for one in schedules for deed in one.deeds} == set(Fault)
    harmed = {name for one in schedules for name in FRAME_FAULTS if getattr(one.chances, name)}
    assert harmed == set(FRAME_FAULTS)


@pytest.mark.parametrize("seed", range(50))
def test_deeds_lie_within_the_harm_and_name_phones_that_there_are(seed):
    schedule = schedule_of(seed)
    assert len(schedule.clock_offsets_ms) == schedule.phones
    assert 3 <= len(schedule.deeds) <= 5
    for deed in schedule.deeds:
        assert 0 < deed.at_s < deed.at_s + deed.lasts_s < HARM_S
        assert deed.phone < schedule.phones


def test_every_fault_has_a_meaning_and_stands_in_the_page():
    assert set(MEANING) == set(Fault)
    names = {*(one.value for one in Fault), *(f"frame_{name}" for name in FRAME_FAULTS)}
    assert {
        name for row in TABLE_ROW.findall(DOCS.read_text("utf-8")) for name in row if name
    } == names


def test_a_failing_schedule_says_how_it_is_repeated():
    command = "outrider bench faults --seed-base 12 --schedules 1"
    assert repeat_command(12) == command
    assert repeat_command(12, Make.MOSQUITTO) == f"{command} --make mosquitto"


def test_every_test_that_the_page_names_is_there():
    named = set(re.findall(r"test_\w+\.py", DOCS.read_text("utf-8")))
    assert len(named) > 15
    assert named <= {path.name for path in (DOCS.parents[1] / "tests").rglob("test_*.py")}

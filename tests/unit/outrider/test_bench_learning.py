"""Rows of the comparison: what is known is not measured again, and means are over seeds."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from cloud_learner.learner_settings import settings_of
from outrider import ledger
from outrider.bench_learning import BENCHMARK, PROCESS, Run, Wanted, means, shown
from outrider.learning_fleet import Campaign
from outrider.learning_scene import LONG, SHORT, StartRecipe, chosen_templates, syllabus_of
from outrider.output import Output


def wanted_in(folder, **changes):
    fields = {
        "env_steps": 8_000,
        "checkpoint_every": 4_000,
        "validation_n": 28,
        "test_n": 56,
        "staleness": 2,
        "curriculum": True,
        "commit": "abc",
        "folder": folder,
        "ledger": folder / "ledger.jsonl",
    }
    return Wanted(**{**fields, **changes})


def run_of(wanted, name="a_ride", seed=1):
    return Run(wanted, settings_of(name), seed, Output(json_lines=True))


def figure(success):
    return {"all": {"n": 10, "success": success}, "long": {"n": 4, "success": success / 2}}


def row(point, success, *, algorithm="a_ride", seed=1, **more):
    key = {"algorithm": algorithm, "seed": seed, "through": PROCESS, "env_steps": point}
    return {
        "key": key,
        "env_steps": point + 3,
        "validation": figure(success),
        "learner_cpu_s": 2.0,
        **more,
    }


def test_points_begin_at_zero_and_end_at_the_end(tmp_path):
    assert wanted_in(tmp_path).points == (0, 4_000, 8_000)
    assert wanted_in(tmp_path, env_steps=9_000).points == (0, 4_000, 8_000, 9_000)


def test_rows_of_the_same_commit_and_configuration_are_not_measured_again(tmp_path):
    wanted = wanted_in(tmp_path)
    run = run_of(wanted)
    kept = [run._row(PROCESS, point, {"env_steps": point}) for point in wanted.points]
    for one in kept:
        ledger.keep(one, wanted.ledger)

    assert list(run.in_process()) == kept


@pytest.mark.parametrize(
    "changes",
    [
        {"commit": "other"},
        {"staleness": 0},
        {"curriculum": False},
        {"test_n": 57},
    ],
)
def test_rows_of_another_commit_or_configuration_count_for_nothing(tmp_path, changes):
    wanted = wanted_in(tmp_path)
    ledger.keep(run_of(wanted)._row(PROCESS, 0, {}), wanted.ledger)

    assert run_of(replace(wanted, **changes))._known(PROCESS) == {}
    assert run_of(wanted, seed=2)._known(PROCESS) == {}
    assert run_of(wanted, "grpo")._known(PROCESS) == {}
    assert list(run_of(wanted)._known(PROCESS)) == [0]


def test_a_longer_run_goes_on_with_the_rows_of_a_shorter_one(tmp_path):
    wanted = wanted_in(tmp_path)
    ledger.keep(run_of(wanted)._row(PROCESS, 4_000, {}), wanted.ledger)
    longer = run_of(replace(wanted, env_steps=50_000))

    assert list(longer._known(PROCESS)) == [4_000]
    assert longer._folder(PROCESS) == run_of(wanted)._folder(PROCESS)


def test_a_ledger_whose_last_line_was_cut_off_is_read_without_it(tmp_path):
    file = tmp_path / "ledger.jsonl"
    ledger.keep({"benchmark": BENCHMARK}, file)
    with file.open("a") as stream:
        stream.write('{"benchmark": "learn')

    assert ledger.rows(file) == [{"benchmark": BENCHMARK}]


def test_a_row_after_a_cut_off_line_is_read(tmp_path):
    file = tmp_path / "ledger.jsonl"
    file.write_text('{"a": 1}\n{"benchmark": "learn')
    ledger.keep({"b": 2}, file)

    assert ledger.rows(file) == [{"a": 1}, {"b": 2}]


def test_means_are_over_seeds_and_test_is_before_and_after():
    rows = [
        row(0, 0.3, test=figure(0.3)),
        row(0, 0.4, seed=2, test=figure(0.2)),
        row(800, 0.6, test=figure(0.5)),
        row(800, 0.8, seed=2, test=figure(0.6)),
    ]

    found: Any = means(rows, 800)["a_ride"]

    assert found["seeds"] == [1, 2]
    assert found["validation"] == [[0, 0.35], [800, 0.7]]
    assert (found["test_before"], found["test_after"]) == (0.25, 0.55)
    assert (found["long_before"], found["long_after"]) == (0.125, 0.275)


def test_a_row_is_shown_as_one_line_of_json():
    line = json.dumps(shown(row(0, 0.3)))

    assert json.loads(line)["validation"] == {"n": 10, "success": 0.3}
    assert json.loads(line)["env_steps"] == 3


def test_the_scene_counts_and_its_long_templates_are_longer_than_all_others():
    templates = chosen_templates()

    assert all(template.counts for template in templates)
    steps = {template.name: template.oracle_steps for template in templates}
    assert max(steps[name] for name in SHORT) < min(steps[name] for name in LONG) + 1
    assert {info.name for info in syllabus_of(1).new} == {*SHORT, *LONG}


def test_a_start_is_known_by_everything_that_decides_it():
    digests = {
        recipe.digest()
        for recipe in (
            StartRecipe(1),
            StartRecipe(2),
            StartRecipe(1, demonstrations=3),
            StartRecipe(1, updates=151),
            StartRecipe(1, size="M"),
        )
    }

    assert len(digests) == 5
    assert StartRecipe(1).digest() == StartRecipe(1).digest()


def test_a_fleet_plays_the_scene_and_nothing_else(tmp_path):
    from cloud_learner.settings_file import read_settings

    campaign = Campaign(
        base=tmp_path,
        learner="digirl",
        seed=3,
        env_steps=500,
        minutes=2,
        validation_n=140,
        test_n=480,
        curriculum=False,
        folder=tmp_path,
    )
    file = tmp_path / "campaign.toml"
    file.write_text(campaign.settings())

    read = read_settings(file, data_dir=tmp_path, campaign={"app": campaign.apps()[0]}).campaign

    assert set(read.new_apps) == {template.app for template in chosen_templates()}
    assert set(read.templates) == {*SHORT, *LONG}
    assert (read.old_apps, read.new_share, read.demonstrations) == ((), 1.0, 2)
    assert (read.evaluate_new, read.gate.per_template) == (480, 9)
    assert not read.curriculum.enabled

"""The arena plays on seats, learns as a fleet's learner does, and goes on where it was killed."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from cloud_learner.algorithm_settings import ALGORITHMS
from cloud_learner.checkpoints import load_checkpoint
from cloud_learner.curriculum import CurriculumSettings
from cloud_learner.errors import CheckpointError
from cloud_learner.families import LayoutFamily
from cloud_learner.learner_settings import settings_of
from exporters.base import base_digest, load_base
from outrider.learning_arena import Arena, ArenaSettings
from outrider.learning_scene import LONG, SHORT, StartRecipe, start_of
from sync.vocabulary import Split

QUICK = ArenaSettings(
    env_steps=400,
    staleness=1,
    curriculum=CurriculumSettings(window=2, hopeless_after=1, hopeless_below=1.0),
)


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """A start that has learnt next to nothing."""
    torch.set_num_threads(1)
    recipe = StartRecipe(seed=5, updates=2, batch=8)
    return start_of(recipe, tmp_path_factory.mktemp("starts"), lambda _update, _loss: None)


def quick(name):
    settings = settings_of(name)
    algorithm = settings.algorithm
    if hasattr(algorithm, "critic_warm_up_rounds"):
        algorithm = replace(algorithm, critic_warm_up_rounds=0)
    if hasattr(algorithm, "group_size"):
        algorithm = replace(algorithm, group_size=2)
    return replace(
        settings,
        algorithm=algorithm,
        rank=4,
        episodes_per_round=6,
        updates_per_round=1,
        control_cpu_s=1.0,
    )


def arena_of(start, folder, name="a_ride", settings=QUICK):
    return Arena(start, learner=quick(name), settings=settings, seed=3, folder=folder)


def identity_of(start):
    base = load_base(start.base)
    return LayoutFamily(base).identity(base_digest=base_digest(base), rank=4)


def test_a_start_is_made_once_and_read_again(start):
    again = start_of(
        StartRecipe(seed=5, updates=2, batch=8),
        start.base.parent,
        lambda _update, _loss: pytest.fail("it was trained again"),
    )

    assert [one.id for one in again.demonstrations] == [one.id for one in start.demonstrations]
    assert {one.assignment.template for one in start.demonstrations} == set(SHORT)


def test_rounds_count_steps_and_act_with_adapters_that_are_behind(start, tmp_path):
    arena = arena_of(start, tmp_path)
    figures = [arena.turn() for _ in range(4)]

    assert arena.round_index == 4
    assert arena.record.episodes == 24
    assert arena.record.env_steps > 24
    assert figures[0]["version_lag_rounds"] == 0.0
    assert figures[3]["version_lag_rounds"] >= 1.0
    assert arena.learner_cpu_s > 0.0
    assert arena.record.actor_cpu_s > 0.0


def test_a_run_repeats_to_the_last_bit(start, tmp_path):
    runs = [arena_of(start, tmp_path / name) for name in ("once", "again")]
    figures = [[run.turn() for _ in range(3)] for run in runs]

    assert runs[0].record.shown  # so that what was demonstrated again is among what must repeat
    assert figures[0] == figures[1]
    for run in runs:
        run.save()
    once, again = (
        load_checkpoint(tmp_path / name, network=identity_of(start)) for name in ("once", "again")
    )
    assert once.adapter.keys() == again.adapter.keys()
    assert all(torch.equal(value, again.adapter[key]) for key, value in once.adapter.items())


def test_a_run_that_was_killed_goes_on_from_its_last_save(start, tmp_path):
    first = arena_of(start, tmp_path)
    for _ in range(2):
        first.turn()
    first.save()
    steps, shown = first.record.env_steps, len(first.record.shown)
    first.turn()  # lost

    again = arena_of(start, tmp_path)

    assert again.round_index == 2
    assert (again.record.env_steps, len(again.record.shown)) == (steps, shown)
    replayed = again._learning._algorithm.replay
    assert len(replayed) == 12
    again.turn()
    assert again.round_index == 3
    assert again.record.env_steps > steps


def test_hopeless_templates_are_shown_within_the_limit_and_counted(start, tmp_path):
    arena = arena_of(start, tmp_path)
    for _ in range(5):
        arena.turn()

    shown = {name: tally.shown for name, tally in arena.record.templates.items()}
    assert max(shown.values()) <= 8
    assert any(shown.get(name, 0) for name in LONG)
    assert sum(shown.values()) == len(start.demonstrations) + len(arena.record.shown)


@pytest.mark.parametrize("name", [*ALGORITHMS, "bc"])
def test_every_learner_runs_and_is_measured_on_the_same_instances(start, tmp_path, name):
    arena = arena_of(start, tmp_path, name)
    before = arena.evaluate(Split.VALIDATION, 28)
    for _ in range(2):
        arena.turn()
    after = arena.evaluate(Split.VALIDATION, 28)

    assert before.n == after.n
    assert set(before.n) == {*SHORT, *LONG}
    assert arena._learning.is_finite()


def test_a_run_of_one_learner_is_not_gone_on_with_by_another(start, tmp_path):
    arena_of(start, tmp_path).save()

    with pytest.raises(CheckpointError, match="a_ride"):
        arena_of(start, tmp_path, "digirl")


def test_groups_play_one_task_each(start, tmp_path):
    arena = arena_of(start, tmp_path, "grpo")
    outcomes = list(arena._next(8))

    groups = {}
    for one in outcomes:
        assignment = one.episode.assignment
        groups.setdefault(assignment.group_id, set()).add(
            (assignment.template, assignment.seed, assignment.look)
        )
    assert "" not in groups
    assert all(len(tasks) == 1 for tasks in groups.values())

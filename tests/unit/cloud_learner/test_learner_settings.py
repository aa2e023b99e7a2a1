"""Which learner a name or a file stands for."""

from __future__ import annotations

import pytest

from cloud_learner.algorithm_settings import ALGORITHMS, GroupSettings
from cloud_learner.learner_settings import LEARNERS, group_size_of, settings_of


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_is_found_by_its_name(name):
    found = settings_of(name.replace("_", "-"))

    assert found.name == name
    assert found.algorithm == ALGORITHMS.get(name)


def test_a_file_changes_a_learner_and_names_it(tmp_path):
    path = tmp_path / "pairs.toml"
    path.write_text('algorithm = "gigpo"\n[settings]\ngroup_size = 2\n')

    found = settings_of(str(path))

    assert found.name == "pairs"
    assert found.algorithm == GroupSettings(group_size=2, step_weight=1.0)
    assert group_size_of(found) == 2


def test_only_group_methods_play_a_task_more_than_once():
    sizes = {name: group_size_of(settings_of(name)) for name in LEARNERS}

    assert {name for name, size in sizes.items() if size > 1} == {"grpo", "gigpo"}


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("grpo.toml", 'algorithm = "grpo"\n', "is called like a learner: rename it"),
        ("mine.toml", 'algorithm = "ppo"\n', "there is no algorithm 'ppo'"),
        ("mine.json", "{", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path, file, text, says):
    path = tmp_path / file
    path.write_text(text)

    with pytest.raises(ValueError, match=says):
        settings_of(str(path))


def test_a_name_that_nobody_has_is_refused_with_those_that_there_are():
    with pytest.raises(ValueError, match="'ppo'; there are a_ride"):
        settings_of("ppo")

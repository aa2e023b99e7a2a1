"""Choosing an algorithm by name and file: what is understood, and what is refused with advice."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import pytest

from cloud_learner.algorithm_file import AlgorithmChoice, algorithm_choice, read_algorithm
from cloud_learner.algorithm_settings import (
    ALGORITHMS,
    PUBLISHED,
    STABILISED,
    GroupSettings,
    ReplaySettings,
)
from cloud_learner.errors import SettingsError


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_an_algorithm_is_chosen_by_name(name):
    assert algorithm_choice(name) == AlgorithmChoice(name, ALGORITHMS[name])


def test_the_stabilised_algorithm_is_the_default():
    assert AlgorithmChoice() == algorithm_choice("a_ride")
    assert algorithm_choice("a_ride_published").settings == PUBLISHED


def test_changes_leave_everything_else_as_it_was():
    chosen = algorithm_choice("a_ride", {"gamma": 1, "replay": {"capacity": 9}})

    assert chosen.settings == replace(STABILISED, gamma=1.0, replay=ReplaySettings(capacity=9))


def test_toml_and_json_say_the_same(tmp_path):
    toml, text = tmp_path / "a.toml", tmp_path / "a.json"
    toml.write_text('algorithm = "grpo"\n[settings]\ngroup_size = 4\nclip_low = 0.1\n')
    text.write_text(
        json.dumps({"algorithm": "grpo", "settings": {"group_size": 4, "clip_low": 0.1}})
    )

    assert read_algorithm(toml) == read_algorithm(text)
    assert read_algorithm(toml).settings == GroupSettings(group_size=4, clip_low=0.1)


def test_a_file_may_change_nothing(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text('algorithm = "digirl"\n')

    assert read_algorithm(path) == algorithm_choice("digirl")


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        ("ppo", {}, "there is no algorithm 'ppo': take one of a_ride"),
        ("grpo", {"groupsize": 4}, "no setting 'groupsize': did you mean group_size"),
        ("digirl", {"gamma": 0.5}, "digirl has no setting 'gamma'"),
        ("a_ride", {"gamma": 1.5}, "float <= 1.0 - at gamma"),
        ("a_ride", {"gamma": "high"}, "at gamma"),
        ("a_ride", {"gamma": float("nan")}, "gamma of a_ride must be a number"),
        ("a_ride", {"learning_rate": -1e-3}, "at learning_rate"),
        ("a_ride", {"max_grad_norm": float("inf")}, "max_grad_norm of a_ride must be a number"),
        ("a_ride", {"policy_gradient": "no"}, "Expected bool, got str - at policy_gradient"),
        ("a_ride", {"replay": {"capacity": 0}}, "at replay.capacity"),
        ("a_ride", {"replay": {"size": 3}}, "a_ride.replay has no setting 'size'"),
        ("a_ride", {"replay": 3}, "at replay"),
        ("gigpo", {"group_size": 1}, "int >= 2 - at group_size"),
    ],
)
def test_what_cannot_be_used_is_refused_with_advice(name, changes, says):
    with pytest.raises(SettingsError, match=says) as caught:
        algorithm_choice(name, changes)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.toml", "algorithm = ", "cannot be read"),
        ("a.json", "[1]", "must hold an object"),
        ("a.json", "{", "cannot be read"),
        ("a.toml", "[settings]\ngamma = 1.0\n", 'write algorithm = "NAME"'),
        ("a.toml", 'algorithm = "grpo"\nsettings = 3\n', "as a table"),
        ("a.toml", 'algorithm = "grpo"\nseed = 3\n', "unknown key 'seed'"),
        ("a.toml", 'algorithm = "grpo"\n[settings]\nepochs = 0\n', "int >= 1 - at epochs"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path, name, text, says):
    path = tmp_path / name
    path.write_text(text)

    with pytest.raises(SettingsError, match=says) as caught:
        read_algorithm(path)

    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SettingsError, match=r"none\.toml cannot be read"):
        read_algorithm(tmp_path / "none.toml")


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_every_default_is_within_its_own_range(name):
    settings = ALGORITHMS[name]
    given = {
        entry.name: getattr(settings, entry.name)
        for entry in fields(settings)
        if entry.name != "replay"
    }

    assert algorithm_choice(name, given).settings == settings

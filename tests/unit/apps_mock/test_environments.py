from __future__ import annotations

import subprocess
import sys
import tomllib
from copy import deepcopy
from importlib.metadata import EntryPoint

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector.utils import (
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)

from apps_mock import gymnasium_plugin
from apps_mock.environment_actions import MAX_ELEMENTS, action_of, taken_of
from apps_mock.environments import tree_text
from apps_mock.tasks import suites, templates
from apps_mock.unicode_text import UnicodeText
from device_runtime.errors import UnknownTaskError
from sync.vocabulary import (
    Action,
    ActionKind,
    Direction,
    FinishStatus,
    Key,
    answer,
    finish,
    open_app,
    press,
    scroll,
    tap_element,
    type_text,
    wait,
)

gymnasium_plugin.register()


def made(suite="tickets", **options):
    return gymnasium.make(f"outrider/{suite}-v0", **options)


def test_every_suite_is_an_environment():
    assert set(gymnasium_plugin.SUITES) == {"all", *suites()}


@pytest.mark.parametrize("observations", ["tree", "pixels", "both"])
def test_gymnasium_finds_nothing_wrong(observations):
    env = made("settings", observations=observations, render_mode="rgb_array")

    check_env(env.unwrapped)

    assert env.unwrapped.render().shape == (600, 270, 3)
    env.close()


def test_oracle_earns_the_reward_and_nobody_else_does():
    env = made("contacts", split="validation")
    for seed in range(6):
        env.reset(seed=seed)
        ended = False
        while not ended:
            *_, reward, terminated, truncated, info = env.step(env.unwrapped.oracle_action())
            ended = terminated or truncated
        assert (reward, terminated, info["progress"]) == (1.0, True, 1.0)
        assert info["end_reason"] in {"finish", "answer"}

    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(taken_of(finish()))
    assert (reward, terminated, truncated) == (0.0, True, False)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.unwrapped.step(taken_of(finish()))


def test_budget_truncates_without_reward():
    env = made("clock")
    _, info = env.reset(seed=3, options={"template": "clock_toggle"})
    assert info["template"] == "clock_toggle"

    steps, truncated = 0, False
    while not truncated:
        _, reward, terminated, truncated, info = env.step(taken_of(wait()))
        steps += 1

    assert not terminated
    assert (reward, info["end_reason"], info["steps"]) == (0.0, "budget", steps)


def test_the_same_seed_gives_the_same_episode():
    env = made("tickets", observations="both")

    one, first = env.reset(seed=5)
    env.step(env.action_space.sample())
    two, second = env.reset(seed=5)
    _, other = env.reset(seed=6)

    assert first == second != other
    assert one["goal"] == two["goal"]
    assert one["tree"] == two["tree"]
    assert np.array_equal(one["pixels"], two["pixels"])


def test_two_make_a_vector():
    envs = gymnasium.make_vec("outrider/todo-v0", num_envs=2, vectorization_mode="sync")

    observed, _ = envs.reset(seed=[1, 2])
    _, rewards, terminations, truncations, _ = envs.step(envs.action_space.sample())

    assert len(observed["goal"]) == 2
    assert rewards.shape == terminations.shape == truncations.shape == (2,)
    envs.close()


def test_processes_make_a_vector_and_share_their_texts():
    envs = gymnasium.make_vec("outrider/clock-v0", num_envs=2, vectorization_mode="async")
    alone = made("clock")

    observed, _ = envs.reset(seed=[1, 2])
    goals = [alone.reset(seed=seed)[0]["goal"] for seed in (1, 2)]
    assert tuple(observed["goal"]) == tuple(goals)
    first = observed["tree"]
    later, rewards, *_ = envs.step(envs.action_space.sample())

    assert observed["tree"] == first == tuple(first)
    assert all(tree.startswith("org.") and "\n" in tree for tree in later["tree"])
    assert rewards.shape == (2,)
    envs.close()


def test_shared_texts_show_what_was_written_last():
    space = UnicodeText(8)
    memory = create_shared_memory(space, n=2)
    shared = read_from_shared_memory(space, memory, n=2)
    write_to_shared_memory(space, 0, "日本 😀", memory)
    write_to_shared_memory(space, 1, "longer", memory)
    kept = deepcopy(shared)
    write_to_shared_memory(space, 1, "", memory)

    assert list(shared) == ["日本 😀", ""]
    assert len(shared) == 2
    assert kept == ("日本 😀", "longer")


def test_the_packages_metadata_tell_gymnasium_of_its_environments(root):
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [(name, value)] = project["entry-points"]["gymnasium.envs"].items()

    assert name == "__root__"
    assert EntryPoint(name, value, "gymnasium.envs").load() is gymnasium_plugin.register


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (None, "an action is a dict with the fields kind, element, .* not None"),
        (5, "an action is a dict .* not 5"),
        ({"kind": 99}, "lacks element, point, direction"),
        ({**taken_of(finish()), "kind": 99}, "kind is 99: give a whole number 0.*0 tap"),
        ({**taken_of(finish()), "kind": "tap"}, "kind is 'tap'"),
        ({**taken_of(finish()), "status": True}, "status is True"),
        ({**taken_of(finish()), "element": 129}, r"element is 129: give a whole number 0\.\.128"),
        ({**taken_of(finish()), "point": (0.5, 0.5)}, "point is .* x, y, x2, y2"),
        ({**taken_of(finish()), "point": (0.5, float("nan"), 0, 0)}, "point is"),
        ({**taken_of(finish()), "point": None}, "point is None"),
        ({**taken_of(finish()), "text": None}, "text is None"),
    ],
)
def test_what_is_no_action_is_named_with_its_field(action, text):
    env = made("clock")
    env.reset(seed=1)

    with pytest.raises(ValueError, match=text):
        env.step(action)


def test_unknown_names_are_refused():
    with pytest.raises(UnknownTaskError, match="clones list"):
        made("settings").reset(options={"template": "nothing"})
    with pytest.raises(ValueError, match="tree, pixels or both"):
        made("settings", observations="sound")


def test_actions_survive_the_way_to_the_space_and_back():
    env = made("settings")
    env.reset(seed=1)
    seen = env.unwrapped._shown()

    for action in (
        tap_element(seen, 0),
        Action(ActionKind.SWIPE, x=0.25, y=0.5, x2=0.75, y2=0.5),
        scroll(Direction.DOWN),
        type_text("Ada"),
        press(Key.RECENTS),
        open_app("Clock"),
        wait(),
        answer("7"),
        finish(FinishStatus.INFEASIBLE),
    ):
        taken = taken_of(action)
        assert env.action_space.contains({**taken, "point": np.asarray(taken["point"])})
        assert action_of(taken, seen) == action


def test_the_tree_says_what_an_action_can_point_to():
    env = made("settings")
    env.reset(seed=1)
    seen = env.unwrapped._shown()

    lines = tree_text(seen).splitlines()

    assert len(lines) == 1 + len(seen.elements) <= 1 + MAX_ELEMENTS
    assert lines[1].startswith("1 ")
    assert all(
        f'"{element.label}"' in line
        for line, element in zip(lines[1:], seen.elements, strict=True)
        if element.label
    )


def test_importing_gymnasium_loads_no_clone():
    code = "import sys, gymnasium; print(*(m for m in sys.modules if m.startswith('apps_mock')))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    assert set(done.stdout.split()) <= {"apps_mock", "apps_mock.gymnasium_plugin"}
    assert len(templates()) > 100

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from apps_mock.errors import ActionsFileError
from apps_mock.phone import MockPhone
from apps_mock.traces import action_of, played, read_actions
from sync.vocabulary import (
    ActionKind,
    Direction,
    FinishStatus,
    Key,
    Observation,
    Split,
    answer,
    finish,
    open_app,
    press,
    scroll,
    tap,
    type_text,
    wait,
)

SEEN = Observation(1000, 2000)
ACTIONS = '[{"open_app": "Clock"}, {"tap": [0.5, 0.3]}, {"key": "back"}, {"kind": "wait"}]'


def loaded() -> MockPhone:
    phone = MockPhone()
    phone.load("clock_add", 3, Split.TEST, 1)
    return phone


@pytest.mark.parametrize(
    ("entry", "action"),
    [
        ({"tap": [0.5, 0.25]}, tap(0.5, 0.25)),
        ({"tap": [500, 500]}, tap(0.5, 0.25)),
        ({"kind": "tap", "x": 0.5, "y": 0.25}, tap(0.5, 0.25)),
        ({"scroll": "down"}, scroll(Direction.DOWN)),
        ({"key": "back"}, press(Key.BACK)),
        ({"open_app": "Clock"}, open_app("Clock")),
        ({"type": "tea"}, type_text("tea")),
        ({"answer": "5pm"}, answer("5pm")),
        ({"wait": 1000}, wait(1000)),
        ({"finish": "infeasible"}, finish(FinishStatus.INFEASIBLE)),
    ],
)
def test_short_forms_and_the_wires_own_stand_for_actions(entry, action):
    assert action_of(entry, SEEN) == action


def test_a_touch_may_name_what_it_touches():
    phone = loaded()
    seen = phone.observe()
    index = next(i for i, element in enumerate(seen.elements) if element.label == "Clock")

    action = action_of({"long_press": "Clock"}, seen)

    assert (action.kind, action.element) == (ActionKind.LONG_PRESS, index)


def test_a_swipe_has_two_ends():
    action = action_of({"swipe": [500, 1000, 0.5, 0.1]}, SEEN)

    assert (action.x, action.y, action.x2, action.y2) == (0.5, 0.5, 0.5, 0.1)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("tap", "action 4 is 'tap'"),
        ({}, "action 4 is {}"),
        ({"fly": 1}, r"action 4, .*there is no action 'fly'; there are tap, long_press"),
        ({"kind": "fly"}, "there is no action 'fly'; there are tap"),
        ({"kind": ["tap"]}, "there is no action"),
        ({"tap": [0.5, 0.1], "key": "back"}, "a short form has one key"),
        ({"kind": "tap", "x": 0.5, "y": 0.5, "z": 1}, "actions have no z; they have kind, x, y"),
        ({"tap": [1]}, r"a tap takes \[x, y\] in numbers, or the label"),
        ({"tap": ["a", "b"]}, r"a tap takes \[x, y\] in numbers, or the label"),
        ({"swipe": [0, 0, 1, True]}, r"a swipe takes \[x, y, x2, y2\] in numbers$"),
        ({"tap": [5000, 100]}, r"\[5000, 100\]}: 5000 is off the screen, which has 1000 x 2000"),
        ({"tap": [0.5, -1]}, "-1 is off the screen"),
        ({"tap": "Nothing"}, "no element is called 'Nothing' on this screen; there are none"),
        ({"key": "volume"}, "there is no key 'volume'; there are back, home"),
        ({"scroll": "sideways"}, "there is no direction 'sideways'; there are up, down"),
        ({"finish": "maybe"}, "there is no status 'maybe'; there are complete, infeasible"),
        ({"wait": "long"}, "Expected `int"),
        ({"kind": "tap", "x": 0.5}, "needs y"),
    ],
)
def test_what_is_no_action_is_named_with_its_number(entry, text):
    with pytest.raises(ActionsFileError, match=text):
        action_of(entry, SEEN, 4)


def test_a_label_that_is_not_there_is_answered_with_those_that_are():
    with pytest.raises(ActionsFileError, match=r"'Klock' on this screen; there are .*'Clock'"):
        action_of({"tap": "Klock"}, loaded().observe())


@pytest.mark.parametrize("text", ["", " \n\n", "[]"])
def test_a_file_without_actions_is_an_error(text):
    with pytest.raises(ActionsFileError, match="there are no actions; write some"):
        read_actions(text)


def test_actions_are_a_list_or_lines():
    assert read_actions('[{"key": "back"}]') == read_actions('{"key": "back"}\n\n')
    with pytest.raises(ActionsFileError, match=r"line 2 is no JSON .*one JSON object a line"):
        read_actions('{"key": "back"}\nback')
    with pytest.raises(ActionsFileError, match="list of actions is broken"):
        read_actions('[{"key": "back"}')


def test_a_step_says_what_was_there_before_each_action_and_at_the_end():
    steps = list(played(loaded(), read_actions(ACTIONS)))

    assert [step.index for step in steps] == [0, 1, 2, 3, 4]
    assert steps[-1].action is None
    assert steps[0].state != steps[1].state
    assert steps[3].state == steps[4].state
    assert {len(step.screenshot) for step in steps} == {64}


def test_nothing_is_played_after_the_end_of_the_episode():
    steps = list(played(loaded(), [{"finish": "complete"}, {"key": "home"}]))

    assert [step.action for step in steps] == [finish()]


def test_what_cannot_be_carried_out_is_marked():
    [first, _] = played(loaded(), [{"type": "nowhere"}])

    assert not first.valid


def test_traces_are_equal_in_another_process_with_another_hash_seed(tmp_path, root):
    path = tmp_path / "actions.json"
    path.write_text(ACTIONS)
    command = [sys.executable, "-m", "outrider", "clones", "trace", "--task", "clock_add"]
    options = ["--seed", "3", "--look", "1", "--actions", str(path), "--json"]
    said = [
        subprocess.run(
            [*command, *options],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=root,
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    ]

    assert said[0] == said[1]
    here = list(played(loaded(), read_actions(ACTIONS)))
    assert said[0].count(b"\n") == len(here) + 1
    assert all(step.screenshot.encode() in said[0] for step in here)

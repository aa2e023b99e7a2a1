"""Actions typed at a prompt: what they mean, and what is said of those that mean nothing."""

from __future__ import annotations

import json
import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_runtime.actions_as_text import read_action
from sync.vocabulary import (
    Action,
    ActionKind,
    Element,
    FinishStatus,
    Key,
    Observation,
    SlotRef,
)

SCREEN = Observation(400, 800, (Element("android.widget.Button", (0, 0, 200, 100), text="Go"),))


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("tap:100,400", Action(ActionKind.TAP, x=0.25, y=0.5)),
        ("tap:0.5,1", Action(ActionKind.TAP, x=0.5, y=1.0)),
        ("tap:#0", Action(ActionKind.TAP, x=0.25, y=0.0625, element=0)),
        ("swipe:100,400,400,0", Action(ActionKind.SWIPE, x=0.25, y=0.5, x2=1.0, y2=0.0)),
        ("type:a:b", Action(ActionKind.TYPE, text="a:b")),
        ("key:enter", Action(ActionKind.KEY, key=Key.ENTER)),
        ("finish:infeasible", Action(ActionKind.FINISH, status=FinishStatus.INFEASIBLE)),
        ("wait", Action(ActionKind.WAIT)),
        ('{"kind": "type", "text": {"slot": "s"}}', Action(ActionKind.TYPE, text=SlotRef("s"))),
        ('{"kind": "tap", "x": 100, "y": 8, "x2": null}', Action(ActionKind.TAP, x=0.25, y=0.01)),
    ],
)
def test_a_written_action_is_read(text, action):
    assert read_action(text, SCREEN) == action


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tap:-5,3", "x -5 lies outside the screen, which is 400 pixels wide"),
        ("tap:3,801", "y 801 lies outside the screen, which is 800 pixels high"),
        ("key:ENTER", "no key is called 'ENTER'; there are back, home, recents, enter, menu"),
        ("scroll:sideways", "no direction is called 'sideways'; there are up, down"),
        ("finish:maybe", "no status is called 'maybe'; there are complete, infeasible"),
        ("tap", "write tap:X,Y or tap:#INDEX"),
        ("drag:1,2", "write drag:X,Y,X2,Y2"),
        ("tap:#1.5", "no whole number"),
        ("tap:#7", "the screen has no element 7: it has 1, counted from 0"),
        ("tap:inf,1", "'inf' is no number"),
        ("wait:5", "write wait"),
        ("fly", "no action is called 'fly'; there are tap"),
        ('{"kind": "tap", "x": "a", "y": 1}', "'a' is no number"),
        ('{"kind": "type", "text": 5}', "text is a text, not 5"),
        ('{"kind": "type", "text": "a", "clear": 1}', "clear is true or false, not 1"),
        ('{"kind": "tap", "z": 1}', "an action has no z"),
        ("{", "no JSON"),
    ],
)
def test_what_means_no_action_is_told_what_to_write(text, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        read_action(text, SCREEN)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
NAMES = st.sampled_from(sorted(ActionKind.__members__.values()))
FIELDS = st.sampled_from(
    "x y x2 y2 element direction text clear key app duration_ms status".split()
)


@given(st.text() | st.builds("{}:{}".format, NAMES, st.text()))
def test_any_text_is_an_action_or_refused(text):
    with suppress(ValueError):
        assert isinstance(read_action(text, SCREEN), Action)


@given(NAMES | VALUES, st.dictionaries(FIELDS, VALUES))
def test_any_fields_are_an_action_or_refused(kind, fields):
    with suppress(ValueError):
        assert isinstance(read_action(json.dumps({"kind": kind, **fields}), SCREEN), Action)

"""Actions as AutoUI text and as tool calls: both ways, canonical forms, bad texts."""

from __future__ import annotations

import json

import pytest

from sync import autoui_text, tool_call_text
from sync.autoui_text import autoui_action, autoui_grammar
from sync.byte_grammar import ByteGrammar
from sync.errors import RejectedError
from sync.tool_call_text import tool_call_action, tool_call_grammar
from sync.vocabulary import (
    Action,
    ActionKind,
    Direction,
    FinishStatus,
    Key,
    SlotRef,
    answer,
    ask_user,
    finish,
    open_app,
    press,
    scroll,
    tap,
    type_text,
    wait,
)

AUTOUI_EXACT = [
    tap(0.5, 0.25),
    tap(0.0, 1.0),
    *[scroll(direction) for direction in Direction],
    type_text("milk"),
    type_text(""),
    type_text('a, b", "c": "d'),
    type_text("Käse 🧀"),
    press(Key.BACK),
    press(Key.HOME),
    press(Key.ENTER),
    finish(),
    finish(FinishStatus.INFEASIBLE),
    Action(ActionKind.SWIPE, x=0.1, y=0.2, x2=0.3, y2=0.9),
]
AUTOUI_UNSAID = [
    Action(ActionKind.LONG_PRESS, x=0.1, y=0.2),
    Action(ActionKind.DOUBLE_TAP, x=0.1, y=0.2),
    Action(ActionKind.SWIPE, x=0.1, y=0.2, x2=0.1, y2=0.21),
    press(Key.RECENTS),
    press(Key.MENU),
    open_app("Clock"),
    wait(),
    answer("7"),
    ask_user("Which?"),
    type_text("two\nlines"),
]
TOOL_EXACT = [
    tap(0.0, 1.0),
    tap(500 / 999, 250 / 999),
    Action(ActionKind.LONG_PRESS, x=0.0, y=1.0),
    Action(ActionKind.DOUBLE_TAP, x=1.0, y=0.0),
    Action(ActionKind.DRAG, x=0.0, y=0.0, x2=1.0, y2=1.0),
    *[scroll(direction) for direction in Direction],
    type_text('quotes " and \\ and\nlines'),
    answer("7"),
    ask_user("Which?"),
    open_app("Käse"),
    press(Key.BACK),
    press(Key.MENU),
    finish(),
    finish(FinishStatus.INFEASIBLE),
    wait(),
]


@pytest.mark.parametrize("action", AUTOUI_EXACT, ids=repr)
def test_autoui_text_gives_back_what_was_said(action):
    assert autoui_action(autoui_text.autoui_text(action)) == action


@pytest.mark.parametrize("action", TOOL_EXACT, ids=repr)
def test_a_tool_call_gives_back_what_was_said(action):
    assert tool_call_action(tool_call_text.tool_call_text(action)) == action


@pytest.mark.parametrize("action", AUTOUI_UNSAID, ids=repr)
def test_what_autoui_has_no_words_for_is_refused(action):
    with pytest.raises(RejectedError) as caught:
        autoui_text.autoui_text(action)
    assert caught.value.reason == "inexpressible"


def test_a_tool_call_cannot_press_recents():
    with pytest.raises(RejectedError, match="mobile_use"):
        tool_call_text.tool_call_text(press(Key.RECENTS))


def test_autoui_writes_points_with_y_first_and_four_decimals():
    said = autoui_text.autoui_text(tap(0.123456, 0.9))
    assert '"touch_point": "[0.9, 0.1235]", "lift_point": "[0.9, 0.1235]"' in said


def test_autoui_reads_text_without_a_plan_and_with_a_longer_one():
    decision = (
        'Action Decision: "action_type": "PRESS_BACK", "touch_point": "[-1.0, -1.0]", '
        '"lift_point": "[-1.0, -1.0]", "typed_text": ""'
    )
    longer = f"Action Plan: [PRESS_BACK,DUAL_POINT,STATUS_TASK_COMPLETE]; {decision}"
    assert autoui_action(decision) == autoui_action(longer) == press(Key.BACK)


def test_a_short_swipe_is_read_as_the_tap_that_autoui_was_trained_with():
    said = autoui_text.autoui_text(tap(0.5, 0.5)).replace(
        '"lift_point": "[0.5, 0.5]"', '"lift_point": "[0.53, 0.5]"'
    )
    assert autoui_action(said) == tap(0.5, 0.5)


def test_a_finger_that_moves_up_shows_what_lies_below():
    said = autoui_text.autoui_text(scroll(Direction.DOWN))
    assert '"touch_point": "[0.8, 0.5]", "lift_point": "[0.2, 0.5]"' in said
    assert '"direction": "up"' in tool_call_text.tool_call_text(scroll(Direction.DOWN))


def test_swipes_to_the_left_and_right_stay_horizontal():
    for direction in (Direction.LEFT, Direction.RIGHT):
        for module, read in (
            (autoui_text.autoui_text, autoui_action),
            (tool_call_text.tool_call_text, tool_call_action),
        ):
            assert read(module(scroll(direction))).direction is direction


def test_canonical_forms_lose_element_and_duration_alone():
    touched = Action(ActionKind.LONG_PRESS, x=0.5, y=0.5, element=3, duration_ms=900)
    kept = tool_call_text.canonical(touched)
    assert (kept.kind, kept.element, kept.duration_ms) == (ActionKind.LONG_PRESS, None, None)
    assert kept.x == pytest.approx(0.5, abs=0.51 / 999)
    assert autoui_text.canonical(tap(0.5, 0.25, element=3)) == tap(0.5, 0.25)


def test_a_slot_is_written_as_it_stands_in_labels():
    assert "⟨card_1⟩" in autoui_text.autoui_text(type_text(SlotRef("card_1")))
    assert tool_call_action(
        tool_call_text.tool_call_text(type_text(SlotRef("card_1")))
    ) == type_text("⟨card_1⟩")


def test_synonyms_of_tool_calls_are_read():
    call = '<tool_call>\n{"name": "mobile_use", "arguments": %s}\n</tool_call>'
    said = json.dumps({"action": "AWAKE", "text": "Clock"})
    assert tool_call_action("<thinking>\nopen it\n</thinking>\n" + call % said) == open_app("Clock")
    assert tool_call_action(call % '{"action": "INFO", "text": "?"}') == ask_user("?")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "click the button",
        (
            'Action Decision: "action_type": "DUAL_POINT", "touch_point": "[1.5, 0.1]", '
            '"lift_point": "[0.1, 0.1]", "typed_text": ""'
        ),
        (
            'Action Decision: "action_type": "DUAL_POINT", "touch_point": "[0.1]", '
            '"lift_point": "[0.1, 0.1]", "typed_text": ""'
        ),
        (
            'Action Decision: "action_type": "FLY", "touch_point": "[0.1, 0.1]", '
            '"lift_point": "[0.1, 0.1]", "typed_text": ""'
        ),
        (
            'Action Decision: "action_type": "DUAL_POINT", "touch_point": "[nan, 0.1]", '
            '"lift_point": "[0.1, 0.1]", "typed_text": ""'
        ),
    ],
)
def test_autoui_refuses_what_is_no_action(text):
    with pytest.raises(RejectedError) as caught:
        autoui_action(text)
    assert caught.value.reason == "malformed"


@pytest.mark.parametrize(
    "arguments",
    [
        '{"action": "click"}',
        '{"action": "click", "coordinate": [1, 2, 3]}',
        '{"action": "click", "coordinate": [1000, 2]}',
        '{"action": "click", "coordinate": [true, 2]}',
        '{"action": "click", "coordinate": "1, 2"}',
        '{"action": "type", "text": 7}',
        '{"action": "swipe", "direction": "in"}',
        '{"action": "system_button", "button": "power"}',
        '{"action": "terminate", "status": "maybe"}',
        '{"action": ["click"]}',
        '"click"',
        "{",
    ],
)
def test_a_bad_tool_call_is_refused(arguments):
    text = f'<tool_call>\n{{"name": "mobile_use", "arguments": {arguments}}}\n</tool_call>'
    with pytest.raises(RejectedError) as caught:
        tool_call_action(text)
    assert caught.value.reason == "malformed"


@pytest.mark.parametrize(
    ("grammar", "write", "actions"),
    [
        (autoui_grammar(), autoui_text.autoui_text, AUTOUI_EXACT),
        (tool_call_grammar(), tool_call_text.tool_call_text, TOOL_EXACT),
    ],
    ids=["autoui", "tool_calls"],
)
def test_the_grammar_allows_what_is_written(grammar, write, actions):
    automaton = ByteGrammar(grammar)
    for action in actions:
        reached = automaton.after(automaton.start, write(action).encode())
        assert automaton.accepts(reached), write(action)

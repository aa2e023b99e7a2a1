from __future__ import annotations

from random import Random

import pytest

from apps_mock.baselines import LexicalPolicy, NoopPolicy, RandomPolicy, TypingOnlyPolicy
from apps_mock.gate_episodes import play
from apps_mock.phone import MockPhone
from apps_mock.tasks import templates
from device_runtime.ports import PolicyRequest
from sync.history import EMPTY_HISTORY
from sync.vocabulary import (
    ActionKind,
    Assignment,
    AssignmentId,
    Element,
    Observation,
    Split,
    finish,
)

BUTTON = Element("android.widget.Button", (0, 0, 500, 100), text="Bluetooth", clickable=True)
OTHER = Element("android.widget.Button", (0, 200, 500, 300), text="Display", clickable=True)
FIELD = Element("android.widget.EditText", (0, 400, 500, 500), clickable=True, editable=True)
FOCUSED = Element(
    "android.widget.EditText", (0, 400, 500, 500), clickable=True, editable=True, focused=True
)


def request(goal, *elements, seed=1, history=EMPTY_HISTORY):
    return PolicyRequest(
        observation=Observation(1080, 2400, elements),
        goal=goal,
        history=history,
        random=Random(seed),
    )


def act(policy, *arguments, **options):
    return policy.decide([request(*arguments, **options)])[0].action


def test_noop_finishes_at_once():
    assert act(NoopPolicy(), "Turn on Bluetooth", BUTTON) == finish()


def test_random_is_a_function_of_the_requests_generator_and_uses_every_kind():
    screen = (BUTTON, FOCUSED)
    actions = [act(RandomPolicy(), "Add Ada", *screen, seed=seed) for seed in range(200)]

    assert actions == [act(RandomPolicy(), "Add Ada", *screen, seed=seed) for seed in range(200)]
    assert {action.kind for action in actions} == {
        ActionKind.TAP,
        ActionKind.KEY,
        ActionKind.TYPE,
        ActionKind.FINISH,
    }


def test_random_types_only_spans_of_the_goal():
    goal = "Add a passenger named Mara Velin"
    texts = {act(RandomPolicy(), goal, FOCUSED, seed=seed).text for seed in range(100)} - {None}

    assert texts
    assert all(f" {text} " in f" {goal} " for text in texts)


def test_lexical_taps_what_the_goal_names_and_finishes_without_a_match():
    assert act(LexicalPolicy(), "Turn on Bluetooth", OTHER, BUTTON).element == 1
    assert act(LexicalPolicy(), "Sing a song", OTHER, BUTTON) == finish()


def test_lexical_types_names_and_codes_into_the_focused_field():
    assert act(LexicalPolicy(), "Add a contact named Mara Velin", FOCUSED).text == "Mara Velin"
    assert act(LexicalPolicy(), "Set an alarm for 07:45", FOCUSED).text == "07:45"


def test_lexical_focuses_a_field_while_there_is_something_to_type():
    assert act(LexicalPolicy(), "Add a contact named Mara Velin", OTHER, FIELD).element == 1


def test_typing_only_goes_for_fields():
    assert act(TypingOnlyPolicy(), "Add Ada", BUTTON, FIELD).element == 1
    kinds = {act(TypingOnlyPolicy(), "Add Ada", FOCUSED, seed=seed).kind for seed in range(30)}
    assert kinds == {ActionKind.TYPE, ActionKind.KEY, ActionKind.FINISH}


@pytest.mark.parametrize("policy", [RandomPolicy(), TypingOnlyPolicy(), LexicalPolicy()])
def test_baselines_play_whole_episodes_on_every_template(policy):
    phone = MockPhone()
    for template in templates():
        assignment = Assignment(
            AssignmentId("a"),
            template=template.name,
            seed=5,
            split=Split.TEST,
            step_budget=template.step_budget,
        )

        episode, verdict = play(phone, policy, assignment)

        assert 1 <= len(episode.steps) <= template.step_budget
        assert verdict.score in {0.0, 1.0}

"""Demonstrations told again: other names everywhere alike, and as good to learn from."""

from __future__ import annotations

import dataclasses

import pytest

from cloud_learner.batch import trajectory_of
from cloud_learner.renaming import names_of, retold
from sync.vocabulary import (
    Action,
    ActionKind,
    Assignment,
    AssignmentId,
    DeviceId,
    Element,
    EndReason,
    Episode,
    EpisodeId,
    Observation,
    Step,
    tap_element,
)

GOAL = "Change the number of Nora Reiter to 0815-3056 by 17:30"


def screen(*texts, description=""):
    return Observation(
        1080,
        2400,
        tuple(
            Element(
                "android.widget.EditText",
                (0, 100 * row, 1000, 100 * row + 90),
                text=text,
                description=description,
                clickable=True,
                editable=True,
                focused=True,
            )
            for row, text in enumerate(texts)
        ),
        package="org.app",
    )


@pytest.fixture
def episode():
    seen = (
        screen("Nora Reiter", "Noras Laden", "Change", description="Call Reiter"),
        screen("Number", "on 17:30"),
    )
    actions = (tap_element(seen[0], 0), Action(ActionKind.TYPE, text="0815-3056"))
    return Episode(
        id=EpisodeId("e-1"),
        assignment=Assignment(AssignmentId("a-1"), template="edit"),
        device_id=DeviceId("farm"),
        goal=GOAL,
        steps=tuple(
            Step(index, observation, action, log_prob=-1.0, input_digest="d")
            for index, (observation, action) in enumerate(zip(seen, actions, strict=True))
        ),
        end_reason=EndReason.FINISH,
    )


def test_names_are_words_of_the_goal_that_the_screens_or_texts_show(episode):
    assert names_of(episode) == ("Nora", "Reiter", "0815-3056", "17:30")


def test_the_episode_itself_comes_first(episode):
    assert next(retold(episode, copies=2, seed=1)) is episode


def test_a_name_is_another_one_in_goal_screens_and_texts_alike(episode):
    _, copy = retold(episode, copies=1, seed=1)
    first, last = copy.goal.split()[4:6]
    number, time = copy.goal.split()[7], copy.goal.split()[9]

    assert not {first, last, number, time} & {"Nora", "Reiter", "0815-3056", "17:30"}
    texts = [[one.text for one in step.observation.elements] for step in copy.steps]
    assert texts == [[f"{first} {last}", "Noras Laden", "Change"], ["Number", f"on {time}"]]
    assert copy.steps[0].observation.elements[0].description == f"Call {last}"
    assert copy.steps[1].action.text == number


def test_a_name_keeps_its_shape(episode):
    _, copy = retold(episode, copies=1, seed=4)

    for name, other in zip(GOAL.split(), copy.goal.split(), strict=True):
        assert len(name) == len(other)
        assert [c.isupper() for c in name] == [c.isupper() for c in other]
        assert [c.isdigit() for c in name] == [c.isdigit() for c in other]


def test_the_same_seed_tells_alike_and_another_one_otherwise(episode):
    goals = [[one.goal for one in retold(episode, copies=3, seed=seed)] for seed in (1, 1, 2)]

    assert goals[0] == goals[1] != goals[2]
    assert len(set(goals[0])) == 4


def test_a_task_that_is_played_again_is_told_alike(episode):
    again = dataclasses.replace(episode, id=EpisodeId("e-2"))
    other = dataclasses.replace(
        episode,
        assignment=dataclasses.replace(episode.assignment, seed=episode.assignment.seed + 1),
    )
    goals = [
        [one.goal for one in retold(told, copies=3, seed=1)] for told in (episode, again, other)
    ]

    assert goals[0] == goals[1] != goals[2]


def test_what_was_taught_is_told_again_too(episode):
    taught = dataclasses.replace(
        episode.steps[0], taught_action=Action(ActionKind.TYPE, text="Nora")
    )
    episode = dataclasses.replace(episode, steps=(taught, *episode.steps[1:]))

    _, copy = retold(episode, copies=1, seed=1)

    assert copy.steps[0].taught_action.text == copy.goal.split()[4]


def test_nothing_is_told_again_where_nothing_has_a_name(episode):
    plain = dataclasses.replace(episode, goal="Turn on dark mode")

    assert list(retold(plain, copies=3, seed=1)) == [plain]


def test_every_step_of_a_copy_can_be_learnt(episode, table):
    for copy in retold(episode, copies=3, seed=1):
        known = trajectory_of(copy, table, row=0, app="a", success=True, taught=True)
        expected = 1 if copy is episode else 2  # the phone's own digest is no real one here
        assert sum(step.usable for step in known.steps) >= expected

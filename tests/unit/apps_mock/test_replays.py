from __future__ import annotations

from dataclasses import replace

import pytest

from apps_mock.baselines import RandomPolicy
from apps_mock.gate_episodes import play
from apps_mock.oracle import OraclePolicy
from apps_mock.phone import MockPhone
from apps_mock.replays import replay
from device_runtime.errors import UnknownTaskError
from sync.vocabulary import Assignment, AssignmentId, Key, Split, press


def episode_of(name="contacts_edit_phone", seed=2, policy=None, budget=12):
    phone = MockPhone()
    assignment = Assignment(
        AssignmentId("a"), template=name, seed=seed, split=Split.TEST, look=4, step_budget=budget
    )
    episode, _ = play(phone, policy or OraclePolicy(phone), assignment)
    return episode


def with_step(episode, index, **changes):
    steps = list(episode.steps)
    steps[index] = replace(steps[index], **changes)
    return replace(episode, steps=tuple(steps))


@pytest.mark.parametrize("seed", range(6))
def test_an_episode_is_the_same_when_it_is_played_again(seed):
    for episode in (
        episode_of(seed=seed),
        episode_of(seed=seed, policy=RandomPolicy()),
        episode_of(seed=seed, budget=3),
    ):
        result = replay(episode)

        assert result.same, result.differences
        assert result.steps == len(episode.steps)


def test_another_action_shows_at_the_step_after_it():
    episode = with_step(episode_of(), 1, action=press(Key.HOME))

    result = replay(episode)

    assert (result.steps, result.differences[0].step) == (3, 2)
    assert {difference.what for difference in result.differences} == {"state", "observation"}


def test_a_screen_that_was_logged_otherwise_is_named():
    episode = episode_of()
    seen = episode.steps[2].observation
    other = replace(seen, elements=seen.elements[:-1])

    [difference] = replay(with_step(episode, 2, observation=other)).differences

    assert (difference.step, difference.what) == (2, "observation")
    assert difference.logged != difference.replayed


def test_another_end_suite_or_validity_is_named():
    episode = episode_of()

    changed = {
        "end": replace(episode, end_state_digest="0" * 64),
        "suite version": replace(episode, suite_version="0"),
        "goal": replace(episode, goal="something else"),
        "validity": with_step(episode, 0, valid=False),
    }

    for what, other in changed.items():
        [difference] = replay(other).differences
        assert difference.what == what


def test_a_template_that_is_gone_cannot_be_played_again():
    episode = episode_of()
    gone = replace(episode, assignment=replace(episode.assignment, template="gone"))

    with pytest.raises(UnknownTaskError, match="gone"):
        replay(gone)

from itertools import count

import pytest

from apps_mock.actors import Actors, NoisyTeacher, read_policy_file
from apps_mock.farm import play
from apps_mock.tasks import templates
from device_runtime.errors import UnknownTaskError
from device_runtime.scripted import FunctionPolicy, ScriptedPhone
from sync.clock import ManualClock
from sync.errors import RejectedError
from sync.vocabulary import (
    ActionKind,
    Assignment,
    AssignmentId,
    EndReason,
    Purpose,
    Split,
    finish,
    wait,
)


def assignments(number, *, actor="oracle", **options):
    known = templates()
    return [
        Assignment(
            AssignmentId(f"a-{index}"),
            template=known[index % len(known)].name,
            seed=index,
            look=index,
            actor=actor,
            step_budget=known[index % len(known)].step_budget,
            **options,
        )
        for index in range(number)
    ]


def played(items, actors=None, *, seats=8):
    numbers = count()
    return list(
        play(
            items,
            (actors or Actors()).policy_for,
            seats=seats,
            clock=ManualClock(),
            new_id=lambda: f"e-{next(numbers)}",
        )
    )


def test_oracle_succeeds_on_every_template():
    results = played(assignments(len(templates()), split=Split.VALIDATION))

    failed = [item.episode.assignment.template for item in results if not item.verdict.success]
    assert failed == []
    assert {item.episode.end_reason for item in results} == {EndReason.FINISH, EndReason.ANSWER}


@pytest.mark.parametrize("actor", ["random", "lexical"])
def test_episodes_do_not_depend_on_the_number_of_seats(actor):
    items = assignments(24, actor=actor)

    def essence(results):
        return {
            item.episode.assignment.id: (
                [step.action for step in item.episode.steps],
                item.episode.end_state_digest,
                item.verdict.score,
            )
            for item in results
        }

    assert essence(played(items, seats=1)) == essence(played(items, seats=7))


def test_same_assignment_gives_the_same_episode_whatever_its_id_generator():
    [first] = played(assignments(1, actor="random"))
    [second] = played(assignments(1, actor="random"), seats=3)

    assert first.episode.steps == second.episode.steps


def test_goal_and_suite_version_come_from_the_task():
    [result] = played(assignments(1))

    assert result.episode.goal
    assert result.episode.suite_version


def test_noisy_demonstration_shows_what_the_oracle_would_have_done():
    items = assignments(30, purpose=Purpose.DEMONSTRATE)

    results = played(items, Actors(demonstration_noise=0.3))

    steps = [step for item in results for step in item.episode.steps]
    assert all(step.taught_action is not None for step in steps)
    astray = [step for step in steps if step.action != step.taught_action]
    assert 0.1 < len(astray) / len(steps) < 0.5
    assert all(step.action.kind is not ActionKind.FINISH for step in astray)


def test_noise_is_for_demonstrations_only():
    results = played(assignments(10), Actors(demonstration_noise=1.0))

    assert all(item.verdict.success for item in results)
    assert all(step.taught_action is None for item in results for step in item.episode.steps)


def test_share_of_noise_is_a_probability():
    with pytest.raises(ValueError, match=r"0\.\.1"):
        NoisyTeacher(FunctionPolicy(lambda _: finish()), share=1.5)


def test_release_plays_where_it_is_asked_for():
    actors = Actors(FunctionPolicy(lambda _: finish(), name="release"))

    results = played(assignments(3, actor="release"), actors)

    assert {item.episode.steps[0].policy_version for item in results} == {"release"}


@pytest.mark.parametrize("actor", ["release", "somebody", "/etc/passwd"])
def test_actor_that_does_not_play_here_is_refused(actor):
    with pytest.raises(UnknownTaskError, match="choose one of") as caught:
        played(assignments(1, actor=actor))

    assert caught.value.reason == "unknown_actor"


def test_oracle_needs_a_clone():
    assignment = assignments(1)[0]

    with pytest.raises(UnknownTaskError):
        Actors().policy_for(assignment, ScriptedPhone())


def test_unknown_template_is_refused():
    with pytest.raises(UnknownTaskError, match="nobody"):
        played([Assignment(AssignmentId("a"), template="nobody", actor="noop")])


def test_function_in_a_users_file_is_a_policy(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from sync.vocabulary import wait\n\ndef decide(request):\n    return wait()\n",
        encoding="utf-8",
    )
    actors = Actors(files={"mine": read_policy_file(file)})

    [result] = played(assignments(1, actor="mine"), actors)

    assert {step.action for step in result.episode.steps} == {wait()}
    assert result.episode.end_reason is EndReason.BUDGET


def test_class_in_a_users_file_is_a_policy(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from apps_mock.baselines import NoopPolicy as Policy\n",
        encoding="utf-8",
    )

    [result] = played(assignments(1, actor="mine"), Actors(files={"mine": read_policy_file(file)}))

    assert [step.action for step in result.episode.steps] == [finish()]


@pytest.mark.parametrize("text", ["x = 1\n", "raise OSError('broken')\n", "def decide(:\n"])
def test_file_without_a_policy_is_refused(tmp_path, text):
    file = tmp_path / "mine.py"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(RejectedError, match=r"mine\.py"):
        read_policy_file(file)


@pytest.mark.parametrize("name", ["missing.py", "notes.txt"])
def test_file_that_is_not_there_or_no_python_is_refused(tmp_path, name):
    with pytest.raises(RejectedError, match=r"name a \.py file"):
        read_policy_file(tmp_path / name)

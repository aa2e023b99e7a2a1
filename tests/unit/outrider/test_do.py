"""`outrider do` on the mock phone, with hand-written policies."""

import io
import json
import sys

import pytest

from outrider import cli


def run_json(capsys, *arguments):
    code = cli.run(["do", *map(str, arguments), "--json"])
    captured = capsys.readouterr()
    return code, [json.loads(line) for line in captured.out.splitlines()], captured.err


def events(rows, name):
    return [row for row in rows if row["event"] == name]


@pytest.fixture
def answers(monkeypatch):
    """What is typed at the terminal."""
    return lambda text: monkeypatch.setattr(sys, "stdin", io.StringIO(text))


CANCEL = ("--task", "tickets_cancel", "--policy", "oracle", "--seed", 4)


def test_a_task_is_shown_step_by_step_and_judged(capsys):
    code, rows, _ = run_json(capsys, "--task", "clock_toggle", "--policy", "oracle")
    assert code == 0
    steps = events(rows, "step")
    assert [step["index"] for step in steps] == list(range(len(steps)))
    assert steps[-1]["action"] == "finish complete"
    [verdict] = events(rows, "verdict")
    assert verdict["success"] is True
    assert rows[-1]["event"] == "summary"
    assert (rows[-1]["success"], rows[-1]["steps"]) == (True, len(steps))


def test_a_goal_in_words_is_played_without_a_verdict(capsys):
    code, rows, _ = run_json(capsys, "open the clock", "--policy", "lexical")
    assert code == 0
    assert events(rows, "verdict") == []
    assert rows[-1]["goal"] == "open the clock"
    assert rows[-1]["success"] is None
    assert rows[0]["action"] == "tap 'Clock'"


@pytest.mark.parametrize(("typed", "agreed"), [("y\n", True), ("YES\n", True), ("\n", False)])
def test_what_is_sensitive_is_asked_first(capsys, answers, typed, agreed):
    answers(2 * typed)  # to the button, and to the dialog that it opens
    code, rows, errors = run_json(capsys, *CANCEL)
    assert code == 0
    assert "[y/N]" in errors
    assert {question["agreed"] for question in events(rows, "question")} == {agreed}
    assert rows[-1]["success"] is agreed
    assert rows[-1]["end_reason"] == ("finish" if agreed else "guard")


def test_nobody_at_the_terminal_means_no(capsys, answers):
    answers("")
    code, rows, _ = run_json(capsys, *CANCEL)
    assert code == 0
    assert rows[-1]["end_reason"] == "guard"
    assert "not agreed" in rows[-1]["end_detail"]


def test_yes_agrees_without_asking(capsys, answers):
    answers("")
    _, rows, errors = run_json(capsys, *CANCEL, "--yes")
    assert errors == ""
    assert rows[-1]["success"] is True


def test_dry_run_shows_the_first_action_only(capsys):
    code, rows, _ = run_json(capsys, "--task", "clock_toggle", "--policy", "oracle", "--dry-run")
    assert code == 0
    assert [row["event"] for row in rows] == ["would", "summary"]
    assert rows[0]["action"] == "tap 'Clock'"
    assert rows[0]["ruling"] == "allowed"
    assert rows[-1]["steps"] == 0


def test_steps_bound_the_episode(capsys):
    _, rows, _ = run_json(capsys, "--task", "clock_add", "--policy", "oracle", "--steps", 2)
    assert (rows[-1]["steps"], rows[-1]["end_reason"]) == (2, "budget")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "say what to do"),
        (("x", "--task", "clock_toggle"), "say what to do"),
        (("--task", "nonsense"), "no template is called"),
        (("--task", "clock_toggle", "--serial", "x"), "--task needs the mock phone"),
        (("x", "--policy", "nonsense"), "no policy is called"),
        (("x", "--bundle", "/nowhere/x.zip"), "is no file"),
        (("x", "--data", "/nowhere"), "holds no phone"),
        (("x", "--phone", "nonsense"), "--phone"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(capsys, arguments, text):
    code, rows, errors = run_json(capsys, *arguments)
    assert (code, rows) == (2, [])
    assert text in errors
    assert errors.count("\n") == 1

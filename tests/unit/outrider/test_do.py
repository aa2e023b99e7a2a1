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
    assert rows[-1]["success"] is (True if agreed else None)
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


def test_each_step_says_what_was_seen_done_and_asked(capsys):
    _, rows, _ = run_json(capsys, *CANCEL, "--yes")
    steps = events(rows, "step")
    touched = next(step for step in steps if step["asked"])
    assert touched["asked"][0]["agreed"] is True
    assert touched["element"] in touched["action"]
    assert all(step["app"] and step["elements"] for step in steps)
    assert {"x", "y", "title", "labels", "probability", "alternatives"} <= set(steps[0])


def test_a_release_says_how_sure_it_is_and_what_else_it_would_do(capsys):
    _, rows, _ = run_json(capsys, "open the clock", "--steps", 1)
    [step] = events(rows, "step")
    assert 0.0 < step["probability"] <= 1.0
    others = [one["probability"] for one in step["alternatives"]]
    assert others == sorted(others, reverse=True)
    assert step["probability"] + sum(others) <= 1.001


def probes(tmp_path, text='goal = "Open the clock"\n[[check]]\nprobe = "app_in_front"\n'):
    file = tmp_path / "clock.toml"
    file.write_text(text + 'package = "org.outrider.clones.clock"\n')
    return file


def test_probes_bring_their_goal_and_judge_its_end(capsys, tmp_path):
    code, rows, _ = run_json(capsys, "--probe", probes(tmp_path), "--policy", "lexical")
    assert code == 0
    [verdict] = events(rows, "verdict")
    assert verdict["source"] == "probe"
    assert rows[-1]["goal"] == "Open the clock"
    assert rows[-1]["success"] is verdict["success"]


@pytest.mark.parametrize(("said", "success"), [("up", True), ("down", False)])
def test_a_thumb_is_the_owners_verdict(capsys, said, success):
    arguments = ("--task", "clock_toggle", "--policy", "oracle", "--thumb", said)
    _, rows, _ = run_json(capsys, *arguments)
    owner = events(rows, "verdict")[-1]
    assert (owner["source"], owner["success"]) == ("owner", success)
    assert rows[-1]["thumb"] == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[check]]\n", "there are"),
        ('[[check]]\nprobe = "app_in_front"\nsize = 3\n', "does not take 'size'"),
    ],
)
def test_a_probe_file_that_cannot_be_understood_is_misuse(capsys, tmp_path, text, said):
    code, rows, errors = run_json(capsys, "x", "--probe", probes(tmp_path, text))
    assert (code, rows) == (2, [])
    assert said in errors


def test_probes_about_another_goal_are_misuse(capsys, tmp_path):
    code, _, errors = run_json(capsys, "Close the clock", "--probe", probes(tmp_path))
    assert code == 2
    assert "are about 'Open the clock'" in errors


def test_a_person_reads_it_in_eighty_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert cli.run(["do", *map(str, CANCEL), "--yes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith(("goal", "acts"))
    assert any(line.startswith("    asked  May I") for line in lines)
    assert any("does   tap" in line for line in lines)

"""`outrider eval` with hand-written policies; releases are in the integration tests."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from apps_mock.evaluation import TemplateFigures
from outrider import cli
from outrider.evaluate import _by_template, summary_of


def run_json(capsys, *arguments):
    code = cli.run(["eval", *map(str, arguments), "--json"])
    captured = capsys.readouterr()
    return code, [json.loads(line) for line in captured.out.splitlines()], captured.err


def figures(n, successes, env_errors=0, counts=True):
    rates = dict.fromkeys(
        ("success", "progress", "false_finish", "unfinished", "side_effects", "out_of_budget"), 0.5
    )
    return TemplateFigures(
        "t", n=n, successes=successes, env_errors=env_errors, steps=1.0, counts=counts, **rates
    )


def test_one_row_per_template_then_a_summary(capsys):
    code, rows, errors = run_json(
        capsys, "--policy", "oracle", "--suite", "clock", "--n", 8, "--seed-base", 70_000
    )
    assert (code, errors) == (0, "")
    summary = rows.pop()
    assert {row["event"] for row in rows} == {"template"}
    assert sum(row["n"] for row in rows if row["counts"]) == summary["n"]
    assert summary["n"] + summary["set_aside"]["n"] == len(rows)
    assert {row["success"] for row in rows} == {1.0}
    assert rows[0].keys() == {
        "event",
        "template",
        "n",
        "success",
        "progress",
        "false_finish",
        "unfinished",
        "side_effects",
        "out_of_budget",
        "env_errors",
        "steps",
        "counts",
    }
    assert summary["event"] == "summary"
    assert summary["success"] == 1.0
    assert summary["ci95"][1] == 1.0
    assert summary["valid"] is True
    assert (summary["policy"], summary["suite"], summary["split"]) == ("oracle", "clock", "test")


@pytest.mark.parametrize("policy", ["random", "lexical"])
def test_figures_do_not_depend_on_how_many_are_played_side_by_side(capsys, policy):
    options = ("--policy", policy, "--suite", "clock", "--n", 18, "--temperature", 1)
    alone = run_json(capsys, *options, "--seats", 1)
    together = run_json(capsys, *options, "--seats", 7)
    assert alone == together
    assert alone[0] == 0


def test_policy_that_finishes_at_once_is_counted_as_false_finish(capsys):
    code, rows, _ = run_json(capsys, "--policy", "noop", "--suite", "clock", "--n", 1)
    assert code == 0
    counted = [row for row in rows[:-1] if row["counts"]]
    assert {(row["false_finish"], row["steps"]) for row in counted} == {(1.0, 1.0)}


def test_users_file_is_played(tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text(
        "from sync.vocabulary import Key, press\ndef decide(request):\n    return press(Key.BACK)\n"
    )
    code, rows, _ = run_json(capsys, "--policy", file, "--suite", "clock", "--n", 1)
    assert code == 0
    assert {row["out_of_budget"] for row in rows[:-1]} == {1.0}
    assert rows[-1]["policy"] == str(file)


@pytest.mark.parametrize(
    ("body", "text"),
    [("raise ZeroDivisionError('oops')", "ZeroDivisionError: oops"), ("return 5", "no Action")],
)
def test_users_file_that_fails_is_one_line(tmp_path, capsys, body, text):
    file = tmp_path / "mine.py"
    file.write_text(f"def decide(request):\n    {body}\n")
    code, rows, errors = run_json(capsys, "--policy", file, "--suite", "clock", "--n", 1)
    assert (code, rows) == (1, [])
    assert text in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--suite", "nonsense"), "no suite is called nonsense"),
        (("--policy", "nonsense"), "no policy is called 'nonsense'"),
        (("--policy", "/nowhere/x.py"), "no Python file"),
        (("--bundle", "/nowhere/x.zip"), "is no file"),
        (("--bundle", "/nowhere/x.zip", "--policy", "lexical"), "two policies"),
        (("--base", "/nowhere"), "/nowhere is no folder: name one that holds a base"),
        (("--suite", ""), "no suite is named; name some of settings, "),
        (("--n", "0"), "--n"),
        (("--split", "nonsense"), "--split"),
        (("--locale", "fr"), "no locale is called 'fr'; there are en, de, ja, ar"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(capsys, options, text):
    code, rows, errors = run_json(capsys, *options)
    assert (code, rows) == (2, [])
    assert text in errors
    assert errors.count("\n") == 1


def test_file_that_is_no_policy_is_misuse(tmp_path, capsys):
    for body in ("x = 1\n", "def decide(:\n", "class Policy:\n def __init__(self): 1 / 0\n"):
        file = tmp_path / "mine.py"
        file.write_text(body)
        code, _, errors = run_json(capsys, "--policy", file)
        assert code == 2
        assert f"{file}" in errors
        assert errors.count("\n") == 1


@pytest.mark.parametrize(("broken", "valid"), [(0, True), (2, True), (3, False)])
def test_more_than_two_percent_of_env_errors_are_no_valid_evaluation(broken, valid):
    summary = summary_of([figures(60, 30), figures(38, 8, env_errors=broken)])
    assert summary["valid"] is valid
    assert (summary["n"], summary["env_errors"]) == (98, broken)
    assert summary["success"] == round(38 / 98, 4)


def test_templates_that_do_not_count_are_set_aside():
    summary = summary_of([figures(60, 30), figures(40, 40, counts=False)])
    assert (summary["n"], summary["success"]) == (60, 0.5)
    assert summary["set_aside"] == {"templates": 1, "n": 40, "successes": 40}


def test_seen_and_held_out_phrasings_and_looks_are_reported_apart(capsys):
    code, rows, _ = run_json(
        capsys, "--policy", "noop", "--suite", "clock", "--n", 60, "--locale", "de", "--held-out"
    )
    by = rows[-1]["by"]

    assert code == 0
    assert rows[-1]["locale"] == "de"
    for parts in by.values():
        assert parts["seen"]["n"] > parts["held_out"]["n"] > 0
        assert parts["seen"]["n"] + parts["held_out"]["n"] == 2 * rows[-1]["n"]
        assert parts["seen"]["success"] == 0.0
    assert set(by) == {"phrasing", "look"}


def test_only_the_test_split_has_held_out_instances(capsys):
    code, _, error = run_json(
        capsys, "--policy", "noop", "--suite", "clock", "--split", "train", "--held-out"
    )

    assert code == 2
    assert "--split test" in error


def test_nothing_but_env_errors_is_no_valid_evaluation():
    summary = summary_of([figures(0, 0, env_errors=3)])
    assert summary["valid"] is False
    assert summary["success"] is None
    assert summary["ci95"] is None


def test_the_cache_is_where_the_environment_says(tmp_path):
    from outrider.graphs import cache_dir

    assert cache_dir({"OUTRIDER_CACHE": str(tmp_path)}) == tmp_path
    assert cache_dir({}) == Path.home() / ".cache" / "outrider" / "bases"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("def decide(:\n", ":1: SyntaxError: "),
        ("\nimport nothing_of_that_name\n", ":2: ModuleNotFoundError: "),
        ("class Policy:\n def __init__(self): 1 / 0\n", ":2: ZeroDivisionError: "),
    ],
)
def test_a_policy_file_that_cannot_be_loaded_says_where_to_repair_it(tmp_path, capsys, body, text):
    file = tmp_path / "mine.py"
    file.write_text(body)
    code, _, errors = run_json(capsys, "--policy", file)
    assert code == 2
    assert f"{file}{text}" in errors
    assert errors.endswith("; repair it\n")


@pytest.mark.parametrize("option", ["--base", "--bundle"])
def test_missing_files_are_noticed_before_anything_heavy_loads(option, root):
    code = (
        "import sys; from outrider import cli; "
        f"code = cli.run(['eval', '{option}', '/nowhere/x']); "
        "print(code, *(m for m in ('torch', 'onnxruntime', 'apps_mock.tasks') if m in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout == "2\n"
    assert done.stderr.count("\n") == 1


def test_rows_come_template_by_template():
    def ended(name):
        return SimpleNamespace(episode=SimpleNamespace(assignment=SimpleNamespace(template=name)))

    given = []

    def playing():
        for name in "abab":
            given.append(name)
            yield ended(name)

    sizes = [(len(some), len(given)) for some in _by_template(playing(), ["a", "a", "b", "b"])]

    assert sizes == [(2, 3), (2, 4)]

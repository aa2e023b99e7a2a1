"""`--app-file`, and what the commands about clones say about mistakes."""

from __future__ import annotations

import json

import pytest

from apps_mock import tasks
from apps_mock.look import LOCALE_STRIDE
from apps_mock.registry import APPS, FIXTURES
from apps_mock.scaffold import write_app
from outrider import cli
from outrider.clones_play import template_for
from outrider.errors import MisuseError
from outrider.own_apps import take_in


def run_json(capsys, *arguments):
    code = cli.run([*map(str, arguments), "--json"])
    captured = capsys.readouterr()
    return code, [json.loads(line) for line in captured.out.splitlines()], captured.err


@pytest.fixture
def registry():
    """What a test brings in is gone after it."""
    before = [(kept, dict(kept)) for kept in (APPS, FIXTURES, tasks._BY_NAME)]
    added = list(tasks._ADDED)
    yield
    for kept, was in before:
        kept.clear()
        kept.update(was)
    tasks._ADDED[:] = added


@pytest.fixture
def own(tmp_path, registry):
    """The file of a new app."""
    return write_app("pantry", tmp_path)[0]


@pytest.mark.usefixtures("registry")
def test_the_example_of_the_documentation_passes_the_gates(root, capsys):
    file = root / "docs" / "examples" / "pantry.py"
    options = ("--seeds", 1, "--looks", 4, "--workers", 1)
    code, rows, _ = run_json(capsys, "clones", "check", "--app-file", file, *options)

    assert code == 0
    assert {row["template"] for row in rows[:-1]} == {
        "pantry_add",
        "pantry_when",
        "pantry_delete_missing",
        "pantry_add_noted",
    }
    assert all(row["passed"] for row in rows[:-1])


def test_ones_own_app_is_listed(own, capsys):
    code, rows, _ = run_json(capsys, "clones", "list", "--app-file", own)

    assert code == 0
    assert [row["template"] for row in rows[:-1]] == ["pantry_add"]
    assert (rows[-1]["templates"], rows[-1]["suites"]) == (1, ["pantry"])


def test_ones_own_app_is_drawn(own, tmp_path, capsys):
    out = tmp_path / "pictures"
    code, rows, _ = run_json(
        capsys, "clones", "render", "--app-file", own, "--looks", 1, "--out", out
    )

    assert code == 0
    assert {row["app"] for row in rows[:-1]} == {"pantry"}
    assert {row["page"] for row in rows[:-1]} >= {"home", "detail"}


def test_ones_own_task_is_traced(own, tmp_path, capsys):
    actions = tmp_path / "actions.json"
    actions.write_text('[{"open_app": "Pantry"}, {"finish": "complete"}]')
    command = ("clones", "trace", "--app-file", own, "--task", "pantry_add", "--actions", actions)
    code, rows, _ = run_json(capsys, *command)

    assert code == 0
    assert (rows[-1]["steps"], rows[-1]["success"]) == (2, False)


def test_ones_own_app_can_be_played(own):
    take_in(own)

    assert template_for("pantry", "", 7) == "pantry_add"


@pytest.mark.parametrize("command", ["list", "render", "play"])
def test_a_file_that_is_no_app_is_misuse(command, capsys):
    code, rows, errors = run_json(capsys, "clones", command, "--app-file", "/nowhere/x.py")

    assert (code, rows) == (2, [])
    assert "/nowhere/x.py is no Python file" in errors


@pytest.mark.parametrize(
    ("app", "task", "text"),
    [
        ("notes", "nothing", "no template is called 'nothing'"),
        ("notes", "clock_add", "notes and --task clock_add are both given; leave notes out"),
        ("", "", "name an app, or a template with --task"),
        ("nothing", "", "no app is called 'nothing'; there are settings, "),
    ],
)
def test_play_says_what_is_wrong_with_what_it_was_told(app, task, text):
    with pytest.raises(MisuseError, match=text):
        template_for(app, task, 0)


@pytest.mark.parametrize("command", ["play", "trace"])
def test_a_look_beyond_the_last_locale_is_misuse(command, capsys):
    options = ("--task", "clock_add", "--look", 4 * LOCALE_STRIDE)
    more = ("--actions", "-") if command == "trace" else ("--no-browser",)
    code, rows, errors = run_json(capsys, "clones", command, *options, *more)

    assert (code, rows) == (2, [])
    assert f"give 0 to {4 * LOCALE_STRIDE - 1}" in errors
    assert "en, de, ja, ar" in errors


def test_a_folder_that_cannot_hold_an_app_is_misuse(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    code, rows, errors = run_json(capsys, "clones", "new", "pantry", "--folder", tmp_path / "file")

    assert (code, rows) == (2, [])
    assert "file cannot hold the app's files (" in errors
    assert "name another --folder" in errors

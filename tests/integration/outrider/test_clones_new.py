"""A new app's file passes the gates as it is written; a broken one is named in one line."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from outrider.clones_new import new_app
from outrider.errors import MisuseError

pytestmark = pytest.mark.integration


def check(path, *options):
    command = [sys.executable, "-m", "outrider", "clones", "check", "--app-file", str(path)]
    return subprocess.run(
        [*command, "--workers", "1", "--json", *options],
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_new_app_passes_every_gate_in_every_locale(tmp_path, capsys):
    new_app("pantry", folder=tmp_path, json=True)

    written = json.loads(capsys.readouterr().out.splitlines()[-1])
    done = check(written["app"], "--seeds", "2", "--looks", "4")
    summary = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    assert summary["passed"] == summary["templates"] == 1
    assert summary["oracle"] == 1.0
    assert summary["mutants"] == summary["killed"] > 0


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("def update(", "def update(((", "SyntaxError"),
        ("TEMPLATES: tuple[Template, ...]", "OTHERS: tuple[Template, ...]", "TEMPLATES"),
        ('app="pantry",', 'app="larder",', "larder"),
    ],
)
def test_a_broken_file_is_refused_in_one_line_that_names_it(tmp_path, right, wrong, said):
    new_app("pantry", folder=tmp_path, json=True)
    path = tmp_path / "pantry.py"
    path.write_text(path.read_text(encoding="utf-8").replace(right, wrong), encoding="utf-8")

    done = check(path)

    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert said in done.stderr


def test_an_app_that_breaks_on_its_way_fails_its_gate_with_its_place(tmp_path):
    new_app("pantry", folder=tmp_path, json=True)
    path = tmp_path / "pantry.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('look.word("save")', 'look.word("no such key")'), encoding="utf-8")

    done = check(path, "--seeds", "1", "--looks", "1")

    assert done.returncode == 1
    assert "pantry" in done.stdout
    assert "no such key" in done.stdout


def test_a_name_that_cannot_be_used_is_misuse(tmp_path):
    with pytest.raises(MisuseError, match="use small letters"):
        new_app("My App", folder=tmp_path)

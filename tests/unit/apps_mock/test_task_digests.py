"""Tasks change only together with the suite's version."""

from __future__ import annotations

import json

import pytest

from apps_mock import task_digests
from apps_mock.catalogue import LOCALES
from apps_mock.task_digests import COMMAND, changes, golden, main, version


def test_tasks_change_only_together_with_the_suites_version():
    held, now = golden(), task_digests.task_digests()
    found = changes(held, now)

    if found:
        assert held["version"] != version(), (
            f"{len(found)} templates give other tasks ({'; '.join(found[:5])}): let SUITE_VERSION "
            f"(tasks.py) or VERIFIER_VERSION (verifiers.py) rise, then run {COMMAND}"
        )
        pytest.fail(f"the version rose: take the change over with {COMMAND}")
    assert held["version"] == version(), f"take the version over with {COMMAND}"


def test_each_change_is_named():
    held = {"templates": {"a": "1", "b": "2", "c": "3"}}

    assert changes(held, {"a": "1", "b": "9", "d": "4"}) == ["d is new", "c is gone", "b changed"]


def test_a_template_digest_tells_tasks_apart_and_is_the_same_each_time(monkeypatch):
    clock_add = task_digests.template_digest("clock_add")

    assert clock_add == task_digests.template_digest("clock_add")
    assert clock_add != task_digests.template_digest("clock_label")
    monkeypatch.setattr(task_digests, "say", lambda text, locale: f"{text} in {locale}")
    assert clock_add != task_digests.template_digest("clock_add")
    assert len(LOCALES) == 4


def test_the_command_rewrites_the_file_and_then_finds_nothing(tmp_path, monkeypatch, capsys):
    path = tmp_path / "tasks.json"
    monkeypatch.setattr(task_digests, "GOLDEN", path)
    monkeypatch.setattr(task_digests, "task_digests", lambda: {"a": "1"})

    assert main(["--write"]) == 0
    assert json.loads(path.read_text()) == {"version": version(), "templates": {"a": "1"}}
    assert main([]) == 0
    monkeypatch.setattr(task_digests, "task_digests", lambda: {"a": "2"})
    assert main([]) == 1
    assert capsys.readouterr().out == "a changed\n"

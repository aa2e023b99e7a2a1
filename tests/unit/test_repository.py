"""Rules that hold for the whole repository."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from pathlib import Path

import pytest

from sync.errors import ProjectError

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("sync", "device_runtime", "exporters", "cloud_learner", "apps_mock", "outrider")
LARGEST_FILE_BYTES = 8 * 1024**2
TWO_MEANINGS = "roll" + "out"
TEXT = {".py", ".md", ".toml", ".json", ".yaml", ".yml", ".sql", ".txt", ".lock", ".xml", ""}


def tracked(*endings: str) -> list[Path]:
    """The files under version control that exist, with one of `endings` where any is given."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    paths = [ROOT / name for name in listed if name and (ROOT / name).is_file()]
    return [path for path in paths if not endings or path.suffix in endings]


def names_of(path: Path) -> set[str]:
    """Every identifier of a Python file."""
    source = io.StringIO(path.read_text(encoding="utf-8"))
    return {
        token.string
        for token in tokenize.generate_tokens(source.readline)
        if token.type == tokenize.NAME
    }


def test_no_identifier_uses_the_word_that_means_two_things():
    offending = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in tracked(".py")
        for name in names_of(path) | {path.stem}
        if TWO_MEANINGS in name.lower().replace("_", "")
    }
    assert not offending


def test_no_file_is_larger_than_a_clone_should_carry():
    large = {
        str(path.relative_to(ROOT))
        for path in tracked()
        if path.stat().st_size > LARGEST_FILE_BYTES
    }
    assert not large


def test_no_file_names_a_machine_or_a_registry():
    places = re.compile(
        r"(?<![\w.])/(?:work|root|home|opt|Users)/[a-z]|pypi\.org|pythonhosted\.org"
    )
    found = {
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in tracked(*TEXT)
        if path != Path(__file__)
        for match in places.finditer(path.read_text(encoding="utf-8", errors="replace"))
    }
    assert not found


def test_modules_are_named_by_the_noun_they_own():
    vague = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
    assert not {
        str(path.relative_to(ROOT))
        for path in tracked(".py")
        if path.stem in vague and path.relative_to(ROOT).parts[0] in PACKAGES
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_errors_form_a_tree_that_its_docstring_draws(package):
    source = ROOT / package / "errors.py"
    drawing = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    module = __import__(f"{package}.errors", fromlist=["errors"])
    errors = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    ]
    assert errors
    for error in errors:
        assert issubclass(error, ProjectError)
        assert error.__name__.endswith("Error")
        assert error.__name__ in drawing
        assert error.__doc__


def test_the_vocabulary_stands_on_the_standard_library_alone():
    tree = ast.parse((ROOT / "sync" / "vocabulary.py").read_text(encoding="utf-8"))
    loaded = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert loaded <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("package", ["sync", "device_runtime", "apps_mock"])
def test_the_phone_side_never_loads_the_training_stack(package):
    code = (
        f"import importlib, pkgutil, sys, {package}\n"
        f"for found in pkgutil.walk_packages({package}.__path__, '{package}.'):\n"
        "    if not found.name.endswith('__main__'):\n"
        "        importlib.import_module(found.name)\n"
        "banned = {'torch', 'transformers', 'peft', 'fastapi', 'sqlalchemy', 'onnx'}\n"
        "print(sorted(banned & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_direct_dependencies_are_pinned_to_the_locked_versions():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    wanted = (line for group in groups for line in group if not line.startswith("outrider["))
    direct = {re.sub(r"\[.*\]", "", line) for line in wanted}  # the lock names no extras
    locked = {
        line.lower().replace("_", "-")
        for line in (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    }
    assert not {line for line in direct if line.lower().replace("_", "-") not in locked}


def test_the_extra_of_a_phone_holds_no_training_stack():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    phone = project["dependencies"] + project["optional-dependencies"]["device"]
    names = {re.split(r"[=<>\[ ]", line)[0].lower() for line in phone}
    assert not names & {"torch", "transformers", "peft", "fastapi", "sqlalchemy", "onnx"}

"""Python files of a user's own: an app with its tasks, or near misses for the gates.

Only files that somebody names are ever run.

- An app file defines `APP` (an `apps_mock.app.App`), `fixture(draw)` (the app's data before a task
  is set up) and `TEMPLATES` (its tasks), as the modules of `apps/` and `suites/` do. What the app
  says in other languages stands in a TOML file of the same name beside it.
- A mutator file defines `mutations(before, end, wanted)`, which yields (name, state) of near
  misses: whole states of the phone that nearly are the one at a rightly ended episode's end.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from typing import Any

from apps_mock.app import App
from apps_mock.catalogue import add_texts
from apps_mock.gates import Mutations
from apps_mock.registry import APPS, FIXTURES
from apps_mock.tasks import add_templates
from apps_mock.templates import Template
from sync.errors import RejectedError


def read_mutations(path: Path) -> Mutations:
    """The near misses that a mutator file makes; the file is run.

    Raises: RejectedError: there is no such file, it fails to load, or it defines no `mutations`.
    """
    mutations: Mutations | None = getattr(_loaded(path), "mutations", None)
    if mutations is None:
        raise RejectedError(
            f"{path} defines no mutations(before, end, wanted): add one", reason="malformed"
        )
    return mutations


def add_app(path: Path) -> tuple[Template, ...]:
    """Take the app of a file and its templates in; the file is run.

    Raises: RejectedError: there is no such file, it fails to load, or it lacks something.
    """
    module = _loaded(path)
    missing = [name for name in ("APP", "fixture", "TEMPLATES") if not hasattr(module, name)]
    if missing:
        raise RejectedError(
            f"{path} defines no {', '.join(missing)}: `outrider clones new` writes a file that "
            "has them",
            reason="malformed",
        )
    app, templates = module.APP, tuple(module.TEMPLATES)
    if not isinstance(app, App) or not all(isinstance(one, Template) for one in templates):
        raise RejectedError(
            f"{path}: APP has to be an App and TEMPLATES a tuple of Template", reason="malformed"
        )
    if app.name in APPS:
        raise RejectedError(
            f"{path}: there is an app called {app.name!r} already; rename it", reason="malformed"
        )
    texts = path.with_suffix(".toml")
    if texts.is_file():
        add_texts(texts)
    APPS[app.name] = app
    FIXTURES[app.name] = module.fixture
    add_templates(templates)
    return templates


def _loaded(path: Path) -> Any:  # Any: a user's module has any attributes
    spec = importlib.util.spec_from_file_location(f"user_file_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise RejectedError(f"{path} is no Python file: name a .py file", reason="no_such_file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the user's code may raise anything
        raise RejectedError(
            f"{path}{line_of(error, path)}: {type(error).__name__}: {error}; repair it",
            reason="malformed",
        ) from error
    return module


def line_of(error: Exception, path: Path) -> str:
    """`:12`, the last line of a file that an error came through; empty where it did not."""
    if isinstance(error, SyntaxError):
        return f":{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path]
    return f":{lines[-1]}" if lines else ""

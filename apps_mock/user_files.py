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
import inspect
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from apps_mock.app import App
from apps_mock.blame import in_words
from apps_mock.catalogue import add_texts
from apps_mock.mutators import Mutations
from apps_mock.registry import APPS, FIXTURES
from apps_mock.tasks import add_templates
from apps_mock.templates import Template
from device_runtime.errors import UnknownTaskError
from sync.errors import RejectedError


def read_mutations(path: Path) -> Mutations:
    """The near misses that a mutator file makes; the file is run.

    Raises: RejectedError: there is no such file, it fails to load, or it defines no `mutations`.
    """
    found: object = getattr(_loaded(path), "mutations", None)
    if found is None:
        raise RejectedError(
            f"{path} defines no mutations(before, end, wanted): add one", reason="malformed"
        )
    if not callable(found) or not _takes_three(found):
        raise RejectedError(
            f"{path}: mutations has to be a function of (before, end, wanted); write "
            "`def mutations(before, end, wanted):`",
            reason="malformed",
        )
    mutations: Mutations = found
    return mutations


def _takes_three(function: Callable[..., object]) -> bool:
    try:
        inspect.signature(function).bind(None, None, None)
    except TypeError:
        return False
    return True


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
    app, templates = module.APP, module.TEMPLATES
    fault = _app_fault(app, templates, module.fixture)
    if fault:
        raise RejectedError(f"{path}: {fault}", reason="malformed")
    texts = path.with_suffix(".toml")
    if texts.is_file():
        add_texts(texts, app.name)
    APPS[app.name] = app
    FIXTURES[app.name] = module.fixture
    try:
        add_templates(templates)
    except UnknownTaskError as error:
        raise RejectedError(f"{path}: {error}", reason="malformed") from error
    return tuple(templates)


def _app_fault(app: object, templates: object, fixture: object) -> str:
    """What is wrong with what an app file defines; empty where nothing is."""
    if not isinstance(app, App):
        return f"APP has to be an App; it is {app!r:.60}"
    if not isinstance(templates, (tuple, list)):
        return f"TEMPLATES has to be a tuple of Template; it is {templates!r:.60}"
    if not templates:
        return "TEMPLATES is empty; add a Template"
    wrong = [one for one in templates if not isinstance(one, Template)]
    if wrong:
        return f"TEMPLATES has to be a tuple of Template; in it is {wrong[0]!r:.60}"
    if not callable(fixture):
        return f"fixture has to be a function of (draw); it is {fixture!r:.60}"
    if app.name in APPS:
        return f"there is an app called {app.name!r} already; rename it"
    return ""


def _loaded(path: Path) -> Any:  # Any: a user's module has any attributes
    spec = importlib.util.spec_from_file_location(f"user_file_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise RejectedError(f"{path} is no Python file: name a .py file", reason="no_such_file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except SystemExit as error:
        raise RejectedError(
            f"{path}{line_of(error, path)}: the file ends the program (SystemExit); take that out",
            reason="malformed",
        ) from error
    except Exception as error:  # the user's code may raise anything
        raise RejectedError(
            f"{path}{line_of(error, path)}: {in_words(error)}; repair it", reason="malformed"
        ) from error
    return module


def line_of(error: BaseException, path: Path) -> str:
    """`:12`, the last line of a file that an error came through; empty where it did not."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f":{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path]
    return f":{lines[-1]}" if lines else ""

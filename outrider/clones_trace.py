"""`outrider clones trace`: play actions on a clone and print exact hashes of every moment."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output
from outrider.own_apps import AppFile, require_look, take_in
from sync.vocabulary import Split

if TYPE_CHECKING:
    from apps_mock.traces import TraceStep


def trace_task(
    *,
    task: Annotated[str, typer.Option("--task", help="A template's name.")],
    seed: Annotated[int, typer.Option("--seed", min=0, help="Which of its tasks.")] = 0,
    look: Annotated[int, typer.Option("--look", min=0, help="Which look.")] = 0,
    split: Annotated[Split, typer.Option("--split", help="Whose entities.")] = Split.TEST,
    actions: Annotated[
        Path, typer.Option("--actions", help="JSON list or lines of actions; - for stdin.")
    ],
    app_file: AppFile = None,
    json: Json = False,
) -> None:
    """Play a file of actions on a task; print hashes of state, tree and screenshot at each step.

    An action is what the wire writes, {"kind": "tap", "x": 0.5, "y": 0.1}, or short: {"tap": [0.5,
    0.1]}, {"tap": "Save"}, {"long_press": "Save"}, {"scroll": "down"}, {"type": "text"}, {"key":
    "back"}, {"swipe": [x1, y1, x2, y2]}, {"open_app": "Clock"}, {"answer": "text"}, {"finish":
    "complete"}. Places are fractions of the screen, or pixels where larger than 1.
    """
    from apps_mock.errors import ActionsFileError
    from apps_mock.phone import MockPhone
    from apps_mock.tasks import SUITE_VERSION
    from apps_mock.traces import played, read_actions
    from device_runtime.errors import UnknownTaskError
    from sync.vocabulary import finish

    require_look(look)
    take_in(app_file)
    out = Output(json_lines=json)
    phone = MockPhone()
    steps: list[TraceStep] = []
    try:
        loaded = phone.load(task, seed, split, look)
        for step in played(phone, read_actions(_text_of(actions))):
            steps.append(step)
            out.event("step", **_row(step))
    except (UnknownTaskError, ActionsFileError) as error:
        raise MisuseError(str(error)) from error
    verdict = phone.current_verdict(steps[-1].action or finish())
    out.summary(
        task=task,
        seed=seed,
        look=look,
        split=split,
        goal=loaded.goal,
        suite_version=SUITE_VERSION,
        steps=sum(step.action is not None for step in steps),
        digest=_digest(steps),
        success=verdict.success,
        goal_reached=verdict.goal_reached,
    )


def _text_of(path: Path) -> str:
    """The file's text.

    Raises: MisuseError: it cannot be read.
    """
    try:
        return sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MisuseError(f"{path} cannot be read ({error}); name a file of actions") from error


def _row(step: TraceStep) -> dict[str, object]:
    row = asdict(step)
    if step.action is not None:
        row["action"] = {name: value for name, value in row["action"].items() if value is not None}
    return row


def _digest(steps: list[TraceStep]) -> str:
    """One hash over all of them."""
    whole = "".join(step.state + step.tree + step.screenshot for step in steps)
    return hashlib.sha256(whole.encode()).hexdigest()

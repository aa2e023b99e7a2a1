"""`outrider clones check`: the gates that every task template has to pass."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output
from outrider.own_apps import AppFile
from sync.vocabulary import Split

if TYPE_CHECKING:
    from apps_mock.gate_episodes import GateSettings
    from apps_mock.gate_rows import GateRow, Share
    from apps_mock.templates import Template


def check_clones(
    *,
    app: Annotated[str, typer.Option("--app", help="Suites with commas between them.")] = "",
    template: Annotated[str, typer.Option("--template", help="Only this template.")] = "",
    seed_base: Annotated[int, typer.Option("--seed-base", min=0, help="First seed.")] = 0,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Seeds per template.")] = 20,
    looks: Annotated[
        int, typer.Option("--looks", min=1, help="Looks per seed, one locale after the other.")
    ] = 4,
    split: Annotated[
        Split, typer.Option("--split", help="Whose entities and looks.")
    ] = Split.VALIDATION,
    mutator: Annotated[
        Path | None,
        typer.Option("--mutator", help="A .py file with mutations(before, end, wanted)."),
    ] = None,
    app_file: AppFile = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Processes; one per core if not set.")
    ] = None,
    json: Json = False,
) -> None:
    """Play every template with the oracle, weak policies and near misses, and say what fails."""
    files = _Files(app_file, mutator)
    chosen = _chosen(app, template, files)
    sample = _Sample(seed_base, seeds, looks, split)
    out = Output(json_lines=json)
    rows: list[GateRow] = []
    count = min(workers or len(os.sched_getaffinity(0)), len(chosen))
    for row in _shown(_checked(chosen, sample, files, count), len(chosen)):
        rows.append(row)
        out.line({"event": "template", **_row(row)})
    if not json:
        for line in lines_of(rows):
            out.note(line)
    summary = summary_of(rows)
    out.summary(**(summary if json else _counts(summary)))
    if not all(row.passed for row in rows):
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _Files:
    """A user's own files."""

    app: Path | None
    mutator: Path | None


@dataclass(frozen=True, slots=True)
class _Sample:
    """Which instances are played."""

    seed_base: int
    seeds: int
    looks: int
    split: Split


def _chosen(suites: str, name: str, files: _Files) -> list[str]:
    """Names of the templates to check.

    Raises: MisuseError: a suite, a template or a file that there is not.
    """
    from apps_mock.evaluation import templates_of
    from apps_mock.tasks import template_of
    from device_runtime.errors import UnknownTaskError
    from sync.errors import RejectedError

    try:
        own = _settle(files)
        if name:
            return [template_of(name).name]
        chosen: Sequence[Template] = own if own and not suites else templates_of(suites or "all")
    except (UnknownTaskError, RejectedError) as error:
        raise MisuseError(str(error)) from error
    return [one.name for one in chosen]


def _settle(files: _Files) -> Sequence[Template]:
    """Take a user's files in; returns the templates of the app that they bring."""
    from apps_mock.user_files import add_app, read_mutations

    if files.mutator is not None:
        read_mutations(files.mutator)
    return add_app(files.app) if files.app is not None else ()


def _checked(
    names: Sequence[str], sample: _Sample, files: _Files, workers: int
) -> Iterator[GateRow]:
    if workers == 1:
        yield from map(_Gate(sample, files), names)
        return
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_settle, initargs=(files,)
    ) as pool:
        yield from pool.map(_Gate(sample, files), names)


class _Gate:
    """Checks one template; goes to another process as it is."""

    def __init__(self, sample: _Sample, files: _Files) -> None:
        self._sample = sample
        self._files = files

    def __call__(self, name: str) -> GateRow:
        from apps_mock.gates import gate
        from apps_mock.tasks import template_of

        return gate(template_of(name), self._settings(), _COMPARED)

    def _settings(self) -> GateSettings:
        from apps_mock.gate_episodes import GateSettings, looks_of
        from apps_mock.user_files import read_mutations

        sample, mutator = self._sample, self._files.mutator
        return GateSettings(
            seeds=range(sample.seed_base, sample.seed_base + sample.seeds),
            looks=looks_of(sample.looks),
            split=sample.split,
            mutations=read_mutations(mutator) if mutator is not None else None,
        )


_COMPARED: set[tuple[object, ...]] = set()
"""Pages whose two faces this process has compared."""


def _shown(rows: Iterator[GateRow], count: int) -> Iterator[GateRow]:
    """The same rows, with a bar on stderr."""
    from rich.console import Console
    from rich.progress import track

    yield from track(rows, "templates", total=count, console=Console(stderr=True), transient=True)


def _row(row: GateRow) -> dict[str, object]:
    """Everything about one template."""
    from apps_mock.tasks import template_of

    info = template_of(row.template).info()
    return {
        **_figures(row),
        "app": info.app,
        "suite": info.suite,
        "tags": info.tags,
        "kinds": _kinds([row]),
        "survivors": row.survivors,
        "untranslated": [*row.screens.untranslated],
        "widget_faults": [*row.screens.widgets],
        "layout_faults": [*row.screens.layout],
        "face_faults": [*row.screens.faces],
        "xml_faults": [*row.screens.xml],
        "goal_faults": row.goals,
        "faults": row.faults,
    }


def _figures(row: GateRow) -> dict[str, object]:
    return {
        "template": row.template,
        "instances": row.oracle.played,
        "oracle": _rounded(row.oracle.rate),
        "oracle_steps": row.oracle_steps,
        "noop": _rounded(row.noop.rate),
        "random": _rounded(row.random.rate),
        "typing_only": _rounded(row.typing_only.rate),
        "mutants": row.mutants,
        "killed": row.killed,
        "passed": row.passed,
    }


def lines_of(rows: Sequence[GateRow]) -> Iterator[str]:
    """What a person reads: a line of figures per template, and below it one per fault."""
    for row in rows:
        yield row.template
        weak = max(row.noop.rate, row.random.rate, row.typing_only.rate)
        yield (
            f"  {'passed' if row.passed else 'FAILED'}  "
            f"oracle {row.oracle.solved}/{row.oracle.played}  steps {row.oracle_steps}  "
            f"weak {weak:.3g}  near misses {row.killed}/{row.mutants}"
        )
        for fault in (*row.faults, *row.survivors):
            yield f"  - {fault}"


def _counts(summary: dict[str, object]) -> dict[str, object]:
    """A summary with the number of what it lists: the list itself stands above."""
    return {
        name: len(value) if isinstance(value, list) else value
        for name, value in summary.items()
        if name != "kinds"
    }


def summary_of(rows: Sequence[GateRow]) -> dict[str, object]:
    """All templates together; weak policies over the templates that their limit holds for."""
    counted = [row for row in rows if row.counts]
    mutants, killed = sum(row.mutants for row in rows), sum(row.killed for row in rows)
    return {
        "templates": len(rows),
        "passed": sum(row.passed for row in rows),
        "failed": [row.template for row in rows if not row.passed],
        "instances": sum(row.oracle.played for row in rows),
        "oracle": _mean([row.oracle for row in rows]),
        "noop": _mean([row.noop for row in counted]),
        "random": _mean([row.random for row in counted]),
        "typing_only": _mean([row.typing_only for row in counted]),
        "mutants": mutants,
        "killed": killed,
        "kill_rate": _rounded(killed / mutants) if mutants else None,
        "kinds": _kinds(rows),
        "survivors": [f"{row.template} {name}" for row in rows for name in row.survivors],
        "untranslated": _each([row.screens.untranslated for row in rows]),
        "widget_faults": _each([row.screens.widgets for row in rows]),
        "layout_faults": _each([row.screens.layout for row in rows]),
        "face_faults": _each([row.screens.faces for row in rows]),
        "xml_faults": _each([row.screens.xml for row in rows]),
        "goal_faults": [fault for row in rows for fault in row.goals],
        "crashes": [row.crash for row in rows if row.crash],
    }


def _kinds(rows: Sequence[GateRow]) -> dict[str, dict[str, object]]:
    made: Counter[str] = Counter()
    killed: Counter[str] = Counter()
    for row in rows:
        for kind, (count, dead) in row.kinds.items():
            made[kind] += count
            killed[kind] += dead
    return {
        kind: {"mutants": made[kind], "killed": killed[kind], "rate": killed[kind] / made[kind]}
        for kind in sorted(made)
    }


def _each(found: Sequence[dict[str, None]]) -> list[str]:
    """Every fault once."""
    return [*dict.fromkeys(fault for faults in found for fault in faults)]


def _mean(shares: Sequence[Share]) -> float | None:
    played = sum(share.played for share in shares)
    return _rounded(sum(share.solved for share in shares) / played) if played else None


def _rounded(share: float) -> float:
    return round(share, 4)

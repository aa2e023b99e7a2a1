"""`outrider eval`: what a release, a base or anybody's policy can do, on seeds of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.acting import RELEASE, Actor, actor_of
from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output
from sync.vocabulary import Split

if TYPE_CHECKING:
    from apps_mock.evaluation import TemplateFigures
    from device_runtime.seats import Played
    from sync.vocabulary import Assignment

MOST_ENV_ERRORS = 0.02
"""Largest share of env_errors in a valid evaluation."""


def evaluate(
    *,
    suite: Annotated[
        str, typer.Option("--suite", help="Suites with commas between them, or all.")
    ] = "all",
    n: Annotated[int, typer.Option("--n", min=1, help="Episodes over all templates.")] = 310,
    split: Annotated[Split, typer.Option("--split", help="Whose entities and looks.")] = Split.TEST,
    seed_base: Annotated[
        int, typer.Option("--seed-base", min=0, help="First seed of each template.")
    ] = 0,
    bundle: Annotated[
        Path | None, typer.Option("--bundle", help="A release's file, DATA/releases/ID.zip.")
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option("--policy", help="lexical, random, oracle, noop, release, or a .py file."),
    ] = None,
    base: Annotated[
        Path | None, typer.Option("--base", help="Folder of a base; the shipped one if not set.")
    ] = None,
    temperature: Annotated[
        float, typer.Option("--temperature", min=0.0, help="0 takes the best action always.")
    ] = 0.0,
    seats: Annotated[int, typer.Option("--seats", min=1, help="Episodes side by side.")] = 32,
    json: Json = False,
) -> None:
    """Play a suite's tasks with a release, a base or any policy, and count what came of it.

    Whose signature a bundle has does not matter here: it is measured, not installed.
    """
    from apps_mock.evaluation import figures_of, instances, templates_of
    from device_runtime.errors import UnknownTaskError

    out = Output(json_lines=json)
    try:
        chosen = templates_of(suite)
    except UnknownTaskError as error:
        raise MisuseError(str(error)) from error
    actor = actor_of(policy, bundle=bundle, base=base)
    wanted = instances(
        chosen,
        count=n,
        seed_base=seed_base,
        split=split,
        actor=actor.name,
        temperature=temperature,
    )
    played = list(_shown(play_all(wanted, actor, seats=seats), len(wanted), out))
    figures = figures_of(chosen, played)
    out.rows("template", (_row(one) for one in figures), title=f"{split} split")
    out.summary(
        **summary_of(figures),
        policy=policy or RELEASE,
        release_id=actor.release_id if actor.name == RELEASE else None,
        digest=actor.digest,
        suite=suite,
        split=split,
        seed_base=seed_base,
        temperature=temperature,
    )


def play_all(wanted: Iterable[Assignment], actor: Actor, *, seats: int) -> Iterator[Played]:
    """Play assignments with an actor; episodes in the order they end."""
    from apps_mock.farm import play
    from sync.vocabulary import ReleaseId

    return play(
        wanted, actor.actors.policy_for, seats=seats, release_id=ReleaseId(actor.release_id)
    )


def summary_of(figures: Sequence[TemplateFigures]) -> dict[str, object]:
    """The figures of all templates together; every episode weighs the same."""
    from cloud_learner.figures import Figures, wilson95

    total = Figures(
        n=sum(one.n for one in figures),
        successes=sum(one.successes for one in figures),
        env_errors=sum(one.env_errors for one in figures),
    )
    progress = sum((one.progress or 0.0) * one.n for one in figures)
    return {
        "n": total.n,
        "success": _rounded(total.success),
        "ci95": _interval(wilson95(total.successes, total.n)),
        "progress": _rounded(progress / total.n if total.n else None),
        "env_errors": total.env_errors,
        "valid": total.n > 0 and total.env_error_share <= MOST_ENV_ERRORS,
    }


def _shown(played: Iterator[Played], count: int, out: Output) -> Iterator[Played]:
    """The same episodes, with a bar on stderr for a person."""
    if out.json_lines:
        yield from played
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(played, "episodes", total=count, console=Console(stderr=True), transient=True)


def _row(figures: TemplateFigures) -> dict[str, object]:
    return {
        name: _rounded(value) if isinstance(value, float) else value
        for name, value in asdict(figures).items()
        if name != "successes"
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _interval(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else [round(end, 4) for end in interval]

"""`outrider eval`: what a release, a base or anybody's policy can do, on seeds of one's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.acting import RELEASE, Actor, actor_of, require_paths
from outrider.errors import MisuseError
from outrider.options import Json, Quantisation, QuantisationChoice
from outrider.output import Output
from sync.vocabulary import Split

if TYPE_CHECKING:
    from apps_mock.catalogue import Locale
    from apps_mock.evaluation import Part, TemplateFigures
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
        typer.Option(
            "--policy", help="lexical, random, oracle, noop, release, hf_vlm:DIR, or a .py file."
        ),
    ] = None,
    base: Annotated[
        Path | None, typer.Option("--base", help="Folder of a base; the shipped one if not set.")
    ] = None,
    temperature: Annotated[
        float,
        typer.Option("--temperature", min=0.0, max=100.0, help="0 takes the best action always."),
    ] = 0.0,
    locale: Annotated[
        str, typer.Option("--locale", help="Language of goals and screens: en, de, ja or ar.")
    ] = "en",
    held_out: Annotated[
        bool,
        typer.Option(
            "--held-out",
            help="As many again with phrasings and looks that training never has, reported apart.",
        ),
    ] = False,
    seats: Annotated[int, typer.Option("--seats", min=1, help="Episodes side by side.")] = 32,
    quantisation: Quantisation = QuantisationChoice.FP32,
    json: Json = False,
) -> None:
    """Play a suite's tasks with a release, a base or any policy, and count what came of it.

    Whose signature a bundle has does not matter here: it is measured, not installed.
    """
    require_paths(policy, bundle=bundle, base=base)
    from apps_mock.evaluation import figures_of, instances, parts_of, templates_of
    from device_runtime.errors import UnknownTaskError

    out = Output(json_lines=json)
    try:
        chosen = templates_of(suite)
    except UnknownTaskError as error:
        raise MisuseError(str(error)) from error
    if held_out and split is not Split.TEST:
        raise MisuseError("only the test split has held-out phrasings and looks: --split test")
    actor = actor_of(policy, bundle=bundle, base=base, quantisation=quantisation.graphs)
    language = _locale(locale)

    def play(*, apart: bool) -> Iterator[list[Played]]:
        wanted = instances(
            chosen,
            count=n,
            seed_base=seed_base,
            split=split,
            actor=actor.name,
            temperature=temperature,
            locale=language,
            held_out=apart,
        )
        wanted.sort(key=lambda one: places[one.template])
        shown = _shown(play_all(wanted, actor, seats=seats), len(wanted), out)
        return _by_template(shown, [one.template for one in wanted])

    places = {template.name: place for place, template in enumerate(chosen)}
    played: list[Played] = []
    figures: list[TemplateFigures] = []

    def rows() -> Iterator[dict[str, object]]:
        for template, some in zip(chosen, play(apart=False), strict=True):
            played.extend(some)
            figures.extend(figures_of([template], some))
            yield _row(figures[-1])

    out.rows("template", rows(), title=f"{split} split")
    apart = [one for some in play(apart=True) for one in some] if held_out else []
    out.summary(
        **summary_of(figures),
        by=_by(parts_of(chosen, [*played, *apart])),
        policy=policy or RELEASE,
        release_id=actor.release_id if actor.name == RELEASE else None,
        digest=actor.digest,
        suite=suite,
        split=split,
        locale=locale,
        seed_base=seed_base,
        temperature=temperature,
        quantisation=quantisation.value,
    )


def _by_template(played: Iterator[Played], templates: Sequence[str]) -> Iterator[list[Played]]:
    """The episodes of one template after the other, each as soon as the last of them has ended.

    Args:
        templates: the template of each assignment, those of one template side by side.
    """
    missing = Counter(templates)
    ended: dict[str, list[Played]] = {name: [] for name in missing}
    waiting = list(missing)
    for one in played:
        name = one.episode.assignment.template
        ended[name].append(one)
        missing[name] -= 1
        while waiting and not missing[waiting[0]]:
            yield ended[waiting.pop(0)]


def _locale(name: str) -> Locale:
    """The locale of that name.

    Raises: MisuseError: there is none.
    """
    from apps_mock.catalogue import LOCALES

    for locale in LOCALES:
        if locale == name:
            return locale
    raise MisuseError(f"no locale is called {name!r}; there are {', '.join(LOCALES)}")


def play_all(wanted: Iterable[Assignment], actor: Actor, *, seats: int) -> Iterator[Played]:
    """Play assignments with an actor; episodes in the order they end."""
    from apps_mock.farm import play
    from sync.vocabulary import ReleaseId

    return play(
        wanted, actor.actors.policy_for, seats=seats, release_id=ReleaseId(actor.release_id)
    )


def summary_of(figures: Sequence[TemplateFigures]) -> dict[str, object]:
    """The figures of all templates together; every episode weighs the same.

    Templates that headline means leave out are counted apart, as `set_aside`.
    """
    from cloud_learner.figures import Figures, wilson95

    counted = [one for one in figures if one.counts]
    aside = [one for one in figures if not one.counts]
    total = Figures(
        n=sum(one.n for one in counted),
        successes=sum(one.successes for one in counted),
        env_errors=sum(one.env_errors for one in counted),
    )
    progress = sum((one.progress or 0.0) * one.n for one in counted)
    return {
        "n": total.n,
        "success": _rounded(total.success),
        "ci95": _interval(wilson95(total.successes, total.n)),
        "progress": _rounded(progress / total.n if total.n else None),
        "env_errors": total.env_errors,
        "valid": total.n > 0 and total.env_error_share <= MOST_ENV_ERRORS,
        "set_aside": {
            "templates": len(aside),
            "n": sum(one.n for one in aside),
            "successes": sum(one.successes for one in aside),
        },
    }


def _by(parts: Mapping[str, Mapping[str, Part]]) -> dict[str, dict[str, dict[str, object]]]:
    """What was seen in training, and what never was, apart."""
    from cloud_learner.figures import wilson95

    return {
        what: {
            name: {
                "n": part.n,
                "success": _rounded(part.successes / part.n if part.n else None),
                "ci95": _interval(wilson95(part.successes, part.n)),
            }
            for name, part in some.items()
        }
        for what, some in parts.items()
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

"""`outrider base train`: the network that a fleet starts with, from the oracle's demonstrations."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.base_demonstrations import SEEDS_PER_RUN, play_chunk, taught
from outrider.base_recipe import Recipe
from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output
from sync.vocabulary import Split

if TYPE_CHECKING:
    from cloud_learner.base_course import BaseCourse
    from cloud_learner.budget import Budget
    from exporters.families.layout_t5 import LayoutT5
    from outrider.base_progress import Bars

ALL = "all"
STATE_FILE = "training.pt"
"""What a killed training goes on from, in the base's folder until it is done."""


def train(
    *,
    target: Annotated[Path, typer.Option("--out", help="Folder for the base: weights and card.")],
    apps: Annotated[
        str, typer.Option("--apps", help="Suites that it is shown, with commas, or all.")
    ] = "settings,contacts,clock",
    size: Annotated[str, typer.Option("--size", help="S, M or L: 1, 3 or 10 M weights.")] = "S",
    demos: Annotated[
        int,
        typer.Option("--demos", min=1, max=SEEDS_PER_RUN, help="Oracle episodes of each template."),
    ] = 120,
    chunk: Annotated[int, typer.Option("--chunk", min=1, help="Of these, played at a time.")] = 20,
    window: Annotated[
        int, typer.Option("--window", min=1, help="Of these, kept at a time to learn from.")
    ] = 60,
    noise: Annotated[
        float, typer.Option("--noise", min=0.0, max=1.0, help="Share of random steps.")
    ] = 0.05,
    pseudo_words: Annotated[
        float, typer.Option("--pseudo-words", min=0.0, max=1.0, help="Share of made-up names.")
    ] = 0.7,
    updates: Annotated[int, typer.Option("--updates", min=1, help="Optimiser steps.")] = 600,
    batch: Annotated[int, typer.Option("--batch", min=1, help="Steps an update.")] = 64,
    learning_rate: Annotated[
        float, typer.Option("--learning-rate", min=1e-7, max=1.0, help="Adam's, at the start.")
    ] = 1e-3,
    dropout: Annotated[
        float, typer.Option("--dropout", min=0.0, max=0.9, help="While it is trained.")
    ] = 0.1,
    focus: Annotated[
        float,
        typer.Option(
            "--focus", min=0.0, help="Failing templates are drawn 1 + this times as often."
        ),
    ] = 1.0,
    check_every: Annotated[
        int, typer.Option("--check-every", min=0, help="Updates between validations; 0: none.")
    ] = 500,
    check_n: Annotated[
        int, typer.Option("--check-n", min=1, help="Validation tasks of each template.")
    ] = 4,
    early_stop: Annotated[
        bool, typer.Option("--early-stop/--no-early-stop", help="End when it gets no better.")
    ] = True,
    patience: Annotated[
        int, typer.Option("--patience", min=1, help="Validations that may bring nothing.")
    ] = 6,
    cpu_s: Annotated[
        float, typer.Option("--cpu-s", min=0.0, help="CPU seconds that it may take; 0: any.")
    ] = 0.0,
    minutes: Annotated[
        float, typer.Option("--minutes", min=0.0, help="Minutes that it may take; 0: any.")
    ] = 0.0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Same seed, same weights.")] = 0,
    test_n: Annotated[int, typer.Option("--test-n", min=1, help="Test tasks of each suite.")] = 240,
    json: Json = False,
) -> None:
    """Train a base network on oracle episodes of some apps, test it, and write it with its card.

    A command that was killed goes on from its last saved state when it is given again.
    """
    recipe = Recipe(
        apps=_suites(apps),
        size=_size(size),
        demos=demos,
        chunk=min(chunk, demos),
        window=window,
        noise=noise,
        pseudo_words=pseudo_words,
        updates=updates,
        batch=batch,
        learning_rate=learning_rate,
        dropout=dropout,
        focus=focus if check_every else 0.0,
        check_every=check_every,
        check_n=check_n,
        patience=patience if early_stop and check_every else 0,
        seed=seed,
    )
    from cloud_learner.budget import Budget

    _claim(target)
    budget = Budget(cpu_s=cpu_s, minutes=minutes)
    _make(recipe, target, budget, test_n=test_n, out=Output(json_lines=json))


def _suites(apps: str) -> tuple[str, ...]:
    """The suites that are named.

    Raises: MisuseError: one that there is not, or that teaches nothing of its own.
    """
    from apps_mock.tasks import suites

    known = suites()
    teaching = tuple(name for name in known if taught((name,)))
    names = tuple(dict.fromkeys(name.strip() for name in apps.split(",") if name.strip()))
    unknown = [name for name in names if name not in (*known, ALL)]
    if unknown or not names:
        raise MisuseError(
            f"no app is called {', '.join(unknown) or 'nothing'}; "
            f"there are {', '.join((*teaching, ALL))}"
        )
    if ALL in names:
        return teaching
    barren = [name for name in names if name not in teaching]
    if barren:
        raise MisuseError(
            f"other suites hold all tasks of {', '.join(barren)}: leave it out of --apps"
        )
    return names


def _claim(target: Path) -> None:
    """Make the folder for the base, unless there is something in it that would be lost.

    Raises: MisuseError: it holds a base, is a file, or cannot be written to.
    """
    from exporters.shipped import CARD_FILE

    if target.exists() and not target.is_dir():
        raise MisuseError(f"{target} is a file: name a folder with --out")
    if (target / CARD_FILE).exists() and not (target / STATE_FILE).exists():
        raise MisuseError(f"{target} holds a base: name another folder with --out, or remove it")
    try:
        target.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=target):
            pass
    except OSError as error:
        raise MisuseError(
            f"{target} cannot be written to ({error.strerror}): name another folder with --out"
        ) from error


def _size(name: str) -> str:
    from exporters.families.layout_t5 import SIZES

    if name.upper() not in SIZES:
        raise MisuseError(f"no size is called {name!r}; there are {', '.join(SIZES)}")
    return name.upper()


def _make(recipe: Recipe, target: Path, budget: Budget, *, test_n: int, out: Output) -> None:
    """Show, learn, write, test, and write the card again with what the test said."""
    import torch

    from exporters.base import save_base, save_graphs
    from outrider.base_figures import (
        TEST_SEED_BASE,
        macro_mean,
        template_rows,
        test,
        without_templates,
    )
    from outrider.base_progress import bars_of

    torch.set_num_threads(1)
    with bars_of(out) as bars:
        course = _course(recipe, budget, bars)
        network = _trained(course, recipe, target / STATE_FILE, out=out, bars=bars)
    card = _card(course, recipe)
    digest = save_base(network, target, card)
    graphs = save_graphs(target)
    found = test(graphs, recipe.apps, test_n, out)
    tested = {"split": Split.TEST.value, "seed_base": TEST_SEED_BASE, **found}
    save_base(network, target, {**card, "test": tested})
    (target / STATE_FILE).unlink()
    out.rows("template", template_rows(found), title="test split, by template")
    out.summary(
        out=target,
        digest=digest,
        cpu_s=card["cpu_s"],
        updates=course.training.updates,
        ended_early=course.ended_early,
        **asdict(course.counts),
        macro_mean=macro_mean(found),
        test={name: without_templates(suite) for name, suite in found.items()},
    )


def _course(recipe: Recipe, budget: Budget, bars: Bars) -> BaseCourse:
    from cloud_learner.base_course import BaseCourse, CourseSettings
    from cloud_learner.base_training import BaseTraining, BaseTrainingSettings
    from exporters.families.layout_t5 import SIZES
    from outrider.base_figures import check

    training = BaseTraining(
        BaseTrainingSettings(
            seed=recipe.seed,
            updates=recipe.updates,
            batch_steps=recipe.batch,
            learning_rate=recipe.learning_rate,
            dropout=recipe.dropout,
            window_chunks=recipe.window_chunks,
            config=SIZES[recipe.size],
        )
    )
    return BaseCourse(
        training,
        CourseSettings(
            chunks=recipe.chunks,
            check_every=recipe.check_every,
            patience=recipe.patience,
            focus=recipe.focus,
        ),
        play=partial(play_chunk, recipe, bars=bars),
        check=partial(check, apps=recipe.apps, n=recipe.check_n),
        budget=budget,
    )


def _trained(
    course: BaseCourse, recipe: Recipe, state_file: Path, *, out: Output, bars: Bars
) -> LayoutT5:
    """The network at the course's end.

    Raises: MisuseError: another training's state lies in the way.
    """
    from apps_mock.tasks import SUITE_VERSION
    from cloud_learner.errors import CheckpointError
    from outrider.base_progress import CourseView
    from sync.policy_io import POLICY_IO_VERSION

    identity = f"{recipe.command()} · suites {SUITE_VERSION} · {POLICY_IO_VERSION}"
    try:
        return course.run(CourseView(out, bars, course).watch(), state_file, identity)
    except CheckpointError as error:
        raise MisuseError(str(error)) from error


def _card(course: BaseCourse, recipe: Recipe) -> dict[str, object]:
    """What is known of a base before it is tested."""
    from apps_mock.tasks import SUITE_VERSION

    chosen = taught(recipe.apps)
    return {
        "data": {
            "suite_version": SUITE_VERSION,
            "split": Split.TRAIN.value,
            "templates": len(chosen),
            **asdict(course.counts),
        },
        "recipe": asdict(recipe),
        "updates": course.training.updates,
        "ended_early": course.ended_early,
        "cpu_s": round(course.budget.cpu_s, 1),
        "command": recipe.command(),
        "validation": [
            {"updates": one.updates, "success": round(one.success, 4)} for one in course.checks
        ],
    }

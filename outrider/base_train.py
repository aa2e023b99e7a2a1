"""`outrider base train`: the network that a fleet starts with, from the oracle's demonstrations."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.acting import Actor
from outrider.errors import MisuseError
from outrider.evaluate import play_all, summary_of
from outrider.options import Json
from outrider.output import Output
from sync.vocabulary import Purpose, Split

if TYPE_CHECKING:
    from rich.progress import Progress

    from apps_mock.templates import Template
    from cloud_learner.base_training import BaseTraining
    from exporters.families.layout_t5 import LayoutT5

SEEDS_PER_RUN = 1_000_000
"""Demonstrations of run S have the seeds S times this, and on."""
TEST_SEED_BASE = 4_000_000_000
SEATS = 32
EVENT_EVERY_UPDATES = 50


@dataclass(frozen=True, slots=True)
class Recipe:
    """What decides the weights, and so belongs on the card.

    Attributes:
        apps: the suites whose templates are demonstrated: an app's own, or another.
        demos: oracle episodes of each template.
        noise: probability that a demonstrated step is random; what the oracle would have done
            instead is what is learnt.
    """

    apps: tuple[str, ...]
    demos: int
    noise: float
    updates: int
    batch: int
    learning_rate: float
    dropout: float
    seed: int

    def command(self) -> str:
        """The command that makes the same weights again."""
        return (
            f"outrider base train --out DIR --apps {','.join(self.apps)} --demos {self.demos}"
            f" --noise {self.noise:g} --updates {self.updates} --batch {self.batch}"
            f" --learning-rate {self.learning_rate:g} --dropout {self.dropout:g}"
            f" --seed {self.seed}"
        )


def train(
    *,
    target: Annotated[Path, typer.Option("--out", help="Folder for the base: weights and card.")],
    apps: Annotated[
        str, typer.Option("--apps", help="Suites that it is shown, with commas between them.")
    ] = "settings,contacts,clock",
    demos: Annotated[
        int, typer.Option("--demos", min=1, help="Oracle episodes of each template.")
    ] = 120,
    updates: Annotated[int, typer.Option("--updates", min=1, help="Optimiser steps.")] = 600,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Same seed, same weights.")] = 0,
    noise: Annotated[
        float, typer.Option("--noise", min=0.0, max=1.0, help="Share of random steps.")
    ] = 0.05,
    batch: Annotated[int, typer.Option("--batch", min=1, help="Steps an update.")] = 64,
    learning_rate: Annotated[
        float, typer.Option("--learning-rate", min=1e-7, max=1.0, help="Adam's.")
    ] = 1e-3,
    dropout: Annotated[
        float, typer.Option("--dropout", min=0.0, max=0.9, help="While it is trained.")
    ] = 0.1,
    test_n: Annotated[
        int, typer.Option("--test-n", min=1, help="Test episodes for each app.")
    ] = 240,
    json: Json = False,
) -> None:
    """Train a base network on oracle episodes of some apps, test it, and write it with its card."""
    from apps_mock.tasks import suites

    names = tuple(dict.fromkeys(name.strip() for name in apps.split(",") if name.strip()))
    unknown = [name for name in names if name not in suites()]
    if unknown or not names:
        raise MisuseError(
            f"no app is called {', '.join(unknown) or 'nothing'}; there are {', '.join(suites())}"
        )
    barren = [name for name in names if not _taught((name,))]
    if barren:
        raise MisuseError(
            f"other suites hold all tasks of {', '.join(barren)}: leave it out of --apps"
        )
    if target.exists() and not target.is_dir():
        raise MisuseError(f"{target} is a file: name a folder with --out")
    recipe = Recipe(
        apps=names,
        demos=demos,
        noise=noise,
        updates=updates,
        batch=batch,
        learning_rate=learning_rate,
        dropout=dropout,
        seed=seed,
    )
    _make(recipe, target, test_n=test_n, out=Output(json_lines=json))


def _make(recipe: Recipe, target: Path, *, test_n: int, out: Output) -> None:
    """Show, learn, write, test, and write the card again with what the test said."""
    import torch

    from apps_mock.tasks import SUITE_VERSION
    from cloud_learner.base_training import BaseTraining, BaseTrainingSettings
    from exporters.base import save_base, save_graphs

    torch.set_num_threads(1)
    begun_s = time.process_time()
    training = BaseTraining(
        BaseTrainingSettings(
            seed=recipe.seed,
            updates=recipe.updates,
            batch_steps=recipe.batch,
            learning_rate=recipe.learning_rate,
            dropout=recipe.dropout,
        )
    )
    chosen = _taught(recipe.apps)
    with _progress(out) as progress:
        shown = _show(recipe, chosen, training, progress)
        out.event("demonstrations", **shown, cpu_s=_cpu_s(begun_s))
        network = _learn(training, progress, out)
    trained_cpu_s = _cpu_s(begun_s)
    card = {
        "data": {"suite_version": SUITE_VERSION, "split": Split.TRAIN.value, **shown},
        "recipe": asdict(recipe),
        "cpu_s": trained_cpu_s,
        "command": recipe.command(),
    }
    digest = save_base(network, target, card)
    graphs = save_graphs(target)
    test = _test(graphs, recipe.apps, test_n, out)
    tested = {"split": Split.TEST.value, "seed_base": TEST_SEED_BASE, **test}
    save_base(network, target, {**card, "test": tested})
    out.summary(out=target, digest=digest, cpu_s=trained_cpu_s, **shown, test=test)


def _taught(apps: Sequence[str]) -> tuple[Template, ...]:
    """The templates of suites that count and that no other suite teaches."""
    from apps_mock.tasks import templates

    return tuple(one for one in templates() if one.counts and one.own_suite in apps)


def _show(
    recipe: Recipe, chosen: Sequence[Template], training: BaseTraining, progress: Progress
) -> dict[str, int]:
    """Play the demonstrations into `training`; what they came to."""
    from apps_mock.actors import Actors
    from apps_mock.evaluation import instances

    wanted = [
        replace(one, purpose=Purpose.DEMONSTRATE)
        for one in instances(
            chosen,
            count=recipe.demos * len(chosen),
            seed_base=recipe.seed * SEEDS_PER_RUN,
            split=Split.TRAIN,
            actor="oracle",
        )
    ]
    apps = {template.name: template.app for template in chosen}
    actor = Actor("oracle", Actors(demonstration_noise=recipe.noise))
    played = progress.track(
        play_all(wanted, actor, seats=SEATS), total=len(wanted), description="demonstrations"
    )
    kept = sorted(
        (one.episode for one in played if one.verdict is not None and one.verdict.success),
        key=lambda episode: episode.assignment.id,
    )
    for episode in kept:
        training.add(episode, app=apps[episode.assignment.template])
    return {"played": len(wanted), "kept": len(kept), "steps": training.steps}


def _learn(training: BaseTraining, progress: Progress, out: Output) -> LayoutT5:
    updates = training.settings.updates
    task = progress.add_task("updates", total=updates)

    def show(number: int, loss: float) -> None:
        progress.update(task, completed=number, description=f"loss {loss:.3f}")
        if out.json_lines and (number % EVENT_EVERY_UPDATES == 0 or number == updates):
            out.event("update", updates=number, loss=round(loss, 5))

    return training.train(show)


def _test(graphs: Path, apps: Iterable[str], n: int, out: Output) -> dict[str, object]:
    """Greedy success on each app's test split; held-out wordings and the lexical policy beside."""
    from apps_mock.actors import Actors
    from apps_mock.evaluation import figures_of, instances
    from device_runtime.policy import OnnxPolicy

    policy = OnnxPolicy(graphs)
    found: dict[str, object] = {}
    for app in apps:
        chosen = _taught((app,))
        rows = {}
        base, lexical = Actor("release", Actors(policy)), Actor("lexical", Actors())
        for name, actor, held_out in (
            ("base", base, False),
            ("held_out", base, True),
            ("lexical", lexical, False),
        ):
            wanted = instances(
                chosen,
                count=n,
                seed_base=TEST_SEED_BASE,
                split=Split.TEST,
                actor=actor.name,
                held_out=held_out,
            )
            played = list(play_all(wanted, actor, seats=SEATS))
            rows[name] = summary_of(figures_of(chosen, played))
        found[app] = {**rows["base"], "held_out": rows["held_out"], "lexical": rows["lexical"]}
        out.event(
            "test",
            app=app,
            **rows["base"],
            held_out=rows["held_out"]["success"],
            lexical=rows["lexical"]["success"],
        )
    return found


@contextmanager
def _progress(out: Output) -> Iterator[Progress]:
    """Bars on stderr for a person; nothing for a program."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=out.json_lines) as progress:
        yield progress


def _cpu_s(begun_s: float) -> float:
    return round(time.process_time() - begun_s, 1)

"""`outrider bench learning`: learners from one weak start, at equal steps, seed by seed.

Every measured point is a row of the ledger. A row that is there for the same commit and
configuration is not measured again, and a run that was killed goes on from its folder.
"""

from __future__ import annotations

import hashlib
import json as jsonlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from outrider import ledger
from outrider.errors import MisuseError
from outrider.options import Json
from outrider.output import Output

if TYPE_CHECKING:
    from cloud_learner.learner_settings import LearnerSettings
    from outrider.learning_arena import Arena, ArenaSettings, Evaluation
    from outrider.learning_scene import Start, StartRecipe

BENCHMARK = "learning_curve"
BASELINES = ("random", "lexical", "oracle")
PROCESS, BROKER = "process", "broker"

Figure = dict[str, object]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be measured.

    Attributes:
        commit: of the program, in every row's key.
        checkpoint_every: training steps between two validations.
        validation_n, test_n: greedy instances of a validation, and of a test.
    """

    env_steps: int
    checkpoint_every: int
    validation_n: int
    test_n: int
    staleness: int
    curriculum: bool
    commit: str
    folder: Path
    ledger: Path

    @property
    def points(self) -> tuple[int, ...]:
        """Training steps at which is measured."""
        inner = range(0, self.env_steps, self.checkpoint_every)
        return (*inner, self.env_steps)


def bench_learning(
    *,
    algorithms: Annotated[
        str, typer.Option("--algorithms", help="What learns: names or files, commas between.")
    ] = "a_ride,digirl,grpo,filtered_bc",
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Seeds of each: 1 to N.")] = 3,
    env_steps: Annotated[
        int, typer.Option("--env-steps", min=100, help="Training steps of each run.")
    ] = 16_000,
    through: Annotated[
        Literal["process", "broker"],
        typer.Option("--through", help="In this process, or a whole fleet over a broker."),
    ] = "process",
    checkpoint_every: Annotated[
        int, typer.Option("--checkpoint-every", min=100, help="Steps between two validations.")
    ] = 4_000,
    validation_n: Annotated[
        int, typer.Option("--validation-n", min=1, help="Instances of a validation.")
    ] = 140,
    test_n: Annotated[
        int, typer.Option("--test-n", min=1, help="Instances of a test, before and after.")
    ] = 480,
    staleness: Annotated[
        int, typer.Option("--staleness", min=0, help="Rounds that what acts is behind.")
    ] = 2,
    curriculum: Annotated[
        bool, typer.Option("--curriculum/--uniform", help="How templates are drawn.")
    ] = True,
    minutes: Annotated[
        float, typer.Option("--minutes", min=0.1, help="Time of a run over the broker.")
    ] = 10.0,
    folder: Annotated[
        Path, typer.Option("--folder", help="Weak starts, and runs that are not finished.")
    ] = Path("data") / "bench-learning",
    into: Annotated[
        Path, typer.Option("--ledger", help="File that the rows are added to.")
    ] = ledger.LEDGER,
    commit: Annotated[
        str | None, typer.Option("--commit", help="Go on with runs of this commit; else of HEAD.")
    ] = None,
    json: Json = False,
) -> None:
    """Compare learners at equal steps, from a weak start; rows go into the ledger."""
    from cloud_learner.learner_settings import settings_of

    names = [name.strip() for name in algorithms.split(",") if name.strip()]
    try:
        learners = [settings_of(name) for name in names]
    except ValueError as error:
        raise MisuseError(str(error)) from error
    if not learners:
        raise MisuseError("no algorithm is named: --algorithms a_ride,filtered_bc")
    wanted = Wanted(
        env_steps=env_steps,
        checkpoint_every=checkpoint_every,
        validation_n=validation_n,
        test_n=test_n,
        staleness=staleness,
        curriculum=curriculum,
        commit=commit or ledger.commit(),
        folder=folder,
        ledger=into,
    )
    out = Output(json_lines=json)
    rows: list[ledger.Row] = []
    for seed in range(1, seeds + 1):
        for learner in learners:
            run = Run(wanted, learner, seed, out)
            found = run.over_broker(minutes) if through == BROKER else run.in_process()
            for row in found:
                out.event("checkpoint", **shown(row))
                rows.append(row)
    out.summary(
        commit=wanted.commit,
        env_steps=env_steps,
        through=through,
        algorithms=means(rows, env_steps),
    )


class Run:
    """One learner with one seed.

    Args:
        out: told about what takes long.
    """

    def __init__(self, wanted: Wanted, learner: LearnerSettings, seed: int, out: Output) -> None:
        import torch

        from outrider.learning_scene import StartRecipe

        torch.set_num_threads(1)
        self._wanted = wanted
        self._learner = learner
        self._seed = seed
        self._out = out
        self._recipe: StartRecipe = StartRecipe(seed=seed)

    def in_process(self) -> Iterator[ledger.Row]:
        """The rows of every point, measured where they are not in the ledger yet."""
        known = self._known(PROCESS)
        missing = [point for point in self._wanted.points if point not in known]
        arena = self._arena() if missing else None
        for point in self._wanted.points:
            if point in known:
                yield known[point]
            elif arena is not None:
                yield self._measured(arena, point)

    def over_broker(self, minutes: float) -> Iterator[ledger.Row]:
        """The row of a whole fleet's campaign, played where it is not in the ledger yet."""
        from outrider.learning_fleet import Campaign, campaign_row

        known = self._known(BROKER)
        point = self._wanted.env_steps
        if point in known:
            yield known[point]
            return
        start = self._start()
        campaign = Campaign(
            base=start.base,
            learner=self._learner.name,
            seed=self._seed,
            env_steps=point,
            minutes=minutes,
            validation_n=self._wanted.validation_n,
            test_n=self._wanted.test_n,
            curriculum=self._wanted.curriculum,
            folder=self._folder(BROKER),
        )
        row = self._row(BROKER, point, campaign_row(campaign))
        ledger.keep(row, self._wanted.ledger)
        yield row

    def _measured(self, arena: Arena, point: int) -> ledger.Row:
        """Learn on to a point and measure there; kept before anything else happens."""
        while arena.record.env_steps < point:
            figures = arena.turn()
            self._out.note(_progress(self._learner.name, self._seed, arena, figures))
        arena.save()
        row = self._row(PROCESS, point, self._figures(arena, point))
        ledger.keep(row, self._wanted.ledger)
        return row

    def _figures(self, arena: Arena, point: int) -> ledger.Row:
        from sync.vocabulary import Split

        record = arena.record
        shown_of = {name: tally.shown for name, tally in record.templates.items()}
        figures: ledger.Row = {
            "env_steps": record.env_steps,
            "episodes": record.episodes,
            "validation": _parts(arena.evaluate(Split.VALIDATION, self._wanted.validation_n)),
            "learner_cpu_s": round(arena.learner_cpu_s, 1),
            "actor_cpu_s": round(record.actor_cpu_s, 1),
            "wall_s": round(record.wall_s, 1),
            "demonstrations": {"most": max(shown_of.values()), "all": sum(shown_of.values())},
        }
        if point in {0, self._wanted.env_steps}:
            found = arena.evaluate(Split.TEST, self._wanted.test_n)
            figures["test"] = _parts(found)
            figures["test_by_template"] = {
                name: [found.successes[name], found.n[name]] for name in sorted(found.n)
            }
            figures["beside"] = self._baselines()
        return figures

    def _baselines(self) -> dict[str, object]:
        """What hand-written actors do on the same test instances; measured once."""
        from apps_mock.actors import Actors
        from apps_mock.farm import play
        from outrider.learning_arena import evaluated
        from outrider.learning_scene import SEATS, instances_of
        from sync.durable_file import write_durably
        from sync.vocabulary import Split

        key = _digest([self._recipe.scene(), self._wanted.test_n])
        file = self._wanted.folder / f"baselines-{key}.json"
        if not file.exists():
            found = {
                name: _parts(
                    evaluated(
                        list(
                            play(
                                instances_of(Split.TEST, self._wanted.test_n, actor=name),
                                Actors().policy_for,
                                seats=SEATS,
                            )
                        )
                    )
                )
                for name in BASELINES
            }
            write_durably(file, jsonlib.dumps(found).encode())
        read: dict[str, object] = jsonlib.loads(file.read_text("utf-8"))
        return read

    def _arena(self) -> Arena:
        from outrider.learning_arena import Arena

        return Arena(
            self._start(),
            learner=self._learner,
            settings=self._arena_settings(),
            seed=self._seed,
            folder=self._folder(PROCESS),
        )

    def _start(self) -> Start:
        from outrider.learning_scene import start_of

        def tell(update: int, loss: float) -> None:
            if update % 50 == 0:
                self._out.note(f"weak start {self._seed}: update {update}, loss {loss:.3f}")

        return start_of(self._recipe, self._wanted.folder / "starts", tell)

    def _arena_settings(self) -> ArenaSettings:
        from cloud_learner.curriculum import CurriculumSettings
        from outrider.learning_arena import ArenaSettings

        return ArenaSettings(
            env_steps=self._wanted.env_steps,
            staleness=self._wanted.staleness,
            curriculum=CurriculumSettings(enabled=self._wanted.curriculum),
        )

    # rows

    def _row(self, through: str, point: int, figures: Mapping[str, object]) -> ledger.Row:
        return {
            "benchmark": BENCHMARK,
            "key": {**self._key(through), "env_steps": point},
            "machine": ledger.MACHINE,
            **figures,
        }

    def _known(self, through: str) -> dict[int, ledger.Row]:
        """Rows of this run in the ledger, by their point."""
        key = self._key(through)
        return {
            row["key"]["env_steps"]: row
            for row in ledger.rows(self._wanted.ledger)
            if row.get("benchmark") == BENCHMARK and {**key, "env_steps": None} == _open(row["key"])
        }

    def _key(self, through: str) -> ledger.Row:
        return {
            "commit": self._wanted.commit,
            "config": self._config(),
            "through": through,
            "algorithm": self._learner.name,
            "seed": self._seed,
        }

    def _config(self) -> str:
        """What a run depends on beside commit, learner's name and seed, in eight letters.

        How long it is does not count: a longer run begins as a shorter one.
        """
        arena = {**asdict(self._arena_settings()), "env_steps": None}
        sizes = [self._wanted.validation_n, self._wanted.test_n]
        return _digest([self._recipe.scene(), arena, asdict(self._learner), sizes])

    def _folder(self, through: str) -> Path:
        name = f"{self._learner.name}-s{self._seed}-{self._config()}-{self._wanted.commit}"
        return self._wanted.folder / through / name


def _open(key: Mapping[str, object]) -> Mapping[str, object]:
    return {**key, "env_steps": None}


def _digest(content: object) -> str:
    text = jsonlib.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _parts(found: Evaluation) -> dict[str, Figure]:
    """Success over all templates, and over the long ones alone."""
    from outrider.learning_scene import LONG

    return {"all": _figure(found, found.n), "long": _figure(found, LONG)}


def _figure(found: Evaluation, names: Sequence[str] | Mapping[str, int]) -> Figure:
    from cloud_learner.figures import wilson95

    n = sum(found.n.get(name, 0) for name in names)
    successes = sum(found.successes.get(name, 0) for name in names)
    interval = wilson95(successes, n)
    return {
        "n": n,
        "success": round(successes / n, 4) if n else None,
        "ci95": None if interval is None else [round(bound, 4) for bound in interval],
    }


def _progress(name: str, seed: int, arena: Arena, figures: Mapping[str, float]) -> str:
    return (
        f"{name} seed {seed}: {arena.record.env_steps} steps, training success "
        f"{figures['training_success']:.0%}, learner {arena.learner_cpu_s:.0f} CPU s, "
        f"actor {arena.record.actor_cpu_s:.0f} CPU s"
    )


def shown(row: ledger.Row) -> ledger.Row:
    """A row as one line: figures first, success over all templates and over the long ones."""
    test = row.get("test")
    return {
        "algorithm": row["key"]["algorithm"],
        "seed": row["key"]["seed"],
        "through": row["key"]["through"],
        "env_steps": row["env_steps"],
        "validation": row.get("validation", {}).get("all"),
        "validation_long": row.get("validation", {}).get("long"),
        "test": None if test is None else test["all"],
        "test_long": None if test is None else test["long"],
        **{
            name: row[name]
            for name in (
                "test_before",
                "test_after",
                "learner_cpu_s",
                "actor_cpu_s",
                "wall_s",
                "demonstrations",
                "beside",
            )
            if name in row
        },
    }


def means(rows: Sequence[ledger.Row], env_steps: int) -> dict[str, object]:
    """Per algorithm: means over seeds of validation at each point, and of test before and after."""
    found: dict[str, object] = {}
    for name in dict.fromkeys(row["key"]["algorithm"] for row in rows):
        own = [row for row in rows if row["key"]["algorithm"] == name]
        last = [row for row in own if row["key"]["env_steps"] == env_steps]
        first = [row for row in own if row["key"]["env_steps"] == 0] or last
        found[name] = {
            "seeds": sorted({row["key"]["seed"] for row in own}),
            "validation": _curve(own),
            "test_before": _mean(first, lambda row: _test(row, "before", "all")),
            "test_after": _mean(last, lambda row: _test(row, "after", "all")),
            "long_before": _mean(first, lambda row: _test(row, "before", "long")),
            "long_after": _mean(last, lambda row: _test(row, "after", "long")),
            "learner_cpu_s": _mean(last, lambda row: row["learner_cpu_s"]),
        }
    return found


def _curve(rows: Sequence[ledger.Row]) -> list[list[object]]:
    points = sorted({row["key"]["env_steps"] for row in rows if "validation" in row})
    return [
        [
            point,
            _mean(
                [row for row in rows if row["key"]["env_steps"] == point],
                lambda row: row["validation"]["all"]["success"],
            ),
        ]
        for point in points
    ]


def _test(row: ledger.Row, when: str, part: str) -> float | None:
    """Success on the test split: a fleet's row has both moments, one of a process its own."""
    test = row.get(f"test_{when}") or row.get("test")
    found: float | None = None if test is None else test[part]["success"]
    return found


def _mean(rows: Sequence[ledger.Row], read: Callable[[ledger.Row], float | None]) -> float | None:
    values = [value for row in rows if (value := read(row)) is not None]
    return round(fmean(values), 4) if values else None

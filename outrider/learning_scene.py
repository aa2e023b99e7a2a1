"""The scene in which learners are compared: many short tasks that a weak start half knows.

A small network is shown each short template a very few times, and the long ones never. It succeeds
in about a third of all tasks, and in none of the long ones. Everything that learners are then
compared by starts from it: same network, same demonstrations, same instances of validation and
test.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from outrider.learning_record import Outcome, read_outcomes, write_outcomes
from sync.durable_file import write_durably
from sync.vocabulary import Purpose, Split

if TYPE_CHECKING:
    from apps_mock.templates import Template
    from cloud_learner.batches import Syllabus
    from device_runtime.seats import Played
    from sync.vocabulary import Assignment, Episode

SHORT = tuple(
    """
    settings_switch settings_choice settings_rename settings_wifi_forget
    contacts_search contacts_favourite contacts_edit_phone
    clock_toggle clock_delete clock_label
    tickets_alert tickets_open_order tickets_receipt tickets_cancel
    """.split()
)
"""Three to seven steps; the start is shown them."""

LONG = ("contacts_add", "clock_add_labelled")
"""Eight steps; the start has never seen them, and neither succeeds by chance."""

EVALUATION_SEED_BASE = 4_000_000_000
SEEDS_PER_RUN = 1_000_000
SEATS = 32
_CARD = "start.json"
_EPISODES = "demonstrations.bin"


@dataclass(frozen=True, slots=True)
class StartRecipe:
    """What decides the weak start.

    Attributes:
        seed: of the demonstrations and of the network.
        demonstrations: oracle episodes of each short template.
        noise: probability that a demonstrated step is random; the oracle's own is learnt.
        updates, batch, learning_rate: of the network's training.
        size: of the network, by the name of `exporters.families.layout_t5.SIZES`.
    """

    seed: int
    demonstrations: int = 2
    noise: float = 0.05
    updates: int = 120
    batch: int = 64
    learning_rate: float = 2e-3
    size: str = "S"

    def scene(self) -> list[object]:
        """What all seeds of the scene have in common: recipe, templates, suite and encoding."""
        from apps_mock.tasks import SUITE_VERSION
        from sync.policy_io import POLICY_IO_VERSION

        common = {**asdict(self), "seed": None}
        return [common, SHORT, LONG, SUITE_VERSION, POLICY_IO_VERSION]

    def digest(self) -> str:
        """What the start depends on, in sixteen letters."""
        content = [self.scene(), self.seed]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Start:
    """A weak start on disk.

    Attributes:
        base: folder of the network, its graphs inside.
        demonstrations: what it was shown, in the order in which it was shown.
        cpu_s: CPU seconds that it cost.
    """

    base: Path
    graphs: Path
    demonstrations: tuple[Episode, ...]
    cpu_s: float


def chosen_templates() -> tuple[Template, ...]:
    """The templates of the scene, the long ones last."""
    from apps_mock.tasks import template_of

    return tuple(template_of(name) for name in (*SHORT, *LONG))


def syllabus_of(seed: int) -> Syllabus:
    """The scene as a campaign has it: everything is new."""
    from cloud_learner.batches import Syllabus

    infos = sorted((template.info() for template in chosen_templates()), key=lambda one: one.name)
    return Syllabus(seed=seed, new=tuple(infos), old=())


def instances_of(split: Split, count: int, *, actor: str) -> list[Assignment]:
    """`count` greedy instances of a split, the same ones whoever plays them."""
    from apps_mock.evaluation import instances

    return instances(
        chosen_templates(),
        count=count,
        seed_base=EVALUATION_SEED_BASE,
        split=split,
        actor=actor,
    )


def start_of(recipe: StartRecipe, cache: Path, on_update: Callable[[int, float], None]) -> Start:
    """The weak start of a recipe, made once and then read from `cache`."""
    folder = cache / recipe.digest()
    if not (folder / _CARD).is_file():
        _make(recipe, folder, on_update)
    card = json.loads((folder / _CARD).read_text(encoding="utf-8"))
    return Start(
        base=folder,
        graphs=folder / card["graphs"],
        demonstrations=tuple(one.episode for one in read_outcomes(folder / _EPISODES)),
        cpu_s=card["cpu_s"],
    )


def _make(recipe: StartRecipe, folder: Path, on_update: Callable[[int, float], None]) -> None:
    """Play, learn and write; the card comes last, so what has one is whole."""
    import time

    from cloud_learner.base_training import BaseTraining, BaseTrainingSettings
    from exporters.base import save_base, save_graphs
    from exporters.families.layout_t5 import SIZES

    begun_s = time.process_time()
    training = BaseTraining(
        BaseTrainingSettings(
            seed=recipe.seed,
            updates=recipe.updates,
            batch_steps=recipe.batch,
            learning_rate=recipe.learning_rate,
            config=SIZES[recipe.size],
        )
    )
    episodes = sorted(
        (one.episode for one in _shown(recipe) if one.verdict is not None and one.verdict.success),
        key=lambda episode: episode.assignment.id,
    )
    apps = {template.name: template.app for template in chosen_templates()}
    for episode in episodes:
        training.add(episode, app=apps[episode.assignment.template])
    save_base(training.train(on_update), folder, {"recipe": asdict(recipe)})
    graphs = save_graphs(folder)
    write_outcomes(folder / _EPISODES, [Outcome(episode, success=True) for episode in episodes])
    card = {
        "recipe": asdict(recipe),
        "graphs": graphs.name,
        "cpu_s": round(time.process_time() - begun_s, 1),
    }
    write_durably(folder / _CARD, json.dumps(card).encode())


def _shown(recipe: StartRecipe) -> Iterable[Played]:
    from apps_mock.actors import Actors
    from apps_mock.evaluation import instances
    from apps_mock.farm import play
    from apps_mock.tasks import template_of

    wanted = instances(
        [template_of(name) for name in SHORT],
        count=recipe.demonstrations * len(SHORT),
        seed_base=recipe.seed * SEEDS_PER_RUN,
        split=Split.TRAIN,
        actor="oracle",
    )
    actors = Actors(demonstration_noise=recipe.noise)
    return play(
        [replace(one, purpose=Purpose.DEMONSTRATE) for one in wanted],
        actors.policy_for,
        seats=SEATS,
    )

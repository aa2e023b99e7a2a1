"""How the learner works: what it learns with, and the rhythm of its rounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cloud_learner.algorithm_file import read_algorithm
from cloud_learner.algorithm_settings import ALGORITHMS, AnySettings, GroupSettings
from cloud_learner.compute import Device
from cloud_learner.drill import DrillSettings
from cloud_learner.errors import SettingsError
from cloud_learner.imitation import ImitationSettings

CONTROL = "bc"
"""The control arm: it goes on imitating the demonstrations, and learns from nothing else."""

LEARNERS = (*ALGORITHMS, CONTROL)
"""What a campaign can learn with, by name."""


@dataclass(frozen=True, slots=True)
class LearnerSettings:
    """How the learner works.

    Attributes:
        name: one of `LEARNERS`, or that of the file that changes one: as rows and checkpoints call
            it.
        algorithm: its settings; None for the control arm.
        rank: of the adapter.
        episodes_per_round, updates_per_round: rhythm of learning.
        most_episodes_per_round: what a round takes at most where time is short (see `rhythm`).
        rounds_per_release: rounds between two adapters.
        control_cpu_s: CPU seconds that the control arm spends over the whole campaign: what
            A-RIDE needs for as many environment steps.
        copies: how often a demonstration is told again with other names (see `renaming`).
        weighs_demonstrations: hold on more to demonstrations of templates that fail lately; False
            holds on to all alike.
        drill: of what stays hopeless; the control arm has none.
        parity_steps: logged observations on which every adapter is checked before it is delivered.
        device: where it computes: cpu, cuda, or auto for a GPU where there is one.
    """

    name: str = "a_ride"
    algorithm: AnySettings | None = field(default_factory=lambda: ALGORITHMS["a_ride"])
    rank: int = 16
    episodes_per_round: int = 32
    updates_per_round: int = 4
    most_episodes_per_round: int = 64
    rounds_per_release: int = 6
    control_cpu_s: float = 300.0
    copies: int = 3
    weighs_demonstrations: bool = True
    parity_steps: int = 32
    device: Device = "auto"
    drill: DrillSettings = field(default_factory=DrillSettings)
    warm_up: ImitationSettings = field(default_factory=ImitationSettings)
    control: ImitationSettings = field(
        default_factory=lambda: ImitationSettings(learning_rate=3e-4, updates=4000)
    )


def settings_of(name: str) -> LearnerSettings:
    """The settings of a learner by its name ("-" may stand for "_"), or from a file.

    Args:
        name: one of `LEARNERS`, or the path of a TOML or JSON file as `algorithm_file` reads it.

    Raises: ValueError: there is no such learner, or the file cannot be used; the text says why.
    """
    if name.endswith((".toml", ".json")):
        return _settings_in(Path(name))
    known = name.replace("-", "_")
    if known not in LEARNERS:
        raise ValueError(f"no learner is called {name!r}; there are {', '.join(LEARNERS)}")
    return LearnerSettings(name=known, algorithm=ALGORITHMS.get(known))


def _settings_in(path: Path) -> LearnerSettings:
    if path.stem in LEARNERS:
        raise ValueError(f"{path} is called like a learner: rename it, so that rows can be told")
    try:
        chosen = read_algorithm(path)
    except SettingsError as error:
        raise ValueError(str(error)) from error
    return LearnerSettings(name=path.stem, algorithm=chosen.settings)


def group_size_of(settings: LearnerSettings) -> int:
    """How many episodes in a row are to play one task: 1 where no groups are compared."""
    algorithm = settings.algorithm
    return algorithm.group_size if isinstance(algorithm, GroupSettings) else 1

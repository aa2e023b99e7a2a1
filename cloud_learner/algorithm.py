"""The one interface behind which the learner's algorithms stand, and how one is made.

Every algorithm changes the adapter of the policy that it is given, keeps what it replays, and
reports the same internals under the same names (docs/algorithm.md lists them).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol, assert_never

from cloud_learner.a_ride import ARide
from cloud_learner.adapter_training import Trainee
from cloud_learner.algorithm_settings import (
    AnySettings,
    ARideSettings,
    DigiRLSettings,
    FilteredBCSettings,
    GroupSettings,
)
from cloud_learner.batch import Trajectory
from cloud_learner.digirl import DigiRL
from cloud_learner.filtered_bc import FilteredBC
from cloud_learner.grpo import GroupPolicyOptimisation


class Algorithm(Protocol):
    """Learns an adapter from trajectories.

    Attributes:
        rounds: of the learner so far; its driver counts them up after each round.
        skipped_updates: updates so far that changed nothing.
    """

    rounds: int
    skipped_updates: int

    def add(self, trajectories: Sequence[Trajectory], *, anchored_app: str = "") -> None:
        """Take in what was played, in any order; what is too old by `rounds` leaves.

        Args:
            anchored_app: its successes join the own-success anchor; empty: those of every app.
        """
        ...

    def forget(self, rows: Collection[int]) -> None:
        """Learn no more from episodes of these rows of the store; what was learnt stays learnt."""
        ...

    def update(self) -> dict[str, float]:
        """One optimiser step; its internals. Where nothing can be learnt, nothing changes."""
        ...

    def template_weights(self) -> Mapping[str, float]:
        """How often a template is asked for, where 1 is normal; normal ones are not named."""
        ...

    def state_dict(self) -> dict[str, Any]:  # Any: torch's own nested state
        """What cannot be read from the store again; the adapter is kept by its owner."""
        ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from `state_dict` of the same algorithm; trajectories are added again."""
        ...


def make_algorithm(settings: AnySettings, trainee: Trainee, *, seed: int) -> Algorithm:
    """The algorithm whose settings these are (`algorithm_settings.ALGORITHMS` has them by name)."""
    match settings:
        case ARideSettings():
            return ARide(trainee, settings, seed=seed)
        case DigiRLSettings():
            return DigiRL(trainee, settings, seed=seed)
        case GroupSettings():
            return GroupPolicyOptimisation(trainee, settings, seed=seed)
        case FilteredBCSettings():
            return FilteredBC(trainee, settings, seed=seed)
        case _:
            assert_never(settings)


def mean_figures(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Figures of several updates as one row: the mean of each over the updates that have it.

    `skipped_updates` counts up, so the last one stands.
    """
    names = sorted({name for row in rows for name in row})
    found = {name: [row[name] for row in rows if name in row] for name in names}
    return {
        name: values[-1] if name == "skipped_updates" else sum(values) / len(values)
        for name, values in found.items()
    }

"""Drills: what fails nearly always is imitated until it is known, and nothing else is forgotten."""

from __future__ import annotations

import pytest
import torch

from cloud_learner.drill import Drill, DrillSettings
from cloud_learner.imitation import ImitationSettings
from cloud_learner.replay import SuccessMemory
from cloud_learner.scoring import Scorer

QUICK = DrillSettings(
    every_rounds=4,
    hopeless_after=3,
    imitation=ImitationSettings(
        learning_rate=5e-3,
        updates=15,
        batch_steps=8,
        dropout=0.0,
        shares={"hopeless": 0.5, "others": 0.5},
    ),
)
FAILING = [False] * 12
WORKING = [True, False] * 6


class Arena:
    def __init__(self, network, adapted, table, demonstrations, settings):
        self.asked = set()
        self.adapted = adapted
        self._scorer = Scorer(network, adapted, table)
        self.drill = Drill(
            self._score,
            [one for one in adapted.parameters() if one.requires_grad],
            network=network,
            settings=settings,
            demonstrations=demonstrations,
            seed=3,
        )

    def _score(self, steps):
        self.asked |= {id(step) for step in steps}
        return self._scorer(steps)

    def log_prob(self, trajectory):
        with torch.no_grad():
            return float(self._scorer(trajectory.steps).log_prob.mean())


@pytest.fixture
def shown(make_trajectory):
    """Demonstrations of a long template and of a short one."""
    return {
        name: [make_trajectory(seed, template=name) for seed in seeds]
        for name, seeds in {"long": (1, 2), "short": (3, 4)}.items()
    }


@pytest.fixture
def make_arena(network, make_adapted, table, shown):
    def make(settings=QUICK):
        memory = SuccessMemory()
        for trajectories in shown.values():
            memory.extend(trajectories)
        return Arena(network, make_adapted(), table, {"new": memory}, settings)

    return make


def test_what_is_hopeless_becomes_likelier(make_arena, shown):
    arena = make_arena()
    before = arena.log_prob(shown["long"][0])

    figures = arena.drill.before(4, {"long": FAILING, "short": WORKING})

    assert arena.log_prob(shown["long"][0]) > before + 0.3
    assert figures["drilled_templates"] == 1.0
    assert figures["drill_updates"] == 15.0


def test_the_others_are_imitated_beside_it_own_successes_too(make_arena, shown, make_trajectory):
    arena = make_arena()
    won = make_trajectory(5, template="short")
    lost = make_trajectory(6, template="short", success=False)
    arena.drill.remember(won)
    arena.drill.remember(lost)

    arena.drill.before(8, {"long": FAILING, "short": WORKING})

    def asked(trajectory):
        return any(id(step) in arena.asked for step in trajectory.steps)

    assert all(map(asked, (*shown["long"], *shown["short"], won)))
    assert not asked(lost)


@pytest.mark.parametrize(
    ("round_index", "lately"),
    [
        pytest.param(5, {"long": FAILING}, id="it is not time"),
        pytest.param(0, {"long": FAILING}, id="nothing was learnt yet"),
        pytest.param(4, {"long": WORKING}, id="it succeeds"),
        pytest.param(4, {"long": FAILING[:2]}, id="it was hardly played"),
        pytest.param(4, {"never shown": FAILING}, id="nothing was shown of it"),
        pytest.param(4, {}, id="nothing was played"),
    ],
)
def test_nothing_is_drilled_without_a_reason(make_arena, shown, round_index, lately):
    arena = make_arena()
    before = arena.log_prob(shown["long"][0])

    assert arena.drill.before(round_index, lately) == {}
    assert arena.asked == set()
    assert arena.log_prob(shown["long"][0]) == before


def test_drills_can_be_off(make_arena):
    arena = make_arena(DrillSettings(every_rounds=0))

    assert arena.drill.before(24, {"long": FAILING}) == {}


def test_the_same_seed_drills_alike(make_arena, shown):
    first, second = make_arena(), make_arena()
    for arena in (first, second):
        arena.drill.before(4, {"long": FAILING})

    assert first.log_prob(shown["short"][0]) == second.log_prob(shown["short"][0])

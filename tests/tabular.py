"""A policy that is a table, and two small worlds whose best policy is known: every algorithm must
find it, through the same scorer's interface that the network has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from cloud_learner.adapter_training import Trainee
from cloud_learner.batch import StepSample, Trajectory
from cloud_learner.scoring import Scores

FINISH, ON = 0, 1


@dataclass(slots=True, kw_only=True)
class TableStep(StepSample):
    """One decision in a numbered state."""

    state: int
    action: int


def table_step(state: int, action: int, log_mu: float, **facts: object) -> TableStep:
    """A step that could be carried out, for the first time, from a state with its own hash."""
    usual = {"usable": True, "valid": True, "repeats": 0, "state_hash": str(state)}
    return TableStep(
        state=state, action=action, log_mu=log_mu, count=1, action_type=action, **(usual | facts)
    )


def played(row: int, steps: Sequence[StepSample], *, success: bool, **facts: object) -> Trajectory:
    """An episode of those steps."""
    return Trajectory(
        row=row,
        episode_id=f"e{row}",
        template=facts.pop("template", "t"),
        app="app",
        success=success,
        steps=list(steps),
        **facts,
    )


class TablePolicy(nn.Module):
    """Logits by state and action; features are the state's own unit vector.

    Attributes:
        asked: the steps of each call.
    """

    def __init__(self, states: int, actions: int) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(states, actions))
        self.asked: list[list[StepSample]] = []

    def __call__(self, samples: Sequence[StepSample]) -> Scores:
        """Scores of `samples`, as `Scorer` gives them."""
        self.asked.append(list(samples))
        states = torch.tensor([one.state for one in samples])
        actions = torch.tensor([one.action for one in samples])
        log_probs = torch.log_softmax(self.logits[states], dim=-1)
        known = torch.tensor([float(one.reference is not None) for one in samples])
        reference = torch.stack(
            [
                torch.zeros(self.logits.shape[1])
                if one.reference is None
                else torch.from_numpy(one.reference)
                for one in samples
            ]
        )
        probs = log_probs.exp()
        return Scores(
            log_prob=log_probs.gather(1, actions[:, None])[:, 0],
            entropy=-(probs * log_probs).sum(1),
            divergence=(probs * (log_probs - reference)).sum(1) * known,
            features=nn.functional.one_hot(states, len(self.logits)).float(),
            log_mu=torch.tensor([one.log_mu for one in samples], dtype=torch.float32),
            usable=torch.tensor([float(one.usable) for one in samples]),
            valid=torch.tensor([float(one.valid) for one in samples]),
        )

    def remember_as_reference(self, samples: Sequence[StepSample]) -> None:
        """The table as it is, kept with samples that have no reference."""
        log_probs = torch.log_softmax(self.logits.detach(), dim=-1).numpy()
        for one in samples:
            if one.reference is None:
                one.reference = log_probs[one.state]

    def probabilities(self) -> Tensor:
        """float32 [states, actions]."""
        return torch.softmax(self.logits.detach(), dim=-1)


@dataclass(frozen=True)
class World:
    """A small world with a known optimum.

    Attributes:
        play: one step, (state, action, a random number) → next state, or None and success.
        succeeds: chance that an episode succeeds under a table of probabilities.
    """

    states: int
    actions: int
    play: Callable[[int, int, float], tuple[int | None, bool]]
    succeeds: Callable[[Tensor], float]


def _pull(_state: int, arm: int, luck: float) -> tuple[int | None, bool]:
    return None, luck < BANDIT_CHANCES[arm]


def _walk(state: int, action: int, _luck: float) -> tuple[int | None, bool]:
    if action != ON:
        return None, False
    return (None, True) if state == CHAIN_LENGTH - 1 else (state + 1, False)


BANDIT_CHANCES = (0.1, 0.3, 1.0, 0.1)
CHAIN_LENGTH = 5
BANDIT = World(
    1, len(BANDIT_CHANCES), _pull, lambda table: float(table[0] @ torch.tensor(BANDIT_CHANCES))
)
CHAIN = World(CHAIN_LENGTH, 2, _walk, lambda table: float(table[:, ON].prod()))


def trainee_of(policy: TablePolicy) -> Trainee:
    """The table in training; its reference is what it was at the start."""
    reference = TablePolicy(*policy.logits.shape)
    return Trainee(
        policy=policy,
        trainable=[policy.logits],
        reference=reference,
        feature_dim=policy.logits.shape[0],
    )


def episodes(
    world: World,
    policy: TablePolicy,
    *,
    count: int,
    first_row: int,
    policy_round: int,
    random: np.random.Generator,
    group_size: int = 8,
) -> list[Trajectory]:
    """What phones play with the table as it is; μ is stored with each step."""
    table = policy.probabilities().double().numpy()
    table /= table.sum(1, keepdims=True)
    made = []
    for index in range(count):
        steps: list[TableStep] = []
        state: int | None = 0
        success = False
        while state is not None:
            action = int(random.choice(world.actions, p=table[state]))
            steps.append(table_step(state, action, float(np.log(table[state, action]))))
            state, success = world.play(state, action, random.random())
        made.append(
            played(
                first_row + index,
                steps,
                success=success,
                policy_round=policy_round,
                group_id=f"g{(first_row + index) // group_size}",
            )
        )
    return made


def learnt(
    world: World,
    make: Callable[[Trainee], object],
    *,
    rounds: int,
    updates: int = 4,
    count: int = 32,
    stale: int = 1,
) -> float:
    """Chance of success after some rounds, the weights that act being `stale` rounds old."""
    policy = TablePolicy(world.states, world.actions)
    algorithm = make(trainee_of(policy))
    random, snapshots = np.random.default_rng(11), [policy.logits.detach().clone()]
    for number in range(rounds):
        acting = TablePolicy(world.states, world.actions)
        source = max(0, number - stale)
        with torch.no_grad():
            acting.logits.copy_(snapshots[source])
        algorithm.add(
            episodes(
                world,
                acting,
                count=count,
                first_row=number * count,
                policy_round=source,
                random=random,
            )
        )
        for _ in range(updates):
            algorithm.update()
        algorithm.rounds += 1
        snapshots.append(policy.logits.detach().clone())
    return world.succeeds(policy.probabilities())

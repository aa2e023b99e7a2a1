"""How fast the learner learns: steps a CPU second of base training and of A-RIDE, part by part.

The same logged steps are learnt from with one saving taken back at a time, so that each ratio is
what that saving is worth. One thread; ratios compare within one run. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import copy
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch

from apps_mock.actors import Actors
from apps_mock.evaluation import instances
from apps_mock.tasks import templates
from cloud_learner.adapter_training import Trainee
from cloud_learner.algorithm import make_algorithm
from cloud_learner.algorithm_settings import ARideSettings
from cloud_learner.batch import StepSample, Trajectory, layout_samples, trajectory_of
from cloud_learner.replay import SuccessMemory
from cloud_learner.scoring import Scorer
from exporters.dropout import dropping
from exporters.families.layout_t5 import SIZES, LayoutT5, text_table_of
from exporters.lora import attach
from outrider.acting import Actor
from outrider.evaluate import play_all
from sync.text_table import TextTable
from sync.vocabulary import Purpose, Split

APPS = ("settings", "contacts", "clock", "tickets")
BATCH = 64


def main() -> None:
    """Measure both kinds of updates and print what they came to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=sorted(SIZES), default="S")
    parser.add_argument("--updates", type=int, default=20, help="of each variant and pass")
    parser.add_argument("--passes", type=int, default=3, help="variants take turns so often")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(chosen.seed)
    network = LayoutT5(SIZES[chosen.size]).eval()
    table = text_table_of(network)
    trajectories = played(table, chosen.seed)
    base = speeds(base_training(network, table, trajectories), chosen.updates, chosen.passes, BATCH)
    a_ride = speeds(learning(network, table, trajectories), chosen.updates, chosen.passes, None)
    print(
        json.dumps(
            {
                "benchmark": "learner",
                "size": chosen.size,
                "steps": sum(len(one.steps) for one in trajectories),
                "tokens_mean": round(tokens(trajectories), 1),
                "base_training": base,
                "a_ride": a_ride,
            }
        )
    )


def played(table: TextTable, seed: int) -> list[Trajectory]:
    """The oracle's episodes, encoded."""
    chosen = [one for one in templates() if one.counts and one.own_suite in APPS]
    wanted = [
        replace(one, purpose=Purpose.DEMONSTRATE)
        for one in instances(
            chosen, count=8 * len(chosen), seed_base=seed, split=Split.TRAIN, actor="oracle"
        )
    ]
    actor = Actor("oracle", Actors(demonstration_noise=0.05))
    return [
        trajectory_of(one.episode, table, row=row, app="tickets", success=True, taught=True)
        for row, one in enumerate(play_all(wanted, actor, seats=32))
        if one.verdict is not None and one.verdict.success
    ]


def tokens(trajectories: Sequence[Trajectory]) -> float:
    """Mean length of an encoded step."""
    steps = layout_samples([step for one in trajectories for step in one.steps])
    return float(np.mean([len(step.text_rows) for step in steps]))


Update = Callable[[], int]
"""One optimiser step; how many steps it learnt from."""


def base_training(
    network: LayoutT5, table: TextTable, trajectories: Sequence[Trajectory]
) -> dict[str, Update]:
    """Imitation with the whole network, as it is and with one saving less each."""
    generator = np.random.default_rng(0)
    memory = SuccessMemory(1_000)
    memory.extend(trajectories)

    def variant(*, buckets: int = 4, fused: bool = True, dropout: float = 0.0) -> Update:
        own = copy.deepcopy(network)
        scorer = Scorer(own, None, table, trains_texts=True, buckets=buckets)
        optimiser = torch.optim.Adam(own.parameters(), lr=1e-3, fused=fused)

        def update() -> int:
            steps = memory.sample_steps(BATCH, generator)
            with dropping(own, dropout, seed=0):
                imitate(scorer, steps, optimiser)
            return len(steps)

        return update

    return {
        "as it is": variant(),
        "one padded batch": variant(buckets=1),
        "Adam step by step": variant(fused=False),
        "with dropout": variant(dropout=0.1),
    }


def imitate(scorer: Scorer, steps: Sequence[StepSample], optimiser: torch.optim.Optimizer) -> None:
    """One optimiser step of imitation."""
    scores = scorer(steps)
    loss = -(scores.log_prob * scores.usable).mean()
    optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]  # torch ships no type here
    optimiser.step()


def learning(
    network: LayoutT5, table: TextTable, trajectories: Sequence[Trajectory]
) -> dict[str, Update]:
    """A-RIDE's update, as it is and with one saving less each."""

    def variant(*, buckets: int = 4, side_paths: bool = False, forgets: bool = False) -> Update:
        adapted = attach(copy.deepcopy(network), 16)
        reference = attach(copy.deepcopy(network), 16)
        policy = (
            Scorer(adapted, None, table, buckets=buckets)
            if side_paths
            else Scorer(network, adapted, table, buckets=buckets)
        )
        remembers = Scorer(network, reference, table)
        mine = [replace(one, steps=[replace(step) for step in one.steps]) for one in trajectories]
        trainee = Trainee(
            policy=policy,
            trainable=[one for one in adapted.parameters() if one.requires_grad],
            reference=remembers,
            feature_dim=2 * network.config.d_model,
            demonstrations={"new": memory_of(mine)},
        )
        algorithm = make_algorithm(ARideSettings(), trainee, seed=0)
        algorithm.add(mine, anchored_app="tickets")
        algorithm.rounds = ARideSettings().critic_warm_up_rounds

        def update() -> int:
            if forgets:
                for one in mine[:16]:
                    for step in one.steps:
                        step.reference = None
                    remembers.remember_as_reference(one.steps)
            algorithm.update()
            return 1

        return update

    return {
        "as it is": variant(),
        "one padded batch": variant(buckets=1),
        "adapter beside the weights": variant(side_paths=True),
        "reference computed again": variant(forgets=True),
    }


def memory_of(trajectories: Sequence[Trajectory]) -> SuccessMemory:
    """Demonstrations to anchor on."""
    memory = SuccessMemory(1_000)
    memory.extend(trajectories)
    return memory


def speeds(
    variants: dict[str, Update], updates: int, passes: int, steps: int | None
) -> dict[str, dict[str, float]]:
    """Updates, and steps where each update has as many, a CPU second; and the share of the first.

    Variants take turns, so that what else the machine does falls on all of them alike.
    """
    cpu_s = dict.fromkeys(variants, 0.0)
    for one in variants.values():
        one()
    for _ in range(passes):
        for name, one in variants.items():
            begun = time.process_time()
            for _ in range(updates):
                one()
            cpu_s[name] += time.process_time() - begun
    made = updates * passes
    first = next(iter(cpu_s.values()))
    return {
        name: {
            "updates_per_cpu_s": round(made / spent, 2),
            **({"steps_per_cpu_s": round(made * steps / spent)} if steps else {}),
            "ratio": round(first / spent, 3),
        }
        for name, spent in cpu_s.items()
    }


if __name__ == "__main__":
    main()

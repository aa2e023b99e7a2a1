"""How far π of the learner is from μ of the phone at equal versions: |log ρ| of played steps.

Plays training episodes of several apps at temperature 1 with the shipped base and one adapter, once
on the fp32 graphs and once on the int8 graphs, and scores every step with the learner's network.
Prints one JSON line and adds it to the ledger.

    python benchmarks/bench_ratio.py --episodes 200
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Iterator

import numpy as np
import torch

from apps_mock.actors import Actors
from apps_mock.evaluation import instances, templates_of
from apps_mock.farm import play
from cloud_learner.batch import StepSample, trajectory_of
from cloud_learner.scoring import Scorer
from device_runtime.policy import OnnxPolicy
from exporters.base import DEFAULT_BASE_DIR, load_base
from exporters.families.layout_t5 import text_table_of
from exporters.lora import adapter_tensors, attach
from exporters.shipped import graphs_beside
from outrider import ledger
from sync.vocabulary import Episode, ReleaseId, Split

APPS = "settings,contacts,clock,tickets"
RELEASE = ReleaseId("ratio")
SPREAD = 0.05
"""Deviation of the adapter's random values: about what a trained one changes."""

_SCORED_AT_ONCE = 64


def main() -> None:
    """Measure both kinds of graphs, print and keep the row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=200)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    base = load_base(DEFAULT_BASE_DIR)
    adapted = attach(copy.deepcopy(base), 16)
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for name, value in adapted.named_parameters():
            if ".lora_" in name:
                value.add_(torch.randn(value.shape, generator=generator) * SPREAD)
    table = text_table_of(base)
    scorer = Scorer(base, adapted, table)
    graphs = graphs_beside(DEFAULT_BASE_DIR)
    assert graphs is not None
    found = {}
    for quantisation in ("fp32", "int8"):
        policy = OnnxPolicy(graphs, quantisation=quantisation)
        policy.load_adapter(RELEASE, adapter_tensors(adapted))
        steps = [
            step
            for episode in _played(policy, arguments.episodes)
            for step in trajectory_of(episode, table, row=0, app="", success=False).steps
            if step.usable
        ]
        found[quantisation] = _figures(scorer, steps)
    row = {
        "benchmark": "ratio",
        "key": {"commit": ledger.commit(), "episodes": arguments.episodes},
        "command": f"python benchmarks/bench_ratio.py --episodes {arguments.episodes}",
        "machine": ledger.MACHINE,
        **found,
    }
    print(ledger.keep(row))


def _played(policy: OnnxPolicy, count: int) -> Iterator[Episode]:
    wanted = instances(
        templates_of(APPS),
        count=count,
        seed_base=0,
        split=Split.TRAIN,
        actor="release",
        temperature=1.0,
    )
    for one in play(wanted, Actors(policy).policy_for, release_id=RELEASE):
        yield one.episode


def _figures(scorer: Scorer, steps: list[StepSample]) -> dict[str, float]:
    """Median, 99th percentile and largest |log ρ|, nats."""
    parts = []
    with torch.no_grad():
        for start in range(0, len(steps), _SCORED_AT_ONCE):
            scores = scorer(steps[start : start + _SCORED_AT_ONCE])
            parts.append((scores.log_prob - scores.log_mu).abs().numpy())
    ratios = np.concatenate(parts)
    return {
        "steps": len(ratios),
        "median": float(np.quantile(ratios, 0.5)),
        "p99": float(np.quantile(ratios, 0.99)),
        "max": float(ratios.max()),
    }


if __name__ == "__main__":
    main()

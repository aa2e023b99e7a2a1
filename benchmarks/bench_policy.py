"""What the default network costs: learning, one action alone, actions in batches, and export.

Weights are random (time does not depend on them); inputs are made-up screens. One JSON line; the
rates are per second of CPU of one thread, beside that of a plain matrix product on the same core.
"""

from __future__ import annotations

import argparse
import copy
import json
import platform
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import torch

from cloud_learner.batch import StepSample, trajectory_of
from cloud_learner.scoring import Scorer
from device_runtime.policy import OnnxPolicy
from device_runtime.ports import PolicyRequest
from exporters import lora
from exporters.base import ensure_exported, load_base, save_base
from exporters.families.layout_t5 import LayoutT5, text_table_of
from sync.decoding import action_of, choice_mask
from sync.grammar import ACTION_TYPES, heads_of
from sync.history import EMPTY_HISTORY
from sync.policy_io import EncodedInput, encode
from sync.text_table import TextTable
from sync.vocabulary import (
    Assignment,
    AssignmentId,
    Decision,
    DeviceId,
    Element,
    EndReason,
    Episode,
    EpisodeId,
    Observation,
    Step,
)

WORDS = "search trains settings alarm contact berlin class order date cancel save home map".split()
TRAINING_BATCH = 168


def cpu_s(work: Callable[[], object], repeats: int = 3) -> float:
    """Least CPU time of `repeats` runs, after one to warm up."""
    work()
    times = []
    for _ in range(repeats):
        started = time.thread_time()
        work()
        times.append(time.thread_time() - started)
    return min(times)


def request(elements: int, random: Random) -> PolicyRequest:
    """A made-up screen with a goal, encoded."""
    rows = [
        Element(
            "android.widget.Button",
            (0, 2400 * index // elements, 1080, 2400 * (index + 1) // elements),
            text=" ".join(random.choices(WORDS, k=3)),
            clickable=True,
        )
        for index in range(elements)
    ]
    seen = Observation(1080, 2400, tuple(rows), package="org.example")
    goal = " ".join(random.choices(WORDS, k=10))
    return PolicyRequest(seen, goal, EMPTY_HISTORY, random, encoded=encode(seen, goal))


def arbitrary(item: EncodedInput, random: Random) -> list[int]:
    """Choices that the grammar allows."""
    chosen: list[int] = []
    while not chosen or len(chosen) < len(heads_of(ACTION_TYPES[chosen[0]])):
        chosen.append(random.choice(np.flatnonzero(choice_mask(item, chosen)).tolist()))
    return chosen


def example(screen: PolicyRequest, table: TextTable, random: Random) -> StepSample:
    """One step of the learner: a screen, and choices that the grammar allows."""
    seen, item = screen.observation, screen.encoded
    assert item is not None
    choices = arbitrary(item, random)
    heads = heads_of(ACTION_TYPES[choices[0]])
    decisions = [Decision(head, one, 0.0, b"") for head, one in zip(heads, choices, strict=True)]
    step = Step(0, seen, action_of(item, seen, choices), decisions=tuple(decisions))
    episode = Episode(
        EpisodeId(""),
        Assignment(AssignmentId("")),
        DeviceId(""),
        screen.goal,
        (step,),
        EndReason.FINISH,
    )
    return trajectory_of(episode, table, row=0, app="", success=True).steps[0]


def training_rate(base: LayoutT5) -> float:
    """Examples per CPU second: the learner's scores and the gradients of its adapter."""
    random, table = Random(0), text_table_of(base)
    scorer = Scorer(base, lora.attach(copy.deepcopy(base)), table)
    screens = [request(random.randint(10, 40), random) for _ in range(TRAINING_BATCH)]
    samples = [example(screen, table, random) for screen in screens]

    def update() -> None:
        loss = -scorer(samples).log_prob.sum()
        loss.backward()  # type: ignore[no-untyped-call] # torch's own

    return TRAINING_BATCH / cpu_s(update)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, default=64)
    elements = parser.parse_args().elements
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        save_base(LayoutT5(), Path(folder) / "base", {})
        base = load_base(Path(folder) / "base")
        started = time.thread_time()
        graphs = ensure_exported(Path(folder) / "base", Path(folder) / "graphs")
        export_s = time.thread_time() - started
        policy = OnnxPolicy(graphs)
    policy.load_adapter("bench", lora.adapter_tensors(lora.attach(copy.deepcopy(base))))
    policy.use("bench")
    random = Random(1)
    alone = [request(elements, random) for _ in range(100)]
    farm = [request(random.randint(10, 40), random) for _ in range(320)]
    times = [cpu_s(lambda one=one: policy.decide([one]), 1) for one in alone]
    batched = cpu_s(lambda: [policy.decide(farm[at : at + 32]) for at in range(0, 320, 32)])
    a, b = torch.randn(2048, 96), torch.randn(96, 96)
    product_s = cpu_s(lambda: [a @ b for _ in range(100)])
    figures = {
        "benchmark": "policy",
        "training_examples_per_cpu_s": round(training_rate(base)),
        "batched_actions_per_cpu_s": round(320 / batched),
        "p50_ms": round(statistics.median(times) * 1000, 2),
        "elements": elements,
        "export_s": round(export_s, 2),
        "matrix_product_gflops": round(100 * 2 * 2048 * 96 * 96 / 1e9 / product_s, 1),
        "machine": platform.processor() or platform.machine(),
        "commit": subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
        ).stdout.strip(),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()

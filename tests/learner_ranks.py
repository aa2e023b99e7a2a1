"""A learner of two processes for tests: what both build alike, and the second one as a program.

python -m tests.learner_ranks STORE      be rank 1 of 2, over the file STORE
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import distributed as dist

from cloud_learner.data_parallel import serve
from cloud_learner.families import LayoutFamily, Replica
from exporters.families.layout_t5 import LayoutT5, LayoutT5Config

ROOT = Path(__file__).resolve().parents[1]
WAIT_S = 60.0


def made_replica() -> Replica:
    """A tiny network with an adapter that already changes it, the same in every process."""
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        base = LayoutT5(LayoutT5Config(d_model=16, d_ff=32, heads=2, encoder_layers=1))
    with torch.no_grad():
        for head in (base.type_head, base.pointer_query, base.word_head):
            head.weight.mul_(3)
    base.eval().requires_grad_(requires_grad=False)
    family = LayoutFamily(base)
    replica = family.replica(family.adapted(4))
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for one in replica.trainable:
            one.add_(torch.randn(one.shape, generator=generator) * 0.1)
    return replica


@contextmanager
def two_ranks(store: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Be rank 0 of 2 while the block runs; yields rank 1, which serves a `made_replica`."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    peer = subprocess.Popen([sys.executable, "-m", "tests.learner_ranks", str(store)], cwd=ROOT)
    try:
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=2)
        yield peer
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
        try:
            peer.wait(WAIT_S)
        finally:
            peer.kill()
            peer.wait()


if __name__ == "__main__":
    dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=1, world_size=2)
    serve(made_replica())
    dist.destroy_process_group()

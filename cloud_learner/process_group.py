"""The learner's processes: which one this is, and how they hand values around.

torchrun starts them and names each by RANK; they meet over gloo, so CPUs are enough. Every process
calls the functions below in the same order: rank 0 decides it, by the orders that it hands out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from torch import Tensor
from torch import distributed as dist

from cloud_learner.errors import ProcessGroupError

_PATIENCE: Final = timedelta(days=30)
"""How long the others wait for rank 0, which may have nothing to learn from for long. A process
that dies is noticed at once all the same: its connections break."""


@dataclass(frozen=True, slots=True)
class Place:
    """Which of the learner's processes this is; the only one where torchrun started none."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process reads, decides and delivers."""
        return self.rank == 0


def place_of(environment: Mapping[str, str]) -> Place:
    """The place that torchrun gave this process.

    Raises: ProcessGroupError: RANK and WORLD_SIZE contradict each other or are no numbers.
    """
    if "WORLD_SIZE" not in environment:
        return Place()
    try:
        place = Place(int(environment["RANK"]), int(environment["WORLD_SIZE"]))
    except (KeyError, ValueError) as error:
        raise ProcessGroupError("RANK and WORLD_SIZE are no numbers") from error
    if not 0 <= place.rank < place.size:
        raise ProcessGroupError(f"RANK {place.rank} is not below WORLD_SIZE {place.size}")
    return place


@contextmanager
def joined(place: Place) -> Iterator[Place]:
    """Be one of the learner's processes while the block runs; nothing where there is only one.

    Raises: ProcessGroupError: the processes cannot reach each other.
    """
    if place.size == 1:
        yield place
        return
    try:
        dist.init_process_group("gloo", rank=place.rank, world_size=place.size, timeout=_PATIENCE)
    except (RuntimeError, ValueError) as error:
        raise ProcessGroupError(str(error)) from error
    try:
        yield place
    finally:
        dist.destroy_process_group()


def handed_out(values: Sequence[object] | None) -> Any:  # what is handed out has no one type
    """What rank 0 has for this process.

    Args:
        values: on rank 0 one for each process, in rank order; None elsewhere.
    Raises: ProcessGroupError: a process is gone; so do the two below.
    """
    taken: list[Any] = [None]
    with _noticing_loss():
        dist.scatter_object_list(taken, None if values is None else list(values), src=0)
    return taken[0]


def gathered(value: object) -> list[Any] | None:  # as above
    """On rank 0 what every process has, in rank order; None elsewhere."""
    place = Place(dist.get_rank(), dist.get_world_size())
    values: list[Any] | None = [None] * place.size if place.leads else None
    with _noticing_loss():
        dist.gather_object(value, values, dst=0)
    return values


def summed(flat: Tensor) -> None:
    """Put the sum over all processes into rank 0's `flat`, in place."""
    with _noticing_loss():
        dist.reduce(flat, dst=0, op=dist.ReduceOp.SUM)


@contextmanager
def _noticing_loss() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:  # gloo has no kinds of its own
        raise ProcessGroupError(str(error)) from error

"""Data parallel learning under torchrun: one algorithm, its scoring shared by every process.

    rank 0:  sample ─► score ──────────────► loss ─► backward ─► optimiser
                        │ weights, steps ▲ scores        │ d loss / d scores ▲ sum of gradients
                        ▼                │               ▼                   │
    others:             score their share of the steps ─► backward ──────────┘

What costs is the network's pass over the steps and back. All else of an algorithm (replay, filters,
statistics of the batch, critic, optimiser) is cheap and stays on rank 0, which sees the scores of
all steps: N processes give the loss curve of one with the same batch, whatever the loss divides by.

Every process but rank 0 only answers (`serve`): it reads no store and keeps no state, so a start of
all processes anew, with rank 0 from its checkpoint, loses nothing.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from cloud_learner.errors import ProcessGroupError
from cloud_learner.process_group import Place, gathered, handed_out, summed
from cloud_learner.scoring import Scores
from exporters.dropout import dropping, share_of

if TYPE_CHECKING:
    from cloud_learner.batch import StepSample
    from cloud_learner.families import Replica
    from cloud_learner.ports import StepScorer


@dataclass(frozen=True, slots=True)
class _Score:
    """Score these steps under these weights; keep the graph where `differentiates`."""

    job: int
    weights: npt.NDArray[np.float32]
    steps: object
    differentiates: bool
    dropout: float
    seed: int
    forgotten: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Backward:
    """Give the gradient of a job's scores, whose cotangents these are (None counts as 0)."""

    job: int
    cotangents: dict[str, Tensor | None]


@dataclass(frozen=True, slots=True)
class _Stop:
    """End: the learner has ended."""


_Order = _Score | _Backward | _Stop


class SharedScorer:
    """Rank 0's scorer: a pass is shared by all processes, and so is its way back.

    A drop-in for `Scorer`: the scores carry gradients to the replica's `trainable`.
    """

    def __init__(self, replica: Replica, place: Place) -> None:
        if not place.leads:
            raise ValueError("only rank 0 asks; the others call serve()")
        self._replica = replica
        self._size = place.size
        self._jobs = 0
        self._forgotten: list[int] = []

    def __call__(self, samples: Sequence[StepSample]) -> Scores:
        """Scores of `samples`, in their order, with gradients to the adapter."""
        if len(samples) < self._size:
            return self._replica.scorer(samples)
        self._jobs += 1
        differentiates = torch.is_grad_enabled()
        self._order_scores(samples, differentiates=differentiates)
        own = self._replica.scorer(samples[:: self._size])
        parts = gathered(_values(own))
        assert parts is not None
        values = {name: _interleaved([part[name] for part in parts]) for name in parts[0]}
        if differentiates:
            values |= self._attached(own, values)
        return Scores(**values)

    def _order_scores(self, samples: Sequence[StepSample], *, differentiates: bool) -> None:
        replica = self._replica
        share = share_of(replica.network)
        seed = int(torch.randint(2**31, (1,))) if share else 0
        forgotten, self._forgotten = tuple(self._forgotten), []
        weights = _flat(replica.trainable).numpy()
        pack = replica.carrier.packed
        handed_out(
            [
                _Score(
                    job=self._jobs,
                    weights=weights,
                    steps=pack(samples[rank :: self._size] if rank else ()),
                    differentiates=differentiates,
                    dropout=share,
                    seed=seed + rank,
                    forgotten=forgotten,
                )
                for rank in range(self._size)
            ]
        )

    def _attached(self, own: Scores, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Those of the values that the trainable parameters move, tied to them."""
        names = _moved(own)
        job = _Job(self._jobs, own, names, self._size, self._replica.trainable)
        weakref.finalize(job, self._forgotten.append, job.number)
        tied = _Tie.apply(job, [values[name] for name in names], *self._replica.trainable)  # type: ignore[no-untyped-call]  # torch ships no type here
        return dict(zip(names, tied, strict=True))


@contextmanager
def sharing(place: Place) -> Iterator[Callable[[Replica], StepScorer] | None]:
    """Makes rank 0's scorer, and lets the other processes end with the block.

    None where there is one process only, which needs nobody to share with.
    """
    if place.size == 1:
        yield None
        return
    try:
        yield lambda replica: SharedScorer(replica, place)
    finally:
        with suppress(ProcessGroupError):  # whoever is gone needs no leave
            handed_out([_Stop()] * place.size)


def serve(replica: Replica) -> None:
    """Score and differentiate what rank 0 asks for, until it ends.

    Raises: ProcessGroupError: the connection to rank 0 broke.
    """
    graphs: dict[int, Scores] = {}
    while True:
        order: _Order = handed_out(None)
        match order:
            case _Score():
                scores = _obeyed(order, replica)
                for job in order.forgotten:
                    graphs.pop(job, None)
                if order.differentiates:
                    graphs[order.job] = scores
                gathered(_values(scores))
            case _Backward():
                scores = graphs.pop(order.job)
                summed(_gradient(scores, order.cotangents, replica.trainable))
            case _Stop():
                return
            case _:
                assert_never(order)


def _obeyed(order: _Score, replica: Replica) -> Scores:
    with torch.no_grad():
        weights = torch.from_numpy(order.weights).to(replica.trainable[0].device)
        nn.utils.vector_to_parameters(weights, replica.trainable)
    drops = (
        dropping(replica.network, order.dropout, seed=order.seed)
        if order.dropout
        else nullcontext()
    )
    with torch.set_grad_enabled(order.differentiates), drops:
        return replica.scorer(replica.carrier.unpacked(order.steps))


class _Job:
    """One pass that waits for its way back."""

    def __init__(
        self,
        number: int,
        own: Scores,
        names: Sequence[str],
        size: int,
        trainable: Sequence[nn.Parameter],
    ) -> None:
        self.number = number
        self._own = own
        self._names = names
        self._size = size
        self._trainable = trainable

    def differentiate(self, cotangents: Sequence[Tensor | None]) -> list[Tensor]:
        """The gradient of every trainable parameter, summed over all processes."""
        by_name = dict(zip(self._names, cotangents, strict=True))
        shares = [
            {
                name: None if one is None else one[rank :: self._size]
                for name, one in by_name.items()
            }
            for rank in range(self._size)
        ]
        handed_out(
            [_Backward(self.number, share if rank else {}) for rank, share in enumerate(shares)]
        )
        flat = _gradient(self._own, shares[0], self._trainable)
        summed(flat)
        return _shaped(flat, self._trainable)


class _Tie(torch.autograd.Function):
    """Values that were computed in several processes, as a function of the parameters."""

    @staticmethod
    def forward(
        ctx: Any,  # torch types no context
        job: _Job,
        values: Sequence[Tensor],
        *parameters: Tensor,  # noqa: ARG004 - what backward answers for
    ) -> tuple[Tensor, ...]:
        ctx.job = job
        ctx.set_materialize_grads(False)
        return tuple(values)

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor | None) -> Any:
        return (None, None, *ctx.job.differentiate(cotangents))


def _moved(scores: Scores) -> list[str]:
    """Names of the values that carry a gradient."""
    return [name for name, value in _tensors(scores).items() if value.requires_grad]


def _tensors(scores: Scores) -> dict[str, Tensor]:
    return {item.name: getattr(scores, item.name) for item in fields(scores)}


def _values(scores: Scores) -> dict[str, Tensor]:
    return {name: value.detach() for name, value in _tensors(scores).items()}


def _interleaved(parts: Sequence[Tensor]) -> Tensor:
    """Rows of all processes in the order of the samples: rank r has every size-th from r on."""
    whole = torch.empty((sum(map(len, parts)), *parts[0].shape[1:]), dtype=parts[0].dtype)
    for rank, part in enumerate(parts):
        whole[rank :: len(parts)] = part
    return whole


def _flat(trainable: Sequence[nn.Parameter]) -> Tensor:
    return nn.utils.parameters_to_vector(trainable).detach().cpu()


def _gradient(
    scores: Scores, cotangents: Mapping[str, Tensor | None], trainable: Sequence[nn.Parameter]
) -> Tensor:
    """Σ cotangent · d score / d parameter, flat: float32 [number of trainable values]."""
    given = {name: value for name, value in cotangents.items() if value is not None}
    values = _tensors(scores)
    if not given:
        return torch.zeros_like(_flat(trainable))
    found: Sequence[Tensor | None] = torch.autograd.grad(  # torch leaves out the None
        [values[name] for name in given], trainable, list(given.values()), allow_unused=True
    )
    parts = [
        torch.zeros_like(one) if part is None else part
        for one, part in zip(trainable, found, strict=True)
    ]
    return torch.cat([part.detach().flatten() for part in parts]).cpu()


def _shaped(flat: Tensor, trainable: Sequence[nn.Parameter]) -> list[Tensor]:
    parts, start = [], 0
    for one in trainable:
        parts.append(flat[start : start + one.numel()].view_as(one).to(one.device))
        start += one.numel()
    return parts

"""Why a policy acted: how likely it found its action, and what it would have done instead.

For people who watch a phone. The greedy policy records no probabilities (its choice is certain), so
they are computed here from the same graphs, at temperature 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from device_runtime.ports import PolicyRequest
from sync.decoding import action_of, choice_mask, collate, log_softmax
from sync.grammar import ACTION_TYPES, heads_of
from sync.vocabulary import Action

if TYPE_CHECKING:
    import numpy.typing as npt

    from device_runtime.policy import OnnxPolicy
    from sync.policy_io import EncodedInput

BRANCHES: Final = 3
"""How many of the likeliest choices of a type, and of what it points to, are followed."""
_KINDS: Final = {"type": 1, "pointer": 2, "word": 3}


@dataclass(frozen=True, slots=True)
class Alternative:
    """An action and how likely the policy finds it, 0..1."""

    action: Action
    probability: float


def alternatives(
    policy: OnnxPolicy, request: PolicyRequest, *, most: int = 3
) -> tuple[Alternative, ...]:
    """The likeliest actions of a policy on a screen, the likeliest first.

    Only the likeliest branches are followed, so a rare action may be missing; the probabilities of
    those that are here are exact.
    """
    item = request.encoded
    if item is None:
        return ()
    graphs = policy.graphs_for(request.release_id)
    memory = graphs.encoder(collate([item], policy.table))
    found = sorted(_followed(graphs.decoder, memory, item, (), 1.0), key=lambda one: -one[1])
    return tuple(
        Alternative(action_of(item, request.observation, choices), probability)
        for choices, probability in found[:most]
    )


def _followed(
    decoder: Any,  # Any: a graph's callable, and its memory below
    memory: Any,
    item: EncodedInput,
    choices: tuple[int, ...],
    probability: float,
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Whole actions that begin with `choices`, along the likeliest branches."""
    heads = heads_of(ACTION_TYPES[choices[0]]) if choices else ("type",)
    if choices and len(choices) == len(heads):
        yield choices, probability
        return
    head = heads[len(choices)]
    mask = choice_mask(item, list(choices))
    logits = decoder(memory, _prefix(choices)).of(head)[0][: len(mask)]
    shares = np.exp(log_softmax(logits, mask))
    branches = BRANCHES if len(choices) < 2 else 1
    for choice in shares.argsort()[::-1][:branches]:
        if mask[choice]:
            share = probability * float(shares[choice])
            yield from _followed(decoder, memory, item, (*choices, int(choice)), share)


def _prefix(choices: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """int64 [1, P, 2]: what the decoder reads before the next choice."""
    heads = heads_of(ACTION_TYPES[choices[0]]) if choices else ()
    rows = [(0, 0), *((_KINDS[head], choice) for head, choice in zip(heads, choices, strict=False))]
    return np.array([rows], dtype=np.int64)

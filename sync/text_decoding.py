"""From a network's next-token logits to an action's text, token by token, with log-probabilities.

One callable is all that is needed of the network, so phone, farm and parity draw alike:

    next_logits(tokens so far) -> float32 [V]

Tokens that the grammar leaves no choice about are written without asking the network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from sync.byte_grammar import TokenMasks
from sync.decoding import log_softmax
from sync.errors import RejectedError
from sync.text_policy_io import TOKEN_HEAD
from sync.vocabulary import Decision

if TYPE_CHECKING:
    import numpy.typing as npt

NextLogits = Callable[[Sequence[int]], "npt.NDArray[np.float32]"]


@dataclass(frozen=True, slots=True)
class TextChoice:
    """A whole text as decisions, the end's included, with its log-probability in nats."""

    decisions: tuple[Decision, ...]

    @property
    def tokens(self) -> tuple[int, ...]:
        """The tokens that were drawn, the end's included."""
        return tuple(decision.choice for decision in self.decisions)

    @property
    def log_prob(self) -> float:
        """The text's log μ, nats."""
        return sum(decision.log_prob for decision in self.decisions)


def decide_text(
    next_logits: NextLogits, masks: TokenMasks, *, temperature: float, random: Random
) -> TextChoice:
    """Write one action.

    Temperature 0 takes the likeliest token always, and its log-probability is 0; otherwise one
    number is drawn a token, where there is a choice.

    Raises: RejectedError: no token of the vocabulary continues the text ("vocabulary"), or the
        network's logits are not finite ("not_finite").
    """
    decisions: list[Decision] = []
    tokens: list[int] = []
    state = masks.start
    while not tokens or tokens[-1] != masks.end:
        allowed = masks.mask(state, len(tokens)).nonzero()[0]
        if not len(allowed):
            raise RejectedError(
                "the vocabulary has no token to write an action with: use another tokenizer",
                reason="vocabulary",
            )
        token, log_prob = int(allowed[0]), 0.0
        if len(allowed) > 1:
            token, log_prob = _drawn(next_logits(tokens), allowed, temperature, random)
        decisions.append(Decision(TOKEN_HEAD, token, log_prob, b""))
        tokens.append(token)
        state = masks.after(state, token)
    return TextChoice(tuple(decisions))


def masks_along(masks: TokenMasks, tokens: Sequence[int]) -> list[npt.NDArray[np.bool_]] | None:
    """The mask under which each token was drawn; None where the grammar forbids one.

    Args:
        tokens: a whole text, the end's token included.
    """
    state, rows = masks.start, []
    for position, token in enumerate(tokens):
        mask = masks.mask(state, position) if state else None
        if mask is None or not mask[token]:
            return None
        rows.append(mask)
        state = masks.after(state, token)
    return rows if tokens and tokens[-1] == masks.end else None


def log_prob_of_text(
    next_logits: NextLogits, masks: TokenMasks, tokens: Sequence[int]
) -> float | None:
    """Log-probability of a whole text at temperature 1, nats; None where the grammar forbids it.

    Args:
        tokens: a whole text, the end's token included.
    """
    rows = masks_along(masks, tokens)
    if rows is None:
        return None
    total = 0.0
    for place, mask in enumerate(rows):
        if mask.sum() > 1:
            total += float(log_softmax(next_logits(tokens[:place]), mask)[tokens[place]])
    return total


def _drawn(
    logits: npt.NDArray[np.float32],
    allowed: npt.NDArray[np.int64],
    temperature: float,
    random: Random,
) -> tuple[int, float]:
    chosen = logits[allowed]
    if not np.isfinite(chosen).all():
        raise RejectedError(
            "the network's logits are not finite: load another", reason="not_finite"
        )
    if temperature <= 0.0:
        return int(allowed[int(chosen.argmax())]), 0.0
    log_probs = log_softmax(chosen, np.ones(len(chosen), dtype=np.bool_), temperature)
    totals = np.exp(log_probs).cumsum()
    place = min(int(np.searchsorted(totals, random.random(), side="right")), len(allowed) - 1)
    return int(allowed[place]), float(log_probs[place])

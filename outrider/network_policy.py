"""A network in training as a policy, so that it can be checked without an export."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from device_runtime.policy import batches
from device_runtime.ports import Decided, PolicyRequest
from exporters.families.layout_t5 import TorchCallables
from sync.decoding import action_of, decide
from sync.text_table import TextTable
from sync.vocabulary import FACTORY_RELEASE

if TYPE_CHECKING:
    from exporters.families.layout_t5 import LayoutT5
    from sync.policy_io import EncodedInput

_MOST_TEXTS = 16_384
"""Strings whose vectors are kept, as on a phone."""


class NetworkPolicy:
    """Chooses actions with a torch network as it is when this is made.

    Implements `device_runtime.ports.Policy`.
    """

    wants_encoding = True

    def __init__(self, network: LayoutT5) -> None:
        self._callables = TorchCallables(network)
        texts = network.text_table.detach().numpy().copy()
        self._table = TextTable(texts, most_texts=_MOST_TEXTS)

    def decide(self, requests: Sequence[PolicyRequest]) -> list[Decided]:
        """One decision per request, in order; requests of like length run together."""
        inputs = [_encoded(request) for request in requests]
        decided: dict[int, Decided] = {}
        for rows in batches(range(len(requests)), [one.length for one in inputs]):
            chosen = self._decide([requests[row] for row in rows], [inputs[row] for row in rows])
            decided.update(zip(rows, chosen, strict=True))
        return [decided[row] for row in range(len(requests))]

    def _decide(
        self, requests: Sequence[PolicyRequest], inputs: Sequence[EncodedInput]
    ) -> list[Decided]:
        choices = decide(
            inputs,
            self._callables.encoder,
            self._callables.decoder,
            table=self._table,
            temperatures=[request.temperature for request in requests],
            randoms=[request.random for request in requests],
        )
        return [
            Decided(
                action=action_of(item, request.observation, choice.choices),
                decisions=choice.decisions,
                log_prob=choice.log_prob,
                policy_version=FACTORY_RELEASE,
            )
            for item, request, choice in zip(inputs, requests, choices, strict=True)
        ]


def _encoded(request: PolicyRequest) -> EncodedInput:
    if request.encoded is None:
        raise ValueError("requests to this policy carry the encoded observation")
    return request.encoded

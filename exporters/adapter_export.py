"""The adapter of a trained network as the bytes of its file, checked before anybody sees it.

pack → unpack → load what phones will load → compare torch and ONNX on logged observations. What is
checked is W, the values after quantisation, because W is the policy everywhere.
"""

from __future__ import annotations

import copy
from itertools import islice
from typing import TYPE_CHECKING

from exporters.lora import DEFAULT_RANK, adapter_tensors, attach, load_tensors
from exporters.parity import check
from sync.adapter_file import pack, unpack
from sync.policy_io import POLICY_IO_VERSION, encode_episode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from exporters.families.layout_t5 import LayoutT5
    from sync.adapter_file import Quantisation
    from sync.policy_io import EncodedInput
    from sync.vocabulary import Episode


class AdapterExporter:
    """Exports adapters of one base.

    Args:
        base: the frozen base network.
        base_digest: its digest.
        graphs_dir: its exported graphs.
        rank: of the adapters.
    """

    def __init__(
        self,
        base: LayoutT5,
        *,
        base_digest: str,
        graphs_dir: Path,
        rank: int = DEFAULT_RANK,
        quantisation: Quantisation = "int8",
    ) -> None:
        self._base_digest = base_digest
        self._graphs_dir = graphs_dir
        self._quantisation = quantisation
        self._as_shipped = attach(copy.deepcopy(base), rank)

    def __call__(self, network: LayoutT5, episodes: Sequence[Episode], steps: int) -> bytes:
        """The adapter file of `network`.

        Args:
            episodes: the latest logged ones; the newest give the observations.
            steps: observations that are compared.

        Raises:
            ParityError: phones would act differently.
            RejectedError: values that no phone would accept ("not_finite", "too_large").
        """
        data = pack(
            adapter_tensors(network),
            base_digest=self._base_digest,
            policy_io_version=POLICY_IO_VERSION,
            quantisation=self._quantisation,
        )
        tensors = unpack(data).tensors
        load_tensors(self._as_shipped, tensors)
        inputs = list(islice(_observations(episodes), steps))
        if inputs:
            check(self._as_shipped, self._graphs_dir, tensors, inputs)
        return data


def _observations(episodes: Sequence[Episode]) -> Iterator[EncodedInput]:
    for episode in reversed(episodes):
        yield from encode_episode(episode)

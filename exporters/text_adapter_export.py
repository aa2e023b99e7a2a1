"""The adapter of a trained vision-language network as its file, checked before anybody sees it.

`exporters.adapter_export` for networks that write texts: pack → unpack → load what phones will load
→ compare torch and ONNX on logged screens whose pictures are here.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from exporters.lora import DEFAULT_RANK, adapted_copy, adapter_tensors, load_tensors
from exporters.text_parity import (
    GraphsSide,
    NetworkSide,
    compare_texts,
    logged_texts,
    require_text_parity,
)
from sync.adapter_file import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from exporters.families.vision_language import VisionLanguage
    from sync.adapter_file import Quantisation
    from sync.picture_folder import EpisodePictures
    from sync.vocabulary import Episode


class TextAdapterExporter:
    """Exports adapters of one base.

    Args:
        base: the frozen base network.
        base_digest: its digest.
        graphs_dir: its exported graphs.
        pictures: of the logged screens.
        rank: of the adapters.
    """

    def __init__(
        self,
        base: VisionLanguage,
        *,
        base_digest: str,
        graphs_dir: Path,
        pictures: EpisodePictures,
        rank: int = DEFAULT_RANK,
        quantisation: Quantisation = "int8",
    ) -> None:
        self._base_digest = base_digest
        self._graphs_dir = graphs_dir
        self._pictures = pictures
        self._quantisation = quantisation
        self._language = base.language
        self._as_shipped = adapted_copy(base, rank, targets=base.lora_targets)

    def __call__(self, network: VisionLanguage, episodes: Sequence[Episode], steps: int) -> bytes:
        """The adapter file of `network`.

        Args:
            episodes: the latest logged ones; the newest give the screens.
            steps: screens that are compared.

        Raises:
            ParityError: phones would act differently.
            RejectedError: values that no phone would accept ("not_finite", "too_large").
        """
        data = pack(
            adapter_tensors(network),
            base_digest=self._base_digest,
            policy_io_version=self._language.version,
            quantisation=self._quantisation,
        )
        tensors = unpack(data).tensors
        load_tensors(self._as_shipped, tensors)
        seen = logged_texts(reversed(episodes), self._language, self._pictures)
        inputs = list(islice(seen, steps))
        if inputs:
            phone = GraphsSide(self._graphs_dir, tensors)
            report = compare_texts(NetworkSide(self._as_shipped), phone, inputs)
            require_text_parity(report, "fp32")
        return data

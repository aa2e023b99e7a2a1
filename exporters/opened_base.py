"""A base of whichever family: layout_t5 with its own card, or a Hugging Face checkpoint.

The family is what the folder's card says: `card.json` is one of ours, `config.json` a checkpoint's.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from device_runtime.policy import BASE_FILE
from exporters.adapter_export import AdapterExporter
from exporters.base import ensure_exported, load_base
from exporters.checkpoint_folder import contents_digest, is_checkpoint
from exporters.errors import BaseFilesError
from exporters.families.fused_t5 import FusedT5
from exporters.families.hf_checkpoint import load_checkpoint
from exporters.families.layout_t5 import LayoutT5
from exporters.fused_t5_graph import GRAPH_VERSION, export_fused_t5
from exporters.graph_cache import exported_once
from exporters.lora import DEFAULT_RANK
from exporters.text_adapter_export import TextAdapterExporter

if TYPE_CHECKING:
    from pathlib import Path

    from exporters.families.vision_language import VisionLanguage
    from sync.picture_folder import EpisodePictures


@dataclass(frozen=True, slots=True)
class OpenedBase:
    """A base that can be learnt on.

    Attributes:
        network: frozen, in evaluation mode.
        digest: SHA-256 (hex) of the base that adapters belong to.
        graphs: the folder of its exported graphs.
    """

    network: LayoutT5 | VisionLanguage
    digest: str
    graphs: Path

    def exporter(
        self, *, pictures: EpisodePictures, rank: int = DEFAULT_RANK
    ) -> AdapterExporter | TextAdapterExporter:
        """Exports the adapters that are learnt on it.

        Args:
            pictures: of logged screens, for a network that looks at them.
        """
        if isinstance(self.network, LayoutT5):
            return AdapterExporter(
                self.network, base_digest=self.digest, graphs_dir=self.graphs, rank=rank
            )
        return TextAdapterExporter(
            self.network,
            base_digest=self.digest,
            graphs_dir=self.graphs,
            pictures=pictures,
            rank=rank,
        )


def load_network(source: Path) -> LayoutT5 | VisionLanguage:
    """The frozen network in a base's folder, of whichever family.

    Raises: BaseFilesError: the base cannot be read.
    """
    return load_checkpoint(source) if is_checkpoint(source) else load_base(source)


def exported_graphs(source: Path, cache: Path) -> Path:
    """The folder in `cache` with the graphs of the base in `source`, exported if need be.

    Raises:
        BaseFilesError: the base cannot be read, or has no graphs that a phone could run.
        GraphError: the export failed.
    """
    if not is_checkpoint(source):
        return ensure_exported(source, cache)
    target = cache / f"{contents_digest(source)[:16]}-vlm{GRAPH_VERSION}"
    return exported_once(target, lambda folder: export_checkpoint(source, folder))


def export_checkpoint(source: Path, folder: Path) -> str:
    """Write the graphs of the checkpoint in `source` to `folder`; the base's digest.

    Raises: as `exported_graphs`.
    """
    network = load_checkpoint(source)
    if not isinstance(network, FusedT5):
        raise BaseFilesError(
            f"{source} acts where torch is, no phone can run it: use a T5 with an image encoder"
        )
    return export_fused_t5(network, folder)


def open_base(source: Path, cache: Path) -> OpenedBase:
    """The base in `source`, ready to be learnt on.

    Args:
        cache: keeps its graphs.

    Raises: as `exported_graphs`.
    """
    graphs = exported_graphs(source, cache)
    digest = str(json.loads((graphs / BASE_FILE).read_text(encoding="utf-8"))["digest"])
    return OpenedBase(load_network(source), digest, graphs)

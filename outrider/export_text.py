"""`outrider export` for Hugging Face checkpoints: graphs and an adapter for policies that write."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from outrider.errors import CommandError
from outrider.output import Output

if TYPE_CHECKING:
    from exporters.families.vision_language import VisionLanguage
    from exporters.parity import ParityReport
    from exporters.text_parity import TextInput
    from sync.adapter_file import FloatArray

_RELEASE = "export"
_SEED_BASE = 3_500_000_000
_SEATS = 8


@dataclass(frozen=True, slots=True)
class TextExport:
    """What was exported.

    Attributes:
        network: the base, without an adapter.
        graphs: the folder of its graphs.
        tensors: the adapter as phones apply it; empty for the base alone.
    """

    network: VisionLanguage
    graphs: Path
    tensors: dict[str, FloatArray]


def check_texts(exported: TextExport, count: int, out: Output) -> tuple[dict[str, object], str]:
    """Show how phones write; what the summary says of it, and why it is refused, if it is.

    Raises: CommandError: nothing could be played to compare on.
    """
    from device_runtime.policy import QUANTISATIONS
    from exporters.errors import ParityError
    from exporters.lora import adapted_copy, load_tensors
    from exporters.text_parity import GraphsSide, NetworkSide, compare_texts, require_text_parity
    from outrider.export_sources import rank_of

    network, rank = exported.network, rank_of(exported.tensors)
    if rank is not None:
        network = adapted_copy(network, rank, targets=network.lora_targets)
        load_tensors(network, exported.tensors)
    inputs = _played(exported, count)
    agreement: dict[str, float] = {}
    refused = ""
    for quantisation in QUANTISATIONS:
        phone = GraphsSide(exported.graphs, exported.tensors, quantisation)
        report = compare_texts(NetworkSide(network), phone, inputs)
        agreement[quantisation] = round(report.agreement, 4)
        out.event("parity", quantisation=quantisation, **figures_of(report))
        try:
            require_text_parity(report, quantisation)
        except ParityError as error:
            refused = refused or str(error)
    return {
        "checked": len(inputs),
        "source": "played",
        "agreement": agreement,
        "passed": not refused,
    }, refused


def figures_of(report: ParityReport) -> dict[str, int | float]:
    """A report as a line of output has it."""
    return {
        "n": report.n,
        "agreement": round(report.agreement, 4),
        "decisions": report.decisions,
        "agreed_decisions": report.agreed_decisions,
        "log_prob_max": report.max_difference,
        "log_prob_p99": report.p99_difference,
        "log_prob_median": report.median_difference,
    }


def _played(exported: TextExport, count: int) -> list[TextInput]:
    """Screens of episodes that the adapter plays now on mock phones, of every template."""
    from apps_mock.actors import Actors
    from apps_mock.evaluation import instances, templates_of
    from apps_mock.farm import play
    from device_runtime.onnx_text_policy import OnnxTextPolicy
    from device_runtime.picture_keeper import PictureKeeper
    from exporters.text_parity import logged_texts
    from sync.picture_folder import PictureFolder
    from sync.vocabulary import ReleaseId, Split

    policy = OnnxTextPolicy(exported.graphs)
    policy.load_adapter(_RELEASE, exported.tensors)
    wanted = instances(
        templates_of("all"),
        count=count,
        seed_base=_SEED_BASE,
        split=Split.VALIDATION,
        actor="release",
        temperature=1.0,
    )
    Random(0).shuffle(wanted)
    with tempfile.TemporaryDirectory(prefix="outrider-export-") as name:
        folder = PictureFolder(Path(name))
        keeper = PictureKeeper(policy, folder)
        played = play(
            wanted, Actors(keeper).policy_for, seats=_SEATS, release_id=ReleaseId(_RELEASE)
        )
        episodes = (one.episode for one in played)
        shown = logged_texts(episodes, exported.network.language, lambda _episode: folder.read)
        inputs = list(islice(shown, count))
    if not inputs:
        raise CommandError("no screen could be played to compare on: see outrider doctor")
    return inputs

"""`outrider export`: a base and an adapter as the files that a phone runs, and proof that they act.

FOLDER/graphs        the base's graphs, fp32 and int8
FOLDER/adapter.bin   the adapter in the codec that was asked for
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from outrider.errors import CommandError, MisuseError
from outrider.options import Json
from outrider.output import Output

if TYPE_CHECKING:
    from exporters.families.layout_t5 import LayoutT5
    from sync.adapter_file import FloatArray
    from sync.policy_io import EncodedInput

ADAPTER_FILE = "adapter.bin"
_RELEASE = "export"


class Codec(Enum):
    """How an adapter's values are stored."""

    INT8 = "int8"
    INT4 = "int4"
    FP32 = "fp32"


@dataclass(frozen=True, slots=True)
class _Exported:
    """What was exported.

    Attributes:
        base: the frozen base.
        digest: its digest.
        graphs: the folder of its graphs.
        exact: the adapter's values before they were packed.
        data: the adapter's file.
    """

    base: LayoutT5
    digest: str
    graphs: Path
    exact: dict[str, FloatArray]
    data: bytes


def export(
    *,
    base: Annotated[
        Path | None, typer.Option("--base", help="Folder of a base; the shipped one if not set.")
    ] = None,
    adapter: Annotated[
        Path | None, typer.Option("--adapter", help="An adapter file, or a release's bundle.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="A fleet's folder: its learner's adapter, its phones' logs."),
    ] = None,
    codec: Annotated[
        Codec, typer.Option("--codec", help="How the adapter's values are stored.")
    ] = Codec.INT8,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder to write to; nothing is kept if not set.")
    ] = None,
    check: Annotated[
        int,
        typer.Option(
            "--check", min=0, help="Compare with torch on so many observations, logged or played."
        ),
    ] = 0,
    json: Json = False,
) -> None:
    """Export a base and an adapter, and check on logged observations that phones act as torch does.

    The check fails where fp32 graphs take another greedy action or int8 graphs more than 3 in 100.
    """
    from exporters.base import load_base, read_card
    from exporters.checkpoint_folder import is_checkpoint
    from exporters.onnx_graph import export_base
    from exporters.shipped import DEFAULT_BASE_DIR, GRAPHS_DIR
    from outrider.export_sources import learnt_adapter, read_adapter
    from outrider.graphs import require_base
    from sync.adapter_file import pack
    from sync.policy_io import POLICY_IO_VERSION

    require_base(base)
    if adapter is not None and not adapter.is_file():
        raise MisuseError(f"{adapter} is no file: name an adapter file or a release's bundle")
    console = Output(json_lines=json)
    source = base or DEFAULT_BASE_DIR
    if is_checkpoint(source):
        _export_checkpoint(
            source, adapter, data=data, codec=codec, out=out, check=check, console=console
        )
        return
    network, digest = load_base(source), str(read_card(source)["digest"])
    exact: dict[str, FloatArray] = {}
    if adapter is not None:
        exact = dict(read_adapter(adapter, base_digest=digest).tensors)
    elif data is not None:
        exact = learnt_adapter(data, network, base_digest=digest)
    packed = pack(
        exact, base_digest=digest, policy_io_version=POLICY_IO_VERSION, quantisation=codec.value
    )
    with tempfile.TemporaryDirectory(prefix="outrider-export-") as folder:
        graphs = (out or Path(folder)) / GRAPHS_DIR
        export_base(network, graphs, digest=digest)
        _require_acts(graphs, packed)
        if out is not None:
            (out / ADAPTER_FILE).write_bytes(packed)
        exported = _Exported(network, digest, graphs, exact, packed)
        checked, refused = _checked(exported, check, data, console) if check else ({}, "")
        console.summary(
            out=out,
            base=digest,
            graphs_bytes={one.name: one.stat().st_size for one in sorted(graphs.iterdir())},
            codec=codec.value,
            adapter_bytes=len(packed),
            fp32_bytes=4 * sum(one.size for one in exact.values()),
            **checked,
        )
    if refused:
        raise CommandError(refused)


def _export_checkpoint(
    source: Path,
    adapter: Path | None,
    *,
    data: Path | None,
    codec: Codec,
    out: Path | None,
    check: int,
    console: Output,
) -> None:
    """Export a Hugging Face checkpoint, as `export` does a base.

    Raises:
        MisuseError: the adapter is none of it, or a fleet's folder is named.
        CommandError: phones would write other texts.
    """
    from exporters.families.layout_t5 import LayoutT5
    from exporters.opened_base import export_checkpoint, load_network
    from exporters.shipped import GRAPHS_DIR
    from outrider.export_sources import read_adapter
    from outrider.export_text import TextExport, check_texts
    from sync.adapter_file import pack, unpack

    if data is not None:
        raise MisuseError("a checkpoint's adapter is named by --adapter, not by --data")
    network = load_network(source)
    assert not isinstance(network, LayoutT5)
    with tempfile.TemporaryDirectory(prefix="outrider-export-") as folder:
        graphs = (out or Path(folder)) / GRAPHS_DIR
        digest = export_checkpoint(source, graphs)
        version = network.language.version
        exact: dict[str, FloatArray] = {}
        if adapter is not None:
            read = read_adapter(adapter, base_digest=digest, policy_io_version=version)
            exact = dict(read.tensors)
        packed = pack(
            exact, base_digest=digest, policy_io_version=version, quantisation=codec.value
        )
        _require_acts(graphs, packed)
        if out is not None:
            (out / ADAPTER_FILE).write_bytes(packed)
        exported = TextExport(network, graphs, dict(unpack(packed).tensors))
        checked, refused = check_texts(exported, check, console) if check else ({}, "")
        console.summary(
            out=out,
            base=digest,
            graphs_bytes={one.name: one.stat().st_size for one in sorted(graphs.iterdir())},
            codec=codec.value,
            adapter_bytes=len(packed),
            fp32_bytes=4 * sum(one.size for one in exact.values()),
            **checked,
        )
    if refused:
        raise CommandError(refused)


def _require_acts(graphs: Path, packed: bytes) -> None:
    """Load an adapter's file as a phone does.

    Raises: InstallError: it does not fit the base, or what comes of it is not finite.
    """
    from device_runtime.policies import open_base
    from sync.adapter_file import unpack

    tensors = unpack(packed).tensors
    if tensors:
        open_base(graphs, planned=False).load_adapter(_RELEASE, tensors)


def _checked(
    exported: _Exported, count: int, data: Path | None, out: Output
) -> tuple[dict[str, object], str]:
    """Show how phones act; what the summary says of it, and why it is refused, if it is."""
    from device_runtime.policy import QUANTISATIONS, OnnxPolicy
    from exporters.errors import ParityError
    from exporters.parity import compare, phone_side, require_parity, torch_side
    from outrider.export_sources import logged_inputs, played_inputs
    from outrider.export_text import figures_of
    from sync.adapter_file import unpack

    tensors = unpack(exported.data).tensors
    inputs = (
        played_inputs(OnnxPolicy(exported.graphs), tensors, count)
        if data is None
        else logged_inputs(data, count)
    )
    ours = torch_side(_adapted(exported.base, dict(tensors)))
    agreement: dict[str, float] = {}
    refused = ""
    for quantisation in QUANTISATIONS:
        report = compare(ours, phone_side(exported.graphs, tensors, quantisation), inputs)
        agreement[quantisation] = round(report.agreement, 4)
        out.event("parity", quantisation=quantisation, **figures_of(report))
        try:
            require_parity(report, quantisation)
        except ParityError as error:
            refused = refused or str(error)
    if exported.exact:
        _show_codecs(exported, inputs, out)
    return {
        "checked": len(inputs),
        "source": "played" if data is None else "logged",
        "agreement": agreement,
        "passed": not refused,
    }, refused


def _show_codecs(exported: _Exported, inputs: Sequence[EncodedInput], out: Output) -> None:
    from exporters.codecs import codec_reports
    from outrider.export_text import figures_of

    for one in codec_reports(exported.exact, exported.graphs, inputs, base_digest=exported.digest):
        out.event(
            "codec",
            codec=one.codec,
            size_bytes=one.size_bytes,
            share=round(one.share, 4),
            changed_actions=one.changes.n - one.changes.agreements,
            changed_decisions=one.changes.decisions - one.changes.agreed_decisions,
            **figures_of(one.changes),
        )


def _adapted(base: LayoutT5, tensors: dict[str, FloatArray]) -> LayoutT5:
    """The base with an adapter; itself where there is none."""
    from exporters import lora
    from outrider.export_sources import rank_of

    rank = rank_of(tensors)
    if rank is None:
        return base
    network = lora.attach(copy.deepcopy(base), rank)
    lora.load_tensors(network, tensors)
    return network

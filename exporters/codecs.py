"""What the file of an adapter costs in each codec, and what rounding changes of what it decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from exporters.parity import ParityReport, compare, phone_side
from sync.adapter_file import Quantisation, pack, unpack
from sync.policy_io import POLICY_IO_VERSION, EncodedInput

CODECS: tuple[Quantisation, ...] = ("int8", "int4")


@dataclass(frozen=True, slots=True)
class CodecReport:
    """An adapter in one codec.

    Attributes:
        codec: how its values are stored.
        size_bytes: of the file.
        share: of the bytes that its values take as floats.
        changes: how far the phone's graphs act as with the exact values.
    """

    codec: Quantisation
    size_bytes: int
    share: float
    changes: ParityReport


def codec_reports(
    tensors: Mapping[str, npt.NDArray[np.float32]],
    base_dir: Path,
    inputs: Sequence[EncodedInput],
    *,
    base_digest: str,
) -> list[CodecReport]:
    """A report for each of `CODECS`.

    Args:
        tensors: the adapter's exact values, as phones would apply them.
        base_dir: the exported graphs of its base.
        inputs: encoded observations, best logged ones.
    """
    exact = phone_side(base_dir, tensors)
    floats = 4 * sum(one.size for one in tensors.values())
    reports = []
    for codec in CODECS:
        data = pack(
            tensors,
            base_digest=base_digest,
            policy_io_version=POLICY_IO_VERSION,
            quantisation=codec,
        )
        rounded = phone_side(base_dir, unpack(data).tensors)
        changes = compare(exact, rounded, inputs)
        reports.append(CodecReport(codec, len(data), len(data) / floats, changes))
    return reports

"""A base's exported files as a phone reads them: checked whole, weights in memory, graphs opened.

Everything a graph computes with is given to it from memory when it is opened, also what it would
find in the file itself. So whoever overwrites a file later changes no policy that acts, and a graph
under an adapter differs from the base's in nothing but values.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt
import onnxruntime

from device_runtime.errors import PolicyFilesError
from sync.policy_io import POLICY_IO_VERSION

Quantisation = Literal["fp32", "int8"]
FloatArray = npt.NDArray[np.float32]

ENCODER, DECODER = "encoder", "decoder"
TABLE_FILE, WEIGHTS_FILE, BASE_FILE = "text_table.npy", "weights.safetensors", "base.json"
QUANTISATIONS: tuple[Quantisation, ...] = ("fp32", "int8")
"""How graphs compute their large products; steps are tagged with it."""

WEIGHT_SUFFIX = ".weight_t"
"""Ends the name of a linear layer's weight [in, out]; its module path comes before."""


class AdaptedBase(Protocol):
    """What an adapter is laid onto: the weights of a base, and which layers adapters change."""

    @property
    def adapted(self) -> tuple[str, ...]:
        """Module paths of those layers."""
        ...

    @property
    def weights(self) -> Mapping[str, FloatArray]:
        """float32 by name."""
        ...


@dataclass(frozen=True, slots=True)
class BaseFiles:
    """What one base's folder holds.

    Attributes:
        directory: the folder.
        digest: SHA-256 (hex) of the base that adapters must belong to.
        adapted: module paths of the layers that adapters change.
        weights: float32 by name, read-only.
        read_by: names of the weights that each graph reads.
        table: float [BUCKETS, d], the text table.
    """

    directory: Path
    digest: str
    adapted: tuple[str, ...]
    weights: Mapping[str, FloatArray]
    read_by: Mapping[str, tuple[str, ...]]
    table: npt.NDArray[Any]  # float16 or float32


class Graph:
    """One graph opened with the values that it computes with."""

    def __init__(
        self,
        model: Path | bytes,
        values: Mapping[str, FloatArray],
        options: onnxruntime.SessionOptions,
        *,
        inside: Collection[str] = (),
    ) -> None:
        """Open a graph; unknown names and other shapes are errors of onnxruntime's.

        Args:
            model: an ONNX graph, in a file or in memory.
            options: of `session_options`; is changed.
            inside: the values in whose places the graph has others.
        """
        # The runtime reads these arrays for as long as the graph is open, and does not keep them.
        self._values = {
            name: onnxruntime.OrtValue.ortvalue_from_numpy(value) for name, value in values.items()
        }
        for name in inside:
            options.add_initializer(name, self._values[name])
        outside = [name for name in self._values if name not in inside]
        options.add_external_initializers(outside, [self._values[name] for name in outside])
        self._session = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )
        self.outputs = tuple(one.name for one in self._session.get_outputs())

    def run(
        self, wanted: Sequence[str], feed: Mapping[str, npt.NDArray[Any]]
    ) -> list[npt.NDArray[np.float32]]:
        """The outputs named in `wanted`, in that order."""
        found: list[npt.NDArray[np.float32]] = self._session.run(wanted, feed)
        return found


def session_options(threads: int) -> onnxruntime.SessionOptions:
    """How every graph is opened.

    Args:
        threads: threads within one operation.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def graph_file(name: str, quantisation: str) -> str:
    """The file of a graph, `ENCODER` or `DECODER`."""
    return f"{name}.onnx" if quantisation == "fp32" else f"{name}.{quantisation}.onnx"


def weight_places(path: Path) -> dict[str, tuple[int, int]]:
    """Offset and length, bytes, of each tensor in a safetensors file.

    Raises:
        ValueError, KeyError, struct.error: the file is none.
    """
    return {name: place for name, (_, place) in _weight_entries(path.read_bytes()).items()}


def read_base(directory: Path) -> BaseFiles:
    """The base in `directory`, every file as base.json lists it.

    Raises:
        PolicyFilesError: files are missing, damaged, of another base, or of another version of the
            encoding; or a weight is not finite.
    """
    described, contents = read_listed(directory, POLICY_IO_VERSION)
    try:
        base = BaseFiles(
            directory,
            digest=str(described["digest"]),
            adapted=tuple(described["adapted"]),
            weights=read_weights(contents[WEIGHTS_FILE]),
            read_by={name: tuple(described["weights"][name]) for name in (ENCODER, DECODER)},
            table=np.load(directory / TABLE_FILE),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise unusable(directory, str(error)) from error
    require_finite(directory, {**base.weights, TABLE_FILE: base.table})
    return base


def family_in(directory: Path) -> str:
    """The family of networks that an exported base says it is of.

    Raises: PolicyFilesError: the folder holds no base.
    """
    path = directory / BASE_FILE
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["family"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PolicyFilesError(f"{path} cannot be read: export the base again") from error


def read_listed(directory: Path, version: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What base.json says, and the contents of the files that it lists, by name.

    Args:
        version: of the encoding that the base must be for.

    Raises:
        PolicyFilesError: files are missing or damaged, or the base is for another encoding.
    """
    described = _read_description(directory / BASE_FILE, version)
    try:
        contents = {name: (directory / name).read_bytes() for name in described["files"]}
        for name, digest in described["files"].items():
            if hashlib.sha256(contents[name]).hexdigest() != digest:
                raise unusable(directory, f"{name} is not the one that {BASE_FILE} lists")
    except (OSError, KeyError, TypeError, AttributeError) as error:
        raise unusable(directory, str(error)) from error
    return described, contents


def require_finite(directory: Path, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Nothing where every value is a number.

    Raises: PolicyFilesError: one is not.
    """
    for name, value in arrays.items():
        if not np.isfinite(value).all():
            raise unusable(directory, f"{name} is not finite")


class GraphFiles(Protocol):
    """Where a base's graphs are, and which weights each of them reads."""

    @property
    def directory(self) -> Path:
        """Their folder."""
        ...

    @property
    def read_by(self) -> Mapping[str, tuple[str, ...]]:
        """Names of weights by name of the graph."""
        ...


def open_graphs(
    base: GraphFiles, weights: Mapping[str, FloatArray], quantisation: str, *, threads: int
) -> dict[str, Graph]:
    """The graphs of `base` by name, computing with `weights`.

    Raises:
        PolicyFilesError: a graph cannot be opened, or not with these weights.
    """
    try:
        return {
            name: Graph(
                base.directory / graph_file(name, quantisation),
                {one: weights[one] for one in read},
                session_options(threads),
            )
            for name, read in base.read_by.items()
        }
    except Exception as error:  # onnxruntime's errors share no base but Exception
        raise unusable(base.directory, f"a graph cannot be opened: {error}") from error


def _read_description(path: Path, wanted: str) -> dict[str, Any]:
    try:
        description: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        version = description["policy_io_version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PolicyFilesError(f"{path} cannot be read: export the base again") from error
    if version != wanted:
        raise PolicyFilesError(
            f"{path} is for encoding {version}, this program has {wanted}: export the base again"
        )
    return description


def read_weights(data: bytes) -> Mapping[str, FloatArray]:
    """The float32 tensors of a safetensors file by name, read-only.

    Raises:
        ValueError, KeyError, struct.error: the file is none.
    """
    return MappingProxyType(
        {
            name: np.frombuffer(data, np.float32, length // 4, offset).reshape(shape)
            for name, (shape, (offset, length)) in _weight_entries(data).items()
        }
    )


def _weight_entries(data: bytes) -> dict[str, tuple[list[int], tuple[int, int]]]:
    """Shape, offset and length of the float32 tensors in a safetensors file, by name."""
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    entries = {}
    for name, entry in header.items():
        if entry["dtype"] != "F32":
            raise ValueError(f"{name} is {entry['dtype']}, not F32")
        first, last = entry["data_offsets"]
        entries[name] = (entry["shape"], (8 + size + first, last - first))
    return entries


def unusable(directory: Path, why: str) -> PolicyFilesError:
    """The error of a base that cannot be loaded."""
    return PolicyFilesError(f"{directory} cannot be loaded ({why}): export the base again")

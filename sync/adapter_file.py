"""One LoRA adapter as a small file of deterministic bytes, and back.

Learner → `pack` → signed release → phone → `unpack` → ONNX session. `W = unpack(pack(t)).tensors`
is the policy everywhere: phones act with W and the learner evaluates W, so rounding is never a gap
between training and use. A file is whole in itself: no chain, no delta, no state.

Layout, little-endian:

    8 bytes   magic "ORADAPT2"
    4 bytes   length of the header as it is stored
    header    zlib stream of canonical JSON: what it belongs to, and name, shape and exponent of
              each tensor
    rest      zlib stream of the body: per tensor, in the order of their names, scales then codes

Files of the first version, "ORADAPT1", are read as before: there the header is not compressed, and
blocks of `block` values run across rank components.

Scales and codes are those of `sync.adapter_blocks`.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import msgspec
import numpy as np

from sync.adapter_blocks import (
    DEFAULT_BLOCK,
    MIN_EXPONENT,
    FloatArray,
    Grid,
    Quantisation,
    decode,
    encode,
    encoded_size,
    grid_of,
)
from sync.errors import RejectedError

__all__ = [
    "MAX_BODY_BYTES",
    "MAX_FILE_BYTES",
    "MAX_HEADER_BYTES",
    "MAX_MAGNITUDE",
    "AdapterFile",
    "FloatArray",
    "Quantisation",
    "adapter_digest",
    "pack",
    "unpack",
]

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_BODY_BYTES = 256 * 1024 * 1024
MAX_HEADER_BYTES = 1024 * 1024
MAX_MAGNITUDE = 2.0**40
"""Larger values are no adapter: a learner diverged."""

_SCHEMA_VERSIONS = {b"ORADAPT1": 1, b"ORADAPT2": 2}
_MAGIC, _SCHEMA_VERSION = b"ORADAPT2", 2
_ZLIB_LEVEL = 9
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./\-]{0,199}")


@dataclass(frozen=True, slots=True)
class AdapterFile:
    """What a phone or the learner gets out of an adapter file.

    Attributes:
        tensors: float32, 2-D, by name: the values as they act, after quantisation.
        base_digest: SHA-256 (hex) of the base network that they belong to.
        policy_io_version: encoding and action grammar that they were trained with.
        quantisation: how they are stored.
        digest: SHA-256 (hex) of the file's bytes.
    """

    tensors: Mapping[str, FloatArray]
    base_digest: str
    policy_io_version: str
    quantisation: Quantisation
    digest: str


class _TensorEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    shape: tuple[int, int]
    exponent: int = 0


class _Header(msgspec.Struct, frozen=True):
    schema_version: int
    base_digest: str
    policy_io_version: str
    quantisation: Quantisation
    block: int
    body_size_bytes: int
    body_sha256: str
    tensors: tuple[_TensorEntry, ...]


def pack(
    tensors: Mapping[str, FloatArray],
    *,
    base_digest: str,
    policy_io_version: str,
    quantisation: Quantisation = "int8",
    block: int | None = None,
) -> bytes:
    """The adapter as bytes; the same tensors always give the same bytes.

    Args:
        tensors: float32 [m, n] by name, finite. None at all is a valid adapter: the base as it is.
        base_digest: SHA-256 (hex) of the base network that the tensors belong to.
        policy_io_version: encoding and action grammar that they were trained with.
        quantisation: "int8", "int4" or "fp32" (kept exactly).
        block: most values that share a scale; 128 for int8 and 96 for int4 where not given.

    Raises:
        ValueError: a tensor is not 2-D float32, a name is unusable, or the block is.
        RejectedError: values that no phone would accept ("not_finite", "too_large").
    """
    size = DEFAULT_BLOCK[quantisation] if block is None else block
    if not 1 <= size <= 4096:
        raise ValueError(f"a block holds 1 to 4096 values, got {size}")
    entries: list[_TensorEntry] = []
    parts: list[bytes] = []
    for name in sorted(tensors):
        values = tensors[name]
        _require_packable(name, values)
        exponent, data = encode(values, quantisation, size)
        rows, columns = values.shape
        entries.append(_TensorEntry(name=name, shape=(rows, columns), exponent=exponent))
        parts.append(data)
    body = b"".join(parts)
    header = _Header(
        schema_version=_SCHEMA_VERSION,
        base_digest=base_digest,
        policy_io_version=policy_io_version,
        quantisation=quantisation,
        block=size,
        body_size_bytes=len(body),
        body_sha256=hashlib.sha256(body).hexdigest(),
        tensors=tuple(entries),
    )
    text = json.dumps(msgspec.to_builtins(header), sort_keys=True, separators=(",", ":")).encode()
    stored = zlib.compress(text, _ZLIB_LEVEL)
    packed = b"".join(
        (_MAGIC, struct.pack("<I", len(stored)), stored, zlib.compress(body, _ZLIB_LEVEL))
    )
    if len(packed) > MAX_FILE_BYTES or len(text) > MAX_HEADER_BYTES or len(body) > MAX_BODY_BYTES:
        raise _rejected(f"{len(packed)} bytes are more than an adapter file may hold", "too_large")
    return packed


def unpack(data: bytes) -> AdapterFile:
    """The adapter in `data`, checked in every respect that needs no key.

    Raises:
        RejectedError: "malformed", "too_large" or "not_finite"; never anything else, whatever
            the bytes are.
    """
    header, compressed = _split(data)
    grids = [_grid(entry, header) for entry in header.tensors]
    sizes = [encoded_size(header.quantisation, grid) for grid in grids]
    if sum(sizes) != header.body_size_bytes:
        raise _rejected("the tensors' sizes do not add up to the body's", "malformed")
    body = _inflate(compressed, header.body_size_bytes, "body")
    if len(body) != header.body_size_bytes:
        raise _rejected("the body is shorter than the header says", "malformed")
    if hashlib.sha256(body).hexdigest() != header.body_sha256:
        raise _rejected("the body does not match its digest", "malformed")
    tensors: dict[str, FloatArray] = {}
    offset = 0
    for entry, grid, size in zip(header.tensors, grids, sizes, strict=True):
        values = decode(
            body[offset : offset + size],
            entry.shape,
            header.quantisation,
            exponent=entry.exponent,
            grid=grid,
        )
        if not np.isfinite(values).all():
            raise _rejected(f"tensor {entry.name} holds values that are not finite", "not_finite")
        values.setflags(write=False)
        tensors[entry.name] = values
        offset += size
    return AdapterFile(
        tensors=MappingProxyType(tensors),
        base_digest=header.base_digest,
        policy_io_version=header.policy_io_version,
        quantisation=header.quantisation,
        digest=adapter_digest(data),
    )


def form_of(data: bytes) -> int:
    """Which form an adapter file has: 1 or 2.

    Raises: RejectedError: "malformed" where it is none.
    """
    version = _SCHEMA_VERSIONS.get(data[: len(_MAGIC)])
    if version is None:
        raise _rejected("this is not an adapter file", "malformed")
    return version


def adapter_digest(data: bytes) -> str:
    """SHA-256 (hex) of an adapter file, as releases name it."""
    return hashlib.sha256(data).hexdigest()


def _require_packable(name: str, values: FloatArray) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(f"not a usable tensor name: {name!r}")
    if values.ndim != 2 or values.dtype != np.float32 or 0 in values.shape:
        raise ValueError(f"{name} must be float32 [m, n], got {values.dtype} {values.shape}")
    if not np.isfinite(values).all():
        raise _rejected(f"tensor {name} holds values that are not finite", "not_finite")
    if float(np.abs(values).max()) > MAX_MAGNITUDE:
        raise _rejected(f"tensor {name} holds values beyond {MAX_MAGNITUDE:.0e}", "too_large")


def _grid(entry: _TensorEntry, header: _Header) -> Grid:
    if header.schema_version == 1:
        return Grid(1, entry.shape[0] * entry.shape[1], header.block)
    return grid_of(entry.shape, header.block)


def _split(data: bytes) -> tuple[_Header, bytes]:
    if len(data) > MAX_FILE_BYTES:
        raise _rejected(f"{len(data)} bytes are more than an adapter file may hold", "too_large")
    start = len(_MAGIC) + 4
    version = form_of(data)
    if len(data) < start:
        raise _rejected("this is not an adapter file", "malformed")
    (length,) = struct.unpack_from("<I", data, len(_MAGIC))
    if length > MAX_HEADER_BYTES or start + length > len(data):
        raise _rejected("the header is longer than the file", "malformed")
    text = data[start : start + length]
    if version > 1:
        text = _inflate(text, MAX_HEADER_BYTES, "header")
    try:
        header = msgspec.json.decode(text, type=_Header)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _rejected(f"the header cannot be read: {error}", "malformed") from error
    _require_sound(header, version)
    return header, data[start + length :]


def _require_sound(header: _Header, version: int) -> None:
    if header.schema_version != version:
        raise _rejected(f"adapter file version {header.schema_version} is unknown", "malformed")
    if header.body_size_bytes > MAX_BODY_BYTES:
        raise _rejected(f"a body of {header.body_size_bytes} bytes is too large", "too_large")
    if not 1 <= header.block <= 4096:
        raise _rejected(f"a block of {header.block} values is not allowed", "malformed")
    names = [entry.name for entry in header.tensors]
    if sorted(set(names)) != names or not all(_NAME.fullmatch(name) for name in names):
        raise _rejected("tensor names must be usable, sorted and unique", "malformed")
    for entry in header.tensors:
        if min(entry.shape) < 1 or not MIN_EXPONENT <= entry.exponent <= 64:
            raise _rejected(f"tensor {entry.name} has an impossible shape or scale", "malformed")


def _inflate(compressed: bytes, most_bytes: int, what: str) -> bytes:
    """At most `most_bytes`, however much the stream would give."""
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(compressed, most_bytes + 1)
    except zlib.error as error:
        raise _rejected(f"the {what} cannot be inflated: {error}", "malformed") from error
    if len(data) > most_bytes or not inflater.eof or inflater.unused_data:
        raise _rejected(f"the {what} is longer or shorter than it should be", "malformed")
    return data


def _rejected(message: str, reason: str) -> RejectedError:
    return RejectedError(f"adapter file: {message}", reason=reason)

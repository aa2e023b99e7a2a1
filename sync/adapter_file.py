"""One LoRA adapter as a small file of deterministic bytes, and back.

Learner → `pack` → signed release → phone → `unpack` → ONNX session. `W = unpack(pack(t)).tensors`
is the policy everywhere: phones act with W and the learner evaluates W, so rounding is never a gap
between training and use. A file is whole in itself: no chain, no delta, no state.

Layout, little-endian:

    8 bytes   magic "ORADAPT1"
    4 bytes   length of the header
    header    canonical JSON: what it belongs to, and name, shape and exponent of each tensor
    rest      zlib stream of the body: per tensor, in the order of their names, scales then codes

Quantisation is symmetric by blocks over the tensor flattened rank by rank (a LoRA factor's short
side is its rank; values of one rank component lie together and have one magnitude):

    x̂ = code · scale · 2^exponent,   |code| ≤ 127 (int8) or 7 (int4)
    |x − x̂| ≤ scale · 2^exponent / 2

`scale` is a float16 rounded up, so that no value is ever clipped; the exponent is one per tensor
and brings its largest scale into (1/2, 1], so that scales neither overflow nor vanish.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from sync.errors import RejectedError

Quantisation = Literal["int8", "int4", "fp32"]
FloatArray = npt.NDArray[np.float32]

MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_BODY_BYTES = 256 * 1024 * 1024
MAX_HEADER_BYTES = 1024 * 1024
MAX_MAGNITUDE = 2.0**40
"""Larger values are no adapter: a learner diverged."""

_MAGIC = b"ORADAPT1"
_SCHEMA_VERSION = 1
_LEVELS: dict[Quantisation, int] = {"int8": 127, "int4": 7, "fp32": 0}
_DEFAULT_BLOCK: dict[Quantisation, int] = {"int8": 64, "int4": 32, "fp32": 1}
_MIN_EXPONENT = -100
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
        block: values that share a scale; 64 for int8 and 32 for int4 where not given.

    Raises:
        ValueError: a tensor is not 2-D float32, a name is unusable, or the block is.
        RejectedError: values that no phone would accept ("not_finite", "too_large").
    """
    size = _DEFAULT_BLOCK[quantisation] if block is None else block
    if not 1 <= size <= 4096:
        raise ValueError(f"a block holds 1 to 4096 values, got {size}")
    entries: list[_TensorEntry] = []
    parts: list[bytes] = []
    for name in sorted(tensors):
        values = tensors[name]
        _require_packable(name, values)
        exponent, data = _encode(values, quantisation, size)
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
    packed = b"".join(
        (_MAGIC, struct.pack("<I", len(text)), text, zlib.compress(body, _ZLIB_LEVEL))
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
    sizes = [_encoded_size(entry, header) for entry in header.tensors]
    if sum(sizes) != header.body_size_bytes:
        raise _rejected("the tensors' sizes do not add up to the body's", "malformed")
    body = _inflate(compressed, header.body_size_bytes)
    if hashlib.sha256(body).hexdigest() != header.body_sha256:
        raise _rejected("the body does not match its digest", "malformed")
    tensors: dict[str, FloatArray] = {}
    offset = 0
    for entry, size in zip(header.tensors, sizes, strict=True):
        values = _decode(body[offset : offset + size], entry, header)
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


def _encode(values: FloatArray, quantisation: Quantisation, block: int) -> tuple[int, bytes]:
    flat = _rank_order(values)
    if quantisation == "fp32":
        return 0, flat.astype("<f4").tobytes()
    levels = _LEVELS[quantisation]
    blocks = _blocks(flat, block)
    wanted = np.abs(blocks).max(axis=1).astype(np.float64) / levels
    largest = float(wanted.max())
    exponent = max(_MIN_EXPONENT, math.frexp(largest)[1]) if largest > 0.0 else 0
    scales = _float16_at_least(np.ldexp(wanted, -exponent))
    exact = np.ldexp(scales.astype(np.float64), exponent)[:, np.newaxis]
    quotients = np.divide(blocks, exact, out=np.zeros(blocks.shape), where=exact > 0.0)
    codes = np.rint(quotients).astype(np.int8).ravel()[: flat.size]
    return exponent, scales.astype("<f2").tobytes() + _pack_codes(codes, quantisation)


def _decode(data: bytes, entry: _TensorEntry, header: _Header) -> FloatArray:
    count = entry.shape[0] * entry.shape[1]
    if header.quantisation == "fp32":
        return _from_rank_order(np.frombuffer(data, dtype="<f4").astype(np.float32), entry.shape)
    scale_count = _block_count(count, header.block)
    scales = np.frombuffer(data[: 2 * scale_count], dtype="<f2").astype(np.float32)
    codes = _unpack_codes(data[2 * scale_count :], count, header.quantisation)
    exact = np.ldexp(scales, entry.exponent)[:, np.newaxis]
    with np.errstate(invalid="ignore"):  # not-a-number scales are found and refused by the caller
        values = (_blocks(codes.astype(np.float32), header.block) * exact).ravel()[:count]
    return _from_rank_order(values, entry.shape)


def _rank_order(values: FloatArray) -> FloatArray:
    """float32 [m·n]: one rank component after the other; the shorter side is the rank."""
    rows, columns = values.shape
    return values.ravel(order="F" if columns < rows else "C")


def _from_rank_order(flat: FloatArray, shape: tuple[int, int]) -> FloatArray:
    rows, columns = shape
    return np.ascontiguousarray(flat.reshape(shape, order="F" if columns < rows else "C"))


def _blocks(flat: FloatArray, block: int) -> FloatArray:
    """float32 [blocks, block], the last one filled up with zeros."""
    padded = np.zeros(_block_count(flat.size, block) * block, dtype=np.float32)
    padded[: flat.size] = flat
    return padded.reshape(-1, block)


def _block_count(count: int, block: int) -> int:
    return -(-count // block)


def _float16_at_least(wanted: npt.NDArray[np.float64]) -> npt.NDArray[np.float16]:
    """The smallest float16 that is not below `wanted` (values in 0..1)."""
    scales = wanted.astype(np.float16)
    above = np.nextafter(scales, np.float16(np.inf))
    return np.where(scales.astype(np.float64) < wanted, above, scales)


def _pack_codes(codes: npt.NDArray[np.int8], quantisation: Quantisation) -> bytes:
    if quantisation == "int8":
        return codes.tobytes()
    nibbles = np.full(codes.size + codes.size % 2, 8, dtype=np.uint8)
    nibbles[: codes.size] = (codes + 8).astype(np.uint8)
    packed: npt.NDArray[np.uint8] = nibbles[0::2] | (nibbles[1::2] << np.uint8(4))
    return packed.tobytes()


def _unpack_codes(data: bytes, count: int, quantisation: Quantisation) -> npt.NDArray[np.int8]:
    if quantisation == "int8":
        return np.frombuffer(data, dtype=np.int8)
    packed = np.frombuffer(data, dtype=np.uint8)
    codes = np.empty(2 * packed.size, dtype=np.int8)
    codes[0::2] = (packed & np.uint8(15)).astype(np.int8) - 8
    codes[1::2] = (packed >> np.uint8(4)).astype(np.int8) - 8
    return codes[:count]


def _split(data: bytes) -> tuple[_Header, bytes]:
    if len(data) > MAX_FILE_BYTES:
        raise _rejected(f"{len(data)} bytes are more than an adapter file may hold", "too_large")
    start = len(_MAGIC) + 4
    if len(data) < start or not data.startswith(_MAGIC):
        raise _rejected("this is not an adapter file", "malformed")
    (length,) = struct.unpack_from("<I", data, len(_MAGIC))
    if length > MAX_HEADER_BYTES or start + length > len(data):
        raise _rejected("the header is longer than the file", "malformed")
    try:
        header = msgspec.json.decode(data[start : start + length], type=_Header)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _rejected(f"the header cannot be read: {error}", "malformed") from error
    _require_sound(header)
    return header, data[start + length :]


def _require_sound(header: _Header) -> None:
    if header.schema_version != _SCHEMA_VERSION:
        raise _rejected(f"adapter file version {header.schema_version} is unknown", "malformed")
    if header.body_size_bytes > MAX_BODY_BYTES:
        raise _rejected(f"a body of {header.body_size_bytes} bytes is too large", "too_large")
    if not 1 <= header.block <= 4096:
        raise _rejected(f"a block of {header.block} values is not allowed", "malformed")
    names = [entry.name for entry in header.tensors]
    if sorted(set(names)) != names or not all(_NAME.fullmatch(name) for name in names):
        raise _rejected("tensor names must be usable, sorted and unique", "malformed")
    for entry in header.tensors:
        if min(entry.shape) < 1 or not _MIN_EXPONENT <= entry.exponent <= 64:
            raise _rejected(f"tensor {entry.name} has an impossible shape or scale", "malformed")


def _encoded_size(entry: _TensorEntry, header: _Header) -> int:
    count = entry.shape[0] * entry.shape[1]
    match header.quantisation:
        case "fp32":
            return 4 * count
        case "int8":
            return 2 * _block_count(count, header.block) + count
        case "int4":
            return 2 * _block_count(count, header.block) + _block_count(count, 2)


def _inflate(compressed: bytes, size_bytes: int) -> bytes:
    """Exactly `size_bytes`, never more, however much the stream would give."""
    inflater = zlib.decompressobj()
    try:
        body = inflater.decompress(compressed, size_bytes + 1)
    except zlib.error as error:
        raise _rejected(f"the body cannot be inflated: {error}", "malformed") from error
    if len(body) != size_bytes or not inflater.eof or inflater.unused_data:
        raise _rejected("the body is longer or shorter than the header says", "malformed")
    return body


def _rejected(message: str, reason: str) -> RejectedError:
    return RejectedError(f"adapter file: {message}", reason=reason)

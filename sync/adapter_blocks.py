"""A LoRA factor as codes of a few bits: symmetric quantisation by blocks, and back.

A factor's short side is its rank; the values of one rank component lie together, have one
magnitude, and fill the fewest equal blocks of at most `block` values:

    x̂ = code · scale · 2^exponent,   |code| ≤ 127 (int8) or 7 (int4)
    |x − x̂| ≤ scale · 2^exponent / 2

`scale` is a float16 rounded up, so that no value is ever clipped; the exponent is one per tensor
and brings its largest scale into (1/2, 1], so that scales neither overflow nor vanish.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

Quantisation = Literal["int8", "int4", "fp32"]
FloatArray = npt.NDArray[np.float32]

DEFAULT_BLOCK: dict[Quantisation, int] = {"int8": 128, "int4": 96, "fp32": 1}
MIN_EXPONENT = -100

_Number = TypeVar("_Number", np.int8, np.float32)
_LEVELS: dict[Quantisation, int] = {"int8": 127, "int4": 7, "fp32": 0}


class Grid(NamedTuple):
    """How a tensor's values are laid into blocks.

    Attributes:
        rows: runs of values that share no block.
        length: values in each run.
        block: values in each block; the last one of a run may have fewer.
    """

    rows: int
    length: int
    block: int

    @property
    def per_row(self) -> int:
        """Blocks in each run."""
        return -(-self.length // self.block)


def grid_of(shape: tuple[int, int], block: int) -> Grid:
    """How a factor of some shape is laid out: by rank components."""
    length = max(shape)
    return Grid(min(shape), length, -(-length // -(-length // block)))


def encode(values: FloatArray, quantisation: Quantisation, block: int) -> tuple[int, bytes]:
    """The exponent of a factor, and its scales and codes.

    Args:
        values: float32 [m, n], finite.
        block: most values that share a scale.
    """
    flat = _rank_order(values)
    if quantisation == "fp32":
        return 0, flat.astype("<f4").tobytes()
    levels = _LEVELS[quantisation]
    rows, columns = values.shape
    grid = grid_of((rows, columns), block)
    blocks = _blocks(flat, grid)
    wanted = np.abs(blocks).max(axis=1).astype(np.float64) / levels
    largest = float(wanted.max())
    exponent = max(MIN_EXPONENT, math.frexp(largest)[1]) if largest > 0.0 else 0
    scales = _float16_at_least(np.ldexp(wanted, -exponent))
    exact = np.ldexp(scales.astype(np.float64), exponent)[:, np.newaxis]
    quotients = np.divide(blocks, exact, out=np.zeros(blocks.shape), where=exact > 0.0)
    codes = _flat(np.rint(quotients).astype(np.int8), grid)
    return exponent, scales.astype("<f2").tobytes() + _pack_codes(codes, quantisation)


def decode(
    data: bytes, shape: tuple[int, int], quantisation: Quantisation, *, exponent: int, grid: Grid
) -> FloatArray:
    """float32 [m, n] from scales and codes; what is not finite in them is not finite here.

    Args:
        data: `encoded_size` bytes.
    """
    if quantisation == "fp32":
        return _from_rank_order(np.frombuffer(data, dtype="<f4").astype(np.float32), shape)
    scales = np.frombuffer(data[: _scale_bytes(grid)], dtype="<f2").astype(np.float32)
    count = grid.rows * grid.length
    codes = _unpack_codes(data[_scale_bytes(grid) :], count, quantisation)
    exact = np.ldexp(scales, exponent)[:, np.newaxis]
    with np.errstate(invalid="ignore"):  # not-a-number scales are found and refused by the caller
        values = _flat(_blocks(codes.astype(np.float32), grid) * exact, grid)
    return _from_rank_order(values, shape)


def _rank_order(values: FloatArray) -> FloatArray:
    """float32 [m·n]: one rank component after the other; the shorter side is the rank."""
    rows, columns = values.shape
    return values.ravel(order="F" if columns < rows else "C")


def _from_rank_order(flat: FloatArray, shape: tuple[int, int]) -> FloatArray:
    rows, columns = shape
    return np.ascontiguousarray(flat.reshape(shape, order="F" if columns < rows else "C"))


def _blocks(flat: FloatArray, grid: Grid) -> FloatArray:
    """float32 [blocks, block], the last one of each run filled up with zeros."""
    if grid.per_row * grid.block == grid.length:
        return flat.reshape(-1, grid.block)
    padded = np.zeros((grid.rows, grid.per_row * grid.block), dtype=np.float32)
    padded[:, : grid.length] = flat.reshape(grid.rows, grid.length)
    return padded.reshape(-1, grid.block)


def _flat(blocks: npt.NDArray[_Number], grid: Grid) -> npt.NDArray[_Number]:
    """What `_blocks` was given, of any type."""
    return blocks.reshape(grid.rows, -1)[:, : grid.length].ravel()


def _scale_bytes(grid: Grid) -> int:
    return 2 * grid.rows * grid.per_row


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


def encoded_size(quantisation: Quantisation, grid: Grid) -> int:
    """Bytes of a factor's scales and codes."""
    count = grid.rows * grid.length
    if quantisation == "fp32":
        return 4 * count
    codes = count if quantisation == "int8" else -(-count // 2)
    return _scale_bytes(grid) + codes

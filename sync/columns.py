"""Trajectories turned on their side: what many steps say of one field stands together.

A list of values of one dataclass becomes one column for each field. Columns that are all the same
are written once, elements and screens that come again are written as numbers, digests as raw bytes,
times as differences, and numbers in the shortest form that gives back the same number. What comes
of it is a tenth of the bytes to deflate, and deflates to less.

Nothing here knows a field by name: a field that is added to the vocabulary is packed like the rest.
`packed` and `unpacked` undo each other for whatever msgspec can encode.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum, IntEnum
from functools import cache
from itertools import accumulate, chain, islice, pairwise
from types import MappingProxyType
from typing import Any, Final

import msgspec

from sync.vocabulary import Action, Element, Observation

MAX_VALUES: Final = 4_000_000
"""Most values that a message may unfold to: a short message of references can unfold to a long
one."""

Packed = list[Any]  # Any: a tag and what the tag says
Column = Sequence[Any]  # Any: values of one field, of whatever type it has
_INNER: Final = frozenset({list, dict})
_SHARED: Final = frozenset({Element, Observation, Action, str})
_DIGEST_HEX: Final = 64
_WIDE: Final = 1 << 62
"""Numbers from here on have no differences that msgpack can hold."""
_EXACT: Final = 1e12
"""Floats below this are whole multiples of a fraction that a number of 64 bits can count."""
_ENCODER: Final = msgspec.msgpack.Encoder()
_SCREEN_SIDES: Final = (1080, 2400, 720, 1440, 1600, 2280, 2340, 3120, 1344, 2992)
_DENOMINATORS: Final = (1, 1000, *(2 * side for side in _SCREEN_SIDES))
"""Times are whole microseconds; touches go to the middle of an element, in half pixels."""


class _Tag(IntEnum):
    PLAIN = 0
    SAME = 1
    OPTIONAL = 2
    FLAT = 3
    RECORD = 4
    SHARED = 5
    DIGESTS = 6
    FLOAT32 = 7
    FLOAT64 = 8
    RATIO = 9
    STEPS = 10
    BYTES = 11


class ColumnsError(ValueError):
    """What should be packed columns is something else."""


def packed(value: object) -> Packed:
    """A value as columns, which msgpack can encode."""
    return _pack([value])


def unpacked(columns: object) -> object:
    """What was packed, as builtins: dicts, lists, numbers, text and bytes.

    Raises: ColumnsError: it was not made by `packed`, or unfolds to more than is allowed.
    """
    try:
        (value,) = _Unpacking().column(columns, 1)
    except (
        *(TypeError, ValueError, AttributeError, LookupError),
        *(ArithmeticError, RecursionError, struct.error),
    ) as error:
        raise ColumnsError(f"no packed columns ({error})") from error
    return value


def names(columns: object) -> Iterator[str]:
    """Names of fields that packed columns hold, once for each dataclass of which there are some."""
    waiting = [columns]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield from map(str, one)
            waiting.extend(one.values())
        elif isinstance(one, list) and _holds_more(one):
            waiting.extend(one)


def _holds_more(values: Collection[object]) -> bool:
    """Whether there are lists or dicts among values: most columns are numbers and texts."""
    return not _INNER.isdisjoint(map(type, values))


# --- packing ----------------------------------------------------------------------------------


def _pack(values: Column) -> Packed:
    if len(values) > 1 and _all_are(values, values[0]):
        return [_Tag.SAME, _pack(values[:1])]
    kinds = set(map(type, values))
    if type(None) in kinds and len(kinds) > 1:
        there = [index for index, value in enumerate(values) if value is not None]
        return [_Tag.OPTIONAL, there, _pack([values[index] for index in there])]
    if len(kinds) != 1:
        return _pack_plain(values)
    kind = kinds.pop()
    return _pack_shared(kind, values) if kind in _SHARED else _pack_kind(kind, values)


def _all_are(values: Column, wanted: object) -> bool:
    """Whether all are the same as `wanted`, to the bit."""
    kind = type(wanted)
    if (is_dataclass(kind) and kind not in _SHARED) or (kind is tuple and wanted != ()):
        return False  # they may hold zeros of both signs, which are equal
    if not all(value is wanted or (type(value) is kind and value == wanted) for value in values):
        return False
    if not isinstance(wanted, float):
        return True
    return all(math.copysign(1, value) == math.copysign(1, wanted) for value in values)


def _pack_kind(kind: type, values: Column) -> Packed:
    """Values of one type, packed by that type."""
    if is_dataclass(kind):
        columns = {}
        for name, default in _fields(kind):
            column = [getattr(value, name) for value in values]
            if not _all_are(column, default):
                columns[name] = _pack(column)
        return [_Tag.RECORD, columns]
    if issubclass(kind, Enum):
        return _pack([value.value for value in values])
    return _PACKERS.get(kind, _pack_plain)(values)


@cache
def _fields(kind: Any) -> tuple[tuple[str, Any], ...]:  # any dataclass, and defaults of any type
    return tuple((one.name, one.default) for one in fields(kind))


def _pack_shared(kind: type, values: Column) -> Packed:
    """Values of which some come again: each once, and which one stands where."""
    numbers: dict[Any, int] = {}  # Any: of a shared type
    where = [numbers.setdefault(value, len(numbers)) for value in values]
    if len(numbers) == len(values):
        return _pack_kind(kind, values)
    return [_Tag.SHARED, len(numbers), _pack_kind(kind, list(numbers)), where]


def _pack_plain(values: Column) -> Packed:
    return [_Tag.PLAIN, msgspec.to_builtins(values, builtin_types=(bytes,))]


def _pack_tuples(values: Column) -> Packed:
    items = list(chain.from_iterable(values))
    width = len(values[0])
    if width and all(len(value) == width for value in values) and _numbers(items):
        return [_Tag.FLAT, width, [_pack(items[at::width]) for at in range(width)]]
    return [_Tag.FLAT, _pack([len(value) for value in values]), len(items), _pack(items)]


def _numbers(items: Column) -> bool:
    return all(type(item) is int for item in items)


def _pack_texts(values: Column) -> Packed:
    if all(len(text) == _DIGEST_HEX for text in values):
        try:
            raw = bytes.fromhex("".join(values))
        except ValueError:
            return [_Tag.PLAIN, list(values)]
        if raw.hex() == "".join(values):
            return [_Tag.DIGESTS, raw]
    return [_Tag.PLAIN, list(values)]


def _pack_bytes(values: Column) -> Packed:
    return [_Tag.BYTES, [len(value) for value in values], b"".join(values)]


def _pack_ints(values: Column) -> Packed:
    plain = [_Tag.PLAIN, list(values)]
    if max(map(abs, values)) >= _WIDE:
        return plain
    steps = [_Tag.STEPS, values[0], [later - sooner for sooner, later in pairwise(values)]]
    return min(plain, steps, key=_encoded_bytes)


def _encoded_bytes(column: Packed) -> int:
    return len(_ENCODER.encode(column))


def _pack_floats(values: Column) -> Packed:
    exact = struct.pack(f"<{len(values)}d", *values)
    largest = max(map(abs, values))
    if all(map(math.isfinite, values)):
        for denominator in _DENOMINATORS if largest < _EXACT else ():
            tops = [round(value * denominator) for value in values]
            if exact == struct.pack(f"<{len(values)}d", *(top / denominator for top in tops)):
                return [_Tag.RATIO, denominator, tops]
        if largest < 1e38:  # float32 holds no more
            short = struct.pack(f"<{len(values)}f", *values)
            if struct.unpack(f"<{len(values)}f", short) == tuple(values):
                return [_Tag.FLOAT32, short]
    return [_Tag.FLOAT64, exact]


_PACKERS: Final[Mapping[type, Callable[[Column], Packed]]] = MappingProxyType(
    {
        tuple: _pack_tuples,
        str: _pack_texts,
        bytes: _pack_bytes,
        int: _pack_ints,
        float: _pack_floats,
    }
)


# --- unpacking --------------------------------------------------------------------------------


class _Unpacking:
    """One message that is unfolded, and how much of it there is so far."""

    def __init__(self) -> None:
        self._left = MAX_VALUES
        self._weights: dict[int, int] = {}  # of lists and dicts, by identity; all are kept alive

    def column(self, columns: Any, count: int) -> list[Any]:  # Any: what somebody sent
        """`count` values; a ValueError and its like where there are not as many."""
        self._take(count)
        tag, *said = columns
        values = _UNPACKERS[_Tag(tag)](self, count, *said)
        if len(values) != count:
            raise ValueError(f"a column of {len(values)} where {count} belong")
        return values

    def same(self, count: int, column: Any) -> list[Any]:
        """One value, `count` times."""
        values = self.column(column, 1)
        self._take((count - 1) * self._weight(values[0]))
        return values * count

    def optional(self, count: int, there: list[int], column: Any) -> list[Any]:
        """Values, and nothing where there is none."""
        values: list[Any] = [None] * count
        for index, value in zip(there, self.column(column, len(there)), strict=True):
            values[index] = value
        return values

    def flat(self, count: int, sizes: Any, *said: Any) -> list[Any]:
        """Lists: of one length and column by column, or of any lengths and one after the other."""
        if isinstance(sizes, int):
            (columns,) = said
            wide = [self.column(column, count) for column in columns]
            return list(map(list, zip(*wide, strict=True)))
        total, column = said
        items = iter(self.column(column, total))
        return [list(islice(items, size)) for size in self.column(sizes, count)]

    def record(self, count: int, columns: Mapping[str, Any]) -> list[Any]:
        """Values of a dataclass; fields that are left out have their defaults."""
        if not columns:
            return [{} for _ in range(count)]
        names = tuple(columns)
        wide = [self.column(column, count) for column in columns.values()]
        return [dict(zip(names, row, strict=True)) for row in zip(*wide, strict=True)]

    def shared(self, _count: int, unique: int, column: Any, where: list[int]) -> list[Any]:
        """Values of which some come again."""
        values = self.column(column, unique)
        if _holds_more(values):
            weights = [self._weight(value) for value in values]
            self._take(sum(weights[number] for number in where))
        else:
            self._take(len(where))
        return [values[number] for number in where]

    def _take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise ValueError(f"unfolds to over {MAX_VALUES} values")

    def _weight(self, value: Any) -> int:
        """How many values there are in a value, references counted as what they stand for."""
        if not isinstance(value, dict | list):
            return 1
        known = self._weights.get(id(value))
        if known is None:
            parts = value.values() if isinstance(value, dict) else value
            weight = sum(map(self._weight, parts)) if _holds_more(parts) else len(parts)
            known = self._weights[id(value)] = 1 + weight
        return known


def _digests(_unpacking: _Unpacking, count: int, raw: bytes) -> list[Any]:
    text, size = raw.hex(), _DIGEST_HEX
    return [text[at : at + size] for at in range(0, count * size, size)]


def _bytes(_unpacking: _Unpacking, _count: int, sizes: list[int], raw: bytes) -> list[Any]:
    ends = list(accumulate(sizes, initial=0))
    return [raw[start:end] for start, end in pairwise(ends)]


def _plain(_unpacking: _Unpacking, _count: int, values: list[Any]) -> list[Any]:
    return values


def _floats(kind: str) -> Callable[..., list[Any]]:
    def unpack(_unpacking: _Unpacking, count: int, raw: bytes) -> list[Any]:
        return list(struct.unpack(f"<{count}{kind}", raw))

    return unpack


def _ratio(_unpacking: _Unpacking, _count: int, denominator: int, tops: list[int]) -> list[Any]:
    return [top / denominator for top in tops]


def _steps(_unpacking: _Unpacking, _count: int, first: int, steps: list[int]) -> list[Any]:
    return list(accumulate(steps, initial=first))


_UNPACKERS: Final[Mapping[_Tag, Callable[..., list[Any]]]] = MappingProxyType(
    {
        _Tag.PLAIN: _plain,
        _Tag.SAME: _Unpacking.same,
        _Tag.OPTIONAL: _Unpacking.optional,
        _Tag.FLAT: _Unpacking.flat,
        _Tag.RECORD: _Unpacking.record,
        _Tag.SHARED: _Unpacking.shared,
        _Tag.DIGESTS: _digests,
        _Tag.FLOAT32: _floats("f"),
        _Tag.FLOAT64: _floats("d"),
        _Tag.RATIO: _ratio,
        _Tag.STEPS: _steps,
        _Tag.BYTES: _bytes,
    }
)

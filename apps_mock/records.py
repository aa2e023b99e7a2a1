"""Records and tables: the shape that every app's data has, so that verifiers can compare any two.

An app's data is a frozen dataclass. Its fields that hold tuples of records are tables; a record is
a frozen dataclass with an `id`. All other fields are facts that no action changes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from operator import attrgetter
from typing import Any, Protocol, TypeVar, cast


class Record(Protocol):
    """One row of a table; `id` is unique within the app."""

    @property
    def id(self) -> str:
        """What pages and events call it."""
        ...


R = TypeVar("R", bound=Record)
D = TypeVar("D")


def find(table: Sequence[R], record_id: str) -> R | None:
    """The record with that id, or None."""
    return next((record for record in table if record.id == record_id), None)


def changed(table: tuple[R, ...], record_id: str, **values: object) -> tuple[R, ...]:
    """The table with other values in one record."""
    return tuple(
        # Any: dataclasses.replace cannot be typed over a protocol
        _with(record, values) if record.id == record_id else record
        for record in table
    )


def without(table: tuple[R, ...], record_id: str) -> tuple[R, ...]:
    """The table without one record."""
    return tuple(record for record in table if record.id != record_id)


def fresh_id(table: Sequence[Record], prefix: str) -> str:
    """An id that no record of the table has."""
    used = {record.id for record in table}
    number = len(table)
    while f"{prefix}{number}" in used:
        number += 1
    return f"{prefix}{number}"


def tables_of(
    data: Any,
) -> Iterator[tuple[str, tuple[Any, ...]]]:  # Any: every app has its own data
    """The tables of an app's data, by name."""
    for name in _names_of(cast("Hashable", type(data))):  # mypy: types hash
        value = getattr(data, name)
        if isinstance(value, tuple) and (not value or hasattr(value[0], "id")):
            yield name, value


@lru_cache(maxsize=256)
def _names_of(record_type: Any) -> tuple[str, ...]:  # Any: data and records of any app
    return tuple(entry.name for entry in fields(record_type))


def canonical(data: Any) -> bytes:  # Any: every app has its own data
    """The data as bytes: equal data give equal bytes, different data different ones."""
    if data is None:
        return b""
    parts: list[object] = []
    for name in _names_of(cast("Hashable", type(data))):  # mypy: types hash
        value = getattr(data, name)
        if isinstance(value, tuple) and value and hasattr(value[0], "id"):
            values_of = _values_getter(cast("Hashable", type(value[0])))
            value = tuple(map(values_of, value))
        parts.append((name, value))
    return repr(parts).encode()


@lru_cache(maxsize=256)
def _values_getter(record_type: Any) -> attrgetter[Any]:  # Any: records of any app
    return attrgetter(*_names_of(record_type))


def flipped(data: D, record_id: str, field: str) -> D:
    """The data with a yes/no field of one record turned round."""
    for name, table in tables_of(data):
        record = find(table, record_id)
        if record is not None and hasattr(record, field):
            turned = changed(table, record_id, **{field: not getattr(record, field)})
            result: D = _with(data, {name: turned})
            return result
    return data


def _with(value: Any, values: dict[str, object]) -> Any:  # Any: replace over unknown dataclasses
    return replace(value, **values)

"""Values that are nearly the same: off by one, in other letters, in another order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIME: Final = re.compile(r"(\d{1,2}):(\d{2})")
_DIGITS: Final = re.compile(r"\d+")


def altered(value: object) -> object:
    """Another value of the same type."""
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case tuple():
            return value[:-1] if value else ("x",)
        case None:
            return "x"
        case _:
            return f"{value}x"


def off_by_one(value: object) -> Iterator[object]:
    """The value one day, minute, hour, digit or unit beside; nothing for plain words."""
    match value:
        case bool():
            return
        case int() | float():
            yield from (value + 1, value - 1)
        case str() if _DAY.fullmatch(value):
            day = date.fromisoformat(value)
            yield from ((day + timedelta(days=days)).isoformat() for days in (1, -1))
        case str() if match := _TIME.fullmatch(value):
            minute = int(match[1]) * 60 + int(match[2])
            for offset in (1, -1, 60):
                yield "{:02}:{:02}".format(*divmod((minute + offset) % 1440, 60))
        case str() if matches := [*_DIGITS.finditer(value)]:
            last = matches[-1]
            digit = str((int(last[0][-1]) + 1) % 10)
            yield f"{value[: last.end() - 1]}{digit}{value[last.end() :]}"


def rewritten(value: object) -> Iterator[str]:
    """The text in other letters, in another order, or with a word more or less."""
    if not isinstance(value, str) or not value:
        return
    words = value.split()
    if len(words) > 1:
        yield " ".join((*words[1:], words[0]))
        yield " ".join(words[:-1])
    if value.swapcase() != value:
        yield value.swapcase()
    yield f"{value} "
    if len(value) > 1 and value[0] != value[1]:
        yield value[1] + value[0] + value[2:]
    yield f"not {value}"

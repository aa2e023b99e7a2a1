"""Screens that were laid out: what is asked for again is there, and what never is costs nothing.

In play on ever-new looks nearly no screen comes back but those of a moment ago; where many phones
play the same tasks, nearly all do. What is kept costs more than its memory: the garbage collector
walks through all of it again and again, which took longer than laying out afresh. So a screen is
kept for good only when it is asked for a second time after it left the few latest ones.
"""

from __future__ import annotations

from threading import Lock
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class CacheInfo(NamedTuple):
    """How often a screen was there already."""

    hits: int
    misses: int
    size: int


class ScreenCache(Generic[T]):
    """Values by keys that can be hashed; several threads may use it.

    Args:
        latest: how many are there just because they were asked for lately.
        kept: how many are there because they were asked for again; the one that was longest not
            asked for goes first.
        remembered: of how many keys it knows (by their hash alone) that they were asked for.
    """

    def __init__(self, *, latest: int, kept: int, remembered: int) -> None:
        self._most_latest, self._most_kept, self._most_remembered = latest, kept, remembered
        self._latest: dict[int, tuple[object, T]] = {}
        self._kept: dict[int, tuple[object, T]] = {}
        self._asked: set[int] = set()
        self._hits = self._misses = 0
        self._lock = Lock()

    def get(self, key: object, number: int) -> T | None:
        """The value of a key, whose hash is `number`; None where it is not there."""
        entry = self._latest.get(number)
        if entry is None:
            entry = self._kept.get(number)
            if entry is not None:
                self._renew(number)
        if entry is None or entry[0] != key:
            self._misses += 1
            return None
        self._hits += 1
        return entry[1]

    def put(self, key: object, number: int, value: T) -> None:
        """Remember a value that was not there."""
        entry = (key, value)
        with self._lock:
            if number in self._asked:
                self._kept[number] = entry
                _shrink(self._kept, self._most_kept)
                return
            if len(self._asked) >= self._most_remembered:
                self._asked.clear()
            self._asked.add(number)
            self._latest[number] = entry
            _shrink(self._latest, self._most_latest)

    def info(self) -> CacheInfo:
        """How it went so far."""
        return CacheInfo(self._hits, self._misses, len(self._latest) + len(self._kept))

    def _renew(self, number: int) -> None:
        with self._lock:
            entry = self._kept.pop(number, None)
            if entry is not None:
                self._kept[number] = entry


def _shrink(entries: dict[int, tuple[object, T]], most: int) -> None:
    while len(entries) > most:
        del entries[next(iter(entries))]

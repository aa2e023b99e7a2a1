"""Strings as vectors: the mean of hashed word and character n-gram embeddings, cached per string.

The table belongs to the base network and stays frozen while adapters train, so phone, farm and
learner look a string up once and keep its vector. Only base training changes the table.
"""

from __future__ import annotations

import re
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

BUCKETS = 8192
"""Rows of the hash table."""

_MAX_WORDS = 24
_WORD = re.compile(r"[^\W_]+(?:[.:,'’-][^\W_]+)*", re.UNICODE)


@lru_cache(maxsize=65536)
def words_of(text: str) -> tuple[str, ...]:
    """The words of a text, folded for comparison: case and surrounding punctuation are dropped.

    "Add to cart!" → ("add", "to", "cart"); "07:45" and "14.50" stay whole.
    """
    return tuple(word.casefold() for word in _WORD.findall(text))


def stem(word: str) -> str:
    """A folded word without its plural ending: "orders" → "order", "entries" → "entry"."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


@lru_cache(maxsize=65536)
def stems_of(text: str) -> tuple[str, ...]:
    """The words of a text for comparison: folded, and without plural endings."""
    return tuple(stem(word) for word in words_of(text))


@lru_cache(maxsize=65536)
def buckets_of(text: str) -> tuple[int, ...]:
    """Hash-table rows of a text: one for each word and for each of its character 3- and 4-grams."""
    rows: list[int] = []
    for word in words_of(text)[:_MAX_WORDS]:
        rows.append(_bucket("w " + word))
        padded = f"^{word}$"
        for size in (3, 4):
            rows.extend(
                _bucket(padded[start : start + size])
                for start in range(max(1, len(padded) - size + 1))
            )
    return tuple(rows)


def _bucket(gram: str) -> int:
    return zlib.crc32(gram.encode("utf-8", "surrogatepass")) % BUCKETS


class TextTable:
    """The hash table of a base network, with a cache of the strings seen so far."""

    def __init__(self, table: npt.NDArray[np.floating]) -> None:
        """Take `table`: float [BUCKETS, d]; kept as float32."""
        if table.ndim != 2 or table.shape[0] != BUCKETS:
            raise ValueError(f"the text table has {BUCKETS} rows, got shape {table.shape}")
        self._table = np.ascontiguousarray(table, dtype=np.float32)
        self._rows: dict[str, int] = {}
        self._vectors = np.zeros((1024, self._table.shape[1]), dtype=np.float32)

    @property
    def dim(self) -> int:
        """Length d of a vector."""
        return int(self._table.shape[1])

    def row(self, text: str) -> int:
        """Row of `text` in `vectors`; the same for as long as this table lives."""
        row = self._rows.get(text)
        if row is None:
            row = self._add(text)
        return row

    def rows(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """int64 [len(texts)]: rows of many texts."""
        return np.fromiter((self.row(text) for text in texts), dtype=np.int64, count=len(texts))

    @property
    def vectors(self) -> npt.NDArray[np.float32]:
        """float32 [n, d]: the vectors of all strings seen so far, by row."""
        return self._vectors[: len(self._rows)]

    @property
    def texts(self) -> list[str]:
        """The strings seen so far, by row."""
        return list(self._rows)

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """float32 [len(texts), d]: one vector per text; zeros for a text without words."""
        rows = self.rows(texts)
        return self._vectors[rows]

    def _add(self, text: str) -> int:
        row = len(self._rows)
        if row == len(self._vectors):
            self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
        buckets = buckets_of(text)
        if buckets:
            self._vectors[row] = self._table[list(buckets)].mean(axis=0)
        self._rows[text] = row
        return row

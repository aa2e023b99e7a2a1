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
    from collections.abc import Callable, Sequence

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


@lru_cache(maxsize=8192)
def buckets_of(text: str) -> tuple[int, ...]:
    """Hash-table rows of a text: one for each word and for each of its character 3- and 4-grams."""
    rows: list[int] = []
    for word in words_of(text)[:_MAX_WORDS]:
        rows += _buckets_of_word(word)
    return tuple(rows)


@lru_cache(maxsize=16384)
def _buckets_of_word(word: str) -> tuple[int, ...]:
    """Texts are new far more often than their words are."""
    padded = f"^{word}$"
    grams = ["w " + word]
    for size in (3, 4):
        count = max(1, len(padded) - size + 1)
        grams += [padded[start : start + size] for start in range(count)]
    return tuple([zlib.crc32(gram.encode("utf-8", "surrogatepass")) % BUCKETS for gram in grams])


class TextTable:
    """The hash table of a base network, with a cache of the strings seen so far.

    Args:
        table: float [BUCKETS, d]; kept as float32.
        most_texts: strings that are kept, give or take one call of `embed`; when there are more,
            all are forgotten, which costs the next calls a few microseconds a string. None keeps
            all: a learner names the texts of its samples by their rows.
    """

    def __init__(self, table: npt.NDArray[np.floating], *, most_texts: int | None = None) -> None:
        if table.ndim != 2 or table.shape[0] != BUCKETS:
            raise ValueError(f"the text table has {BUCKETS} rows, got shape {table.shape}")
        self._table = np.ascontiguousarray(table, dtype=np.float32)
        self._most_texts = most_texts
        self._rows = _Rows(self._add)
        self._vectors = np.zeros((_FIRST_VECTORS, self._table.shape[1]), dtype=np.float32)
        self._forget()

    @property
    def dim(self) -> int:
        """Length d of a vector."""
        return int(self._table.shape[1])

    def rows(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """int64 [len(texts)]: rows of the texts in `vectors`, the same for as long as this lives.

        Raises: RuntimeError: this table forgets texts, and their rows with them.
        """
        if self._most_texts is not None:
            raise RuntimeError("rows of a table that forgets do not last: use one without a limit")
        return np.array(self._rows.of(texts), dtype=np.int64)

    @property
    def vectors(self) -> npt.NDArray[np.float32]:
        """float32 [n, d]: the vectors of all strings that are kept, by row."""
        return self._vectors[: len(self._rows)]

    @property
    def texts(self) -> list[str]:
        """The strings that are kept, by row."""
        return list(self._rows)

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """float32 [len(texts), d]: one vector per text; zeros for a text without words."""
        vectors: npt.NDArray[np.float32] = self.embed_padded([texts])[0]
        return vectors

    def embed_padded(self, lists: Sequence[Sequence[str]]) -> npt.NDArray[np.float32]:
        """float32 [len(lists), L, d]: the vectors of several lists, with zeros behind shorter ones.

        L is the length of the longest list.
        """
        if self._most_texts is not None and len(self._rows) > self._most_texts:
            self._forget()
        places = np.zeros((len(lists), max(map(len, lists))), dtype=np.intp)
        for place, texts in zip(places, lists, strict=True):
            place[: len(texts)] = self._rows.of(texts)
        return self._vectors.take(places, axis=0)

    def _forget(self) -> None:
        """Start anew; row 0, which padding names too, is always that of the empty text."""
        self._rows.clear()
        self._rows.of([""])

    def _add(self, text: str) -> int:
        row = len(self._rows)
        if row == len(self._vectors):
            self._vectors = np.concatenate([self._vectors, np.zeros_like(self._vectors)])
        buckets = buckets_of(text)
        self._vectors[row] = self._table.take(buckets, axis=0).mean(axis=0) if buckets else 0.0
        return row


_FIRST_VECTORS = 1024


class _Rows(dict[str, int]):
    """Rows by text; a text that is missing is added."""

    def __init__(self, add: Callable[[str], int]) -> None:
        super().__init__()
        self._add = add

    def __missing__(self, text: str) -> int:
        row = self[text] = self._add(text)
        return row

    def of(self, texts: Sequence[str]) -> list[int]:
        """The rows of several texts."""
        return list(map(self.__getitem__, texts))

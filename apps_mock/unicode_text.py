"""Texts of any letters as a space of gymnasium, in vectors of several processes too.

Gymnasium's own `Text` holds the letters of one fixed alphabet; screens and goals have any. Loading
this module teaches gymnasium how a vector of processes shares such texts.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from multiprocessing.sharedctypes import SynchronizedArray
from types import ModuleType
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector.utils import (
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)


class UnicodeText(spaces.Space[str]):
    """Any text up to a length; its samples are runs of lower-case letters and spaces."""

    def __init__(self, max_length: int, seed: int | None = None) -> None:
        super().__init__(dtype=str, seed=seed)
        self.max_length = max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:  # Any: unused by texts
        """A short text."""
        del mask, probability
        letters = "abcdefghijklmnopqrstuvwxyz "
        count = int(self.np_random.integers(1, 12))
        return "".join(letters[int(self.np_random.integers(len(letters)))] for _ in range(count))

    def contains(self, x: object) -> bool:
        """Whether it is a text of a length that fits."""
        return isinstance(x, str) and len(x) <= self.max_length

    @property
    def is_np_flattenable(self) -> bool:
        """Texts are no arrays."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnicodeText) and other.max_length == self.max_length

    def __hash__(self) -> int:
        return hash(("UnicodeText", self.max_length))

    def __repr__(self) -> str:
        return f"UnicodeText({self.max_length})"


class SharedTexts(Sequence[str]):
    """What the processes of a vector see now; a deep copy of it is a tuple that stays as it is.

    Args:
        cells: a line for each process: how many letters there are, then their code points.
    """

    def __init__(self, cells: npt.NDArray[np.int32]) -> None:
        self._cells = cells

    def __len__(self) -> int:
        return len(self._cells)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(map(_read, self._cells[index]))
        return _read(self._cells[index])

    def __deepcopy__(self, memo: object) -> tuple[str, ...]:
        return tuple(self)

    def __repr__(self) -> str:
        return f"SharedTexts({tuple(self)!r})"


def _read(cells: npt.NDArray[np.int32]) -> str:
    return cells[1 : 1 + int(cells[0])].tobytes().decode("utf-32-le", "surrogatepass")


def _cells(memory: SynchronizedArray[Any], max_length: int) -> npt.NDArray[np.int32]:
    flat: npt.NDArray[np.int32] = np.frombuffer(memory.get_obj(), np.int32)  # type: ignore[call-overload]  # the stubs lack its buffer
    return flat.reshape(-1, 1 + max_length)


@create_shared_memory.register(UnicodeText)
def _create(
    space: UnicodeText, n: int = 1, ctx: ModuleType = multiprocessing
) -> SynchronizedArray[Any]:
    array: SynchronizedArray[Any] = ctx.Array("i", n * (1 + space.max_length))
    return array


@read_from_shared_memory.register(UnicodeText)
def _shared(space: UnicodeText, shared_memory: SynchronizedArray[Any], n: int = 1) -> SharedTexts:
    del n
    return SharedTexts(_cells(shared_memory, space.max_length))


@write_to_shared_memory.register(UnicodeText)
def _write(
    space: UnicodeText, index: int, value: str, shared_memory: SynchronizedArray[Any]
) -> None:
    points = np.frombuffer(value.encode("utf-32-le", "surrogatepass"), np.int32)
    cells = _cells(shared_memory, space.max_length)[index]
    cells[0] = len(points)
    cells[1 : 1 + len(points)] = points

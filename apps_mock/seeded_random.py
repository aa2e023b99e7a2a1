"""The generator behind every draw of the clones: Python's own, with the usual call made short."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class SeededRandom(Random):
    """`random.Random` whose `choice` gives the same in two thirds of the time.

    A task draws from two to three hundred lists. That it gives the same is part of what holds tasks
    to their seeds whatever Python draws them, and a test compares.
    """

    def choice(self, seq: Sequence[T]) -> T:  # type: ignore[override]  # the stub's own type
        """One of the entries, each as likely.

        Raises: IndexError: there is none.
        """
        count = len(seq)
        bits, draw = count.bit_length(), self.getrandbits
        place = draw(bits)
        while place >= count > 0:
            place = draw(bits)
        return seq[place]

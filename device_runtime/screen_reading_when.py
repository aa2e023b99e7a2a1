"""Which screens are read from their pictures. Light, since command lines name it in an option."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from sync.vocabulary import Element

ENOUGH_ELEMENTS: Final = 3
"""A tree with fewer elements that say something leaves the screen to the picture."""


class When(StrEnum):
    """Which screens are read from their pictures."""

    NEVER = "never"
    NO_TREE = "no-tree"
    ALWAYS = "always"

    def includes(self, elements: Iterable[Element]) -> bool:
        """Whether a screen with these elements in its tree is to be read."""
        if self is When.NO_TREE:
            return sum(1 for each in elements if each.label) < ENOUGH_ELEMENTS
        return self is When.ALWAYS

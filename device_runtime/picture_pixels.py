"""From a picture's own pixels to those that touches are counted in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sync.vocabulary import Element


def fit(
    elements: Sequence[Element], size: tuple[int, int], wanted: tuple[int, int]
) -> tuple[Element, ...]:
    """The elements of a picture of `size` on a screen of `wanted` pixels (width, height)."""
    if size == wanted:
        return tuple(elements)
    across, down = wanted[0] / size[0], wanted[1] / size[1]
    return tuple(
        replace(
            each,
            bounds=(
                round(each.bounds[0] * across),
                round(each.bounds[1] * down),
                round(each.bounds[2] * across),
                round(each.bounds[3] * down),
            ),
        )
        for each in elements
    )

"""How often a process that plays many seats looks for garbage in cycles.

Seats make millions of small frozen values that hold no cycles, and keep many of them until an
episode ends. With Python's own thresholds a farm of a few hundred seats spends a quarter of its
time looking through them in vain. This is a setting of the process, so only whoever starts one
calls it.
"""

from __future__ import annotations

import gc
from typing import Final

YOUNG: Final = 500_000
"""Objects that must have come and stayed before the youngest are looked through. What comes and
goes by itself is not counted, so a farm at its full size hardly looks at all; garbage in cycles,
which only errors leave, goes before it takes a hundred megabytes."""

MIDDLE: Final = 5
OLD: Final = 5
"""Looks at a younger generation before one at the next."""


def collect_rarely() -> None:
    """Set what is loaded apart for good, and look through what comes later less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)

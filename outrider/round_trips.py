"""How long a phone takes for a tap, a tree and a screenshot, measured without touching anything."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from device_runtime.phone_questions import KEY, SCREENSHOT, TREE

if TYPE_CHECKING:
    from device_runtime.phone_questions import PhoneAsker

MEASURED = {"tap": KEY, "tree": TREE, "screenshot": SCREENSHOT}
"""A tap is measured by the key that means nothing: the phone starts the same program for it, and
sends the event the same way."""


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """How long one thing took, from this machine and back, in milliseconds."""

    what: str
    n: int
    p50_ms: float
    p95_ms: float


def measure(asker: PhoneAsker, rounds: int) -> list[RoundTrip]:
    """Each thing measured `rounds` times, turn by turn.

    Raises: PhoneLostError, PhoneFaultError: as for `AdbClient.shell`.
    """
    took: dict[str, list[float]] = {what: [] for what in MEASURED}
    for _ in range(rounds):
        for what, command in MEASURED.items():
            took[what].append(asker.ask(command).elapsed_ms)
    return [round_trip(what, times) for what, times in took.items()]


def round_trip(what: str, times_ms: list[float]) -> RoundTrip:
    """Median, and the time that 95 of 100 stay below (the longest, where there are few)."""
    ordered = sorted(times_ms)
    p95 = ordered[max(0, -(-len(ordered) * 95 // 100) - 1)]
    return RoundTrip(what, len(ordered), round(statistics.median(ordered), 1), round(p95, 1))

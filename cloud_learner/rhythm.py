"""How many episodes a round takes: as few as the campaign's time allows. Pure.

A round costs about the same whatever it takes in, because its updates draw from the replay. So
small rounds learn more from each step, and large ones learn from more steps a minute. Where the
steps that are wanted would not be learnt in the time that is left, rounds grow, up to a limit;
beyond it the farm is held back, and the campaign ends by its time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(slots=True)
class Rhythm:
    """What rounds cost this process so far, and the size of the next one.

    Attributes:
        least, most: episodes of a round.
        busy_s: seconds that were spent on rounds and on what belongs to them.
        rounds: that were made in this time.
    """

    least: int
    most: int
    busy_s: float = 0.0
    rounds: int = 0

    def spent(self, seconds: float, *, rounds: int) -> None:
        """Count time in which `rounds` rounds were made."""
        self.busy_s += seconds
        self.rounds += rounds

    def episodes(self, *, left_s: float, episodes_left: float) -> int:
        """Episodes of the next round, least..most.

        Args:
            left_s: seconds in which the campaign still learns.
            episodes_left: that are to be learnt from in this time.
        """
        if not self.rounds or self.least >= self.most:
            return self.least
        affordable = left_s * self.rounds / max(self.busy_s, _SHORTEST_S)
        if affordable <= 0.0:
            return self.most
        wanted = min(episodes_left / affordable, float(self.most))
        return max(self.least, math.ceil(wanted))


_SHORTEST_S = 1e-9

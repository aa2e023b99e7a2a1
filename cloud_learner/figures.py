"""Success figures: counts, rates and their intervals. Pure.

An env_error is never in a rate's denominator, always counted; an undecided verdict is in the
denominator and is never a success.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

_Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Figures:
    """What a set of played instances came to.

    Attributes:
        n: episodes that count (env_errors left out).
        successes: of these.
        env_errors: episodes that the environment broke.
    """

    n: int
    successes: int
    env_errors: int = 0

    @property
    def success(self) -> float | None:
        """Share of successes; None without episodes."""
        return self.successes / self.n if self.n else None

    @property
    def env_error_share(self) -> float:
        """Share of env_errors among all that were played."""
        played = self.n + self.env_errors
        return self.env_errors / played if played else 0.0


def wilson95(successes: int, n: int) -> tuple[float, float] | None:
    """95 % interval of a share; None without trials."""
    return wilson(successes, n, z=_Z95)


def wilson(successes: float, n: float, *, z: float) -> tuple[float, float] | None:
    """The interval of a share that reaches `z` standard errors each way; None without trials.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference,
    1927.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"need 0 <= successes <= n, got {successes} of {n}")
    if n == 0:
        return None
    share, z2 = successes / n, z**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z * sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return (max(0.0, centre - half), min(1.0, centre + half))

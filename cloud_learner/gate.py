"""The gate between channel canary and channel stable. Pure.

A candidate plays the validation instances that the promoted release played before it, greedily.
It is promoted unless its success is worse by more than the margin. Fails closed: figures that stay
invalid revert the candidate.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from cloud_learner.figures import Figures
from cloud_learner.settings import GateSettings


class GateOutcome(StrEnum):
    """What happens to the candidate."""

    PROMOTE = "promote"
    REVERT = "revert"
    REPEAT = "repeat"


@dataclass(frozen=True, slots=True)
class GateDecision:
    """The outcome, and why in one line."""

    outcome: GateOutcome
    reason: str


def judge(
    candidate: Figures, promoted: Figures | None, *, attempt: int, settings: GateSettings
) -> GateDecision:
    """What the gate says of a candidate whose instances have all been played.

    Args:
        promoted: figures of the release that stable points at; None where there is none yet, and
            then any valid candidate is promoted.
        attempt: 1 for the first set of figures of this candidate.
    """
    if candidate.n == 0 or candidate.env_error_share > settings.env_error_limit:
        reason = (
            f"{candidate.env_errors} env_errors in {candidate.n + candidate.env_errors} episodes "
            f"(limit {settings.env_error_limit:.0%})"
        )
        again = attempt < settings.attempts
        return GateDecision(GateOutcome.REPEAT if again else GateOutcome.REVERT, reason)
    success = candidate.successes / candidate.n
    if promoted is None or not promoted.n:
        return GateDecision(GateOutcome.PROMOTE, f"validation {success:.1%}, nothing promoted yet")
    before = promoted.successes / promoted.n
    reason = f"validation {success:.1%} against {before:.1%} (margin {settings.margin:.0%})"
    # compared in whole episodes: rounding of shares must not decide at the margin
    shortfall = promoted.successes * candidate.n - candidate.successes * promoted.n
    worse = shortfall > settings.margin * candidate.n * promoted.n + 1e-9
    return GateDecision(GateOutcome.REVERT if worse else GateOutcome.PROMOTE, reason)

"""Hard bounds of a staged release: shares of cases in both arms, and when one is broken. Pure.

Episodes of a phone are alike: one whose app is broken fails them all, and quickly, so it plays many
of them. Cases are therefore counted as the phones make them look: so many that are alike are one.
And each phone is compared with itself before where it has a past, since fast and slow phones are
not shared out evenly between small arms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, sqrt
from typing import Final

import numpy as np
import numpy.typing as npt

from cloud_learner.figures import wilson
from cloud_learner.release_comparison import Floats, Indices, Outcomes, own_past_of
from cloud_learner.staged_plan import Limit, StagedPlan

Flags = npt.NDArray[np.bool_]

_BROKEN_Z: Final = 2.5758293035489004
"""A bound counts as broken where the share is above it with 99.5 % confidence."""
_LEAST_CASES: Final = 2.0
_LEAST_TIMED: Final = 5.0
"""Episodes that a phone's speed is known from."""


@dataclass(frozen=True, slots=True)
class Share:
    """Cases of a kind among all, with the release and beside it at the same time.

    Attributes:
        alike, control_alike: how many cases of an arm tell as much as one that stands alone.
        is_relative: it says nothing without another arm, as there is no share that is too much by
            itself: phones that come every third day are silent with any release.
    """

    cases: int = 0
    n: int = 0
    control_cases: int = 0
    control_n: int = 0
    alike: float = 1.0
    control_alike: float = 1.0
    is_relative: bool = field(default=False, kw_only=True)

    @property
    def is_unknown(self) -> bool:
        """Whether nobody is left that it could be compared with, and it has to be."""
        return self.is_relative and self.control_n == 0

    @property
    def control(self) -> float:
        """The other arm's share; 0 where it has none."""
        return self.control_cases / self.control_n if self.control_n else 0.0


@dataclass(frozen=True, slots=True)
class Speed:
    """How long phones of one arm take to decide, each float64 [K] over its phones.

    Attributes:
        ms, n: mean over n episodes of their 95th percentile of a decision, since the release began.
        ms_before, n_before: the same of the week before.
    """

    ms: Floats
    n: Floats
    ms_before: Floats
    n_before: Floats

    @property
    def typical_ms(self) -> float:
        """Mean over its phones; 0 where nothing is known of any."""
        is_known = self.n >= _LEAST_TIMED
        return float(self.ms[is_known].mean()) if is_known.any() else 0.0


def is_broken(limit: Limit, share: Share) -> bool:
    """Whether more cases came than the limit explains; one case alone never decides.

    The share is above the other arm's by more than the limit, with both of them as uncertain as
    they are: the interval of the difference of two shares from Wilson's of each. Without another
    arm the limit is on the share itself, or on nothing where the share is relative.

    Source: R. G. Newcombe, Interval estimation for the difference between independent proportions,
        Statistics in Medicine 17, 1998, method 10.
    """
    if share.is_unknown or share.n < limit.from_n or share.cases / share.alike < _LEAST_CASES:
        return False
    rate = share.cases / share.n
    lowest = _interval(share.cases, share.n, share.alike)[0]
    highest = 0.0
    if share.control_n:
        highest = _interval(share.control_cases, share.control_n, share.control_alike)[1]
    half = sqrt((rate - lowest) ** 2 + (highest - share.control) ** 2)
    return rate - share.control - half > limit.share


def is_held(limit: Limit, share: Share) -> bool:
    """Whether enough cases show that the bound holds; one case alone is as good as none.

    Nobody to compare a relative share with is nothing to wait for: later there is nobody either.
    """
    if share.is_unknown:
        return True
    cases, n = share.cases / share.alike, share.n / share.alike
    allowed = ceil((limit.share + share.control) * n)
    return share.n >= limit.from_n and (cases < _LEAST_CASES or cases <= allowed)


@dataclass(frozen=True, slots=True)
class Tally:
    """Cases of a kind by phone of one arm, each float64 [K].

    Attributes:
        excess: how much more often each had them than others before the release began
            (`excess_before`).
    """

    cases: Floats
    n: Floats
    excess: Floats

    @property
    def beyond_the_past(self) -> Floats:
        """Cases, less those that each phone would have had without the release, float64 [K]."""
        return self.cases - self.n * self.excess


def excess_before(cases: Floats, n: Floats) -> Floats:
    """How much more often each phone had a kind of cases than all phones, in an earlier time.

    Args:
        cases, n: float64 [K].

    Returns: float64 [K], a share, drawn towards 0 where little is known.
    """
    phones = len(n)
    everywhere = np.zeros(phones, np.int64)
    earlier = Outcomes(np.arange(phones), everywhere, everywhere.astype(np.bool_), n, cases)
    return own_past_of(earlier, phones)


def share_by_phone(tally: Tally, control: Tally) -> Share:
    """The share of cases, as certain as the phones that they came from make it."""
    sides = [(_counted(side), round(float(side.n.sum()))) for side in (tally, control)]
    alike = [_alike(side.beyond_the_past, side.n) for side in (tally, control)]
    return Share(*sides[0], *sides[1], *alike)


def _counted(side: Tally) -> int:
    total = float(side.beyond_the_past.sum())
    return round(min(max(0.0, total), float(side.n.sum())))


def slowed_share(plan: StagedPlan, speed: Speed, control: Speed) -> Share:
    """Phones that take much longer to decide than before, or than the others where they are new."""
    typical_ms = control.typical_ms
    slow, known = _slowed(plan, speed, typical_ms)
    control_slow, control_known = _slowed(plan, control, typical_ms)
    return Share(
        int(np.count_nonzero(slow)),
        int(np.count_nonzero(known)),
        int(np.count_nonzero(control_slow)),
        int(np.count_nonzero(control_known)),
        is_relative=True,
    )


def silent_share(stage_of: Indices, there: Flags, lost: Flags) -> Share:
    """Phones that are not heard of any more, among those it was offered to and among the others.

    The others are asked about the same time: of those that were there when a stage began, too. A
    stage for which there are no others says nothing beside stages for which there are some.

    Args:
        stage_of: int64 [P], the stage from which on each phone was offered it; S for the others.
        there: bool [S, P], who was heard of shortly before each stage began.
        lost: bool [P], who is not heard of any more.
    """
    stages = len(there)
    is_offered = there & (stage_of == np.arange(stages)[:, None])
    others = there & (stage_of == stages)
    n, cases = is_offered.sum(axis=1), (is_offered & lost).sum(axis=1)
    control_n, control_cases = others.sum(axis=1), (others & lost).sum(axis=1)
    has_others = control_n > 0
    if not has_others.any():
        return Share(int(cases.sum()), int(n.sum()), is_relative=True)
    asked = n[has_others]
    shares = control_cases[has_others] / control_n[has_others]
    expected = float(np.sum(asked * shares)) / max(1, int(asked.sum()))
    most = int(control_n.max())
    return Share(
        int(cases[has_others].sum()),
        int(asked.sum()),
        round(expected * most),
        most,
        is_relative=True,
    )


def _slowed(plan: StagedPlan, speed: Speed, typical_ms: float) -> tuple[Flags, Flags]:
    """Who got slower, and of whom that is known, each bool [K]."""
    has_past = speed.n_before >= _LEAST_TIMED
    before_ms = np.where(has_past, speed.ms_before, typical_ms)
    known = (speed.n >= _LEAST_TIMED) & (has_past | (typical_ms > 0.0))
    allowed_ms = np.maximum(plan.latency_floor_ms, plan.latency_factor * before_ms)
    return known & (speed.ms > allowed_ms), known


def _interval(cases: int, n: int, alike: float) -> tuple[float, float]:
    return wilson(cases / alike, n / alike, z=_BROKEN_Z) or (0.0, 1.0)


def _alike(cases: Floats, n: Floats) -> float:
    """How many cases tell as much as one: the variance between phones over that of chance alone.

    One phone is one case, however many episodes it sends.
    """
    total = float(n.sum())
    phones = int(np.count_nonzero(n))
    if phones == 0:
        return 1.0
    if phones == 1:
        return max(1.0, total)
    rate = min(max(0.0, float(cases.sum()) / total), 1.0)
    by_chance = rate * (1.0 - rate) * total
    if by_chance <= 0.0:
        return 1.0
    between = phones / (phones - 1) * float(np.sum((cases - rate * n) ** 2))
    return min(max(1.0, between / by_chance), total)

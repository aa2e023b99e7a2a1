"""How much better or worse a staged release does than what it replaces, at any look. Pure.

    judged episodes per phone and stratum, both arms at the same time ─► Comparison ─► bounds

Phones play different tasks, and a day is not like another, so arms are compared within strata (a
template in a period) and the differences averaged. Episodes of one phone are alike, so a phone's
own past is taken off first, and what is left between phones counts in the variance. A look may come
at any time and as often as somebody likes: the bounds hold at all looks together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log, sqrt
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

ROBUST_FROM: Final = 10
"""From so many phones in each arm on, the spread between them is believed as it is seen."""
_LOOKED_FOR_Z: Final = 3.0
_TUNED_AT: Final = 10.0
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Judged episodes of one period, one row per phone, arm and stratum (R rows).

    Attributes:
        phone: int64 [R], index of the phone.
        stratum: int64 [R], index of the stratum: what was played.
        is_candidate: bool [R], which release played.
        n, successes: float64 [R], judged episodes and those of them that succeeded.
    """

    phone: Indices
    stratum: Indices
    is_candidate: npt.NDArray[np.bool_]
    n: Floats
    successes: Floats

    def __post_init__(self) -> None:
        rows = {part.shape for part in (self.phone, self.stratum, self.is_candidate, self.n)}
        if rows != {self.successes.shape}:
            raise ValueError("the parts of outcomes have one row each per phone and stratum")


@dataclass(frozen=True, slots=True)
class Comparison:
    """The candidate's success less the other arm's, weighed over strata.

    Attributes:
        difference: of success shares; 0 where nothing can be compared.
        variance: of `difference`; infinite where nothing can be compared.
        tasks, control_tasks: judged episodes in strata that both arms played.
        phones, control_phones: who played them.
    """

    difference: float = 0.0
    variance: float = inf
    tasks: int = 0
    control_tasks: int = 0
    phones: int = 0
    control_phones: int = 0

    def lower(self, alpha: float, margin: float) -> float:
        """Bound that the true difference is below, at any look ever, with probability ≤ alpha.

        Args:
            margin: size of difference that the bound is made sharpest for.
        """
        return self.difference - self._half_width(alpha, margin)

    def upper(self, alpha: float, margin: float) -> float:
        """Bound that the true difference is above, at any look ever, with probability ≤ alpha."""
        return self.difference + self._half_width(alpha, margin)

    def _half_width(self, alpha: float, margin: float) -> float:
        if self.variance == inf:
            return inf
        information = 1.0 / self.variance
        return always_valid_z(information, alpha=alpha, margin=margin) * sqrt(self.variance)


def always_valid_z(information: float, *, alpha: float, margin: float) -> float:
    """How many standard errors a one-sided bound is away that holds at all looks together.

    u(v) = √(2 (v + ρ) · log(1 + √((v + ρ) / ρ) / (2 α))),  z = u(v) / √v

    with v the information so far (one over the variance) and ρ where the bound is sharpest.

    Args:
        information: v, more than 0.
        alpha: probability that the truth is ever outside.
        margin: the difference that is looked for; sets ρ, so that the bound is sharpest at the
            information that decides about it.

    Source: S. R. Howard, A. Ramdas, J. McAuliffe, J. Sekhon, Time-uniform, nonparametric,
        nonasymptotic confidence sequences, Annals of Statistics 49(2), 2021, the one-sided normal
        mixture boundary (after H. Robbins, 1970); for estimates that are normal only in the
        limit: I. Waudby-Smith et al., Time-uniform central limit theory and asymptotic confidence
        sequences, Annals of Statistics 52(6), 2024.
    """
    rho = (_LOOKED_FOR_Z / margin) ** 2 / _TUNED_AT
    grown = information + rho
    return sqrt(2.0 * grown * log(1.0 + sqrt(grown / rho) / (2.0 * alpha)) / information)


@dataclass(frozen=True, slots=True)
class PeriodSums:
    """What one period brings to the comparison; a period that is over is summed up once.

    Attributes:
        weight: Σ w_h over its strata.
        difference: Σ w_h (p1_h − p0_h).
        typical: Σ w_h times the variance of one episode in h.
        part, residual, noise: float64 [2, phones], what each phone brings to each arm: its part,
            its deviation, and the binomial variance of that.
        tasks: judged episodes of the other arm and of the candidate, in strata that both played.
    """

    weight: float
    difference: float
    typical: float
    part: Floats
    residual: Floats
    noise: Floats
    tasks: tuple[int, int]


def sum_period(outcomes: Outcomes, own_past: Floats) -> PeriodSums:
    """Sum up one period.

    Args:
        own_past: float64 [phones], b_i: what is expected of each phone beyond its strata
            (`own_past_of`). It knows nothing of what came since the release began.
    """
    strata = int(outcomes.stratum.max(initial=-1)) + 1
    cell = outcomes.is_candidate * strata + outcomes.stratum
    adjusted = outcomes.successes - outcomes.n * own_past[outcomes.phone]

    def by_arm(values: Floats) -> Floats:
        return np.asarray(np.bincount(cell, values, 2 * strata).reshape(2, strata), np.float64)

    n, raw = by_arm(outcomes.n), by_arm(outcomes.successes)
    share = by_arm(adjusted) / np.maximum(n, 1.0)
    weights = n[0] * n[1] / np.maximum(n[0] + n[1], 1.0)
    smooth = (raw + 1.0) / (n + 2.0)
    variance = smooth * (1.0 - smooth)
    part = (weights / np.maximum(n, 1.0)).reshape(-1)[cell]
    phones = own_past.shape[0]
    place = outcomes.is_candidate * phones + outcomes.phone

    def by_phone(values: Floats) -> Floats:
        return np.asarray(np.bincount(place, values, 2 * phones).reshape(2, phones), np.float64)

    return PeriodSums(
        weight=float(weights.sum()),
        difference=float(np.sum(weights * (share[1] - share[0]))),
        typical=float(np.sum(weights * variance.mean(axis=0))),
        part=by_phone(part * outcomes.n),
        residual=by_phone(part * (adjusted - outcomes.n * share.reshape(-1)[cell])),
        noise=by_phone(part**2 * outcomes.n * variance.reshape(-1)[cell]),
        tasks=(int(n[0][weights > 0.0].sum()), int(n[1][weights > 0.0].sum())),
    )


def compare(periods: Sequence[PeriodSums], *, least_spread: float) -> Comparison:
    """The candidate's success less the other arm's, over all periods.

    Δ = Σ_h w_h (p1_h − p0_h) / Σ_h w_h,  w_h = n1_h n0_h / (n1_h + n0_h)

    over strata h, where a success of phone i counts as 1 − b_i and a failure as −b_i. The variance
    has two forms, and the larger counts: what binomial episodes and phones with a common spread
    between them would have, and, from `ROBUST_FROM` phones on in both arms, the squared
    contributions of phones as they are.

    Args:
        least_spread: share of the variance of one episode that lies between phones, at least.

    Source: S. Greenland, J. Robins, Estimation of a common effect parameter from sparse follow-up
        data, Biometrics 41, 1985, for the weights; K.-Y. Liang, S. Zeger, Longitudinal data
        analysis using generalized linear models, Biometrika 73, 1986, for contributions by
        cluster; A. Deng et al., Improving the sensitivity of online controlled experiments by
        utilizing pre-experiment data, WSDM 2013, for b_i.
    """
    weight = sum(period.weight for period in periods)
    if weight <= 0.0:
        return Comparison()
    part, residual, noise = (
        np.sum([getattr(period, name) for period in periods], axis=0)
        for name in ("part", "residual", "noise")
    )
    typical = sum(period.typical for period in periods) / weight
    phones = [int(np.count_nonzero(side)) for side in part]
    spread = max(least_spread * typical, _spread_of(part, residual, noise))
    # a phone that plays in both arms, one after the other, takes its own spread off the difference
    variance = float(noise.sum()) + spread * float(np.sum((part[1] - part[0]) ** 2))
    if min(phones) >= ROBUST_FROM:
        as_seen = float(np.sum((residual[1] - residual[0]) ** 2))
        variance = max(variance, as_seen * min(phones) / (min(phones) - 1))
    return Comparison(
        difference=sum(period.difference for period in periods) / weight,
        variance=variance / weight**2,
        tasks=sum(period.tasks[1] for period in periods),
        control_tasks=sum(period.tasks[0] for period in periods),
        phones=phones[1],
        control_phones=phones[0],
    )


def _spread_of(part: Floats, residual: Floats, noise: Floats) -> float:
    """Variance between phones beyond what their episodes explain, from both arms.

    A phone's residual is told from the mean of its own arm, which it is part of: with a_i = part_i
    over their sum, Σ residual² is 1 − Σ a_i² of what the phones differ by, and nothing in an arm of
    one phone. Each arm tells as much as it has phones to spare, so a hold-out of one or two phones
    is taken to differ as the others do, and not to be alike because nothing shows.

    Args:
        part, residual, noise: float64 [2, P], as in `PeriodSums`.
    """
    told, weight = 0.0, 0.0
    for parts, residuals, noises in zip(part, residual, noise, strict=True):
        squares = float(np.sum(parts**2))
        alone = squares / float(np.sum(parts)) ** 2
        if alone < 1.0 - _ROUNDING:
            seen = float(np.sum(residuals**2)) / (1.0 - alone)
            to_spare = 1.0 / alone - 1.0
            told += to_spare * (seen - float(noises.sum())) / squares
            weight += to_spare
    return told / weight if weight else 0.0


def own_past_of(outcomes: Outcomes, phones: int) -> Floats:
    """How much better each phone did than its strata, before the release began.

    The mean of its residuals, drawn towards 0 the more, the fewer its episodes are and the less
    phones differ at all. A phone without a past gets 0.

    Args:
        outcomes: of that time; who is in which arm does not matter.
        phones: how many there are.

    Returns: float64 [phones].
    """
    strata = int(outcomes.stratum.max(initial=-1)) + 1
    totals = np.bincount(outcomes.stratum, outcomes.n, strata)
    share = np.bincount(outcomes.stratum, outcomes.successes, strata) / np.maximum(totals, 1.0)
    expected = share[outcomes.stratum]
    n = np.bincount(outcomes.phone, outcomes.n, phones)
    residual = np.bincount(outcomes.phone, outcomes.successes - outcomes.n * expected, phones)
    noise = np.bincount(outcomes.phone, outcomes.n * expected * (1.0 - expected), phones)
    squares = float(np.sum(n**2))
    if squares == 0.0:
        return np.zeros(phones)
    spread = max(0.0, float(np.sum(residual**2 - noise)) / squares)
    typical = float(np.sum(noise) / np.sum(n))
    if spread == 0.0 or typical == 0.0:
        return np.zeros(phones)
    return np.asarray(residual / (n + typical / spread))

"""How often tasks succeed with a staged release and with the one it replaces, from episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, Integer, cast, func, select

from cloud_learner.release_comparison import (
    Comparison,
    Floats,
    Outcomes,
    PeriodSums,
    compare,
    own_past_of,
    sum_period,
)
from cloud_learner.staged_arms import PLAYED, Arms, before_it_began, of_arm, period_of
from cloud_learner.staged_gate import MODEL_PHONES
from cloud_learner.staged_phone_store import ChannelPhone
from cloud_learner.tables import EPISODES
from sync.vocabulary import EndReason

_Cell = tuple[int, str, int, bool, int, int]
"""Phone, template, period, whether the release played, judged episodes, successes."""


def read_success(
    connection: Connection, arms: Arms, phones: Sequence[ChannelPhone], *, within_ms: int
) -> tuple[Comparison, dict[str, Comparison]]:
    """The comparison of all phones, and that of each model that is not rare.

    Args:
        within_ms: how far back a phone's own past goes.
    """
    cells = list(_cells(connection, arms))
    past = _own_past(connection, arms, within_ms=within_ms)
    least_spread = arms.staged.plan.least_spread

    def compared(among: Iterable[_Cell]) -> Comparison:
        rows = list(among)
        periods = sorted({row[2] for row in rows})
        sums = [_summed([row for row in rows if row[2] == one], past) for one in periods]
        return compare(sums, least_spread=least_spread)

    model_of = [phone.model for phone in phones]
    by_model = {
        model: compared(cell for cell in cells if model_of[cell[0]] == model)
        for model in _common(model_of)
    }
    return compared(cells), by_model


def _common(models: Iterable[str]) -> list[str]:
    """Models of which both arms could have enough phones; none where all phones are alike."""
    counted = Counter(models)
    common = [one for one, count in counted.items() if one and count >= 2 * MODEL_PHONES]
    return sorted(common) if len(counted) > 1 else []


def _cells(connection: Connection, arms: Arms) -> Iterable[_Cell]:
    """Judged episodes of both arms, by phone and template in each stage."""
    for is_candidate in (True, False):
        for device_id, template, period, n, successes in connection.execute(
            _judged(period_of(arms.staged)).where(of_arm(arms.staged, is_candidate=is_candidate))
        ):
            if arms.counts(device_id, period, is_candidate=is_candidate):
                yield arms.index[device_id], template, period, is_candidate, n, successes


def _judged(period: Any) -> Any:  # SQL expressions
    """Decided episodes and successes by phone, template and period."""
    return (
        select(
            EPISODES.c.device_id,
            EPISODES.c.template,
            period,
            func.count(),
            func.sum(cast(EPISODES.c.success.is_(True), Integer)),
        )
        .select_from(PLAYED)
        .where(EPISODES.c.end_reason != EndReason.ENV_ERROR.value, EPISODES.c.success.is_not(None))
        .group_by(EPISODES.c.device_id, EPISODES.c.template, period)
    )


def _own_past(connection: Connection, arms: Arms, *, within_ms: int) -> Floats:
    before = before_it_began(arms.staged, within_ms)
    rows = [
        (arms.index[device_id], template, period, False, n, successes)
        for device_id, template, period, n, successes in connection.execute(
            _judged(cast(0, Integer)).where(before)
        )
        if device_id in arms.index
    ]
    if not rows:
        return np.zeros(len(arms.index))
    return own_past_of(_outcomes(rows), len(arms.index))


def _summed(rows: Sequence[_Cell], past: Floats) -> PeriodSums:
    return sum_period(_outcomes(rows), past)


def _outcomes(rows: Sequence[_Cell]) -> Outcomes:
    names = {name: at for at, name in enumerate(sorted({row[1] for row in rows}))}

    def column(take: Callable[[_Cell], float]) -> Floats:
        return np.array([take(row) for row in rows], np.float64)

    return Outcomes(
        phone=column(lambda row: row[0]).astype(np.int64),
        stratum=column(lambda row: names[row[1]]).astype(np.int64),
        is_candidate=column(lambda row: row[3]).astype(np.bool_),
        n=column(lambda row: row[4]),
        successes=column(lambda row: row[5]),
    )

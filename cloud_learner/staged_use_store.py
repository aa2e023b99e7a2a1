"""What phones of both arms did with their release: what the hard bounds are on, from the database.

Successes are not here: `cloud_learner.staged_success_store` has those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from sqlalchemy import Connection, Integer, and_, cast, func, select

from cloud_learner.release_comparison import Floats
from cloud_learner.staged_arms import PLAYED, Arms, before_it_began, of_arm, period_of
from cloud_learner.staged_bounds import (
    Share,
    Speed,
    Tally,
    excess_before,
    share_by_phone,
    slowed_share,
)
from cloud_learner.tables import EPISODES
from sync.vocabulary import EndReason

_IS_ERROR: Final = EPISODES.c.end_reason == EndReason.ENV_ERROR.value
_IS_OPEN: Final = and_(EPISODES.c.success.is_(None), ~_IS_ERROR)
_IS_TIMED: Final = EPISODES.c.n_steps > 0
_TIMED_MS: Final = func.sum(EPISODES.c.decide_ms_p95 * cast(_IS_TIMED, Integer))
_TIMED: Final = func.sum(cast(_IS_TIMED, Integer))
_COLUMNS: Final = (
    func.count(),
    func.sum(cast(_IS_ERROR, Integer)),
    func.sum(cast(_IS_OPEN, Integer)),
    func.sum(EPISODES.c.n_steps),
    func.sum(EPISODES.c.invalid_steps),
    _TIMED_MS,
    _TIMED,
)
_PLAYED, _ERRORS, _OPEN, _STEPS, _INVALID, _MS, _TIMES = range(len(_COLUMNS))


@dataclass(frozen=True, slots=True)
class ArmUse:
    """What phones did in a time.

    Attributes:
        device_ids: of its K phones that played.
        sums: float64 [K, columns], what each of them did.
        last_ms: when each one's latest episode came.
    """

    device_ids: list[str]
    sums: Floats
    last_ms: dict[str, int]

    def total(self, column: int) -> Floats:
        """One column, float64 [K]."""
        return self.sums[:, column]

    def told_of(self, facts: Mapping[str, float]) -> Floats:
        """A fact of each phone, float64 [K]; 0 where there is none."""
        return np.array([facts.get(name, 0.0) for name in self.device_ids], np.float64)


def read_use(connection: Connection, arms: Arms) -> tuple[ArmUse, ArmUse]:
    """What phones did with the release, and what the others did with the one it replaces."""
    return (
        _use_of(connection, arms, is_candidate=True),
        _use_of(connection, arms, is_candidate=False),
    )


def shares_of_use(
    connection: Connection, arms: Arms, use: ArmUse, control: ArmUse, *, within_ms: int
) -> dict[str, Share]:
    """Shares of episodes, of steps, and of phones that got slower.

    Args:
        within_ms: how far back a phone's own past goes.
    """
    before = _use_before(connection, arms, within_ms=within_ms)

    def share(cases: int, n: int, without: int | None = None) -> Share:
        def of(side: ArmUse) -> Floats:
            return side.total(n) - (0.0 if without is None else side.total(without))

        excess = dict(
            zip(before.device_ids, excess_before(before.total(cases), of(before)), strict=True)
        )
        return share_by_phone(
            *(Tally(side.total(cases), of(side), side.told_of(excess)) for side in (use, control))
        )

    return {
        "env_errors": share(_ERRORS, _PLAYED),
        "undecided": share(_OPEN, _PLAYED, without=_ERRORS),
        "invalid_actions": share(_INVALID, _STEPS),
        "slowed": slowed_share(arms.staged.plan, _speed(use, before), _speed(control, before)),
    }


def typical_ms(use: ArmUse) -> float:
    """Mean over episodes of the 95th percentile of a decision; 0 without any."""
    times = float(use.total(_TIMES).sum())
    return float(use.total(_MS).sum()) / times if times else 0.0


def _use_of(connection: Connection, arms: Arms, *, is_candidate: bool) -> ArmUse:
    period = period_of(arms.staged)  # one expression in both places: PostgreSQL compares them
    rows = connection.execute(
        select(EPISODES.c.device_id, period, func.max(EPISODES.c.received_at_ms), *_COLUMNS)
        .select_from(PLAYED)
        .where(of_arm(arms.staged, is_candidate=is_candidate))
        .group_by(EPISODES.c.device_id, period)
    )
    return _summed(
        (device_id, last_ms, values)
        for device_id, played_in, last_ms, *values in rows
        if arms.counts(device_id, played_in, is_candidate=is_candidate)
    )


def _use_before(connection: Connection, arms: Arms, *, within_ms: int) -> ArmUse:
    """What each phone did before the first stage."""
    rows = connection.execute(
        select(EPISODES.c.device_id, func.max(EPISODES.c.received_at_ms), *_COLUMNS)
        .where(before_it_began(arms.staged, within_ms))
        .group_by(EPISODES.c.device_id)
    )
    return _summed((device_id, last_ms, values) for device_id, last_ms, *values in rows)


def _summed(rows: Iterable[tuple[str, int, Sequence[float | None]]]) -> ArmUse:
    sums: dict[str, list[float]] = {}
    latest: dict[str, int] = {}
    for device_id, last_ms, values in rows:
        old = sums.get(device_id, [0.0] * len(_COLUMNS))
        sums[device_id] = [a + float(b or 0) for a, b in zip(old, values, strict=True)]
        latest[device_id] = max(last_ms, latest.get(device_id, 0))
    table = np.array(list(sums.values()), np.float64).reshape(-1, len(_COLUMNS))
    return ArmUse(list(sums), table, latest)


def _speed(use: ArmUse, before: ArmUse) -> Speed:
    def mean_ms(side: ArmUse) -> Floats:
        return side.total(_MS) / np.maximum(side.total(_TIMES), 1.0)

    def earlier(values: Floats) -> Floats:
        return use.told_of(dict(zip(before.device_ids, values, strict=True)))

    return Speed(
        ms=mean_ms(use),
        n=use.total(_TIMES),
        ms_before=earlier(mean_ms(before)),
        n_before=earlier(before.total(_TIMES)),
    )

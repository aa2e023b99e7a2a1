"""How phones do with a staged release and with the one that it replaces, from what they sent.

A phone is in the arm of the release from the stage on whose share holds it; until then, and for
ever where it is held out, it is in the other arm, with the release that is to be replaced. Episodes
of anything else count in neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np
from sqlalchemy import Connection, Integer, and_, case, cast, func, select

from cloud_learner.release_comparison import (
    Comparison,
    Floats,
    Outcomes,
    PeriodSums,
    compare,
    own_past_of,
    sum_period,
)
from cloud_learner.staged_census import Row
from cloud_learner.staged_gate import ANSWERS, Evidence, Share
from cloud_learner.staged_phone_store import (
    CRASHED,
    INSTALLED,
    REFUSED,
    REVERTED,
    ChannelPhone,
    channel_phones,
    offered_rows,
)
from cloud_learner.staged_plan import StagedPlan
from cloud_learner.staged_store import StagedRelease
from cloud_learner.store import Database
from cloud_learner.tables import EPISODES
from sync.clock import Clock
from sync.vocabulary import EndReason

PAST_MS: Final = 7 * 24 * 3600 * 1000
"""How far back a phone's own past goes."""
_LATENCIES: Final = 20_000


class EvidenceStore:
    """Reads evidence; used by one thread."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def evidence(self, staged: StagedRelease) -> Evidence:
        """Both arms as they are now; nothing where no phone was offered it yet."""
        if not staged.stages_began_ms:
            return Evidence()
        now_ms = self._clock.wall_ms()
        with self._database.read() as connection:
            phones = channel_phones(connection, staged)
            arms = _Arms(staged, phones)
            rows = offered_rows(connection, staged)
            totals = _totals(connection, arms)
            latency, latency_n = _latency(connection, arms, is_candidate=True)
            control_latency, _ = _latency(connection, arms, is_candidate=False)
            return Evidence(
                new_phones=_new_phones(staged, rows),
                unanswered=_unanswered(staged.plan, rows, now_ms=now_ms),
                comparison=_comparison(connection, arms),
                shares={
                    **_phone_shares(staged.plan, rows, now_ms=now_ms),
                    "silent": _silent(staged, phones, rows, now_ms=now_ms),
                    **totals,
                },
                latency_ms=latency,
                control_latency_ms=control_latency,
                latency_n=latency_n,
            )


class _Arms:
    """Which phone is in which arm, and by which index."""

    def __init__(self, staged: StagedRelease, phones: Sequence[ChannelPhone]) -> None:
        self.staged = staged
        self.index = {phone.device_id: at for at, phone in enumerate(phones)}
        self._from = [phone.offered_from for phone in phones]

    def counts(self, device_id: str, period: int, *, is_candidate: bool) -> bool:
        """Whether an episode of that phone, period and release is in its arm."""
        at = self.index.get(device_id)
        if at is None:
            return False
        offered_from = self._from[at]
        is_offered = offered_from is not None and offered_from <= period
        return is_offered is is_candidate


def _new_phones(staged: StagedRelease, rows: Iterable[Row]) -> int:
    stage = staged.state.stage
    return sum(row["stage"] == stage and row["installed_at_ms"] > 0 for row in rows)


def _unanswered(plan: StagedPlan, rows: Sequence[Row], *, now_ms: int) -> Share:
    overdue_ms = now_ms - round(plan.answer_s * 1000)
    waiting = sum(not row["outcome"] and row["told_at_ms"] > overdue_ms for row in rows)
    return Share(waiting, len(rows))


def _phone_shares(plan: StagedPlan, rows: Sequence[Row], *, now_ms: int) -> dict[str, Share]:
    """Shares of phones: those that could not install it, that crashed, that took it back."""
    overdue_ms = now_ms - round(plan.answer_s * 1000)
    mute = sum(not row["outcome"] and row["told_at_ms"] <= overdue_ms for row in rows)
    outcomes = [row["outcome"] for row in rows if row["outcome"]]
    refused = outcomes.count(REFUSED)
    installed = len(outcomes) - refused
    return {
        ANSWERS: Share(refused + mute, len(outcomes) + mute),
        "crashes": Share(outcomes.count(CRASHED), installed),
        "reverts": Share(outcomes.count(REVERTED), installed),
    }


def _silent(
    staged: StagedRelease,
    phones: Iterable[ChannelPhone],
    rows: Iterable[Row],
    *,
    now_ms: int,
) -> Share:
    """Phones that are not heard of any more, among those that have it and among the others."""
    have = {row["device_id"] for row in rows if row["outcome"] == INSTALLED}
    lost_ms = now_ms - round(staged.plan.silence_s * 1000)
    began_ms = staged.stages_began_ms[0]
    seen = [phone for phone in phones if phone.device_id in have or phone.last_seen_ms >= began_ms]
    lost = [phone for phone in seen if phone.last_seen_ms < lost_ms]
    with_it = sum(phone.device_id in have for phone in seen)
    lost_with_it = sum(phone.device_id in have for phone in lost)
    return Share(lost_with_it, with_it, len(lost) - lost_with_it, len(seen) - with_it)


def _of_arm(arms: _Arms, *, is_candidate: bool) -> Any:  # an SQL expression
    """Episodes that a release of this arm played by itself since the first stage."""
    staged = arms.staged
    release_id = staged.release_id if is_candidate else staged.replaces
    return and_(
        EPISODES.c.received_at_ms >= staged.stages_began_ms[0],
        EPISODES.c.actor == "release",
        EPISODES.c.duplicate.is_(False),
        EPISODES.c.release_id == release_id,
    )


def _period(staged: StagedRelease) -> Any:  # an SQL expression
    """Index of the stage in which an episode arrived."""
    later = list(enumerate(staged.stages_began_ms))[:0:-1]
    if not later:
        return cast(0, Integer)
    return case(*((EPISODES.c.received_at_ms >= at_ms, stage) for stage, at_ms in later), else_=0)


def _totals(connection: Connection, arms: _Arms) -> dict[str, Share]:
    """Shares of episodes and steps: env_errors, undecided ones, and actions that were invalid."""
    is_error = EPISODES.c.end_reason == EndReason.ENV_ERROR.value
    is_open = and_(EPISODES.c.success.is_(None), ~is_error)
    period_of = _period(arms.staged)  # one expression in both places: PostgreSQL compares them
    sums: list[list[int]] = []
    for is_candidate in (True, False):
        rows = connection.execute(
            select(
                EPISODES.c.device_id,
                period_of,
                func.count(),
                func.sum(cast(is_error, Integer)),
                func.sum(cast(is_open, Integer)),
                func.sum(EPISODES.c.n_steps),
                func.sum(EPISODES.c.invalid_steps),
            )
            .where(_of_arm(arms, is_candidate=is_candidate))
            .group_by(EPISODES.c.device_id, period_of)
        )
        total = [0, 0, 0, 0, 0]
        for device_id, period, *values in rows:
            if arms.counts(device_id, period, is_candidate=is_candidate):
                total = [old + int(new or 0) for old, new in zip(total, values, strict=True)]
        sums.append(total)
    (played, errors, undecided, steps, invalid), other = sums
    return {
        "env_errors": Share(errors, played, other[1], other[0]),
        "undecided": Share(undecided, played - errors, other[2], other[0] - other[1]),
        "invalid_actions": Share(invalid, steps, other[4], other[3]),
    }


def _latency(connection: Connection, arms: _Arms, *, is_candidate: bool) -> tuple[float, int]:
    """95th percentile of a decision in one arm's latest episodes, and how many those are."""
    rows = connection.execute(
        select(EPISODES.c.device_id, _period(arms.staged), EPISODES.c.decide_ms_p95)
        .where(_of_arm(arms, is_candidate=is_candidate), EPISODES.c.n_steps > 0)
        .order_by(EPISODES.c.row.desc())
        .limit(_LATENCIES)
    )
    values = [
        value
        for device_id, period, value in rows
        if arms.counts(device_id, period, is_candidate=is_candidate)
    ]
    return (float(np.quantile(values, 0.95)), len(values)) if values else (0.0, 0)


def _comparison(connection: Connection, arms: _Arms) -> Comparison:
    """Judged episodes of both arms, by phone and template in each stage."""
    rows = [
        (arms.index[device_id], template, period, is_candidate, n, successes)
        for is_candidate in (True, False)
        for device_id, template, period, n, successes in connection.execute(
            _judged(_period(arms.staged)).where(_of_arm(arms, is_candidate=is_candidate))
        )
        if arms.counts(device_id, period, is_candidate=is_candidate)
    ]
    past = _own_past(connection, arms)
    periods = sorted({row[2] for row in rows})
    return compare(
        [_summed([row for row in rows if row[2] == period], past) for period in periods],
        least_spread=arms.staged.plan.least_spread,
    )


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
        .where(EPISODES.c.end_reason != EndReason.ENV_ERROR.value, EPISODES.c.success.is_not(None))
        .group_by(EPISODES.c.device_id, EPISODES.c.template, period)
    )


def _own_past(connection: Connection, arms: _Arms) -> Floats:
    began_ms = arms.staged.stages_began_ms[0]
    before = and_(
        EPISODES.c.received_at_ms >= began_ms - PAST_MS,
        EPISODES.c.received_at_ms < began_ms,
        EPISODES.c.actor == "release",
        EPISODES.c.duplicate.is_(False),
    )
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


_Cell = tuple[int, str, int, bool, int, int]
"""Phone, template, period, whether the release played, judged episodes, successes."""


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

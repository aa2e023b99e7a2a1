"""How phones do with a staged release and with the one that it replaces, from what they sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from cloud_learner.staged_arms import Arms
from cloud_learner.staged_bounds import Share, silent_share
from cloud_learner.staged_census import Row
from cloud_learner.staged_gate import ANSWERS, Evidence
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
from cloud_learner.staged_success_store import read_success
from cloud_learner.staged_use_store import ArmUse, read_use, shares_of_use, typical_ms
from cloud_learner.store import Database
from sync.clock import Clock

PAST_MS: Final = 7 * 24 * 3600 * 1000
"""How far back a phone's own past goes."""


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
            arms = Arms(staged, phones)
            rows = offered_rows(connection, staged)
            use, control = read_use(connection, arms)
            comparison, models = read_success(connection, arms, phones, within_ms=PAST_MS)
            return Evidence(
                new_phones=_new_phones(staged, rows),
                unanswered=_unanswered(staged.plan, rows, now_ms=now_ms),
                comparison=comparison,
                models=models,
                shares={
                    **_phone_shares(staged.plan, rows, now_ms=now_ms),
                    "silent": _silent(staged, phones, now_ms=now_ms),
                    "idle": _idle(staged, phones, rows, (use, control), now_ms=now_ms),
                    **shares_of_use(connection, arms, use, control, within_ms=PAST_MS),
                },
                latency_ms=typical_ms(use),
                control_latency_ms=typical_ms(control),
            )


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


def _silent(staged: StagedRelease, phones: Iterable[ChannelPhone], *, now_ms: int) -> Share:
    """Phones that are not heard of any more, among those it was offered to and among the others.

    Whoever was heard of shortly before its stage counts, whatever it said since: a phone that a
    release kills at once does not tell that it was told.
    """
    silence_ms = round(staged.plan.silence_s * 1000)
    began_ms = np.array(staged.stages_began_ms)
    none = len(began_ms)
    rows = [
        (none if phone.offered_from is None else phone.offered_from, phone.last_seen_ms)
        for phone in phones
    ]
    stage_of, seen_ms = np.array(rows, np.int64).reshape(-1, 2).T
    lost = seen_ms < now_ms - silence_ms
    there = seen_ms[None, :] >= began_ms[:, None] - silence_ms
    return silent_share(stage_of, there, lost)


def _idle(
    staged: StagedRelease,
    phones: Iterable[ChannelPhone],
    rows: Iterable[Row],
    use: tuple[ArmUse, ArmUse],
    *,
    now_ms: int,
) -> Share:
    """Phones that are heard of and played nothing for long before, in both arms."""
    long_ms = round(staged.plan.answer_s * 1000)
    installed_ms = {
        row["device_id"]: row["installed_at_ms"]
        for row in rows
        if row["outcome"] == INSTALLED and not row["left_at_ms"]
    }
    counted = {True: [0, 0], False: [0, 0]}
    for phone in phones:
        has_it = phone.device_id in installed_ms
        has_the_old = phone.offered_from is None and phone.release_id == staged.replaces
        since_ms = installed_ms.get(phone.device_id, staged.stages_began_ms[0])
        heard_of = phone.last_seen_ms >= max(now_ms - long_ms, since_ms + long_ms)
        if heard_of and (has_it or has_the_old):
            played_ms = use[0 if has_it else 1].last_ms.get(phone.device_id, 0)
            counted[has_it][0] += played_ms < phone.last_seen_ms - long_ms
            counted[has_it][1] += 1
    return Share(*counted[True], *counted[False], is_relative=True)

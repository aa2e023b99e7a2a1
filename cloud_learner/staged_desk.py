"""What a person asks about staged releases and orders of them, over a fleet's database.

The service's API and the commands speak to this; it decides nothing that the engine decides, and
signs nothing: the service's director does, once it sees what was ordered.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import msgspec

from cloud_learner.errors import StagedReleaseError
from cloud_learner.staged_census import Census
from cloud_learner.staged_forecast import StageForecast, forecast, shortfalls
from cloud_learner.staged_offer import reached, with_fair_seed
from cloud_learner.staged_plan import DAY_S, Stage, StagedPlan, default_stages
from cloud_learner.staged_release import Approve, StagedEvent
from cloud_learner.staged_store import StagedRelease, StagedStore, is_whole
from sync.cohorts import PLACES, CohortPhone, is_held_out
from sync.published import PublishedReleases
from sync.releases import require_channel

Fields = dict[str, Any]  # JSON
_SEEDS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingOrder:
    """How a release is to be staged; what is not said has the plan's default.

    Attributes:
        stages: share and margin of each stage, in the order of shares; empty takes those that fit
            the fleet's size.
        approve: whether whoever drafts it agrees to it, too.
    """

    who: str
    reason: str = ""
    channel: str = "stable"
    shares_percent: tuple[float, ...] = ()
    margin: float | None = None
    soak_hours: float | None = None
    give_up_days: float | None = None
    least_phones: int | None = None
    least_tasks: int | None = None
    hold_out_percent: float = 5.0
    alpha_worse: float = 0.025
    alpha_harm: float = 0.01
    seed: str = ""
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    where: dict[str, tuple[str, ...]] | None = None
    approve: bool = True


class StagedDesk:
    """Answers and orders; safe to use from any thread.

    Args:
        tuf_dir: the signed releases; read anew each time, since another process may sign.
    """

    def __init__(
        self,
        store: StagedStore,
        census: Census,
        *,
        tuf_dir: Path,
    ) -> None:
        self._store = store
        self._census = census
        self._tuf_dir = tuf_dir

    def stage(self, release_id: str, order: StagingOrder) -> Fields:
        """Draft a release's stages, and approve them where the order says so.

        Raises: StagedReleaseError: it cannot be staged, or a stage could never pass.
        """
        replaces = self._replaced(release_id, order.channel)
        plan = self._plan(release_id, order)
        cohorts = _cohorts(plan, self._census.phones(plan.channel))
        for at, (stage, fresh) in enumerate(zip(plan.stages, _fresh(cohorts), strict=True)):
            if fresh < stage.phones:
                raise StagedReleaseError(
                    f"stage {at + 1} needs {stage.phones} phones and would reach {fresh}: widen it "
                    "(--stages), or ask for less (--least-phones)"
                )
        self._store.draft(release_id, replaces=replaces, plan=plan, who=order.who)
        if order.approve:
            self._store.tell(release_id, Approve(order.who, order.reason or "as planned"))
        return self.status(release_id)

    def preview(self, release_id: str, order: StagingOrder) -> Fields:
        """What a plan would come to; nothing is changed.

        Raises: StagedReleaseError: it cannot be staged.
        """
        replaces = self._replaced(release_id, order.channel)
        plan = self._plan(release_id, order)
        phones, gone = self._census.split(plan.channel)
        held_out = [is_held_out(phone.device_id, plan.hold_out_bps) for phone in phones]
        cohorts = _cohorts(plan, phones)
        rate = self._census.tasks_per_phone_and_day(plan.channel)
        forecasts = forecast(plan, cohorts, phones=len(phones), tasks_per_phone_and_day=rate)
        days = [one.days for one in forecasts]
        return {
            "release_id": release_id,
            "replaces": replaces,
            "channel": plan.channel,
            "phones": len(phones),
            "phones_gone": len(gone),
            "held_out": sum(held_out),
            "tasks_per_phone_and_day": round(rate, 2),
            "stages": _stage_rows(plan, cohorts, forecasts),
            "days": None if None in days else round(sum(filter(None, days)), 1),
            "falls_short": shortfalls(plan, forecasts),
            "plan": msgspec.to_builtins(plan),
        }

    def tell(self, release_id: str, event: StagedEvent) -> Fields:
        """Let a person's word happen.

        Raises: StagedReleaseError, UnknownRowError.
        """
        self._store.tell(release_id, event)
        return self.status(release_id)

    def all(self) -> list[Fields]:
        """Every staged release in short, the oldest first."""
        return [_short(staged) for staged in self._store.all()]

    def status(self, release_id: str) -> Fields:
        """One staged release.

        Raises: UnknownRowError: it was never staged.
        """
        staged = self._store.get(release_id)
        counts = self._store.phone_counts(release_id)
        latest = next(
            (one for one in reversed(self._store.log(release_id)) if one.entry.figures), None
        )
        return {
            **_short(staged),
            "stages": [asdict(stage) for stage in staged.plan.stages],
            "stages_began_ms": list(staged.stages_began_ms),
            "phones": {outcome or "told": number for outcome, number in counts.items()},
            "figures": {} if latest is None else latest.entry.figures,
            "plan": msgspec.to_builtins(staged.plan),
        }

    def audit_log(self, release_id: str) -> Fields:
        """Every line of its audit log, and whether none was changed or taken out since.

        Raises: UnknownRowError: it was never staged.
        """
        before = self._store.get(release_id).state.phase
        log = self._store.log(release_id)
        after = self._store.get(release_id).state.phase
        entries = [{"row": one.row, **asdict(one.entry), "digest": one.digest} for one in log]
        ends_here = bool(log) and log[-1].entry.now in {before, after}
        return {
            "release_id": release_id,
            "entries": entries,
            "whole": ends_here and is_whole(log),
        }

    def _replaced(self, release_id: str, channel: str) -> str:
        """The release that a channel's phones have now.

        Raises: StagedReleaseError: `release_id` is not signed, or not above that one.
        """
        try:
            require_channel(channel)
        except ValueError as error:
            raise StagedReleaseError(str(error)) from error
        published = PublishedReleases(self._tuf_dir)
        signed = {str(release.id): release for release in published.releases()}
        pointer = published.channel(channel)
        pointed_at = "" if pointer is None else str(pointer.release_id)
        if release_id not in signed:
            raise StagedReleaseError(
                f"{release_id} is not signed: `outrider release list` names what is"
            )
        if pointed_at not in signed:
            raise StagedReleaseError(
                f"{channel} points at no release to go back to: publish the base to it first "
                f"(`outrider release publish --base BASE --channel {channel}`)"
            )
        if signed[release_id].version <= signed[pointed_at].version:
            raise StagedReleaseError(
                f"{release_id} is not above {pointed_at}, which {channel} has: stage a newer one"
            )
        return pointed_at

    def _plan(self, release_id: str, order: StagingOrder) -> StagedPlan:
        """Raises: StagedReleaseError: something of the order cannot be."""
        try:
            plan = StagedPlan(
                stages=self._chosen_stages(order),
                seed=order.seed or release_id,
                channel=order.channel,
                hold_out_bps=round(order.hold_out_percent * PLACES / 100),
                allow=order.allow,
                deny=order.deny,
                where=order.where or {},
                alpha_worse=order.alpha_worse,
                alpha_harm=order.alpha_harm,
            )
        except (ValueError, OverflowError) as error:
            raise StagedReleaseError(f"the plan cannot be: {error}") from error
        if order.seed:
            return plan
        seeds = (f"{release_id}-{secrets.token_hex(4)}" for _ in range(_SEEDS))
        return with_fair_seed(plan, self._census.phones(plan.channel), seeds)

    def _chosen_stages(self, order: StagingOrder) -> tuple[Stage, ...]:
        stages = default_stages(len(self._census.phones(order.channel)))
        if order.shares_percent:
            known = {stage.share_bps: stage for stage in stages}
            shares = [round(share * PLACES / 100) for share in order.shares_percent]
            stages = tuple(known.get(share, Stage(share, phones=2)) for share in shares)
        said: Fields = {
            "margin": order.margin,
            "soak_s": None if order.soak_hours is None else order.soak_hours * DAY_S / 24,
            "give_up_s": None if order.give_up_days is None else order.give_up_days * DAY_S,
            "phones": order.least_phones,
            "tasks": order.least_tasks,
        }
        change = {name: value for name, value in said.items() if value is not None}
        return tuple(replace(stage, **change) for stage in stages)


def _cohorts(plan: StagedPlan, phones: Sequence[CohortPhone]) -> list[int]:
    """Phones that each stage would reach in all."""
    return [reached(plan, at, phones) for at in range(len(plan.stages))]


def _fresh(cohorts: Sequence[int]) -> list[int]:
    """Phones that each stage would reach and the one before did not."""
    return [in_all - before for before, in_all in pairwise([0, *cohorts])]


def _stage_rows(
    plan: StagedPlan, cohorts: Sequence[int], forecasts: Sequence[StageForecast]
) -> list[Fields]:
    """What each stage would reach, need and take, with the phones that there are now."""
    return [
        {
            "stage": at,
            "share_percent": stage.share_bps * 100 / PLACES,
            "phones": fresh,
            "phones_in_all": in_all,
            "least_phones": stage.phones,
            "margin": stage.margin,
            "soak_days": stage.soak_s / DAY_S,
            **asdict(one),
        }
        for at, (stage, in_all, fresh, one) in enumerate(
            zip(plan.stages, cohorts, _fresh(cohorts), forecasts, strict=True), start=1
        )
    ]


def _short(staged: StagedRelease) -> Fields:
    state = staged.state
    return {
        "release_id": staged.release_id,
        "replaces": staged.replaces,
        "channel": staged.channel,
        "phase": state.phase.value,
        "stage": state.stage + 1,
        "of_stages": len(staged.plan.stages),
        "share_percent": staged.plan.stages[state.widest].share_bps * 100 / PLACES
        if state.widest >= 0
        else 0.0,
        "entered_at_ms": state.entered_at_ms,
        "deadline_ms": state.deadline_ms,
        "roll_back_version": state.roll_back_version,
        "updated_at_ms": staged.updated_at_ms,
    }

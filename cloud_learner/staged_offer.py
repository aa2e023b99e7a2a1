"""What a stage of a plan offers, as the channel's signed pointer says it, and to how many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from cloud_learner.staged_plan import StagedPlan
from sync.cohorts import PLACES, CohortPhone, StagedOffer, place
from sync.vocabulary import ReleaseId

_CLOSE: Final = 0.10
"""A cohort is as large as its share says, but for this part of it."""
_FEW: Final = 5


def offer_of(release_id: str, version: int, plan: StagedPlan, stage: int) -> StagedOffer:
    """The offer of a release in one stage of its plan."""
    return StagedOffer(
        release_id=ReleaseId(release_id),
        version=version,
        seed=plan.seed,
        share_bps=plan.stages[stage].share_bps,
        hold_out_bps=plan.hold_out_bps,
        allow=plan.allow,
        deny=plan.deny,
        where=plan.where,
    )


def reached(plan: StagedPlan, stage: int, phones: Sequence[CohortPhone]) -> int:
    """How many of `phones` a stage is offered to."""
    offer = offer_of("release", 0, plan, stage)
    return sum(offer.includes(phone) for phone in phones)


def with_fair_seed(
    plan: StagedPlan, phones: Sequence[CohortPhone], seeds: Iterable[str]
) -> StagedPlan:
    """The plan with the first seed whose stages reach as many phones as their shares say.

    Chance alone would make a cohort of a small fleet half or twice as large. Seeds look at names
    only, so the cohorts stay random ones.

    Args:
        seeds: to choose from; the last one is taken where none is fair.
    """
    offer = offer_of("release", 0, plan, 0)
    drawn = [
        phone.device_id
        for phone in phones
        if phone.device_id not in plan.allow and offer.may_ever_get(phone)
    ]
    chosen = plan
    for seed in seeds:
        chosen = replace(plan, seed=seed)
        places = [place(seed, device_id) for device_id in drawn]
        if all(_is_fair(places, stage.share_bps) for stage in plan.stages):
            break
    return chosen


def _is_fair(places: Sequence[int], share_bps: int) -> bool:
    """Whether a share reaches as many of these places as it says: to half a phone where few."""
    wanted = len(places) * share_bps / PLACES
    few = 0.5 if wanted < _FEW else 1.0
    return abs(sum(at < share_bps for at in places) - wanted) <= max(few, _CLOSE * wanted)

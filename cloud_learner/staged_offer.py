"""What a stage of a plan offers, as the channel's signed pointer says it, and to how many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from cloud_learner.staged_plan import StagedPlan
from sync.cohorts import PLACES, CohortPhone, StagedOffer
from sync.vocabulary import ReleaseId

_CLOSE: Final = 0.10
"""A first cohort is as large as its share says, but for this part of it."""


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
    """The plan with the first seed whose first stage reaches as many phones as its share says.

    Chance alone would make the first cohort of a small fleet half or twice as large. Seeds look at
    names only, so the cohort stays a random one.

    Args:
        seeds: to choose from; the last one is taken where none is fair.
    """
    offer = offer_of("release", 0, plan, 0)
    open_to = [phone for phone in phones if offer.may_ever_get(phone)]
    named = sum(phone.device_id in plan.allow for phone in open_to)
    wanted = named + (len(open_to) - named) * plan.stages[0].share_bps / PLACES
    chosen = plan
    for seed in seeds:
        chosen = replace(plan, seed=seed)
        if abs(reached(chosen, 0, open_to) - wanted) <= max(0.5, _CLOSE * wanted):
            break
    return chosen

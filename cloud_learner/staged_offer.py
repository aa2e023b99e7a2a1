"""What a stage of a plan offers, as the channel's signed pointer says it."""

from __future__ import annotations

from cloud_learner.staged_plan import StagedPlan
from sync.cohorts import StagedOffer
from sync.vocabulary import ReleaseId


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

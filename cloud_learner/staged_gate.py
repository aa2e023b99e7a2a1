"""What a staged release's facts say about going on. Pure.

Three answers, and no answer by default: *go on* needs enough phones and tasks, every hard bound
held and non-inferiority shown; *stop* needs a hard bound broken or harm shown; all else is *wait*,
which ends with the stage's time, and then a person decides. "Not significantly worse" is never
taken for good.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from math import isfinite
from typing import Final

from cloud_learner.release_comparison import Comparison
from cloud_learner.staged_bounds import Share, is_broken, is_held
from cloud_learner.staged_plan import Stage, StagedPlan

HARM_SOUGHT: Final = 0.10
"""The loss that the bound of harm is sharpest for."""
MODEL_PHONES: Final = 5
"""Phones of a model in each arm, from which on harm is judged among them alone."""
ANSWERS: Final = "install_failures"
"""The bound on phones that do not answer: silence counts as failure, and waits until it does."""


class Answer(StrEnum):
    """What is to be done."""

    GO_ON = "go_on"
    WAIT = "wait"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a staged release at one look.

    Attributes:
        new_phones: phones that installed it since the stage began.
        unanswered: phones that were told of it and still have time to answer, among all told.
        comparison: of task success, over all stages so far.
        models: the same among phones of one model, for each model with enough phones to ask.
        shares: what the hard bounds are on, by name.
        latency_ms, control_latency_ms: how long a decision takes in each arm; only told.
    """

    new_phones: int = 0
    unanswered: Share = field(default_factory=Share)
    comparison: Comparison = field(default_factory=Comparison)
    models: Mapping[str, Comparison] = field(default_factory=dict)
    shares: Mapping[str, Share] = field(default_factory=dict)
    latency_ms: float = 0.0
    control_latency_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answer, why in one line, and the figures that it rests on."""

    answer: Answer
    reason: str
    figures: dict[str, float]


def judge_stage(plan: StagedPlan, stage: Stage, evidence: Evidence) -> Judgement:
    """What `evidence` says of a release in `stage`; whether it has soaked is not asked here."""
    figures = _figures(plan, stage, evidence)
    broken = [*_broken(plan, evidence), *_harm(plan, evidence)]
    if broken:
        return Judgement(Answer.STOP, "; ".join(broken), figures)
    missing = [*_missing(plan, stage, evidence), *_not_shown(plan, stage, evidence.comparison)]
    if missing:
        return Judgement(Answer.WAIT, "; ".join(missing), figures)
    lowest = evidence.comparison.lower(plan.alpha_worse, stage.margin)
    shown = f"not worse by {stage.margin:.0%} (difference {evidence.comparison.difference:+.1%}, "
    return Judgement(Answer.GO_ON, f"{shown}at least {lowest:+.1%})", figures)


def _broken(plan: StagedPlan, evidence: Evidence) -> list[str]:
    """The hard bounds that are broken, one line each."""
    return [
        f"{name} {share.cases} of {share.n} (limit {limit.share:.0%} + {share.control:.1%})"
        for name, limit in plan.limits.items()
        if is_broken(limit, share := evidence.shares.get(name, Share()))
    ]


def _harm(plan: StagedPlan, evidence: Evidence) -> list[str]:
    """That the release is shown to be worse, for all phones or for those of one model."""
    found = [_worse(plan, evidence.comparison, plan.alpha_harm, "it is")]
    for model, comparison in evidence.models.items():
        if min(comparison.phones, comparison.control_phones) >= MODEL_PHONES:
            alpha = plan.alpha_harm / len(evidence.models)
            found.append(_worse(plan, comparison, alpha, f"on {model[:40]!r} it is"))
    return [line for line in found if line]


def _worse(plan: StagedPlan, comparison: Comparison, alpha: float, what: str) -> str:
    """That a difference is shown to be harm, in one line; empty where it is not."""
    highest = comparison.upper(alpha, HARM_SOUGHT)
    if comparison.tasks < plan.harm_tasks or comparison.phones < 2 or highest >= 0.0:
        return ""
    return f"{what} worse by {-comparison.difference:.1%} (at least by {-highest:.1%})"


def _missing(plan: StagedPlan, stage: Stage, evidence: Evidence) -> list[str]:
    """What is not enough yet, or not good enough, one line each."""
    found = []
    if evidence.new_phones < stage.phones:
        found.append(f"{evidence.new_phones} of {stage.phones} new phones")
    waiting = evidence.unanswered
    if waiting.cases > max(1.0, plan.limits[ANSWERS].share * waiting.n):
        found.append(f"{waiting.cases} of {waiting.n} phones have not answered")
    if evidence.comparison.tasks < stage.tasks:
        found.append(f"{evidence.comparison.tasks} of {stage.tasks} tasks")
    for name, limit in plan.limits.items():
        share = evidence.shares.get(name, Share())
        if not is_held(limit, share):
            found.append(f"{name} {share.cases} of {share.n}, limit {limit.share:.0%}")
    return found


def _not_shown(plan: StagedPlan, stage: Stage, comparison: Comparison) -> list[str]:
    """That non-inferiority is not shown yet, in one line; nothing where it is."""
    lowest = comparison.lower(plan.alpha_worse, stage.margin)
    if lowest > -stage.margin:
        return []
    known = f"by at most {-lowest:.1%}" if isfinite(lowest) else "by how much is unknown"
    return [f"it may be worse {known}, margin {stage.margin:.0%}"]


def _figures(plan: StagedPlan, stage: Stage, evidence: Evidence) -> dict[str, float]:
    """The numbers of a judgement, flat, none of them infinite."""
    comparison = evidence.comparison
    bounds = {
        "difference_low": comparison.lower(plan.alpha_worse, stage.margin),
        "difference_high": comparison.upper(plan.alpha_harm, HARM_SOUGHT),
        "latency_ms": evidence.latency_ms,
        "control_latency_ms": evidence.control_latency_ms,
    }
    counted = {name: value for name, value in asdict(comparison).items() if name != "variance"}
    shares = {
        f"{name}_{part}": float(getattr(share, part))
        for name, share in evidence.shares.items()
        for part in ("cases", "n")
    }
    all_of_it = {"new_phones": float(evidence.new_phones), **counted, **bounds, **shares}
    return {name: round(float(value), 4) for name, value in all_of_it.items() if isfinite(value)}

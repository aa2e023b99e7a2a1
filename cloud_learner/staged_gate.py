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
from math import ceil, isfinite
from typing import Final

from cloud_learner.figures import wilson
from cloud_learner.release_comparison import Comparison
from cloud_learner.staged_plan import Limit, Stage, StagedPlan

_BROKEN_Z: Final = 2.5758293035489004
"""A bound counts as broken where the share is above it with 99.5 % confidence."""
_HARM_SOUGHT: Final = 0.10
ANSWERS: Final = "install_failures"
"""The bound on phones that do not answer: silence counts as failure, and waits until it does."""


class Answer(StrEnum):
    """What is to be done."""

    GO_ON = "go_on"
    WAIT = "wait"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class Share:
    """Cases of a kind among all, with the release and beside it at the same time."""

    cases: int = 0
    n: int = 0
    control_cases: int = 0
    control_n: int = 0

    @property
    def control(self) -> float:
        """The other arm's share; 0 where it has none."""
        return self.control_cases / self.control_n if self.control_n else 0.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a staged release at one look.

    Attributes:
        new_phones: phones that installed it since the stage began.
        unanswered: phones that were told of it and still have time to answer, among all told.
        comparison: of task success, over all stages so far.
        shares: what the hard bounds are on, by name.
        latency_ms, control_latency_ms: 95th percentile of a decision in each arm.
        latency_n: episodes behind the first of them.
    """

    new_phones: int = 0
    unanswered: Share = Share()
    comparison: Comparison = field(default_factory=Comparison)
    shares: Mapping[str, Share] = field(default_factory=dict)
    latency_ms: float = 0.0
    control_latency_ms: float = 0.0
    latency_n: int = 0


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answer, why in one line, and the figures that it rests on."""

    answer: Answer
    reason: str
    figures: dict[str, float]


def judge_stage(plan: StagedPlan, stage: Stage, evidence: Evidence) -> Judgement:
    """What `evidence` says of a release in `stage`; whether it has soaked is not asked here."""
    figures = _figures(plan, stage, evidence)
    broken = [*_broken(plan, evidence), *_harm(plan, evidence.comparison)]
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
    found = [
        f"{name} {share.cases} of {share.n} (limit {limit.share:.0%} + {share.control:.1%})"
        for name, limit in plan.limits.items()
        if _is_broken(limit, share := evidence.shares.get(name, Share()))
    ]
    allowed = max(plan.latency_floor_ms, plan.latency_factor * evidence.control_latency_ms)
    if evidence.latency_n >= plan.latency_from_n and evidence.latency_ms > allowed:
        found.append(f"a decision takes {evidence.latency_ms:.0f} ms (limit {allowed:.0f} ms)")
    return found


def _is_broken(limit: Limit, share: Share) -> bool:
    """Whether more cases came than the limit explains; one case alone never decides."""
    if share.n < limit.from_n or share.cases < 2:
        return False
    interval = wilson(share.cases, share.n, z=_BROKEN_Z)
    return interval is not None and interval[0] > limit.share + share.control


def _is_held(limit: Limit, share: Share) -> bool:
    """Whether enough cases show that the bound holds; one case alone is as good as none."""
    allowed = ceil((limit.share + share.control) * share.n)
    return share.n >= limit.from_n and share.cases <= max(1, allowed)


def _harm(plan: StagedPlan, comparison: Comparison) -> list[str]:
    """That the release is shown to be worse, in one line; nothing where it is not."""
    if comparison.tasks < plan.harm_tasks or comparison.phones < 2:
        return []
    highest = comparison.upper(plan.alpha_harm, _HARM_SOUGHT)
    if highest >= 0.0:
        return []
    return [f"it is worse by {-comparison.difference:.1%} (at least by {-highest:.1%})"]


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
        if not _is_held(limit, share):
            found.append(f"{name} {share.cases} of {share.n}, limit {limit.share:.0%}")
    if evidence.latency_n < plan.latency_from_n:
        found.append(f"latency of {evidence.latency_n} of {plan.latency_from_n} episodes")
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
        "difference_high": comparison.upper(plan.alpha_harm, _HARM_SOUGHT),
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

"""The plan of a staged release: its stages, when each is good enough, and what stops it. Pure.

Every state of a staged release has its time here, so that none waits for ever; docs/staged-releases
says why the defaults are what they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from types import MappingProxyType
from typing import Final

from sync.cohorts import PLACES

HOUR_S: Final = 3600.0
DAY_S: Final = 24 * HOUR_S
LONGEST_STAGE_S: Final = 365 * DAY_S
MOST_STAGES: Final = 100
FIRST_SHARE: Final = 0.01
FEWEST_FIRST: Final = 20
"""Phones of a first stage where the fleet has so many within `LARGEST_FIRST_SHARE`."""
LARGEST_FIRST_SHARE: Final = 0.03
SMALL_FLEET: Final = 500
_WIDER: Final = (0.10, 0.50)


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: to whom the release is offered, and what it needs to go on.

    Attributes:
        share_bps: of all phones, in basis points; 10 000 are all but the hold-out.
        margin: how much worse its success may be, which must be shown not to be so (share).
        soak_s: how long a stage lasts at least; a day, because people and apps have days.
        give_up_s: after which a person is asked; a year at most.
        phones: new installations that it needs at least.
        tasks: judged episodes of the release that it needs at least, over all stages.
    """

    share_bps: int
    margin: float = 0.05
    soak_s: float = DAY_S
    give_up_s: float = 14 * DAY_S
    phones: int = 20
    tasks: int = 200

    def __post_init__(self) -> None:
        if not 0 < self.share_bps <= PLACES:
            raise ValueError(
                f"a stage's share is above 0 % and at most 100 %, not {self.share_bps}"
            )
        if not 0.0 < self.margin < 1.0:
            raise ValueError(f"a stage's margin is between 0 and 1, not {self.margin}")
        if not 0.0 <= self.soak_s < self.give_up_s <= LONGEST_STAGE_S:
            raise ValueError("a stage gives up after its soak, and within a year")
        if self.phones < 1 or self.tasks < 1:
            raise ValueError("a stage needs a phone and a judged episode at least")


@dataclass(frozen=True, slots=True)
class Limit:
    """A hard bound on a share.

    Attributes:
        share: the most that is allowed, beyond what the other arm has at the same time.
        from_n: it is judged from so many cases on.
    """

    share: float
    from_n: int


LIMITS: Final = MappingProxyType(
    {
        "install_failures": Limit(0.10, 2),
        "crashes": Limit(0.05, 2),
        "reverts": Limit(0.05, 2),
        "silent": Limit(0.10, 2),
        "idle": Limit(0.10, 2),
        "slowed": Limit(0.10, 2),
        "env_errors": Limit(0.10, 100),
        "undecided": Limit(0.10, 100),
        "invalid_actions": Limit(0.05, 500),
    }
)
"""Shares of: phones that were told and answered, or had the time to; phones that installed (crashes
and reverts); phones that were heard of before it was offered; phones that have it for a while and
are heard of; phones whose speed is known; episodes; steps."""


@dataclass(frozen=True, slots=True)
class StagedPlan:
    """All of a staged release that is settled before it begins.

    Attributes:
        channel: whose phones get it.
        seed: of its cohorts.
        hold_out_bps: share of the phones that get it only once it was promoted.
        allow, deny, where: as in `sync.cohorts.StagedOffer`.
        alpha_worse: probability that a release that is worse by a stage's margin passes that stage.
        alpha_harm: probability that one as good as the old is ever rolled back for its success.
        harm_tasks: judged episodes from which on harm is judged.
        least_spread: share of an episode's variance that lies between phones, at least.
        limits: hard bounds by name; those of `LIMITS` that are not named are as there.
        latency_factor, latency_floor_ms: a phone is slowed where the 95th percentile of a decision
            is more than so many times its own before, and more than the floor.
        answer_s: after which a phone that was told of it and says nothing counts as failed, and
            one that plays nothing as idle.
        silence_s: after which a phone that it was offered to and is not heard of counts as silent.
        draft_s, offer_s, pause_s, roll_back_s: how long each of these states may last.
    """

    stages: tuple[Stage, ...]
    seed: str
    channel: str = "stable"
    hold_out_bps: int = 500
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    where: dict[str, tuple[str, ...]] = field(default_factory=dict)
    alpha_worse: float = 0.025
    alpha_harm: float = 0.01
    harm_tasks: int = 100
    least_spread: float = 0.005
    limits: dict[str, Limit] = field(default_factory=lambda: dict(LIMITS))
    latency_factor: float = 2.0
    latency_floor_ms: float = 500.0
    answer_s: float = DAY_S
    silence_s: float = 2 * DAY_S
    draft_s: float = 14 * DAY_S
    offer_s: float = 14 * DAY_S
    pause_s: float = 7 * DAY_S
    roll_back_s: float = 7 * DAY_S

    def __post_init__(self) -> None:
        shares = [stage.share_bps for stage in self.stages]
        if not shares or shares != sorted(set(shares)):
            raise ValueError("a plan has stages, each wider than the one before")
        if len(shares) > MOST_STAGES:
            raise ValueError(f"a plan has at most {MOST_STAGES} stages, got {len(shares)}")
        if not self.seed:
            raise ValueError("a plan needs a seed for its cohorts")
        if not 0 <= self.hold_out_bps < PLACES:
            raise ValueError(f"hold_out_bps is 0..{PLACES - 1}, got {self.hold_out_bps}")
        if not set(self.limits) <= set(LIMITS):
            raise ValueError(f"a plan has the bounds {', '.join(LIMITS)}, and no other")
        # a plan that was made before a bound was added has it, too
        object.__setattr__(self, "limits", {**LIMITS, **self.limits})
        for name in ("alpha_worse", "alpha_harm"):
            if not 0.0 < getattr(self, name) < 0.5:
                raise ValueError(f"{name} is between 0 and 0.5, got {getattr(self, name)}")


def default_stages(phones: int) -> tuple[Stage, ...]:
    """Stages for a fleet of that many phones.

    The first reaches 1 %, or up to 3 % where that is too few phones to show anything. The fewer
    phones there are, the larger is the loss that a stage must exclude, and the longer it may take:
    a fleet of 100 cannot tell 5 points in any time that somebody would wait.
    """
    first = max(FIRST_SHARE, min(LARGEST_FIRST_SHARE, FEWEST_FIRST / max(phones, 1)))
    shares = (first, *(share for share in _WIDER if share > first), 1.0)
    is_small = phones < SMALL_FLEET
    margins = (0.15, 0.15, 0.10, 0.10) if is_small else (0.10, 0.10, 0.05, 0.05)
    return tuple(
        Stage(
            share_bps=round(share * PLACES),
            margin=margin,
            give_up_s=(14 if share != first else 42 if is_small else 14) * DAY_S,
            phones=_least_phones(phones * (share - before)),
        )
        for before, share, margin in zip((0.0, *shares), shares, margins, strict=False)
    )


def _least_phones(expected: float) -> int:
    """A third of the phones that a stage should newly reach, within 2 and 20."""
    return max(2, min(20, ceil(expected / 3)))

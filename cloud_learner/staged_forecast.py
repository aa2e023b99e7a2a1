"""What each stage of a plan can show, and how long that takes: told before anything begins. Pure.

A fleet of a hundred cannot tell five points in any time that somebody would wait. Whoever stages a
release is told so at once, not after two weeks of waiting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

from cloud_learner.release_comparison import always_valid_z
from cloud_learner.staged_gate import HARM_SOUGHT
from cloud_learner.staged_plan import DAY_S, Stage, StagedPlan

_SUCCESS: Final = 0.25
"""Variance of one episode's success, at most."""
_FOUR_IN_FIVE_Z: Final = 0.8416212335729143
_STEP_DAYS: Final = 0.25
_LEAST_POINTS: Final = 0.001


@dataclass(frozen=True, slots=True)
class StageForecast:
    """What a stage comes to, four times in five, where the phones play as they did lately.

    Attributes:
        days: until a release that is as good as the old one passes; None where its time ends first.
        least_margin: the smallest margin that it can show in its time; None where it shows nothing.
        least_harm: how much worse a release is that is taken back by the end of the stage; None
            where nothing is noticed.
        tasks: judged episodes of the release in the stage; None where `days` is.
    """

    days: float | None
    least_margin: float | None
    least_harm: float | None
    tasks: int | None


def forecast(
    plan: StagedPlan, cohorts: Sequence[int], *, phones: int, tasks_per_phone_and_day: float
) -> list[StageForecast]:
    """What each stage comes to; evidence of earlier stages counts in later ones, as in the gate.

    Args:
        cohorts: phones that are offered it by each stage, in all.
        phones: all that there are.
    """
    known, forecasts = _Known(), []
    for stage, cohort in zip(plan.stages, cohorts, strict=True):
        playing = _Playing(plan, cohort, phones - cohort, tasks_per_phone_and_day)
        days = _days(plan, stage, playing, known)
        most = known.after(playing, stage.give_up_s / DAY_S)
        forecasts.append(
            StageForecast(
                days=days,
                least_margin=_least_margin(plan, most.information),
                least_harm=_least_harm(plan, most),
                tasks=None if days is None else round(playing.tasks(days)),
            )
        )
        known = known.after(playing, stage.give_up_s / DAY_S if days is None else days)
    return forecasts


def shortfalls(plan: StagedPlan, forecasts: Iterable[StageForecast]) -> list[str]:
    """Stages that will not pass by themselves, each with what could be done, one line each."""
    return [
        _shortfall(at, stage, one)
        for at, (stage, one) in enumerate(zip(plan.stages, forecasts, strict=True), start=1)
        if one.days is None
    ]


def _shortfall(at: int, stage: Stage, one: StageForecast) -> str:
    time = f"in its {stage.give_up_s / DAY_S:g} days"
    if one.least_margin is None:
        return f"stage {at} shows nothing {time}: no phones play, or none are left to compare with"
    if one.least_margin <= stage.margin:
        return f"stage {at} has too few tasks {time}: widen it with --stages, or ask for fewer"
    return (
        f"stage {at} shows a margin of {one.least_margin:.1%} at best {time}, and "
        f"{stage.margin:.1%} is asked for: widen it with --stages, or give it more time or margin"
    )


@dataclass(frozen=True, slots=True)
class _Playing:
    """Both arms of a stage.

    Attributes:
        phones, others: of each arm.
        rate: judged episodes of a phone and day.
    """

    plan: StagedPlan
    phones: int
    others: int
    rate: float

    def tasks(self, days: float) -> float:
        """Judged episodes of the release."""
        return days * self.rate * self.phones

    def information(self, days: float) -> float:
        """One over the variance of the difference that so many days show."""
        if min(self.phones, self.others) < 1 or self.rate <= 0.0 or days <= 0.0:
            return 0.0
        each = _SUCCESS * (1.0 / (self.rate * days) + self.plan.least_spread)
        return 1.0 / (each / self.phones + each / self.others)


@dataclass(frozen=True, slots=True)
class _Known:
    """What earlier stages showed."""

    information: float = 0.0
    tasks: float = 0.0

    def after(self, playing: _Playing, days: float) -> _Known:
        """What is known after so many days of a stage."""
        return _Known(
            self.information + playing.information(days), self.tasks + playing.tasks(days)
        )


def _days(plan: StagedPlan, stage: Stage, playing: _Playing, known: _Known) -> float | None:
    days = max(stage.soak_s / DAY_S, _STEP_DAYS)
    while days <= stage.give_up_s / DAY_S:
        then = known.after(playing, days)
        shown = _noticed(then.information, alpha=plan.alpha_worse, sought=stage.margin)
        if then.tasks >= stage.tasks and shown is not None and shown <= stage.margin:
            return round(days, 2)
        days += _STEP_DAYS
    return None


def _noticed(information: float, *, alpha: float, sought: float) -> float | None:
    """The difference that is noticed four times in five; None where nothing is known."""
    if information <= 0.0:
        return None
    z = always_valid_z(information, alpha=alpha, margin=sought)
    return (z + _FOUR_IN_FIVE_Z) / sqrt(information)


def _least_margin(plan: StagedPlan, information: float) -> float | None:
    """The smallest margin that is shown: its bound is the sharper, the better it is chosen."""
    margin = _LEAST_POINTS
    while margin < 1.0:
        shown = _noticed(information, alpha=plan.alpha_worse, sought=margin)
        if shown is None:
            return None
        if shown <= margin:
            return round(margin, 4)
        margin *= 1.02
    return None


def _least_harm(plan: StagedPlan, known: _Known) -> float | None:
    if known.tasks < plan.harm_tasks:
        return None
    noticed = _noticed(known.information, alpha=plan.alpha_harm, sought=HARM_SOUGHT)
    return None if noticed is None or noticed >= 1.0 else round(noticed, 4)

"""Shadow scoring: a candidate release answers logged screens beside what acts, and acts nowhere.

    logged screens ─► active: greedy action ─┐
                 └──► candidate: the same ───┴─► one row a screen ─► figures ─► trial, or refused

Rows are kept on disk every few screens, so a process that dies goes on where it was. How many
screens, how many seconds and how little battery are limits; what a policy that learnt much does
differently is no reason to refuse it, a broken one is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Protocol

import msgspec
import numpy as np

from sync.adapter_file import AdapterFile
from sync.clock import Clock
from sync.policy_io import EncodedInput
from sync.releases import Reason

FIGURES_VERSION: Final = 1
"""Of the fields that `ShadowFigures.fields` names; only ever added to."""


@dataclass(frozen=True, slots=True)
class ShownText:
    """What a policy that writes texts was shown: a prompt, and the PNG of the screen or None."""

    prompt: str
    picture: bytes | None


Shown = EncodedInput | ShownText
"""What a policy of layout_t5 was shown, or one that writes texts."""


@dataclass(frozen=True, slots=True)
class Screen:
    """A logged screen as the policy saw it; `id` names it in the phone's log."""

    id: str
    shown: Shown


@dataclass(frozen=True, slots=True)
class Answer:
    """What one policy would do on a screen.

    Attributes:
        choices: greedy: of the decoder, or the tokens of a text.
        is_finite: whether all that the network said is a number.
        is_masked: whether the network likes an action best that the screen does not allow.
    """

    choices: tuple[int, ...]
    is_finite: bool = True
    is_masked: bool = False


class Side(Protocol):
    """One of the two policies."""

    def answer(self, screen: Shown) -> Answer:
        """The greedy action, computed as when it acts: one screen at a time."""
        ...

    def log_prob(self, screen: Shown, choices: Sequence[int]) -> float | None:
        """Log-probability of an action at temperature 1, nats; None where it has no such action."""
        ...


class ShadowRow(msgspec.Struct, frozen=True, kw_only=True):
    """What both said of one screen; times in milliseconds, difference |Δ log p| in nats.

    The difference is None where it is no number, or where the action is none of both policies.
    """

    screen: str
    candidate: tuple[int, ...]
    active: tuple[int, ...]
    is_finite: bool
    is_masked: bool
    active_is_masked: bool
    difference: float | None
    candidate_ms: float
    active_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowLimits:
    """When scoring ends, and what makes a candidate broken.

    Attributes:
        screens: most screens that are scored.
        seconds: most time that is spent in one go.
        enough: screens from which on shares say anything; NaN and time need one.
        slower: a candidate's median may be so many times the active policy's…
        slow_ms: …while it is below this; above `slowest_ms` it is refused in any case.
        alike: share of screens with one and the same action that counts as saying nothing…
        masked: …and of screens where the likeliest action is impossible that counts as broken;
            both only where the active policy's share is lower.
        battery_percent, temperature_c: below and above it scoring waits.
    """

    screens: int = 16
    seconds: float = 20.0
    enough: int = 8
    slower: float = 4.0
    slow_ms: float = 250.0
    slowest_ms: float = 5000.0
    alike: float = 0.95
    masked: float = 0.9
    battery_percent: float = 20.0
    temperature_c: float = 43.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowFigures:
    """What scoring found.

    Attributes:
        screens: that were scored; 0 where the log holds none.
        agreement: share with the active policy's greedy action.
        log_prob_difference_p50, log_prob_difference_p95: of the active policy's actions, nats.
        not_finite: share where the candidate's numbers are none.
        masked, active_masked: share where an impossible action is liked best.
        alike, active_alike: share of the commonest action.
        latency_ms_p50, latency_ms_p95: of one decision; active_latency_ms_p50: beside it.
    """

    screens: int = 0
    agreement: float = 0.0
    log_prob_difference_p50: float = 0.0
    log_prob_difference_p95: float = 0.0
    not_finite: float = 0.0
    masked: float = 0.0
    active_masked: float = 0.0
    alike: float = 0.0
    active_alike: float = 0.0
    latency_ms_p50: float = 0.0
    latency_ms_p95: float = 0.0
    active_latency_ms_p50: float = 0.0

    def fields(self) -> dict[str, str]:
        """The figures as text by name, as the event to the cloud carries them."""
        shown = {name: f"{value:.4g}" for name, value in asdict(self).items()}
        return {"shadow_version": str(FIGURES_VERSION)} | {
            f"shadow_{name}": value for name, value in shown.items()
        }


@dataclass(frozen=True, slots=True)
class ShadowOutcome:
    """The figures, and why the candidate is refused; empty where it may be tried."""

    figures: ShadowFigures
    reason: Reason | None = None
    detail: str = ""


class Shadows(Protocol):
    """Scores candidates, as the installer asks for it."""

    def __call__(self, candidate: AdapterFile, active: AdapterFile | None) -> ShadowOutcome:
        """What scoring says of a candidate beside what acts (None: the factory's policy).

        A candidate that cannot be loaded, or that killed its process too often, has a reason.

        Raises: ShadowPostponedError: not now; the same call goes on later.
        """
        ...


def scored(
    screens: Iterable[Screen], candidate: Side, active: Side, *, clock: Clock
) -> Iterator[ShadowRow]:
    """One row for each screen, made when it is asked for."""
    for screen in screens:
        before_s = clock.monotonic_s()
        acting = active.answer(screen.shown)
        between_s = clock.monotonic_s()
        tried = candidate.answer(screen.shown)
        after_s = clock.monotonic_s()
        difference = _difference(
            *(side.log_prob(screen.shown, acting.choices) for side in (candidate, active))
        )
        is_finite = tried.is_finite and (difference is None or bool(np.isfinite(difference)))
        yield ShadowRow(
            screen=screen.id,
            candidate=tried.choices,
            active=acting.choices,
            is_finite=is_finite,
            is_masked=tried.is_masked,
            active_is_masked=acting.is_masked,
            difference=difference if is_finite else None,
            candidate_ms=1e3 * (after_s - between_s),
            active_ms=1e3 * (between_s - before_s),
        )


def _difference(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else abs(one - other)


def figures_of(rows: Sequence[ShadowRow]) -> ShadowFigures:
    """What the rows come to."""
    if not rows:
        return ShadowFigures()
    differences = [row.difference for row in rows if row.difference is not None] or [0.0]
    return ShadowFigures(
        screens=len(rows),
        agreement=_share([row.candidate == row.active for row in rows]),
        log_prob_difference_p50=float(np.median(differences)),
        log_prob_difference_p95=float(np.quantile(differences, 0.95)),
        not_finite=_share([not row.is_finite for row in rows]),
        masked=_share([row.is_masked for row in rows]),
        active_masked=_share([row.active_is_masked for row in rows]),
        alike=_alike([row.candidate for row in rows]),
        active_alike=_alike([row.active for row in rows]),
        latency_ms_p50=float(np.median([row.candidate_ms for row in rows])),
        latency_ms_p95=float(np.quantile([row.candidate_ms for row in rows], 0.95)),
        active_latency_ms_p50=float(np.median([row.active_ms for row in rows])),
    )


def judged(figures: ShadowFigures, limits: ShadowLimits) -> ShadowOutcome:
    """Whether a candidate with these figures may be tried."""
    for reason, is_so, detail in _checks(figures, limits):
        if is_so:
            return ShadowOutcome(figures, reason, detail)
    return ShadowOutcome(figures)


def _checks(figures: ShadowFigures, limits: ShadowLimits) -> Iterator[tuple[Reason, bool, str]]:
    seen, enough = figures.screens, figures.screens >= limits.enough
    yield (
        Reason.NOT_FINITE,
        figures.not_finite > 0.0,
        f"its numbers are not finite on {figures.not_finite:.0%} of {seen} logged screens",
    )
    slow_ms, beside_ms = figures.latency_ms_p50, figures.active_latency_ms_p50
    yield (
        Reason.TOO_SLOW,
        slow_ms > limits.slowest_ms
        or (slow_ms > limits.slow_ms and slow_ms > limits.slower * beside_ms),
        f"it takes {slow_ms:.0f} ms a decision where {beside_ms:.0f} ms are usual here",
    )
    yield (
        Reason.ONE_ACTION,
        enough and figures.alike >= limits.alike > figures.active_alike,
        f"it does one and the same on {figures.alike:.0%} of {seen} logged screens",
    )
    yield (
        Reason.IMPOSSIBLE_ACTIONS,
        enough and figures.masked >= limits.masked > figures.active_masked,
        f"it likes impossible actions best on {figures.masked:.0%} of {seen} logged screens",
    )


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags)


def _alike(actions: Sequence[tuple[int, ...]]) -> float:
    return Counter(actions).most_common(1)[0][1] / len(actions)

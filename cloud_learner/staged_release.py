"""A staged release as a pure state machine: (plan, state, event, now) → (state, effects, entries).

    draft → approved → widening → soaking → gating → widening … → promoting → promoted
      └────────┴→ cancelled    └─────────┴────┴─→ paused ──┐
                                    any of these ─→ rolling_back → rolled_back

`widening` signs the next stage's share, `soaking` lets time pass, `gating` waits for enough
evidence. Harm, a broken bound or an abort leads from each of them, and from a pause, to
`rolling_back`; a stage that shows nothing in its time is `paused` for a person, and a pause that
nobody ends is rolled back. So every state ends by itself.

Effects say what is to be true of the signed channel. They follow from the state alone
(`effects_of`), so whoever dies between an effect and the state after it repeats the effect, which
changes nothing the second time; `Carried` then tells that it is so. Each transition leaves one
entry for the audit log. Nothing here knows a database, a clock or a broker.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from cloud_learner.errors import StagedReleaseError
from cloud_learner.staged_gate import Answer, Evidence, Judgement, judge_stage
from cloud_learner.staged_plan import Stage, StagedPlan

ENGINE: Final = "engine"
"""Who did what nobody did by hand."""


class StagedPhase(StrEnum):
    """Where a staged release stands."""

    DRAFT = "draft"
    APPROVED = "approved"
    WIDENING = "widening"
    SOAKING = "soaking"
    GATING = "gating"
    PAUSED = "paused"
    PROMOTING = "promoting"
    PROMOTED = "promoted"
    ROLLING_BACK = "rolling_back"
    ROLLED_BACK = "rolled_back"
    CANCELLED = "cancelled"


ENDED: Final = frozenset({StagedPhase.PROMOTED, StagedPhase.ROLLED_BACK, StagedPhase.CANCELLED})
UNDER_WAY: Final = frozenset(
    {StagedPhase.WIDENING, StagedPhase.SOAKING, StagedPhase.GATING, StagedPhase.PROMOTING}
)
"""Phases that can be paused."""
OFFERED: Final = UNDER_WAY | {StagedPhase.PAUSED}
"""Phases in which phones may play with it, and evidence is looked at."""


@dataclass(frozen=True, slots=True)
class StagedState:
    """What a staged release remembers from one look to the next.

    Attributes:
        stage: index of the stage that it is in; -1 before the first.
        widest: index of the widest stage that phones may have been offered; -1 where there is none.
        entered_at_ms, deadline_ms: of the phase.
        roll_back_version: version of the release that takes it back; 0 until that is signed.
    """

    phase: StagedPhase = StagedPhase.DRAFT
    stage: int = -1
    widest: int = -1
    entered_at_ms: int = 0
    deadline_ms: int = 0
    roll_back_version: int = 0


@dataclass(frozen=True, slots=True)
class Approve:
    """A person agrees to the plan."""

    who: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Pause:
    """A person stops it from widening; who has it keeps it."""

    who: str
    reason: str


@dataclass(frozen=True, slots=True)
class Resume:
    """A person lets it go on: its stage soaks anew."""

    who: str
    reason: str


@dataclass(frozen=True, slots=True)
class Abort:
    """A person takes it back."""

    who: str
    reason: str


@dataclass(frozen=True, slots=True)
class Look:
    """What is known now.

    Attributes:
        evidence: of the release, where it is offered.
        channel_is_free: no other staged release is under way on its channel.
        moved: what the channel points at that was not planned for; empty where it does not.
        still_exposed: phones that have it, or may have it, after it was taken back.
    """

    evidence: Evidence = field(default_factory=Evidence)
    channel_is_free: bool = True
    moved: str = ""
    still_exposed: int = 0


@dataclass(frozen=True, slots=True)
class Carried:
    """An effect has become true.

    Attributes:
        version: of the release that takes it back, where that was the effect.
    """

    effect: Effect
    version: int = 0


StagedEvent = Approve | Pause | Resume | Abort | Look | Carried


@dataclass(frozen=True, slots=True)
class OfferStage:
    """The channel offers the release to the stage's share."""

    stage: int


@dataclass(frozen=True, slots=True)
class PointChannel:
    """The channel points at the release, for everybody."""


@dataclass(frozen=True, slots=True)
class TakeBack:
    """A new, higher release points at the old adapter, and the channel at it."""


Effect = OfferStage | PointChannel | TakeBack


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the audit log: who did what, why and when."""

    at_ms: int
    who: str
    was: StagedPhase
    now: StagedPhase
    stage: int
    reason: str
    figures: dict[str, float]


@dataclass(frozen=True, slots=True)
class StagedMove:
    """The state after an event, what is to be made true, and what is to be remembered of it."""

    state: StagedState
    effects: tuple[Effect, ...] = ()
    entries: tuple[Entry, ...] = ()


def begin_staged(plan: StagedPlan, now_ms: int, *, who: str) -> StagedMove:
    """A new draft."""
    deadline_ms = now_ms + _ms(plan.draft_s)
    state = StagedState(entered_at_ms=now_ms, deadline_ms=deadline_ms)
    entry = Entry(now_ms, who, StagedPhase.DRAFT, StagedPhase.DRAFT, -1, "drafted", {})
    return StagedMove(state, entries=(entry,))


def effects_of(state: StagedState) -> tuple[Effect, ...]:
    """What must be made true in this state; already true where it was done before."""
    match state.phase:
        case StagedPhase.WIDENING:
            return (OfferStage(state.stage),)
        case StagedPhase.PROMOTING:
            return (PointChannel(),)
        case StagedPhase.ROLLING_BACK if not state.roll_back_version:
            return (TakeBack(),)
        case _:
            return ()


def advance_staged(
    plan: StagedPlan, state: StagedState, event: StagedEvent, now_ms: int
) -> StagedMove:
    """One event; at most one transition, and one entry where there is one.

    Raises: StagedReleaseError: a person asks for what this phase does not have.
    """
    match event:
        case Approve() | Pause() | Resume() | Abort():
            return _asked(plan, state, event, now_ms)
        case Carried():
            return _carried(plan, state, event, now_ms)
        case Look():
            return _looked(plan, state, event, now_ms)


def _asked(
    plan: StagedPlan, state: StagedState, event: Approve | Pause | Resume | Abort, now_ms: int
) -> StagedMove:
    step = _Step(plan, state, now_ms, who=event.who, reason=event.reason)
    match event, state.phase:
        case Approve(), StagedPhase.DRAFT:
            return step.to(StagedPhase.APPROVED)
        case Pause(), phase if phase in UNDER_WAY:
            return step.to(StagedPhase.PAUSED)
        case Resume(), StagedPhase.PAUSED:
            return step.to(StagedPhase.WIDENING)
        case Abort(), phase if phase not in ENDED and phase is not StagedPhase.ROLLING_BACK:
            return step.stopped()
    asked = type(event).__name__.lower()
    raise StagedReleaseError(
        f"a staged release that is {state.phase} cannot be told to {asked}: "
        "see `outrider release status`"
    )


def _carried(plan: StagedPlan, state: StagedState, event: Carried, now_ms: int) -> StagedMove:
    step = _Step(plan, state, now_ms, reason="signed")
    if event.effect not in effects_of(state):
        return StagedMove(state)  # it was asked for in a state that is over
    match event.effect:
        case OfferStage(stage):
            return step.because(f"stage {stage + 1} is signed").to(StagedPhase.SOAKING)
        case PointChannel():
            return step.to(StagedPhase.PROMOTED)
        case TakeBack():
            return step.noted(replace(state, roll_back_version=event.version), "signed")


def _looked(plan: StagedPlan, state: StagedState, look: Look, now_ms: int) -> StagedMove:
    step = _Step(plan, state, now_ms)
    if state.phase in OFFERED:
        return _offered(step, look)
    is_late = now_ms >= state.deadline_ms
    match state.phase:
        case StagedPhase.APPROVED if look.channel_is_free and not is_late:
            return step.because("its channel is free").to(StagedPhase.WIDENING, stage=0)
        case StagedPhase.APPROVED if look.moved:
            why = f"{plan.channel} points at {look.moved} now: stage a newer release"
            return step.because(why).to(StagedPhase.CANCELLED)
        case StagedPhase.DRAFT | StagedPhase.APPROVED if is_late:
            return step.because("its time is up").to(StagedPhase.CANCELLED)
        case StagedPhase.ROLLING_BACK:
            return _rolling_back(step, look, is_late=is_late)
        case _:
            return StagedMove(state)


def _offered(step: _Step, look: Look) -> StagedMove:
    """One look at a release that phones have, or may have soon."""
    state, plan = step.state, step.plan
    judgement = judge_stage(plan, stage_of(plan, state), look.evidence)
    step = step.because(judgement.reason, judgement)
    is_late = step.now_ms >= state.deadline_ms
    if judgement.answer is Answer.STOP:
        return step.stopped()
    if state.phase is StagedPhase.PAUSED:
        return step.because("nobody decided").stopped() if is_late else StagedMove(state)
    if look.moved:
        return step.because(f"{plan.channel} was pointed at {look.moved}").to(StagedPhase.PAUSED)
    match state.phase:
        case StagedPhase.SOAKING if is_late:
            return step.to(StagedPhase.GATING)
        case StagedPhase.GATING if judgement.answer is Answer.GO_ON:
            return _next_stage(step)
        case StagedPhase.WIDENING | StagedPhase.PROMOTING if is_late:
            return step.because("it could not be signed").to(StagedPhase.PAUSED)
        case StagedPhase.GATING if is_late:
            return step.to(StagedPhase.PAUSED)
        case _:
            return StagedMove(state)


def _next_stage(step: _Step) -> StagedMove:
    following = step.state.stage + 1
    if following == len(step.plan.stages):
        return step.to(StagedPhase.PROMOTING)
    return step.to(StagedPhase.WIDENING, stage=following)


def _rolling_back(step: _Step, look: Look, *, is_late: bool) -> StagedMove:
    if step.state.roll_back_version:
        if look.still_exposed == 0:
            return step.because("every phone that had it has another").to(StagedPhase.ROLLED_BACK)
        if is_late:
            step = step.because(f"{look.still_exposed} phones have not answered")
            return step.to(StagedPhase.ROLLED_BACK)
    elif is_late:  # nothing else may be done instead: say so, and go on trying
        renewed = step.now_ms + _ms(step.plan.roll_back_s)
        return step.noted(replace(step.state, deadline_ms=renewed), "it could not be signed yet")
    return StagedMove(step.state)


def stage_of(plan: StagedPlan, state: StagedState) -> Stage:
    """The stage that a state is in; the first one before that."""
    return plan.stages[max(state.stage, 0)]


@dataclass(frozen=True, slots=True)
class _Step:
    """One transition in the making: from where, when, by whom and why."""

    plan: StagedPlan
    state: StagedState
    now_ms: int
    who: str = ENGINE
    reason: str = ""
    judgement: Judgement | None = None

    def because(self, reason: str, judgement: Judgement | None = None) -> _Step:
        return replace(self, reason=reason, judgement=judgement or self.judgement)

    def to(self, phase: StagedPhase, *, stage: int | None = None) -> StagedMove:
        """Enter a phase; whoever goes to sign a stage may have signed it, whatever comes."""
        stage = self.state.stage if stage is None else stage
        after = replace(
            self.state,
            phase=phase,
            stage=stage,
            widest=stage if phase is StagedPhase.WIDENING else self.state.widest,
            entered_at_ms=self.now_ms,
        )
        lasts_s = _lasts_s(self.plan, after)
        after = replace(after, deadline_ms=0 if lasts_s is None else self.now_ms + _ms(lasts_s))
        return self.noted(after, self.reason)

    def stopped(self) -> StagedMove:
        """Taken back, or forgotten where no phone was ever offered it."""
        nobody = self.state.widest < 0
        return self.to(StagedPhase.CANCELLED if nobody else StagedPhase.ROLLING_BACK)

    def noted(self, after: StagedState, reason: str) -> StagedMove:
        figures = {} if self.judgement is None else self.judgement.figures
        entry = Entry(
            at_ms=self.now_ms,
            who=self.who,
            was=self.state.phase,
            now=after.phase,
            stage=after.stage,
            reason=reason,
            figures=figures,
        )
        return StagedMove(after, effects_of(after), (entry,))


def _lasts_s(plan: StagedPlan, state: StagedState) -> float | None:
    """How long a phase may last, in seconds; None for the last ones."""
    stage = stage_of(plan, state)
    match state.phase:
        case StagedPhase.DRAFT:
            return plan.draft_s
        case StagedPhase.APPROVED | StagedPhase.WIDENING | StagedPhase.PROMOTING:
            return plan.offer_s
        case StagedPhase.SOAKING:
            return stage.soak_s
        case StagedPhase.GATING:
            return stage.give_up_s - stage.soak_s
        case StagedPhase.PAUSED:
            return plan.pause_s
        case StagedPhase.ROLLING_BACK:
            return plan.roll_back_s
        case _:
            return None


def _ms(seconds: float) -> int:
    return round(seconds * 1000)

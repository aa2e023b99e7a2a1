"""The campaign: from demonstrations of a new app to the figures after learning. Pure.

`advance` looks at the facts and says what to issue, publish, promote or revert; the director
carries it out in one transaction and calls again. Nothing here knows a database, a clock or a
broker.

    demonstrate → warm_up → evaluate_before → learn → settle → evaluate_after → show → finished

Invariants: the test split is played only in evaluate_before, evaluate_after and show, and before
and after on the same instances; one candidate at a time is in the gate; everything that is issued
has an id that follows from the settings, so that issuing twice is issuing once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from cloud_learner.batches import (
    AFTER_NEW,
    AFTER_OLD,
    BEFORE_NEW,
    BEFORE_OLD,
    DEMONSTRATE,
    LEXICAL,
    SHOW,
    SHOW_AGAIN,
    TRAIN,
    Planned,
    Practice,
    Syllabus,
    demonstrations,
    gate_batch,
    shown,
    shown_again,
    test_instances,
    training,
    validation,
)
from cloud_learner.curriculum import Record
from cloud_learner.figures import Figures
from cloud_learner.gate import GateOutcome, judge
from cloud_learner.settings import CampaignSettings
from sync.vocabulary import TemplateInfo


class Phase(StrEnum):
    """Where the campaign stands."""

    DEMONSTRATE = "demonstrate"
    WARM_UP = "warm_up"
    EVALUATE_BEFORE = "evaluate_before"
    LEARN = "learn"
    SETTLE = "settle"
    EVALUATE_AFTER = "evaluate_after"
    SHOW = "show"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Tally:
    """How far one batch of assignments is; `played` includes env_errors."""

    issued: int = 0
    played: int = 0
    env_errors: int = 0
    successes: int = 0

    @property
    def complete(self) -> bool:
        """True where something was issued and all of it has been played."""
        return 0 < self.issued <= self.played

    @property
    def figures(self) -> Figures:
        """The tally as a success figure."""
        return Figures(self.played - self.env_errors, self.successes, self.env_errors)


@dataclass(frozen=True, slots=True)
class WaitingAdapter:
    """An adapter that the learner delivered and nobody has published yet."""

    name: str
    is_warm_up: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """What the store knows at one moment.

    Attributes:
        templates: what the devices that are online can play.
        phones: devices of role phone that are online.
        tallies: per batch.
        waiting: delivered adapters, oldest first.
        unconsumed: training episodes that are issued or stored, and not yet read by the learner.
        outstanding: training assignments that were sent and not yet played.
        env_steps: training steps stored so far.
        settled: the learner says that it delivers nothing more.
        active_s: how long the campaign has run, pauses left out.
        next_version: version of the next release.
        records: what came of each template in training; only read while learning.
        asked: how often what learns asks for a template, where 1 is normal.
    """

    templates: tuple[TemplateInfo, ...] = ()
    phones: tuple[str, ...] = ()
    tallies: Mapping[str, Tally] = field(default_factory=dict)
    waiting: tuple[WaitingAdapter, ...] = ()
    unconsumed: int = 0
    outstanding: int = 0
    env_steps: int = 0
    settled: bool = False
    active_s: float = 0.0
    next_version: int = 1
    records: Mapping[str, Record] = field(default_factory=dict)
    asked: Mapping[str, float] = field(default_factory=dict)

    def tally(self, batch: str) -> Tally:
        """The tally of a batch, zero where nothing was issued."""
        return self.tallies.get(batch, Tally())


@dataclass(frozen=True, slots=True)
class CampaignState:
    """What the campaign remembers from one look to the next.

    Attributes:
        began_s: active seconds when the phase began.
        templates: fixed when the campaign begins, so that instances stay the same.
        warm_up_release, promoted, candidate: release ids; "" where there is none.
        baseline: validation figures of the promoted release.
        attempt: which set of gate figures of the candidate is being played.
        notes: what went differently from plan, one line each; not empty = not valid.
    """

    phase: Phase = Phase.DEMONSTRATE
    began_s: float = 0.0
    templates: tuple[TemplateInfo, ...] = ()
    warm_up_release: str = ""
    promoted: str = ""
    candidate: str = ""
    baseline: Figures | None = None
    attempt: int = 1
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewRelease:
    """A release to publish to channel canary.

    Attributes:
        adapter: name of the adapter; empty for a roll-back.
        rolls_back_to: release whose adapter it points at; empty for a candidate.
    """

    release_id: str
    version: int
    adapter: str = ""
    rolls_back_to: str = ""


@dataclass(frozen=True, slots=True)
class GateRecord:
    """What the gate decided about a release, with the figures it decided by."""

    release_id: str
    figures: Figures
    promoted: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Move:
    """What is to be done now, all of it in one transaction, and the state after it."""

    state: CampaignState
    issue: tuple[Planned, ...] = ()
    publish: NewRelease | None = None
    supersede: tuple[str, ...] = ()
    gate: GateRecord | None = None
    cancel: tuple[str, ...] = ()


def release_name(version: int) -> str:
    """Id of the release with that version."""
    return f"r{version:04d}"


def advance(settings: CampaignSettings, state: CampaignState, facts: Facts) -> Move:
    """The next move; a move that changes nothing where there is nothing to do."""
    if state.phase is Phase.FINISHED:
        return Move(state)
    if facts.active_s > settings.give_up_s:
        note = f"gave up in phase {state.phase}: out of time"
        return Move(replace(_enter(state, Phase.FINISHED, facts), notes=(*state.notes, note)))
    match state.phase:
        case Phase.DEMONSTRATE:
            return _demonstrate(settings, state, facts)
        case Phase.WARM_UP:
            return _warm_up(settings, state, facts)
        case Phase.EVALUATE_BEFORE:
            return _evaluate_before(settings, state, facts)
        case Phase.LEARN:
            return _learn(settings, state, facts)
        case Phase.SETTLE:
            return _settle(settings, state, facts)
        case Phase.EVALUATE_AFTER:
            return _evaluate_after(settings, state, facts)
        case Phase.SHOW:
            return _show(settings, state, facts)


def syllabus(settings: CampaignSettings, state: CampaignState) -> Syllabus:
    """The templates that the campaign teaches and keeps."""
    usable = [info for info in state.templates if not set(info.tags) & set(settings.excluded_tags)]
    usable.sort(key=lambda info: info.name)
    return Syllabus(
        seed=settings.seed,
        new=tuple(
            info
            for info in usable
            if info.suite in settings.new_apps
            and (not settings.templates or info.name in settings.templates)
        ),
        old=tuple(info for info in usable if info.suite in settings.old_apps),
    )


def _enter(state: CampaignState, phase: Phase, facts: Facts) -> CampaignState:
    return replace(state, phase=phase, began_s=facts.active_s)


def _demonstrate(settings: CampaignSettings, state: CampaignState, facts: Facts) -> Move:
    if not state.templates:
        chosen = replace(state, templates=facts.templates)
        if not syllabus(settings, chosen).new:
            return Move(state)  # nobody who plays the new app is there yet
        state = chosen
    tally = facts.tally(DEMONSTRATE)
    if not tally.issued:
        plan = demonstrations(
            syllabus(settings, state), settings.demonstrations, settings.old_demonstrations
        )
        return Move(state, issue=plan) if plan else Move(_enter(state, Phase.WARM_UP, facts))
    if not tally.complete:
        return Move(state)
    return Move(_enter(state, Phase.WARM_UP, facts))


def _warm_up(settings: CampaignSettings, state: CampaignState, facts: Facts) -> Move:
    move = _gate(settings, state, facts, warm_up=True)
    if move.gate is None or not move.state.promoted:
        return move
    after = _enter(move.state, Phase.EVALUATE_BEFORE, facts)
    return replace(move, state=replace(after, warm_up_release=after.promoted))


def _evaluate_before(settings: CampaignSettings, state: CampaignState, facts: Facts) -> Move:
    batches = (BEFORE_NEW, BEFORE_OLD, LEXICAL)
    return _evaluate(settings, state, facts, batches=batches, then=Phase.LEARN)


def _evaluate_after(settings: CampaignSettings, state: CampaignState, facts: Facts) -> Move:
    return _evaluate(settings, state, facts, batches=(AFTER_NEW, AFTER_OLD), then=Phase.SHOW)


def _evaluate(
    settings: CampaignSettings,
    state: CampaignState,
    facts: Facts,
    *,
    batches: tuple[str, ...],
    then: Phase,
) -> Move:
    content = syllabus(settings, state)
    missing: list[Planned] = []
    waiting = False
    for batch in batches:
        plan = test_instances(
            content,
            batch,
            at_least=settings.evaluate_old if batch.endswith("old") else settings.evaluate_new,
            release_id="" if batch == LEXICAL else state.promoted,
        )
        tally = facts.tally(batch)
        if plan and not tally.issued:
            missing.extend(plan)
        waiting = waiting or (bool(plan) and not tally.complete)
    if missing or waiting:
        return Move(state, issue=tuple(missing))
    return Move(_enter(state, then, facts))


def _learn(settings: CampaignSettings, state: CampaignState, facts: Facts) -> Move:
    if facts.env_steps >= settings.env_steps or facts.active_s >= settings.learn_until_s:
        return Move(_enter(state, Phase.SETTLE, facts), cancel=(TRAIN, SHOW_AGAIN))
    move = _gate(settings, state, facts, warm_up=False)
    room = settings.in_flight_limit - facts.unconsumed
    if room <= 0:
        return move
    content = syllabus(settings, state)
    practice = Practice(
        new_share=settings.new_share,
        temperature=settings.temperature,
        group_size=settings.group_size,
        curriculum=settings.curriculum,
        records=facts.records,
        asked=facts.asked,
    )
    plan = training(content, practice, first=facts.tally(TRAIN).issued, count=room)
    again = shown_again(content, practice, first=facts.tally(SHOW_AGAIN).issued)
    return replace(move, issue=(*move.issue, *again, *plan))


def _settle(settings: CampaignSettings, state: CampaignState, facts: Facts) -> Move:
    late = facts.active_s - state.began_s > settings.settle_timeout_s
    if late and facts.waiting and not state.candidate:
        return Move(state, supersede=tuple(adapter.name for adapter in facts.waiting))
    move = _gate(settings, state, facts, warm_up=False)
    busy = bool(state.candidate or facts.waiting or move.publish)
    if busy or not (late or (facts.settled and not facts.outstanding)):
        return move
    return replace(move, state=_enter(move.state, Phase.EVALUATE_AFTER, facts))


def _show(settings: CampaignSettings, state: CampaignState, facts: Facts) -> Move:
    tally = facts.tally(SHOW)
    late = facts.active_s - state.began_s > settings.show_timeout_s
    if tally.complete or late or not (facts.phones or tally.issued):
        return Move(_enter(state, Phase.FINISHED, facts), cancel=(SHOW,) if late else ())
    if tally.issued:
        return Move(state)
    plan = shown(syllabus(settings, state), phone=facts.phones[0], release_id=state.promoted)
    return Move(state, issue=plan)


def _gate(settings: CampaignSettings, state: CampaignState, facts: Facts, *, warm_up: bool) -> Move:
    """Publish the newest waiting adapter, or go on with the candidate that is in the gate."""
    if not state.candidate:
        return _next_candidate(settings, state, facts, warm_up=warm_up)
    tally = facts.tally(gate_batch(state.candidate, state.attempt))
    if not tally.complete:
        return Move(state)
    decision = judge(tally.figures, state.baseline, attempt=state.attempt, settings=settings.gate)
    record = GateRecord(
        state.candidate,
        tally.figures,
        promoted=decision.outcome is GateOutcome.PROMOTE,
        reason=decision.reason,
    )
    match decision.outcome:
        case GateOutcome.REPEAT:
            again = replace(state, attempt=state.attempt + 1)
            return Move(again, issue=_validation(settings, again))
        case GateOutcome.PROMOTE:
            promoted = replace(
                state, promoted=state.candidate, baseline=tally.figures, candidate="", attempt=1
            )
            return Move(promoted, gate=record)
        case GateOutcome.REVERT:
            return _reverted(state, facts, record)


def _reverted(state: CampaignState, facts: Facts, record: GateRecord) -> Move:
    after = replace(state, candidate="", attempt=1)
    if not state.promoted:  # nothing to go back to: the learner may deliver another
        return Move(after, gate=record)
    back = NewRelease(
        release_name(facts.next_version), facts.next_version, rolls_back_to=state.promoted
    )
    return Move(replace(after, promoted=back.release_id), gate=record, publish=back)


def _next_candidate(
    settings: CampaignSettings, state: CampaignState, facts: Facts, *, warm_up: bool
) -> Move:
    fitting = [adapter.name for adapter in facts.waiting if adapter.is_warm_up is warm_up]
    if not fitting:
        return Move(state)
    release = NewRelease(release_name(facts.next_version), facts.next_version, adapter=fitting[-1])
    candidate = replace(state, candidate=release.release_id, attempt=1)
    return Move(
        candidate,
        issue=_validation(settings, candidate),
        publish=release,
        supersede=tuple(fitting[:-1]),
    )


def _validation(settings: CampaignSettings, state: CampaignState) -> tuple[Planned, ...]:
    return validation(
        syllabus(settings, state),
        release_id=state.candidate,
        attempt=state.attempt,
        per_template=settings.gate.per_template,
    )

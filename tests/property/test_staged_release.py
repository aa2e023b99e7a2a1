"""The staged release's state machine under any order of looks, words, kills and delays."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cloud_learner.errors import StagedReleaseError
from cloud_learner.release_comparison import Comparison
from cloud_learner.staged_bounds import Share
from cloud_learner.staged_gate import Answer, Evidence, judge_stage
from cloud_learner.staged_offer import offer_of
from cloud_learner.staged_plan import LIMITS, Stage, StagedPlan
from cloud_learner.staged_release import (
    ENDED,
    OFFERED,
    Abort,
    Approve,
    Carried,
    Look,
    OfferStage,
    Pause,
    PointChannel,
    Resume,
    StagedPhase,
    TakeBack,
    advance_staged,
    begin_staged,
    effects_of,
)
from sync.cohorts import CohortPhone, is_held_out

PLAN = StagedPlan(
    stages=(
        Stage(500, margin=0.1, soak_s=10, give_up_s=50, phones=2, tasks=20),
        Stage(3000, margin=0.1, soak_s=10, give_up_s=50, phones=2, tasks=20),
        Stage(10_000, margin=0.05, soak_s=10, give_up_s=50, phones=2, tasks=20),
    ),
    seed="s",
    hold_out_bps=1000,
    draft_s=100,
    offer_s=100,
    pause_s=100,
    roll_back_s=100,
)
PHONES = [CohortPhone(f"phone-{at}") for at in range(120)]
HELD_OUT = {phone.device_id for phone in PHONES if is_held_out(phone.device_id, 1000)}
FINE = {name: Share(0, 10_000, 0, 10_000) for name in LIMITS}
GOOD = Evidence(
    new_phones=50,
    comparison=Comparison(0.01, 1e-5, 5000, 5000, 50, 50),
    shares=FINE,
)
BAD = replace(GOOD, comparison=Comparison(-0.15, 1e-4, 5000, 5000, 50, 50))
CRASHING = replace(GOOD, shares={**FINE, "crashes": Share(20, 50)})
THIN = replace(GOOD, comparison=Comparison(-0.02, 1e-2, 30, 100, 3, 10))
EVIDENCE = {"good": GOOD, "bad": BAD, "crashing": CRASHING, "thin": THIN, "none": Evidence()}


class Channel:
    """What is signed: a main release, an offer beside it, versions that only rise."""

    def __init__(self):
        self.main, self.version, self.latest = "old", 1, 2
        self.offered = None
        self.signed = {"old": 1, "new": 2}

    def carry(self, effect):
        """Make an effect true; it may be so already. Returns what the director would tell."""
        if isinstance(effect, OfferStage):
            if self.main == "old":
                self.offered = effect.stage
        elif isinstance(effect, PointChannel):
            self._point("new")
        elif self.main != "back":
            if "back" not in self.signed:
                self.latest += 1
                self.signed["back"] = self.latest
            self._point("back")
        back = isinstance(effect, TakeBack)
        return Carried(effect, version=self.signed["back"] if back else 0)

    def _point(self, name):
        assert self.signed[name] >= self.version, "a channel never goes to a lower version"
        self.main, self.version, self.offered = name, self.signed[name], None


class StagedReleaseMachine(RuleBasedStateMachine):
    """One release, its channel, its phones, and a database that keeps state and log together."""

    def __init__(self):
        super().__init__()
        self.now_ms = 0
        self.channel = Channel()
        first = begin_staged(PLAN, 0, who="ann")
        self.state, self.log = first.state, list(first.entries)
        self.has_had = {phone.device_id: ["old"] for phone in PHONES}
        self.was_offered = set()

    def tell(self, event):
        before = self.state
        move = advance_staged(PLAN, self.state, event, self.now_ms)
        self.state = move.state
        self.log.extend(move.entries)
        if before.phase is not self.state.phase:
            assert len(move.entries) == 1, "no transition without its line in the audit log"
            assert move.entries[0].was is before.phase
            assert move.entries[0].now is self.state.phase
        if before == self.state:
            assert not move.entries
        return move

    @rule(seconds=st.sampled_from([1, 9, 11, 60, 120]))
    def time_passes(self, seconds):
        self.now_ms += seconds * 1000

    @rule(
        kind=st.sampled_from(sorted(EVIDENCE)),
        channel=st.sampled_from(["free", "busy", "moved"]),
        exposed=st.integers(0, 2),
    )
    def look(self, kind, channel, exposed):
        before = self.state
        moved = "other" if channel == "moved" else ""
        self.tell(
            Look(
                evidence=EVIDENCE[kind],
                channel_is_free=channel == "free",
                moved=moved,
                still_exposed=exposed,
            )
        )
        if moved:
            assert self.state.phase is not StagedPhase.APPROVED, "it would wait for nothing"
            assert self.state.phase is before.phase or self.state.phase not in {
                StagedPhase.WIDENING,
                StagedPhase.PROMOTING,
            }
        if before.phase in OFFERED and kind in {"bad", "crashing"}:
            assert self.state.phase is StagedPhase.ROLLING_BACK

    @rule(word=st.sampled_from([Approve, Pause, Resume, Abort]))
    def a_person_speaks(self, word):
        before = self.state
        try:
            self.tell(word("ben", "because"))
        except StagedReleaseError:
            assert self.state == before
        else:
            assert self.log[-1].who == "ben"

    @rule(remembered=st.booleans(), times=st.integers(1, 3))
    def effects_are_carried_out(self, remembered, times):
        """A kill may come between an effect and its being remembered: then it is repeated."""
        for effect in effects_of(self.state):
            for _ in range(times):
                carried = self.channel.carry(effect)
            if remembered:
                self.tell(carried)

    @rule()
    def late_news_of_an_effect_changes_nothing_else(self):
        before = self.state
        for effect in (OfferStage(0), OfferStage(2), PointChannel(), TakeBack()):
            if effect not in effects_of(before):
                self.tell(Carried(effect, version=9))
                assert self.state == before

    @rule(at=st.integers(0, len(PHONES) - 1))
    def a_phone_looks_at_its_channel(self, at):
        phone = PHONES[at]
        had = self.has_had[phone.device_id]
        name = self.channel.main
        if self.channel.offered is not None:
            offer = offer_of("new", 2, PLAN, self.channel.offered)
            if offer.includes(phone):
                name = "new"
                self.was_offered.add(phone.device_id)
            else:
                assert phone.device_id not in self.was_offered, "nobody leaves a cohort"
        if self.channel.signed[name] > self.channel.signed[had[-1]]:
            had.append(name)

    @precondition(lambda self: self.state.phase not in ENDED)
    @rule()
    def it_can_always_be_taken_back(self):
        """From every phase that has reached phones, an abort leads to the old adapter."""
        state = self.state
        if state.phase is not StagedPhase.ROLLING_BACK:
            state = advance_staged(PLAN, state, Abort("x", "y"), self.now_ms).state
        if state.phase is StagedPhase.CANCELLED:
            assert self.channel.main == "old"
            assert self.channel.offered is None
            return
        assert state.phase is StagedPhase.ROLLING_BACK
        if not state.roll_back_version:
            state = advance_staged(PLAN, state, Carried(TakeBack(), 3), self.now_ms).state
        state = advance_staged(PLAN, state, Look(still_exposed=0), self.now_ms).state
        assert state.phase is StagedPhase.ROLLED_BACK

    @precondition(lambda self: self.state.phase not in ENDED)
    @rule()
    def it_ends_by_itself(self):
        """Silence of everybody ends every state: nothing waits for ever."""
        state, now_ms = self.state, self.now_ms
        for _ in range(30):
            if state.phase in ENDED:
                return
            now_ms += 200_000
            for effect in effects_of(state):
                state = advance_staged(PLAN, state, Carried(effect, 3), now_ms).state
            state = advance_staged(PLAN, state, Look(still_exposed=5), now_ms).state
        raise AssertionError(f"it is still {state}")

    @invariant()
    def every_state_has_a_deadline(self):
        assert (self.state.deadline_ms > 0) is (self.state.phase not in ENDED)

    @invariant()
    def the_hold_out_waits_for_the_promotion(self):
        pointed = self.channel.main == "new"
        if not pointed:
            assert (
                not any("new" in self.has_had[name] for name in HELD_OUT)
                or self.channel.main == "back"
            )

    @invariant()
    def a_channel_is_pointed_only_after_the_last_stage_was_passed(self):
        if self.channel.main == "new":
            assert self.state.widest == len(PLAN.stages) - 1

    @invariant()
    def versions_only_rise_on_every_phone(self):
        for had in self.has_had.values():
            versions = [self.channel.signed[name] for name in had]
            assert versions == sorted(set(versions))

    @invariant()
    def the_log_has_every_transition_in_order(self):
        for earlier, later in zip(self.log, self.log[1:], strict=False):
            assert later.was is earlier.now
            assert later.at_ms >= earlier.at_ms
        assert self.log[-1].now is self.state.phase


TestStagedRelease = StagedReleaseMachine.TestCase
TestStagedRelease.settings = settings(max_examples=30, stateful_step_count=40, deadline=None)


def test_thin_evidence_neither_passes_nor_stops():
    assert judge_stage(PLAN, PLAN.stages[0], THIN).answer is Answer.WAIT
    assert judge_stage(PLAN, PLAN.stages[0], Evidence()).answer is Answer.WAIT


def test_promotion_needs_every_stage():
    """Whatever is seen, the channel is pointed at a release only after each stage passed."""
    state = begin_staged(PLAN, 0, who="ann").state
    events = [Approve("ann"), Look()]
    now_ms = 0
    phases = []
    for event in events:
        state = advance_staged(PLAN, state, event, now_ms).state
    while state.phase not in ENDED:
        now_ms += 11_000
        for effect in effects_of(state):
            state = advance_staged(PLAN, state, Carried(effect), now_ms).state
            phases.append(state.phase)
        state = advance_staged(PLAN, state, Look(evidence=GOOD), now_ms).state
    assert state.phase is StagedPhase.PROMOTED
    assert phases.count(StagedPhase.SOAKING) == len(PLAN.stages)

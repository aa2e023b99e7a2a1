"""Whatever the fleet and the learner do, the campaign keeps its promises and comes to an end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from cloud_learner.batches import TRAIN
from cloud_learner.campaign import (
    CampaignState,
    Facts,
    Move,
    Phase,
    Tally,
    WaitingAdapter,
    advance,
)
from cloud_learner.settings import CampaignSettings, GateSettings
from sync.vocabulary import Assignment, Purpose, Split, TemplateInfo

TEMPLATES = tuple(
    TemplateInfo(name=f"{app}_{i}", app=app, suite=app, step_budget=10, oracle_steps=4)
    for app, count in (("tickets", 3), ("settings", 2), ("clock", 1))
    for i in range(count)
)
SETTINGS = CampaignSettings(
    old_apps=("settings", "contacts", "clock"),
    env_steps=400,
    minutes=10,
    evaluate_new=7,
    evaluate_old=6,
    old_demonstrations=1,
    in_flight_limit=20,
    gate=GateSettings(per_template=3, attempts=2),
)


@dataclass
class World:
    """A fleet that plays and a learner that delivers, both by chance."""

    random: Random
    state: CampaignState = field(default_factory=CampaignState)
    issued: dict[str, tuple[str, Assignment]] = field(default_factory=dict)
    unplayed: list[str] = field(default_factory=list)
    tallies: dict[str, Tally] = field(default_factory=dict)
    waiting: list[WaitingAdapter] = field(default_factory=list)
    delivered: int = 0
    version: int = 0
    stored_training: int = 0
    consumed: int = 0
    cancelled: set[str] = field(default_factory=set)
    now_s: float = 0.0
    success: float = 0.5
    phases: list[Phase] = field(default_factory=list)
    candidates: list[str] = field(default_factory=list)

    def facts(self) -> Facts:
        unplayed_training = sum(self.issued[name][0] == TRAIN for name in self.unplayed)
        return Facts(
            templates=TEMPLATES,
            phones=("phone-1",),
            tallies=dict(self.tallies),
            waiting=tuple(self.waiting),
            unconsumed=unplayed_training + self.stored_training - self.consumed,
            outstanding=unplayed_training,
            env_steps=5 * self.stored_training,
            settled=self.state.phase is Phase.SETTLE and self.random.random() < 0.3,
            active_s=self.now_s,
            next_version=self.version + 1,
        )

    def carry_out(self, move: Move) -> None:
        for planned in move.issue:
            assert planned.assignment.id not in self.issued
            self.issued[planned.assignment.id] = (planned.batch, planned.assignment)
            self.unplayed.append(planned.assignment.id)
            old = self.tallies.get(planned.batch, Tally())
            self.tallies[planned.batch] = Tally(
                old.issued + 1, old.played, old.env_errors, old.successes
            )
        if move.publish is not None:
            assert move.publish.version == self.version + 1
            self.version += 1
            names = {move.publish.adapter, *move.supersede}
            self.waiting = [entry for entry in self.waiting if entry.name not in names]
            if move.publish.adapter:
                self.candidates.append(move.publish.release_id)
        self.waiting = [entry for entry in self.waiting if entry.name not in move.supersede]
        self.unplayed = [name for name in self.unplayed if self.issued[name][0] not in move.cancel]
        self.state = move.state
        if not self.phases or self.phases[-1] is not self.state.phase:
            self.phases.append(self.state.phase)

    def live(self) -> None:
        self.now_s += self.random.random()
        for _ in range(self.random.randrange(12)):
            if not self.unplayed:
                break
            name = self.unplayed.pop(self.random.randrange(len(self.unplayed)))
            batch = self.issued[name][0]
            old = self.tallies[batch]
            error = self.random.random() < 0.02
            won = not error and self.random.random() < self.success
            self.tallies[batch] = Tally(
                old.issued, old.played + 1, old.env_errors + error, old.successes + won
            )
            self.stored_training += batch == TRAIN
        if self.random.random() < 0.5:
            self.consumed = self.stored_training
        if self.random.random() < 0.1:
            self.success = self.random.random()
        warm_up = self.state.phase is Phase.WARM_UP
        if (warm_up or self.state.phase is Phase.LEARN) and self.random.random() < 0.2:
            self.delivered += 1
            self.waiting.append(WaitingAdapter(f"a{self.delivered}", warm_up))


def run(seed: int) -> World:
    world = World(Random(seed))
    for _ in range(3000):
        before = world.state
        facts = world.facts()
        move = advance(SETTINGS, before, facts)
        check(before, move, facts)
        world.carry_out(move)
        if world.state.phase is Phase.FINISHED:
            break
        world.live()
    return world


def check(before: CampaignState, move: Move, facts: Facts) -> None:
    after = move.state
    if before.candidate and after.candidate:
        assert before.candidate == after.candidate, "one candidate at a time"
    if move.gate is not None and move.gate.promoted and before.baseline is not None:
        figures = move.gate.figures
        assert figures.success is not None
        assert before.baseline.success is not None
        assert figures.success >= before.baseline.success - SETTINGS.gate.margin - 1e-9
        assert figures.env_error_share <= SETTINGS.gate.env_error_limit
    issued_training = sum(planned.batch == TRAIN for planned in move.issue)
    if issued_training:
        assert issued_training + facts.unconsumed <= SETTINGS.in_flight_limit
    for planned in move.issue:
        if planned.assignment.split is Split.TEST:
            assert planned.assignment.purpose is Purpose.EVALUATE
            assert before.phase in {Phase.EVALUATE_BEFORE, Phase.EVALUATE_AFTER, Phase.SHOW}
        if planned.assignment.purpose is Purpose.GATE:
            assert planned.assignment.split is Split.VALIDATION
            assert planned.assignment.release_id == after.candidate


def instances(world: World, batch: str) -> Counter[tuple[str, int, int]]:
    return Counter(
        (assignment.template, assignment.seed, assignment.look)
        for found, assignment in world.issued.values()
        if found == batch
    )


@given(seed=st.integers(0, 2**32))
def test_campaign_ends_and_keeps_its_promises(seed):
    world = run(seed)

    assert world.state.phase is Phase.FINISHED
    order = list(Phase)
    positions = [order.index(phase) for phase in world.phases]
    assert positions == sorted(positions)
    if world.state.notes:  # gave up before the end
        return
    assert instances(world, "before-new") == instances(world, "after-new")
    assert instances(world, "before-new") == instances(world, "lexical")
    assert instances(world, "before-old") == instances(world, "after-old")
    assert sum(instances(world, "after-new").values()) >= SETTINGS.evaluate_new
    shown = Counter(
        assignment.template
        for batch, assignment in world.issued.values()
        if batch == "demonstrate" and assignment.template.startswith("tickets")
    )
    assert set(shown.values()) == {4}


@given(seed=st.integers(0, 2**32))
def test_a_move_that_is_made_twice_issues_the_same_assignments(seed):
    world = World(Random(seed))
    for _ in range(60):
        facts = world.facts()
        assert advance(SETTINGS, world.state, facts) == advance(SETTINGS, world.state, facts)
        world.carry_out(advance(SETTINGS, world.state, facts))
        world.live()

"""Staged releases of a simulated fleet, decided by the service's own engine and gate.

Only the phones are made up: who is there, how able each one is, what it plays and how that ends.
Plan, cohorts, comparison, gate and state machine are the ones that the service runs. Times are in
seconds since the release was approved; P phones, G groups of templates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from cloud_learner.release_comparison import (
    Comparison,
    Outcomes,
    PeriodSums,
    compare,
    own_past_of,
    sum_period,
)
from cloud_learner.staged_bounds import (
    Share,
    Speed,
    Tally,
    excess_before,
    share_by_phone,
    silent_share,
    slowed_share,
)
from cloud_learner.staged_gate import ANSWERS, MODEL_PHONES, Evidence
from cloud_learner.staged_offer import with_fair_seed
from cloud_learner.staged_plan import DAY_S, HOUR_S, StagedPlan, default_stages
from cloud_learner.staged_release import (
    ENDED,
    OFFERED,
    Approve,
    Carried,
    Look,
    OfferStage,
    StagedEvent,
    StagedPhase,
    StagedState,
    advance_staged,
    begin_staged,
    effects_of,
)
from outrider.staged_world import STEPS, Flags, Floats, Played, Players, Scenario, World
from sync.cohorts import CohortPhone, is_held_out, place

MOST_PLAYING: Final = 2_500
"""Phones whose episodes are drawn: the hold-out, those that come first, and some of the others."""
_FIRST: Final = 1_000
_SEEDS: Final = 100
_LOOK_S: Final = 3 * HOUR_S
_LONGEST_S: Final = 180 * DAY_S
_NOTHING, _INSTALLED, _REFUSED, _REVERTED, _CRASHED = range(5)


@dataclass(frozen=True, slots=True)
class Ending:
    """What came of one simulated release.

    Attributes:
        reached: phones that it acted on, or that fell silent by it.
        is_stopped_by_a_bound: it was taken back before it had to wait for a person.
        was_paused: it had to wait for a person, who never came.
        days: from approval until it was decided: promoted, taken back or paused.
    """

    phase: StagedPhase
    reached: int
    is_stopped_by_a_bound: bool
    was_paused: bool
    days: float


class SimulatedFleet:
    """Phones with names; who is held out is the same for every release."""

    def __init__(self, size: int, world: World | None = None) -> None:
        self.size = size
        self.world = World() if world is None else world
        self.phones = [CohortPhone(f"phone-{at:05d}") for at in range(size)]

    def places(self, seed: str) -> npt.NDArray[np.int64]:
        """Where each phone stands in the order of a seed: int64 [P]."""
        return np.array([place(seed, phone.device_id) for phone in self.phones])

    def held_out(self, hold_out_bps: int) -> Flags:
        """Who is held out: bool [P]."""
        return np.array([is_held_out(phone.device_id, hold_out_bps) for phone in self.phones])


def simulate(fleet: SimulatedFleet, scenario: Scenario, seed: int) -> Ending:
    """One release, from its approval to its end, with nobody who decides anything by hand."""
    plan = StagedPlan(stages=default_stages(fleet.size), seed="drawn below")
    seeds = (f"release-{seed}-{draw}" for draw in range(_SEEDS))
    plan = with_fair_seed(plan, fleet.phones, seeds)
    return _Run(fleet, scenario, plan, np.random.default_rng(seed)).ending()


class _Period:
    """What was played in one stage: what came of it by now, and what phones still have."""

    def __init__(self, phones: int, groups: int) -> None:
        self.came = Played.nothing(phones, groups)
        self.waiting = Played.nothing(phones, groups)

    def bring(self, online: Flags) -> Flags:
        """Phones that are there bring what they have; who brought something, bool [K]."""
        brought = self.waiting.table * online[:, None]
        self.came.table[:] += brought
        self.waiting.table[:] -= brought
        return np.asarray(brought.any(axis=1))


class _Run:
    """One release on its way."""

    def __init__(
        self,
        fleet: SimulatedFleet,
        scenario: Scenario,
        plan: StagedPlan,
        random: np.random.Generator,
    ) -> None:
        self.plan, self.scenario, self.random = plan, scenario, random
        self.world = world = fleet.world
        size = fleet.size
        self.now_s = 0.0
        self.state = begin_staged(plan, 0, who="bench").state
        self.places = fleet.places(plan.seed)
        self.held_out = fleet.held_out(plan.hold_out_bps)
        self.playing = self._chosen()
        self.players = Players(world, scenario, len(self.playing), random)
        self.is_off = random.random(size) < world.off
        self.rhythm_s = random.random(size) * world.away_days * DAY_S
        self.stage_of = np.full(size, -1)
        self.told_s = np.full(size, np.inf)
        self.seen_s = np.where(self.is_off, -np.inf, 0.0)
        self.outcome = np.zeros(size, np.int64)
        self.has_left = np.zeros(size, bool)
        self.stages_began_s: list[float] = []
        self.periods: list[_Period] = []
        self._closed: dict[tuple[str, int], PeriodSums] = {}
        self.played_s = np.zeros(len(self.playing))
        nobody = np.zeros(len(self.playing), bool)
        self.before = self.players.play(~nobody, nobody, now_s=0.0, lasts_s=7 * DAY_S)
        self.past = own_past_of(_outcomes(self.before, nobody), len(self.playing))

    def ending(self) -> Ending:
        """Let time pass until it has ended."""
        self._tell(Approve("bench"))
        decided_s, was_paused = 0.0, False
        while self.state.phase not in ENDED and self.now_s < _LONGEST_S:
            self.now_s += _LOOK_S
            self._phones_move()
            self._look()
            was_paused = was_paused or self.state.phase is StagedPhase.PAUSED
            is_open = self.state.phase in OFFERED - {StagedPhase.PAUSED}
            decided_s = self.now_s if is_open or not decided_s else decided_s
        acted = np.isin(self.outcome, (_INSTALLED, _REVERTED, _CRASHED))
        muted = np.isfinite(self.told_s) & (self.outcome == _NOTHING)
        return Ending(
            phase=self.state.phase,
            reached=int(np.count_nonzero((acted | muted) & (self.stage_of >= 0))),
            is_stopped_by_a_bound=self.state.phase is StagedPhase.ROLLED_BACK and not was_paused,
            was_paused=was_paused,
            days=decided_s / DAY_S,
        )

    def _chosen(self) -> npt.NDArray[np.int64]:
        """Indices of the phones whose episodes are drawn."""
        size = len(self.places)
        if size <= MOST_PLAYING:
            return np.arange(size)
        held = np.flatnonzero(self.held_out)
        others = np.argsort(self.places + 10**6 * self.held_out, kind="stable")[: size - len(held)]
        late = self.random.choice(others[_FIRST:], MOST_PLAYING - _FIRST - len(held), replace=False)
        return np.sort(np.concatenate([held, others[:_FIRST], late]))

    # --- phones

    def _phones_move(self) -> None:
        online = self._online() & ~self.is_off
        if self.state.phase in OFFERED and self.stages_began_s:
            self._install(online)
        if self.state.phase is StagedPhase.ROLLING_BACK and self.state.roll_back_version:
            self.has_left |= online
        self._play(online)
        self.seen_s[online] = self.now_s

    def _online(self) -> Flags:
        away_s = self.world.away_days * DAY_S
        if away_s <= 0.0:
            return np.asarray(self.random.random(len(self.places)) < self.world.online)
        return np.asarray((self.now_s + self.rhythm_s) % away_s < _LOOK_S)

    def _install(self, online: Flags) -> None:
        """Phones that are offered it and hear of it try it, each once."""
        share = self.plan.stages[len(self.stages_began_s) - 1].share_bps
        offered = ~self.held_out & (self.places < share)
        self.stage_of[offered & (self.stage_of < 0)] = len(self.stages_began_s) - 1
        new = np.flatnonzero(offered & online & np.isinf(self.told_s))
        self.told_s[new] = self.now_s
        luck = self.random.random(len(new))
        lost = self.world.lost + self.scenario.silences
        bounds = np.cumsum(
            [
                lost,
                self.world.crashed + self.scenario.crashes,
                self.world.reverted,
                self.world.refused,
            ]
        )
        kinds = np.array([_NOTHING, _CRASHED, _REVERTED, _REFUSED, _INSTALLED])
        self.outcome[new] = kinds[np.searchsorted(bounds, luck, side="right")]
        self.is_off[new[luck < lost]] = True

    def _play(self, online: Flags) -> None:
        """Episodes of one step; those of phones that are away come when they are back."""
        if not self.stages_began_s:
            return
        here, has_it = online[self.playing], self._has_it()
        is_away = self.world.away_days > 0.0
        plays = ~self.is_off[self.playing] if is_away else here
        counts = plays & (has_it | ~self._offered()) & ~self.has_left[self.playing]
        played = self.players.play(counts, has_it, now_s=self.now_s, lasts_s=_LOOK_S)
        self.periods[-1].waiting.table[:] += played.table
        for period in self.periods if is_away else self.periods[-1:]:
            self.played_s[period.bring(here)] = self.now_s

    def _offered(self) -> Flags:
        return self.stage_of[self.playing] >= 0

    def _has_it(self) -> Flags:
        return np.asarray(self.outcome[self.playing] == _INSTALLED)

    # --- evidence

    def _evidence(self) -> Evidence:
        ever = np.isin(self.outcome, (_INSTALLED, _REVERTED, _CRASHED))
        return Evidence(
            new_phones=int(np.count_nonzero(ever & (self.stage_of == self.state.stage))),
            unanswered=self._unanswered(),
            comparison=self._comparison("all"),
            models=self._models(),
            shares=self._phone_shares() | self._use_shares() | {"idle": self._idle()},
        )

    def _comparison(self, model: str, among: Flags | None = None) -> Comparison:
        sums = []
        for at, (period, arm) in enumerate(zip(self.periods, self._arms(), strict=True)):
            known = self._closed.get((model, at))
            now = known or sum_period(_outcomes(period.came, arm, among), self.past)
            sums.append(now)
            if at < len(self.periods) - 1 and self.world.away_days <= 0.0:
                self._closed[model, at] = now  # nothing comes late
        return compare(sums, least_spread=self.plan.least_spread)

    def _models(self) -> dict[str, Comparison]:
        """The comparison among the phones of each model."""
        is_of_it = self.players.is_of_model
        return {
            model: self._comparison(model, among)
            for model, among in (("one", is_of_it), ("other", ~is_of_it))
            if np.count_nonzero(among) >= 2 * MODEL_PHONES
        }

    def _arms(self) -> Iterator[Flags]:
        """Who is in the arm of the release in each period, bool [K]."""
        stage_of = self.stage_of[self.playing]
        for period in range(len(self.periods)):
            yield (stage_of >= 0) & (stage_of <= period)

    def _unanswered(self) -> Share:
        told = np.isfinite(self.told_s)
        in_time = self.told_s > self.now_s - self.plan.answer_s
        waiting = told & in_time & (self.outcome == _NOTHING)
        return Share(int(np.count_nonzero(waiting)), int(np.count_nonzero(told)))

    def _phone_shares(self) -> dict[str, Share]:
        count = np.count_nonzero
        late = self.told_s <= self.now_s - self.plan.answer_s
        mute = int(count(late & (self.outcome == _NOTHING)))
        answered = int(count(self.outcome != _NOTHING))
        refused = int(count(self.outcome == _REFUSED))
        began_s = np.array(self.stages_began_s)
        there = self.seen_s[None, :] >= began_s[:, None] - self.plan.silence_s
        lost = self.seen_s < self.now_s - self.plan.silence_s
        stage_of = np.where(self.stage_of >= 0, self.stage_of, len(began_s))
        return {
            ANSWERS: Share(refused + mute, answered + mute),
            "crashes": Share(int(count(self.outcome == _CRASHED)), answered - refused),
            "reverts": Share(int(count(self.outcome == _REVERTED)), answered - refused),
            "silent": silent_share(stage_of, there, lost),
        }

    def _use_shares(self) -> dict[str, Share]:
        """Shares of episodes, of steps, and of phones that got slower."""
        use, control = (
            Played(np.sum([period.came.table * arm[:, None] for period, arm in periods], axis=0))
            for periods in self._by_arm()
        )

        def share(cases: Callable[[Played], Floats], n: Callable[[Played], Floats]) -> Share:
            excess = excess_before(cases(self.before), n(self.before))
            return share_by_phone(*(Tally(cases(one), n(one), excess) for one in (use, control)))

        return {
            "env_errors": share(lambda one: one.errors, lambda one: one.errors + one.finished),
            "undecided": share(lambda one: one.undecided, lambda one: one.finished),
            "invalid_actions": share(
                lambda one: one.invalid, lambda one: STEPS * one.n.sum(axis=1)
            ),
            "slowed": slowed_share(
                self.plan, self._speed(use, has_it=True), self._speed(control, has_it=False)
            ),
        }

    def _by_arm(self) -> Iterator[list[tuple[_Period, Flags]]]:
        arms = list(self._arms())
        yield list(zip(self.periods, arms, strict=True))
        yield list(zip(self.periods, (~arm for arm in arms), strict=True))

    def _speed(self, played: Played, *, has_it: bool) -> Speed:
        usual_ms = self.players.decide_ms
        now_ms = usual_ms * self.scenario.slower if has_it else usual_ms
        return Speed(now_ms, played.finished + played.errors, usual_ms, self.before.finished)

    def _idle(self) -> Share:
        """Phones that are heard of and play nothing for long."""
        long_s, seen_s = self.plan.answer_s, self.seen_s[self.playing]
        heard_of = seen_s >= self.now_s - long_s
        had_it = self._has_it() & (seen_s >= self.told_s[self.playing] + long_s)
        had_the_old = ~self._offered() & (seen_s >= self.stages_began_s[0] + long_s)
        idle = self.played_s < seen_s - long_s
        return _counted(idle, heard_of & had_it, heard_of & had_the_old)

    # --- the engine

    def _look(self) -> None:
        while True:
            before = self.state
            self._tell(self._facts())
            if self.state == before:
                return

    def _facts(self) -> Look:
        if self.state.phase is StagedPhase.ROLLING_BACK:
            exposed = (self.outcome == _INSTALLED) & ~self.has_left
            return Look(still_exposed=int(np.count_nonzero(exposed)))
        is_offered = self.state.phase in OFFERED and self.stages_began_s
        return Look(evidence=self._evidence() if is_offered else Evidence())

    def _tell(self, event: StagedEvent) -> None:
        """Let an event happen, and make true at once what it asks for."""
        self.state = self._advanced(event)
        for effect in effects_of(self.state):
            if isinstance(effect, OfferStage) and effect.stage == len(self.stages_began_s):
                self.stages_began_s.append(self.now_s)
                self.periods.append(_Period(len(self.playing), len(self.world.success)))
            self.state = self._advanced(Carried(effect, version=3))

    def _advanced(self, event: StagedEvent) -> StagedState:
        return advance_staged(self.plan, self.state, event, round(self.now_s * 1000)).state


def _outcomes(played: Played, is_candidate: Flags, among: Flags | None = None) -> Outcomes:
    """Judged episodes as the comparison reads them; of some phones, or of all."""
    phones, groups = played.n.shape
    counts = np.repeat(np.ones(phones, bool) if among is None else among, groups)
    return Outcomes(
        phone=np.repeat(np.arange(phones), groups),
        stratum=np.tile(np.arange(groups), phones),
        is_candidate=np.repeat(is_candidate, groups),
        n=played.n.ravel() * counts,
        successes=played.successes.ravel() * counts,
    )


def _counted(cases: Flags, arm: Flags, control: Flags) -> Share:
    """Cases among phones of each arm."""
    sides = [
        (int(np.count_nonzero(cases & side)), int(np.count_nonzero(side)))
        for side in (arm, control)
    ]
    return Share(*sides[0], *sides[1], is_relative=True)

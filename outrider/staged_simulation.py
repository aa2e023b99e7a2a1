"""Staged releases of a simulated fleet, decided by the service's own engine and gate.

Only the phones are made up: who is there, how able each one is, what it plays and how that ends.
Plan, cohorts, comparison, gate and state machine are the ones that the service runs. Times are in
seconds since the release was approved; P phones, G groups of templates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from cloud_learner.release_comparison import (
    Outcomes,
    PeriodSums,
    compare,
    own_past_of,
    sum_period,
)
from cloud_learner.staged_gate import ANSWERS, Evidence, Share
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
from sync.cohorts import CohortPhone, is_held_out, place

MOST_PLAYING: Final = 2_500
"""Phones whose episodes are drawn: the hold-out, those that come first, and some of the others."""
_FIRST: Final = 1_000
_SEEDS: Final = 100
_LOOK_S: Final = 3 * HOUR_S
_LONGEST_S: Final = 180 * DAY_S
_NOTHING, _INSTALLED, _REFUSED, _REVERTED, _CRASHED = range(5)
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class World:
    """What phones are like; all shares.

    Attributes:
        tasks_per_day: judged episodes of a phone, on average; phones differ by a gamma of shape 2.
        success: of each group of templates.
        between_phones: standard deviation of success between phones.
        interaction: standard deviation of what a release changes, between phones.
        drift: how far all phones' success goes up and down together within three days.
        online: of the time that a phone is heard of within a look; `off` never are.
        refused, reverted, crashed, lost: of phones that are told of a good release.
    """

    tasks_per_day: float = 24.0
    success: tuple[float, ...] = (0.40, 0.55, 0.70, 0.85)
    between_phones: float = 0.10
    interaction: float = 0.03
    drift: float = 0.05
    online: float = 0.9
    off: float = 0.03
    refused: float = 0.01
    reverted: float = 0.005
    crashed: float = 0.002
    lost: float = 0.002
    env_errors: float = 0.01
    undecided: float = 0.05
    invalid_actions: float = 0.01


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is wrong with a release, if anything.

    Attributes:
        effect: what it adds to success.
        crashes: share of phones that it kills until they take it back.
        silences: share of phones that are not heard of any more once they were told.
    """

    name: str
    effect: float = 0.0
    crashes: float = 0.0
    silences: float = 0.0


SCENARIOS: Final = (
    Scenario("equal"),
    Scenario("better_by_3", effect=0.03),
    Scenario("worse_by_5", effect=-0.05),
    Scenario("worse_by_15", effect=-0.15),
    Scenario("crash_loop", crashes=0.5),
    Scenario("silent", silences=0.5),
)


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
        players = len(self.playing)
        self.rate = random.gamma(2.0, world.tasks_per_day / 2.0, players)
        self.ability = random.normal(0.0, world.between_phones, players)
        self.change = scenario.effect + random.normal(0.0, world.interaction, players)
        self.is_off = random.random(size) < world.off
        self.stage_of = np.full(size, -1)
        self.told_s = np.full(size, np.inf)
        self.seen_s = np.zeros(size)
        self.outcome = np.zeros(size, np.int64)
        self.has_left = np.zeros(size, bool)
        self.stages_began_s: list[float] = []
        self.closed: list[PeriodSums] = []
        self._columns = np.tile(np.arange(len(world.success)), players)
        self._rows = np.repeat(np.arange(players), len(world.success))
        self.past = self._past()
        self._open_period()
        self.tasks = np.zeros(2)

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
        online = (self.random.random(len(self.places)) < self.world.online) & ~self.is_off
        if self.state.phase in OFFERED and self.stages_began_s:
            self._install(online)
        if self.state.phase is StagedPhase.ROLLING_BACK and self.state.roll_back_version:
            self.has_left |= online
        self._play(online)
        self.seen_s[online] = self.now_s

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

    def _past(self) -> Floats:
        n, successes = self._episodes(np.ones(len(self.playing), bool), 7 * DAY_S, 0.0)
        return own_past_of(self._outcomes(n, successes), len(self.playing))

    def _play(self, online: Flags) -> None:
        """Episodes of one step, where the phone counts in an arm."""
        if not self.stages_began_s:
            return
        offered = self.stage_of[self.playing] >= 0
        has_it = self.outcome[self.playing] == _INSTALLED
        counts = online[self.playing] & (has_it | ~offered) & ~self.has_left[self.playing]
        n, successes = self._episodes(counts, _LOOK_S, has_it * self.change)
        self.n += n
        self.successes += successes
        played = n.sum(axis=1)
        self.tasks += [played[~offered].sum(), played[offered].sum()]

    def _episodes(
        self, counts: Flags, lasts_s: float, change: Floats | float
    ) -> tuple[Floats, Floats]:
        """Judged episodes and successes, each float64 [players, G]."""
        groups = len(self.world.success)
        mean = self.rate * counts * (lasts_s / DAY_S / groups)
        n = self.random.poisson(np.repeat(mean[:, None], groups, axis=1))
        drift = self.world.drift * np.sin(2.0 * np.pi * self.now_s / (3 * DAY_S))
        success = np.add.outer(self.ability + change + drift, np.array(self.world.success))
        successes = self.random.binomial(n, np.clip(success, 0.02, 0.98))
        return n.astype(np.float64), successes.astype(np.float64)

    # --- evidence

    def _open_period(self) -> None:
        self.n = np.zeros((len(self.playing), len(self.world.success)))
        self.successes = np.zeros_like(self.n)

    def _outcomes(self, n: Floats, successes: Floats) -> Outcomes:
        is_candidate = (self.stage_of[self.playing] >= 0)[self._rows]
        return Outcomes(self._rows, self._columns, is_candidate, n.ravel(), successes.ravel())

    def _period(self) -> PeriodSums:
        return sum_period(self._outcomes(self.n, self.successes), self.past)

    def _evidence(self) -> Evidence:
        has_it = self.outcome == _INSTALLED
        ever = np.isin(self.outcome, (_INSTALLED, _REVERTED, _CRASHED))
        return Evidence(
            new_phones=int(np.count_nonzero(ever & (self.stage_of == self.state.stage))),
            unanswered=self._unanswered(),
            comparison=compare([*self.closed, self._period()], least_spread=self.plan.least_spread),
            shares=self._phone_shares(has_it) | self._task_shares(),
            latency_ms=100.0,
            control_latency_ms=100.0,
            latency_n=int(self.tasks[1]),
        )

    def _unanswered(self) -> Share:
        told = np.isfinite(self.told_s)
        in_time = self.told_s > self.now_s - self.plan.answer_s
        waiting = told & in_time & (self.outcome == _NOTHING)
        return Share(int(np.count_nonzero(waiting)), int(np.count_nonzero(told)))

    def _phone_shares(self, has_it: Flags) -> dict[str, Share]:
        count = np.count_nonzero
        late = self.told_s <= self.now_s - self.plan.answer_s
        mute = int(count(late & (self.outcome == _NOTHING)))
        answered = int(count(self.outcome != _NOTHING))
        refused = int(count(self.outcome == _REFUSED))
        lost = self.seen_s < self.now_s - self.plan.silence_s
        others = ~has_it & (self.seen_s >= self.stages_began_s[0])
        return {
            ANSWERS: Share(refused + mute, answered + mute),
            "crashes": Share(int(count(self.outcome == _CRASHED)), answered - refused),
            "reverts": Share(int(count(self.outcome == _REVERTED)), answered - refused),
            "silent": Share(
                int(count(lost & has_it)),
                int(count(has_it)),
                int(count(lost & others)),
                int(count(others)),
            ),
        }

    def _task_shares(self) -> dict[str, Share]:
        control, tasks = (int(value) for value in self.tasks)
        rates = {
            "env_errors": (self.world.env_errors, 1),
            "undecided": (self.world.undecided, 1),
            "invalid_actions": (self.world.invalid_actions, 8),
        }
        return {
            name: Share(round(rate * tasks * each), tasks * each, round(rate * control), control)
            for name, (rate, each) in rates.items()
        }

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
                if self.stages_began_s:
                    self.closed.append(self._period())
                    self._open_period()
                self.stages_began_s.append(self.now_s)
            self.state = self._advanced(Carried(effect, version=3))

    def _advanced(self, event: StagedEvent) -> StagedState:
        return advance_staged(self.plan, self.state, event, round(self.now_s * 1000)).state

"""What phones of a simulated fleet are like, what may be wrong with a release, and how that plays.

K phones whose episodes are drawn, G groups of templates; times are in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from cloud_learner.staged_plan import DAY_S

STEPS: Final = 8
"""Of an episode."""
_FAILS_AT_ONCE: Final = 0.6
_PLAYS_MORE: Final = 3.0
_SLOW_TIMES: Final = 8.0
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
        away_days: where it is above 0, a phone is heard of once in so many days, and brings all
            that it played until then.
        refused, reverted, crashed, lost: of phones that are told of a good release.
        env_errors, undecided, invalid_actions: of episodes, and of their 8 steps.
        broken: of phones, whose app is broken: six episodes in ten fail at once, so they play three
            times as many.
        decide_ms: of half the phones; `slow` phones take eight times as long.
        model: of phones that are of the one model that `Scenario.model_effect` is about.
    """

    tasks_per_day: float = 24.0
    success: tuple[float, ...] = (0.40, 0.55, 0.70, 0.85)
    between_phones: float = 0.10
    interaction: float = 0.03
    drift: float = 0.05
    online: float = 0.9
    off: float = 0.03
    away_days: float = 0.0
    refused: float = 0.01
    reverted: float = 0.005
    crashed: float = 0.002
    lost: float = 0.002
    env_errors: float = 0.01
    undecided: float = 0.05
    invalid_actions: float = 0.01
    broken: float = 0.02
    decide_ms: float = 100.0
    slow: float = 0.05
    model: float = 0.10


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is wrong with a release, if anything.

    Attributes:
        effect: what it adds to success.
        crashes: share of phones that it kills until they take it back.
        silences: share of phones that are not heard of any more once they were told.
        idles: share of phones that play nothing any more.
        slower: how many times as long a decision takes.
        invalid_actions: share of steps that are invalid, more than before.
        model_effect: what it adds to success on phones of one model, beside `effect`.
    """

    name: str
    effect: float = 0.0
    crashes: float = 0.0
    silences: float = 0.0
    idles: float = 0.0
    slower: float = 1.0
    invalid_actions: float = 0.0
    model_effect: float = 0.0


SCENARIOS: Final = (
    Scenario("equal"),
    Scenario("better_by_3", effect=0.03),
    Scenario("worse_by_5", effect=-0.05),
    Scenario("worse_by_15", effect=-0.15),
    Scenario("crash_loop", crashes=0.5),
    Scenario("silent", silences=0.5),
    Scenario("idle", idles=0.5),
    Scenario("slow", slower=10.0),
    Scenario("invalid_actions", invalid_actions=0.15),
    Scenario("bad_on_one_model", model_effect=-0.40),
)


@dataclass(frozen=True, slots=True)
class Played:
    """What phones played in a time.

    Attributes:
        table: float64 [K, 2 G + 3]: judged episodes and successes of each group, then
            env_errors, undecided episodes and invalid steps.
    """

    table: Floats

    @classmethod
    def nothing(cls, phones: int, groups: int) -> Played:
        """What nobody played."""
        return cls(np.zeros((phones, 2 * groups + 3)))

    @property
    def n(self) -> Floats:
        """Judged episodes, float64 [K, G]."""
        return self.table[:, : self._groups]

    @property
    def successes(self) -> Floats:
        """Those that succeeded, float64 [K, G]."""
        return self.table[:, self._groups : 2 * self._groups]

    @property
    def errors(self) -> Floats:
        """Episodes that the environment broke, float64 [K]."""
        return self.table[:, -3]

    @property
    def undecided(self) -> Floats:
        """Episodes that nobody could judge, float64 [K]."""
        return self.table[:, -2]

    @property
    def invalid(self) -> Floats:
        """Invalid steps, float64 [K]."""
        return self.table[:, -1]

    @property
    def finished(self) -> Floats:
        """Episodes that the environment did not break, float64 [K]."""
        return np.asarray(self.n.sum(axis=1) + self.undecided)

    @property
    def _groups(self) -> int:
        return int(self.table.shape[1] - 3) // 2


class Players:
    """Phones, each as able, as fast and as busy as it is.

    Attributes:
        is_of_model: bool [K], which ones are of the model that a release may be bad on.
    """

    def __init__(
        self, world: World, scenario: Scenario, size: int, random: np.random.Generator
    ) -> None:
        self._world, self._scenario, self._random = world, scenario, random
        self._rate = random.gamma(2.0, world.tasks_per_day / 2.0, size)
        self._ability = random.normal(0.0, world.between_phones, size)
        self.is_of_model = random.random(size) < world.model
        self._change = scenario.effect + random.normal(0.0, world.interaction, size)
        self._change += self.is_of_model * scenario.model_effect
        self._is_idled = random.random(size) < scenario.idles
        self._is_broken = random.random(size) < world.broken
        is_slow = random.random(size) < world.slow
        self._decide_ms = world.decide_ms * np.where(is_slow, _SLOW_TIMES, 1.0)
        self._decide_ms *= np.exp(random.normal(0.0, 0.3, size))

    @property
    def decide_ms(self) -> Floats:
        """How long each phone takes to decide with the old release, float64 [K]."""
        return self._decide_ms

    def play(self, counts: Flags, has_it: Flags, *, now_s: float, lasts_s: float) -> Played:
        """Let the phones that count play."""
        world, random = self._world, self._random
        groups = len(world.success)
        busy = np.where(self._is_broken, _PLAYS_MORE, 1.0) * ~(has_it & self._is_idled)
        mean = self._rate * counts * busy * (lasts_s / DAY_S)
        error_share = np.where(self._is_broken, _FAILS_AT_ONCE, world.env_errors)
        invalid_share = world.invalid_actions + has_it * self._scenario.invalid_actions
        judged = mean * (1.0 - error_share) * (1.0 - world.undecided)
        n = random.poisson(np.repeat(judged[:, None] / groups, groups, axis=1))
        drift = world.drift * np.sin(2.0 * np.pi * now_s / (3 * DAY_S))
        able = self._ability + has_it * self._change + drift
        success = np.clip(np.add.outer(able, np.array(world.success)), 0.02, 0.98)
        finished = mean * (1.0 - error_share)
        others = [
            random.poisson(mean * error_share),
            random.poisson(finished * world.undecided),
            random.poisson(STEPS * n.sum(axis=1) * invalid_share),
        ]
        table = np.column_stack([n, random.binomial(n, success), *others])
        return Played(table.astype(np.float64))

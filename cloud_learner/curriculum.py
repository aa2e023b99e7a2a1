"""Which templates are played next, and which are shown once more. Pure.

What is solved teaches nothing, and what never succeeds gives nothing to reinforce: a template is
drawn with a weight of p (1 − p), p its success lately, over a floor that keeps every template in
play, so that what is forgotten is noticed and what becomes possible is found. A template that does
not succeed at all gets a few more demonstrations, never more than a fixed number, all counted.

Source: the variance of a success is p (1 − p), and with it the size of a policy gradient; as a
weight of tasks see Foster & Foerster 2025, "Learning to Reason at the Frontier of Learnability".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class CurriculumSettings:
    """How templates are weighed, and when one is shown again.

    Attributes:
        enabled: False draws every template alike and shows nothing again.
        window: latest training episodes of a template that its success is estimated from.
        floor: weight of a template that is solved or hopeless; 1 is that of an even chance.
        hopeless_below: success under which a template is shown again.
        hopeless_after: episodes of a template since it was last shown, before it is judged; at
            most `window`.
        shown_at_once: demonstrations that a hopeless template gets.
        most_shown: demonstrations of a template over the whole campaign, the first ones included.
    """

    enabled: bool = True
    window: int = 24
    floor: float = 0.15
    hopeless_below: float = 0.1
    hopeless_after: int = 8
    shown_at_once: int = 3
    most_shown: int = 8

    def __post_init__(self) -> None:
        if not 0.0 < self.floor <= 1.0:
            raise ValueError(f"floor is above 0 and at most 1, got {self.floor}")
        if min(self.hopeless_after, self.shown_at_once) < 1 or self.hopeless_after > self.window:
            raise ValueError("hopeless_after is 1..window, and shown_at_once at least 1")
        if not 0 <= self.most_shown <= MOST_SHOWN:
            raise ValueError(f"most_shown is 0..{MOST_SHOWN}, got {self.most_shown}")


MOST_SHOWN = 8
"""No template is demonstrated more often in a campaign, whatever the settings say."""


@dataclass(frozen=True, slots=True)
class Record:
    """What came of a template so far.

    Attributes:
        outcomes: success of its training episodes, the latest last; `window` of them are enough.
        shown: demonstrations that were asked for.
        played_since_shown: training episodes that were played after the last of them.
    """

    outcomes: tuple[bool, ...] = ()
    shown: int = 0
    played_since_shown: int = 0

    def success(self, window: int) -> float:
        """Success lately, 0..1; an even chance where nothing is known (mean of a Beta(1, 1))."""
        latest = self.outcomes[-window:]
        return (sum(latest) + 1) / (len(latest) + 2)


NOTHING_KNOWN = Record()


def weights(
    records: Mapping[str, Record],
    names: Sequence[str],
    settings: CurriculumSettings,
    *,
    asked: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, float]:
    """Weight of each template, sum 1; positive unless what learns does not ask for it.

    Args:
        asked: how often what learns asks for a template, where 1 is normal (and the default); where
            it asks for none of `names`, nobody is listened to.
    """
    raw = {name: _weight(records.get(name, NOTHING_KNOWN), settings) for name in names}
    wanted = {name: weight * asked.get(name, 1.0) for name, weight in raw.items()}
    chosen = wanted if any(wanted.values()) else raw
    total = sum(chosen.values())
    return {name: weight / total for name, weight in chosen.items()}


def _weight(record: Record, settings: CurriculumSettings) -> float:
    if not settings.enabled:
        return 1.0
    chance = record.success(settings.window)
    return settings.floor + (1.0 - settings.floor) * 4.0 * chance * (1.0 - chance)


def draw(chances: Mapping[str, float], random: Random) -> str:
    """One name, by its weight; the same for the same generator and weights."""
    point = random.random() * sum(chances.values())
    for name in sorted(chances):
        point -= chances[name]
        if point < 0.0:
            return name
    return max(chances)


def to_show(
    records: Mapping[str, Record], names: Sequence[str], settings: CurriculumSettings
) -> dict[str, int]:
    """How many more demonstrations each hopeless template gets now; only those that get some."""
    if not settings.enabled:
        return {}
    wanted = {}
    for name in names:
        record = records.get(name, NOTHING_KNOWN)
        count = min(settings.shown_at_once, settings.most_shown - record.shown)
        if count > 0 and _is_hopeless(record, settings):
            wanted[name] = count
    return wanted


def _is_hopeless(record: Record, settings: CurriculumSettings) -> bool:
    latest = record.outcomes[-settings.window :]
    known = min(len(latest), record.played_since_shown)
    return known >= settings.hopeless_after and (
        sum(latest) < settings.hopeless_below * len(latest)
    )

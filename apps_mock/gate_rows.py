"""What the gates found for one template, and whether that is good enough."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from apps_mock.screen_checks import ScreenFaults

WEAK_POLICY_LIMIT = 0.01
"""Highest share of instances that doing nothing, random actions or mere typing may solve."""

KILL_RATE = 0.99
"""Least share of near misses that a verifier rejects."""


@dataclass(frozen=True, slots=True)
class Share:
    """How many of the played instances a policy solved."""

    played: int = 0
    solved: int = 0

    @property
    def rate(self) -> float:
        """The solved share."""
        return self.solved / self.played if self.played else 0.0

    def with_result(self, *, solved: bool) -> Share:
        """One instance more."""
        return Share(self.played + 1, self.solved + solved)


@dataclass(frozen=True, slots=True)
class GateRow:
    """What the gates found for one template.

    Attributes:
        counts: whether the limits for weak policies hold for it (see `Template.counts`).
        oracle_steps: most steps that the oracle took.
        steps: what is wrong with the steps that the template declares; empty where nothing is.
        failed: instances that the oracle did not solve: seed, look, why, and what to do about it.
        kinds: near misses of each kind, and how many were rejected.
        survivors: near misses that the verifier took for successes.
        tags: what is wrong with the template's tags.
        goals: what is wrong with the goals' texts.
        broken: how apps broke while weak policies played.
        screens: what is wrong with screens on the oracle's way.
        crash: what broke so that nothing more could be played; empty where nothing did.
    """

    template: str
    counts: bool = True
    oracle: Share = Share()
    oracle_steps: int = 0
    steps: str = ""
    failed: tuple[str, ...] = ()
    noop: Share = Share()
    random: Share = Share()
    typing_only: Share = Share()
    kinds: dict[str, tuple[int, int]] = field(default_factory=dict)
    survivors: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    screens: ScreenFaults = field(default_factory=ScreenFaults)
    crash: str = ""

    @property
    def mutants(self) -> int:
        """How many near misses there were."""
        return sum(made for made, _ in self.kinds.values())

    @property
    def killed(self) -> int:
        """How many of them the verifier rejected."""
        return sum(killed for _, killed in self.kinds.values())

    @property
    def kill_rate(self) -> float:
        """Share of the near misses that the verifier rejected."""
        return self.killed / self.mutants if self.mutants else 1.0

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the template may not be used; nothing where it may."""
        if self.crash:
            return (self.crash,)
        return (
            *self.screens.widgets,
            *self.broken,
            *self._oracle_faults(),
            *self._weak_faults(),
            *self._mutant_faults(),
            *self.tags,
            *self.goals,
            *self.screens.texts(),
        )

    def _oracle_faults(self) -> Iterator[str]:
        lost = self.oracle.played - self.oracle.solved
        if self.failed:
            yield (
                f"the oracle failed {lost} of {self.oracle.played} instances, such as "
                f"{self.failed[0]}"
            )
        if self.steps:
            yield self.steps
        elif lost and not self.failed:
            yield f"the oracle failed {lost} of {self.oracle.played} instances"

    def _weak_faults(self) -> Iterator[str]:
        weak = {"noop": self.noop, "random": self.random, "typing_only": self.typing_only}
        for name, share in weak.items():
            if self.counts and share.rate > WEAK_POLICY_LIMIT:
                yield (
                    f"{name} solved {share.solved} of {share.played}; make the task harder to "
                    "stumble into"
                )

    def _mutant_faults(self) -> Iterator[str]:
        if self.kill_rate < KILL_RATE:
            yield (
                f"the verifier took {self.mutants - self.killed} near misses for successes; "
                "name what else has to hold in its changes"
            )

    @property
    def passed(self) -> bool:
        """Whether the template may be used for learning and for headline figures."""
        return not self.faults

"""What judging may cost: tokens and money, counted before each request and corrected after it.

A request is let through only where the most that it can cost still fits. An endpoint that does not
say what an answer cost is believed to have cost that most. Thread-safe. The spending itself is kept
in this process, or by all judging workers together (`spending_store`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from cloud_learner.judge_answer import NO_USAGE, Usage
from cloud_learner.judge_settings import JudgeSettings

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and money."""

    usage: Usage
    money: float


class Spending(Protocol):
    """Who keeps what was spent and what is set aside for requests under way. Thread-safe."""

    def spent(self) -> Usage:
        """What was spent, without what is under way."""
        ...

    def hold(self, most: Usage, fits: Callable[[Usage], bool]) -> bool:
        """Set aside the most that a request can cost; False where that does not fit any more."""
        ...

    def settle(self, most: Usage, used: Usage) -> None:
        """Count what a request cost instead of what was set aside for it."""
        ...


class OwnSpending:
    """The spending of one process.

    Args:
        spent: what earlier runs used.
    """

    def __init__(self, spent: Usage = NO_USAGE) -> None:
        self._spent = spent
        self._held = Usage()
        self._lock = threading.Lock()

    def spent(self) -> Usage:
        """What was spent, without what is under way."""
        with self._lock:
            return self._spent

    def hold(self, most: Usage, fits: Callable[[Usage], bool]) -> bool:
        """Set aside the most that a request can cost; False where that does not fit any more."""
        with self._lock:
            if not fits(self._spent.plus(self._held).plus(most)):
                return False
            self._held = self._held.plus(most)
            return True

    def settle(self, most: Usage, used: Usage) -> None:
        """Count what a request cost instead of what was set aside for it."""
        with self._lock:
            self._held = Usage(
                self._held.read - most.read,
                self._held.written - most.written,
                self._held.requests - most.requests,
            )
            self._spent = self._spent.plus(used)


class Budget:
    """What is left of a judge's budget.

    Args:
        spending: who keeps what was spent; this process alone where it is not said.
    """

    def __init__(self, settings: JudgeSettings, spending: Spending | None = None) -> None:
        self._settings = settings
        self._spending = spending or OwnSpending()

    @property
    def spent(self) -> Spent:
        """What was used so far, by all runs."""
        spent = self._spending.spent()
        return Spent(spent, self.cost(spent))

    def cost(self, usage: Usage) -> float:
        """What tokens cost, in the settings' currency."""
        settings = self._settings
        read, written = usage.read * settings.price_read, usage.written * settings.price_written
        return (read + written) / _MILLION

    def hold(self, most: Usage) -> bool:
        """Set the most aside that a request can cost; False where it does not fit."""
        return self._spending.hold(most, self._fits)

    def settle(self, most: Usage, used: Usage) -> None:
        """Count what a request cost instead of what was set aside for it."""
        self._spending.settle(most, used)

    def _fits(self, usage: Usage) -> bool:
        tokens, money = self._settings.token_budget, self._settings.money_budget
        if tokens is not None and usage.tokens > tokens:
            return False
        return money is None or self.cost(usage) <= money

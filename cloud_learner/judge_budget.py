"""What judging may cost: tokens and money, counted before each request and corrected after it.

A request is let through only where the most that it can cost still fits. An endpoint that does not
say what an answer cost is believed to have cost that most. Thread-safe.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from cloud_learner.judge_answer import NO_USAGE, Usage
from cloud_learner.judge_settings import JudgeSettings

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and money."""

    usage: Usage
    money: float


class Budget:
    """What is left of a judge's budget.

    Args:
        spent: what earlier runs used of it.
    """

    def __init__(self, settings: JudgeSettings, spent: Usage = NO_USAGE) -> None:
        self._settings = settings
        self._spent = spent
        self._held = Usage()
        self._lock = threading.Lock()

    @property
    def spent(self) -> Spent:
        """What was used so far, by all runs."""
        with self._lock:
            return Spent(self._spent, self.cost(self._spent))

    def cost(self, usage: Usage) -> float:
        """What tokens cost, in the settings' currency."""
        settings = self._settings
        read, written = usage.read * settings.price_read, usage.written * settings.price_written
        return (read + written) / _MILLION

    def hold(self, most: Usage) -> bool:
        """Set the most aside that a request can cost; False where it does not fit."""
        with self._lock:
            after = self._spent.plus(self._held).plus(most)
            if not self._fits(after):
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

    def _fits(self, usage: Usage) -> bool:
        tokens, money = self._settings.token_budget, self._settings.money_budget
        if tokens is not None and usage.tokens > tokens:
            return False
        return money is None or self.cost(usage) <= money

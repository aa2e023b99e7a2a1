"""Templates: families of tasks, each with its phrasings and the function that sets one up."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from apps_mock.entities import Draw
from apps_mock.plans import Plan
from apps_mock.verifiers import Change, PageGoal
from sync.vocabulary import TemplateInfo


@dataclass(frozen=True, slots=True)
class Instance:
    """One draw of a template's parameters.

    Attributes:
        words: what stands in the goal's gaps.
        data: the task's app, set up.
        changes, page: what is wanted (see `verifiers`).
        plan: how an oracle gets there (see `plans`).
    """

    words: dict[str, str]
    data: Any  # Any: every app has its own type of data
    plan: Plan
    changes: tuple[Change, ...] = ()
    page: PageGoal | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """A family of tasks.

    Attributes:
        oracle_steps: actions that the oracle needs, `finish` among them; the most it needs where
            the template is tagged "scrolls".
        phrasings: ways to say the goal, with gaps.
        set_up: draws the parameters and prepares the app.
    """

    name: str
    app: str
    oracle_steps: int
    phrasings: tuple[str, ...]
    set_up: Callable[[Draw], Instance]
    tags: tuple[str, ...] = ()

    @property
    def step_budget(self) -> int:
        """Steps after which an episode is truncated: about 1.5 times the oracle's."""
        return max(self.oracle_steps + 2, math.ceil(1.5 * self.oracle_steps))

    def info(self) -> TemplateInfo:
        """What a farm announces of the template."""
        return TemplateInfo(
            name=self.name,
            app=self.app,
            suite=self.app,
            step_budget=self.step_budget,
            oracle_steps=self.oracle_steps,
            tags=self.tags,
        )

"""Templates: families of tasks, each with its phrasings and the function that sets one up."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apps_mock.catalogue import Term
from apps_mock.entities import Draw
from apps_mock.look import says_held_out
from apps_mock.plans import Plan, Stage
from apps_mock.wanted import Answer, Change, PageGoal
from sync.vocabulary import Split, TemplateInfo

NOT_COUNTED = frozenset({"starts_satisfied", "infeasible", "no_parameters", "guessable"})
"""Tags of templates that nobody learns on and that no headline mean counts.

"guessable" ones are solved by a random touch or two more often than one in a hundred times.
"""

CROSS_APP = "cross_app"
"""Tag of the templates that need several apps, and the suite of all of them."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One draw of a template's parameters.

    Attributes:
        words: what stands in the goal's gaps: names, codes and numbers as they are, what an app
            writes in its own language as a `Term`.
        data: the task's app, set up.
        others: further apps, set up, by name.
        changes, page, answer, infeasible, free: what is wanted (see `wanted`).
        stages, plan: how an oracle gets there (see `plans`): the stages first, then the plan in the
            task's own app.
        now: day and time of the phone's clock, such as `2025-03-14T09:41`; drawn where empty.
    """

    words: Mapping[str, str | Term]
    data: Any  # Any: every app has its own type of data
    plan: Plan
    changes: tuple[Change, ...] = ()
    page: PageGoal | None = None
    answer: Answer | None = None
    infeasible: bool = False
    free: tuple[tuple[str, str], ...] = ()
    others: dict[str, Any] = field(default_factory=dict)  # Any: as above
    stages: tuple[Stage, ...] = ()
    now: str = ""


@dataclass(frozen=True, slots=True)
class Template:
    """A family of tasks.

    Attributes:
        oracle_steps: actions that the oracle needs, `finish` among them; the most it needs where
            the template is tagged "scrolls".
        phrasings: ways to say the goal, with gaps.
        set_up: draws the parameters and prepares the app.
        held_out: further phrasings that only the test split uses, reported apart.
        suite: the suite that it is listed in beside its app's; empty for its app's alone.
        tags: "scrolls", "answer", "cross_app"; those of `NOT_COUNTED` keep it out of learning and
            of headline means.
    """

    name: str
    app: str
    oracle_steps: int
    phrasings: tuple[str, ...]
    set_up: Callable[[Draw], Instance]
    tags: tuple[str, ...] = ()
    held_out: tuple[str, ...] = ()
    suite: str = ""

    @property
    def step_budget(self) -> int:
        """Steps after which an episode is truncated: about 1.5 times the oracle's."""
        return max(self.oracle_steps + 2, math.ceil(1.5 * self.oracle_steps))

    @property
    def counts(self) -> bool:
        """Whether it is learnt on, and counted in headline means."""
        return not NOT_COUNTED.intersection(self.tags)

    @property
    def own_suite(self) -> str:
        """The one suite that teaches it: its own, that of tasks over several apps, or its app's."""
        return self.suite or (CROSS_APP if CROSS_APP in self.tags else self.app)

    def says_held_out(self, split: Split, look: int) -> bool:
        """Whether an instance in the look of that number says its goal in a held-out way."""
        return bool(self.held_out) and says_held_out(split, look)

    def belongs_to(self, suite: str) -> bool:
        """Whether a suite has it: its app's, its own, or the one of all tasks over several apps."""
        return suite in {self.app, self.suite} or (suite == CROSS_APP and CROSS_APP in self.tags)

    def info(self) -> TemplateInfo:
        """What a farm announces of the template."""
        return TemplateInfo(
            name=self.name,
            app=self.app,
            suite=self.own_suite,
            step_budget=self.step_budget,
            oracle_steps=self.oracle_steps,
            tags=self.tags,
        )

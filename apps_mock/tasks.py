"""Tasks: software, start state, goal, verifier and oracle plan, all from one draw of parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

from apps_mock.apps import clock, contacts, settings, tickets
from apps_mock.entities import Draw
from apps_mock.launcher import OTHER_LABELS
from apps_mock.phone_state import PhoneState, new_app_state
from apps_mock.plans import Plan
from apps_mock.verifiers import Change, PageGoal, Wanted
from device_runtime.errors import UnknownTaskError
from sync.vocabulary import Split, TemplateInfo

SUITE_VERSION = "1"
"""Rises whenever the same template, split and seed would give another task."""

FIXTURES: dict[str, Callable[[Draw], Any]] = {
    "settings": settings.fixture,
    "contacts": contacts.fixture,
    "clock": clock.fixture,
    "tickets": tickets.fixture,
}
"""What is in each app before a task is set up. Any: every app has its own type of data."""


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
        oracle_steps: actions that the oracle needs, `finish` among them, where nothing scrolls.
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


@dataclass(frozen=True, slots=True)
class Task:
    """One task: a template with its parameters drawn."""

    template: Template
    seed: int
    split: Split
    look: int
    goal: str
    state: PhoneState
    wanted: Wanted
    plan: Plan


@lru_cache(maxsize=1)
def templates() -> tuple[Template, ...]:
    """All templates, by suite."""
    from apps_mock import suites  # noqa: PLC0415 - suites need this module

    return suites.all_templates()


@lru_cache(maxsize=1)
def _by_name() -> dict[str, Template]:
    return {template.name: template for template in templates()}


def template_of(name: str) -> Template:
    """The template with that name.

    Raises: UnknownTaskError: there is none.
    """
    template = _by_name().get(name)
    if template is None:
        raise UnknownTaskError(f"no template is called {name!r}; `outrider clones list` names them")
    return template


def suites() -> tuple[str, ...]:
    """The suites' names: one per app that tasks are about."""
    return tuple(dict.fromkeys(template.app for template in templates()))


def draw(template_name: str, *, seed: int, split: Split, look: int) -> Task:
    """The task number `seed` of a template in a split; the same arguments give the same task.

    Raises: UnknownTaskError: there is no such template.
    """
    template = template_of(template_name)
    random = Random(f"task|{template_name}|{split}|{seed}")
    source = Draw(random, split)
    instance = template.set_up(source)
    goal = random.choice(template.phrasings).format_map(instance.words)
    apps = []
    for name, fixture in FIXTURES.items():
        data = instance.data if name == template.app else fixture(source)
        apps.append((name, new_app_state(name, data)))
    others = random.sample(OTHER_LABELS, random.randrange(4, 9))
    apps.extend((label.lower(), new_app_state(label.lower(), None)) for label in others)
    minute = random.randrange(24 * 60)
    return Task(
        template=template,
        seed=seed,
        split=split,
        look=look,
        goal=goal,
        state=PhoneState(tuple(apps), now=f"{minute // 60:02}:{minute % 60:02}"),
        wanted=Wanted(template.app, instance.changes, instance.page),
        plan=instance.plan,
    )

"""Tasks: software, start state, goal, verifier and oracle plan, all from one draw of parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any, Final

from apps_mock.apps import clock, contacts, settings, tickets
from apps_mock.entities import Draw
from apps_mock.launcher import OTHER_LABELS
from apps_mock.phone_state import PhoneState, new_app_state
from apps_mock.plans import Plan
from apps_mock.suites import clock as clock_suite
from apps_mock.suites import contacts as contacts_suite
from apps_mock.suites import settings as settings_suite
from apps_mock.suites import tickets as tickets_suite
from apps_mock.templates import Template
from apps_mock.verifiers import Wanted
from device_runtime.errors import UnknownTaskError
from sync.vocabulary import Split

SUITE_VERSION = "6"
"""Rises whenever the same template, split and seed would give another task."""

FIXTURES: dict[str, Callable[[Draw], Any]] = {
    "settings": settings.fixture,
    "contacts": contacts.fixture,
    "clock": clock.fixture,
    "tickets": tickets.fixture,
}
"""What is in each app before a task is set up. Any: every app has its own type of data."""


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


_TEMPLATES: Final = (
    *settings_suite.TEMPLATES,
    *contacts_suite.TEMPLATES,
    *clock_suite.TEMPLATES,
    *tickets_suite.TEMPLATES,
)
_BY_NAME: Final = {template.name: template for template in _TEMPLATES}


def templates() -> tuple[Template, ...]:
    """All templates, by suite."""
    return _TEMPLATES


def template_of(name: str) -> Template:
    """The template with that name.

    Raises: UnknownTaskError: there is none.
    """
    template = _BY_NAME.get(name)
    if template is None:
        raise UnknownTaskError(f"no template is called {name!r}; `outrider clones list` names them")
    return template


def suites() -> tuple[str, ...]:
    """The suites' names: one per app that tasks are about."""
    return tuple(dict.fromkeys(template.app for template in templates()))


FIXTURE_COUNT: Final = 64
"""How many different contents the apps beside a task's own have, per split."""


def _furnished(name: str, split: Split, random: Random) -> Any:  # Any: data of any app
    return _fixture(name, split, random.randrange(FIXTURE_COUNT))


@lru_cache(maxsize=1024)
def _fixture(name: str, split: Split, number: int) -> Any:  # Any: data of any app
    return FIXTURES[name](Draw(Random(f"fixture|{name}|{split}|{number}"), split))


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
    for name in FIXTURES:
        data = instance.data if name == template.app else _furnished(name, split, random)
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

"""Tasks: software, start state, goal, verifier and oracle plan, all from one draw of parameters."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any, Final

from apps_mock.entities import Draw
from apps_mock.launcher import OTHER_LABELS
from apps_mock.look import draw_look
from apps_mock.phone_state import PhoneState, new_app_state
from apps_mock.plans import Plan, Stage
from apps_mock.registry import APPS, FIXTURES, SYSTEM, TASK_APPS
from apps_mock.suites import (
    browser,
    calendar,
    clock,
    contacts,
    cross_app,
    files,
    messages,
    notes,
    settings,
    shop,
    store,
    tickets,
    todo,
)
from apps_mock.templates import Template
from apps_mock.wanted import Wanted
from device_runtime.errors import UnknownTaskError
from sync.vocabulary import Split

SUITE_VERSION = "7"
"""Rises whenever the same template, split and seed would give another task."""


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
    stages: tuple[Stage, ...] = ()


_SUITES: Final = (
    settings,
    contacts,
    clock,
    tickets,
    messages,
    calendar,
    notes,
    files,
    todo,
    shop,
    browser,
    store,
    cross_app,
)
_TEMPLATES: Final[tuple[Template, ...]] = tuple(
    template for suite in _SUITES for template in suite.TEMPLATES
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
    if name not in FIXTURES:
        return None
    return FIXTURES[name](Draw(Random(f"fixture|{name}|{split}|{number}"), split))


def _app_names(given: Iterable[str], random: Random) -> list[str]:
    """The apps of a phone: what the task needs, and some that it does not."""
    needed = {SYSTEM, "settings", *given}
    while more := {other for name in needed for other in APPS[name].uses} - needed:
        needed |= more
    spare = [app.name for app in TASK_APPS if app.name not in needed]
    needed.update(random.sample(spare, min(len(spare), random.randrange(2, 5))))
    others = random.sample(OTHER_LABELS, random.randrange(2, 6))
    return [name for name in FIXTURES if name in needed] + [label.lower() for label in others]


def draw(template_name: str, *, seed: int, split: Split, look: int) -> Task:
    """The task number `seed` of a template in a split; the same arguments give the same task.

    Raises: UnknownTaskError: there is no such template.
    """
    template = template_of(template_name)
    random = Random(f"task|{template_name}|{split}|{seed}")
    source = Draw(random, split)
    instance = template.set_up(source)
    drawn = draw_look(split, look)
    phrasing = drawn.say(random.choice(template.phrasings))
    goal = phrasing.format_map({gap: drawn.spoken(word) for gap, word in instance.words.items()})
    given = {template.app: instance.data, **instance.others}
    apps = []
    for name in _app_names(given, random):
        data = given[name] if name in given else _furnished(name, split, random)
        apps.append((name, new_app_state(name, data)))
    minute = random.randrange(24 * 60)
    return Task(
        template=template,
        seed=seed,
        split=split,
        look=look,
        goal=goal,
        state=PhoneState(tuple(apps), now=f"{minute // 60:02}:{minute % 60:02}"),
        wanted=Wanted(
            template.app,
            changes=instance.changes,
            page=instance.page,
            answer=instance.answer,
            infeasible=instance.infeasible,
            free=instance.free,
        ),
        stages=instance.stages,
        plan=instance.plan,
    )

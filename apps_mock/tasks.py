"""Tasks: software, start state, goal, verifier and oracle plan, all from one draw of parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from random import Random
from typing import Final

from apps_mock.app import AnyAppState
from apps_mock.digests import share
from apps_mock.entities import PSEUDO_WORD_SHARE, Draw
from apps_mock.launcher import OTHER_LABELS
from apps_mock.look import draw_look
from apps_mock.phone_state import PhoneState, new_app_state
from apps_mock.plans import Plan, Stage
from apps_mock.registry import APPS, FIXTURES, SYSTEM, TASK_APPS
from apps_mock.seeded_random import SeededRandom
from apps_mock.set_up_check import check_apps, checked, filled
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
from apps_mock.templates import CROSS_APP, Instance, Template
from apps_mock.wanted import Wanted
from device_runtime.errors import UnknownTaskError
from sync.vocabulary import Split, TemplateInfo

SUITE_VERSION = "8"
"""Rises whenever the same template, split and seed would give another task or another verdict."""


@dataclass(frozen=True, slots=True)
class Task:
    """One task: a template with its parameters drawn.

    Attributes:
        held_out_phrasing: the goal is said in a way that only the test split uses.
    """

    template: Template
    seed: int
    split: Split
    look: int
    goal: str
    state: PhoneState
    wanted: Wanted
    plan: Plan
    stages: tuple[Stage, ...] = ()
    held_out_phrasing: bool = False


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
_ADDED: Final[list[Template]] = []
"""Templates of apps that were taken in from a user's own files."""


def templates() -> tuple[Template, ...]:
    """All templates, by suite."""
    return (*_TEMPLATES, *_ADDED) if _ADDED else _TEMPLATES


def add_templates(more: Iterable[Template]) -> None:
    """Take templates of a user's own app in.

    Raises: UnknownTaskError: a name that another template has, or an app that there is not.
    """
    for template in more:
        if template.name in _BY_NAME:
            raise UnknownTaskError(
                f"two templates are called {template.name!r}; give one another name"
            )
        if template.app not in APPS:
            raise UnknownTaskError(
                f"the template {template.name!r} is about an app {template.app!r} that there is "
                "not; name one in its `app`"
            )
        _ADDED.append(template)
        _BY_NAME[template.name] = template


def template_of(name: str) -> Template:
    """The template with that name.

    Raises: UnknownTaskError: there is none.
    """
    template = _BY_NAME.get(name)
    if template is None:
        raise UnknownTaskError(f"no template is called {name!r}; `outrider clones list` names them")
    return template


def suites() -> tuple[str, ...]:
    """The suites' names: one per app that tasks are about, then those over several apps."""
    about = {template.app for template in templates()}
    names = [name for name in APPS if name in about]
    names += [template.suite for template in templates() if template.suite]
    names += [CROSS_APP for template in templates() if CROSS_APP in template.tags]
    return tuple(dict.fromkeys(names))


def announced() -> tuple[TemplateInfo, ...]:
    """What a farm announces for learning: every template that counts."""
    return tuple(template.info() for template in templates() if template.counts)


FIXTURE_COUNT: Final = 64
"""How many different contents the apps beside a task's own have, per split."""


def _furnished(name: str, split: Split, random: Random) -> AnyAppState:
    number = random.randrange(FIXTURE_COUNT)
    return _fixture(name, split, number) if name in FIXTURES else _bare(name)


@lru_cache(maxsize=1024)
def _fixture(name: str, split: Split, number: int) -> AnyAppState:
    """An app as many phones begin with it: the same object for all of them."""
    data = FIXTURES[name](Draw(SeededRandom(f"fixture|{name}|{split}|{number}"), split))
    return share(name, new_app_state(name, data))


@lru_cache(maxsize=128)
def _bare(name: str) -> AnyAppState:
    """An app without data."""
    return share(name, new_app_state(name, None))


def _apps_used(instance: Instance) -> Iterator[str]:
    """The apps that an instance speaks of beside its own."""
    for stage in instance.stages:
        yield stage.app
        if stage.page_app:
            yield stage.page_app
    yield from (change.app for change in instance.changes if change.app)
    if instance.page is not None and instance.page.app:
        yield instance.page.app


def _app_names(given: Iterable[str], random: Random) -> list[str]:
    """The apps of a phone: what the task needs, and some that it does not."""
    needed = {SYSTEM, "settings", *given}
    while more := {other for name in needed for other in APPS[name].uses} - needed:
        needed |= more
    spare = [app.name for app in TASK_APPS if app.name not in needed]
    needed.update(random.sample(spare, min(len(spare), random.randrange(2, 5))))
    others = random.sample(OTHER_LABELS, random.randrange(2, 6))
    return [name for name in FIXTURES if name in needed] + [label.lower() for label in others]


def _sold(apps: list[tuple[str, AnyAppState]]) -> list[str]:
    """The apps that the phone's store has: they show on the launcher once they are installed."""
    return [record.id for name, app in apps if name == "store" for record in app.data.apps]


def draw(
    template_name: str,
    *,
    seed: int,
    split: Split,
    look: int,
    pseudo_words: float = PSEUDO_WORD_SHARE,
) -> Task:
    """The task number `seed` of a template in a split; the same arguments give the same task.

    Args:
        pseudo_words: share of a training task's own names that are pseudo-words; the apps beside it
            are furnished the same for every share.

    Raises:
        UnknownTaskError: there is no such template.
        SetUpError: its `set_up` gave what no task can be made of.
    """
    template = template_of(template_name)
    random = SeededRandom(f"task|{template_name}|{split}|{seed}")
    source = Draw(random, split, pseudo_words=pseudo_words)
    instance = checked(template, template.set_up(source))
    drawn = draw_look(split, look)
    held_out = template.says_held_out(split, look)
    phrasing = random.choice(template.phrasings)
    if held_out:
        phrasing = SeededRandom(f"phrasing|{template_name}|{seed}").choice(template.held_out)
    words = {gap: drawn.spoken(word) for gap, word in instance.words.items()}
    goal = filled(template, drawn.say(phrasing), words)
    given = {template.app: instance.data, **instance.others}
    needed = [*given, *_apps_used(instance)]
    check_apps(template, needed)
    apps = []
    for name in _app_names(needed, random):
        if name in given:
            apps.append((name, new_app_state(name, given[name])))
        else:
            apps.append((name, _furnished(name, split, random)))
    apps += [(name, _bare(name)) for name in _sold(apps)]
    return Task(
        template=template,
        seed=seed,
        split=split,
        look=look,
        goal=goal,
        state=PhoneState(tuple(apps), now=instance.now or _some_minute(random)),
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
        held_out_phrasing=held_out,
    )


def furnished(*, seed: int, split: Split) -> PhoneState:
    """A phone with every app, as somebody may own it; the same arguments give the same phone."""
    random = SeededRandom(f"phone|{split}|{seed}")
    names = [*FIXTURES, *(label.lower() for label in OTHER_LABELS)]
    apps = [(name, _furnished(name, split, random)) for name in names]
    apps += [(name, _bare(name)) for name in _sold(apps)]
    return PhoneState(tuple(apps), now=_some_minute(random))


def _some_minute(random: Random) -> str:
    moment = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(minutes=random.randrange(365 * 24 * 60))
    return moment.strftime("%Y-%m-%dT%H:%M")

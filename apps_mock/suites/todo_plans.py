"""Scenes in the todo app, and the ways through it, for the suites about things to do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta

from apps_mock.apps.todo import (
    ANY,
    INBOX,
    NONE,
    SPANS,
    Filter,
    Todo,
    TodoData,
    fixture_of,
    monday_of,
)
from apps_mock.entities import TIMES, Draw, spelled, split_of
from apps_mock.plans import Entry, Fill, GiveAnswer, Plan, Press
from apps_mock.wanted import Change
from apps_mock.widgets import Event

HOME = ("home", "")
MOST_TITLES = 3
"""Titles that an answer has at most: a policy's texts are at most eight words."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A furnished app on a day, and a day near it that belongs to the split.

    Attributes:
        now: day and time of the phone's clock.
    """

    data: TodoData
    now: str
    day: str

    @property
    def today(self) -> str:
        """The day of the phone's clock."""
        return self.now[:10]


def scene(draw: Draw, count: int | None = None) -> Scene:
    """A furnished app, with so many things to do."""
    today, day = _days(draw)
    data = fixture_of(draw, count or draw.random.randrange(7, 11), today.isoformat())
    return Scene(data, f"{today.isoformat()}T{draw.random.choice(TIMES)}", day.isoformat())


def _days(draw: Draw) -> tuple[date, date]:
    """Today, and one of the twelve days after it that belongs to the split."""
    while True:
        today = date(2025, 1, 1) + timedelta(draw.random.randrange(340))
        near = [today + timedelta(distance) for distance in range(1, 13)]
        own = [day for day in near if split_of(spelled(day)) is draw.split]
        if own:
            return today, draw.random.choice(own)


def with_matches(draw: Draw, start: Scene, wanted: Filter, count: int) -> Scene:
    """The scene with exactly so many things to do that pass a filter, and some that nearly do."""
    random = draw.random
    chosen = {todo.id for todo in random.sample(start.data.todos, count)}
    todos = []
    for todo in start.data.todos:
        made = _passing(draw, todo, wanted, start.today)
        if todo.id not in chosen:
            made = _failing(draw, made if random.random() < 0.6 else todo, wanted, start.today)
        todos.append(made)
    return replace(start, data=replace(start.data, todos=tuple(todos)))


def _passing(draw: Draw, todo: Todo, wanted: Filter, today: str) -> Todo:
    """The thing to do, changed so that it passes the filter."""
    if wanted.priority != ANY:
        todo = replace(todo, priority=wanted.priority)
    if wanted.status != ANY:
        todo = replace(todo, done=wanted.status == "done")
    if wanted.when == "next_week":
        monday = monday_of(today) + timedelta(7)
        return replace(todo, due=(monday + timedelta(draw.random.randrange(7))).isoformat())
    return todo if wanted.when == ANY else replace(todo, due=wanted.when)


def _failing(draw: Draw, todo: Todo, wanted: Filter, today: str) -> Todo:
    """The thing to do, changed in one of the ways that the filter looks at."""
    if not wanted.takes(todo, today):
        return todo
    ways = [name for name, value in zip(wanted._fields, wanted, strict=True) if value != ANY]
    match draw.random.choice(ways):
        case "when":
            later = date.fromisoformat(todo.due) + timedelta(draw.random.choice((-8, 8, 9)))
            return replace(todo, due=later.isoformat())
        case "priority":
            return replace(todo, priority=draw.random.choice(("low", "medium", NONE)))
        case _:
            return replace(todo, done=not todo.done)


def to_results(wanted: Filter) -> Plan:
    """The way through the filter's form to its results, where the answer stands."""
    is_span = wanted.when in SPANS
    entries = (
        choice("status", wanted.status, ANY),
        choice("span", wanted.when if is_span else ANY, ANY),
        Entry("priority", wanted.priority, default=ANY, picker="choice"),
        Entry("day", "" if is_span else wanted.when, picker="date"),
    )
    return {
        HOME: Press(Event("go", "filter")),
        ("filter", ""): Fill(entries, Event("show")),
        ("results", wanted.argument): GiveAnswer(),
    }


def choice(field: str, value: str, default: str) -> Entry:
    """A chip that shall be chosen."""
    return Entry(field, value, Event("set", field, value), default=default)


def to_todo(todo: Todo) -> Plan:
    """The way to a thing to do."""
    return {HOME: Press(Event("go", "todo", todo.id))}


def to_new(*entries: Entry) -> Plan:
    """The way to a new thing to do."""
    return {HOME: Press(Event("go", "new")), ("new", ""): Fill(entries, Event("save"))}


def to_edited(todo: Todo, *changes: Entry) -> Plan:
    """The way to a thing to do whose form holds what it held, but for `changes`."""
    entries = {
        "priority": choice("priority", todo.priority, NONE),
        "due": Entry("due", todo.due, picker="date"),
        "list": Entry("list", todo.list, default=INBOX, picker="choice"),
        "title": Entry("title", todo.title),
        "notes": Entry("notes", todo.notes),
    }
    entries |= {entry.field: entry for entry in changes}
    return {
        **to_todo(todo),
        ("todo", todo.id): Press(Event("edit_todo", todo.id)),
        ("edit", todo.id): Fill(tuple(entries.values()), Event("save")),
    }


def new_todo(
    title: str, *, notes: str = "", due: str = "", priority: str = NONE, list_id: str = INBOX
) -> Change:
    """A thing to do that shall have been added."""
    return Change(
        "todos",
        None,
        (
            ("title", title),
            ("notes", notes),
            ("due", due),
            ("priority", priority),
            ("done", False),
            ("list", list_id),
        ),
    )

"""The todo app: things to do, with a day, a priority and a list that each is in.

This module holds its records and what happens; `todo_view` shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import NamedTuple

from apps_mock.app import AppState, Copy, Page, Say, Share
from apps_mock.entities import (
    ALARM_LABELS,
    CITIES,
    FIRST_NAMES,
    LAST_NAMES,
    Draw,
    members,
)
from apps_mock.records import changed, find, fresh_id, without
from apps_mock.widgets import Event

NONE, LOW, MEDIUM, HIGH = "none", "low", "medium", "high"
PRIORITIES = (HIGH, MEDIUM, LOW, NONE)
"""Priorities, the most urgent first."""

ANY = "any"
OPEN, DONE = "open", "done"
TODAY, THIS_WEEK, NEXT_WEEK, LATER = "today", "this_week", "next_week", "later"
SPANS = (ANY, TODAY, THIS_WEEK, NEXT_WEEK)

INBOX = "l0"
"""Id of the list that is always there."""


@dataclass(frozen=True, slots=True)
class Todo:
    """A thing to do.

    Attributes:
        due: the day until which, as `2025-03-14`; empty for none.
        priority: one of `PRIORITIES`.
        list: id of the list that it is in.
    """

    id: str
    title: str
    notes: str = ""
    due: str = ""
    priority: str = NONE
    done: bool = False
    list: str = INBOX


@dataclass(frozen=True, slots=True)
class TodoList:
    """A list of things to do."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class TodoData:
    """Everything in the app."""

    todos: tuple[Todo, ...] = ()
    lists: tuple[TodoList, ...] = ()


TodoState = AppState[TodoData]


class Filter(NamedTuple):
    """What a page of results shows; its argument is the parts with bars between.

    Attributes:
        when: one of `SPANS`, `LATER`, or a day as `2025-03-14`.
        priority, status: one of `PRIORITIES`, `OPEN` or `DONE`; `ANY` for all.
    """

    when: str = ANY
    priority: str = ANY
    status: str = ANY

    @property
    def argument(self) -> str:
        """The filter as a page's argument."""
        return "|".join(self)

    @classmethod
    def of(cls, argument: str) -> Filter:
        """The filter that a page's argument writes down."""
        return cls(*argument.split("|"))

    def takes(self, todo: Todo, today: str) -> bool:
        """Whether a thing to do passes."""
        return (
            self.priority in {ANY, todo.priority}
            and (self.status == ANY or todo.done == (self.status == DONE))
            and is_due(todo, self.when, today)
        )


def is_due(todo: Todo, when: str, today: str) -> bool:
    """Whether it is due on a day, or in a span of days around today; weeks begin on Monday."""
    if when == ANY:
        return True
    if not todo.due:
        return False
    if when == TODAY:
        return todo.due == today
    if when == LATER:
        return todo.due > today
    if when in {THIS_WEEK, NEXT_WEEK}:
        return monday_of(todo.due) == monday_of(today) + timedelta(7 * (when == NEXT_WEEK))
    return todo.due == when


def monday_of(iso: str) -> date:
    """The Monday of a day's week."""
    day = date.fromisoformat(iso)
    return day - timedelta(day.weekday())


def filtered(todos: Iterable[Todo], wanted: Filter, today: str) -> tuple[Todo, ...]:
    """What passes the filter, the earliest first."""
    passing = (todo for todo in todos if wanted.takes(todo, today))
    return tuple(sorted(passing, key=lambda todo: (todo.due or "9999", todo.id)))


def fixture(draw: Draw) -> TodoData:
    """A few lists and things to do."""
    return fixture_of(draw, draw.random.randrange(7, 11))


def fixture_of(draw: Draw, count: int, today: str = "2025-06-16") -> TodoData:
    """As many things to do as that, due around a day."""
    random = draw.random
    names = ("Inbox", *(draw.of(CITIES, pseudo=True) for _ in range(random.randrange(2, 4))))
    lists = tuple(TodoList(f"l{index}", name) for index, name in enumerate(names))
    start = date.fromisoformat(today) - timedelta(7)
    return TodoData(
        tuple(
            Todo(
                id=f"t{index}",
                title=title(draw),
                notes=_remark(draw) if random.random() < 0.4 else "",
                due=(start + timedelta(random.randrange(28))).isoformat()
                if random.random() < 0.8
                else "",
                priority=random.choice((*PRIORITIES, NONE)),
                done=random.random() < 0.3,
                list=random.choice(lists).id,
            )
            for index in range(count)
        ),
        lists,
    )


def title(draw: Draw) -> str:
    """A title of two words that nothing else of the task has."""
    matter = draw.random.choice(members(ALARM_LABELS, draw.split))
    return f"{matter} {draw.of(LAST_NAMES, pseudo=True)}"


def _remark(draw: Draw) -> str:
    choose = draw.random.choice
    somebody = choose(members(FIRST_NAMES, draw.split))
    return f"{somebody} {choose(members(CITIES, draw.split))} {draw.random.randrange(2, 100)}"


def update(state: TodoState, event: Event) -> TodoState:
    """The state after an event."""
    handler = _HANDLERS.get(event.name)
    return handler(state, event) if handler else state


def _open_edit(state: TodoState, event: Event) -> TodoState:
    todo = find(state.data.todos, event.value)
    if todo is None:
        return state
    drafts = (
        ("title", todo.title),
        ("notes", todo.notes),
        ("due", todo.due),
        ("priority", todo.priority),
        ("list", todo.list),
    )
    return state.pushed(Page("edit", todo.id, drafts))


def _save(state: TodoState, _event: Event) -> TodoState:
    page, data = state.page, state.data
    name = page.draft("title").strip()
    if not name:
        return state
    values = {
        "title": name,
        "notes": page.draft("notes").strip(),
        "due": page.draft("due"),
        "priority": page.draft("priority", NONE),
        "list": list_of(page),
    }
    if page.name == "edit":
        todos = changed(data.todos, page.argument, **values)
        return state.with_data(replace(data, todos=todos)).popped()
    new_id = fresh_id(data.todos, "t")
    (todo,) = changed((Todo(new_id, name),), new_id, **values)
    data = replace(data, todos=(*data.todos, todo))
    return state.with_data(data).popped().pushed(Page("todo", todo.id))


def list_of(page: Page) -> str:
    """The list that a form is about; a new thing to do begins in the list that it is added to."""
    begun = page.argument if page.name == "new" else ""
    return page.draft("list", begun or INBOX)


def _show(state: TodoState, _event: Event) -> TodoState:
    """Show what the filter's form asks for; a day that was picked goes before a span."""
    page = state.page
    wanted = Filter(
        page.draft("day") or page.draft("span", ANY),
        page.draft("priority", ANY),
        page.draft("status", ANY),
    )
    return state.pushed(Page("results", wanted.argument))


def _delete(state: TodoState, event: Event) -> TodoState:
    todos = without(state.data.todos, event.value)
    return state.with_data(replace(state.data, todos=todos)).popped(2)


def _move(state: TodoState, event: Event) -> TodoState:
    todos = changed(state.data.todos, state.page.argument, list=event.value)
    return state.with_data(replace(state.data, todos=todos)).popped()


def _clear_done(state: TodoState, event: Event) -> TodoState:
    """Remove what is done; where the event names a list, only from there."""
    todos = tuple(
        todo
        for todo in state.data.todos
        if not todo.done or (event.value and todo.list != event.value)
    )
    return state.with_data(replace(state.data, todos=todos)).popped()


def _open_rename(state: TodoState, event: Event) -> TodoState:
    known = find(state.data.lists, event.value)
    if known is None:
        return state
    return state.pushed(Page("rename_list", known.id, (("name", known.name),)))


def _save_list(state: TodoState, _event: Event) -> TodoState:
    page, data = state.page, state.data
    name = page.draft("name").strip()
    if not name:
        return state
    if page.name == "rename_list":
        lists = changed(data.lists, page.argument, name=name)
    else:
        lists = (*data.lists, TodoList(fresh_id(data.lists, "l"), name))
    return state.with_data(replace(data, lists=lists)).popped()


def _delete_list(state: TodoState, event: Event) -> TodoState:
    """The list goes, with all that is in it."""
    if event.value == INBOX:
        return state
    data = TodoData(
        tuple(todo for todo in state.data.todos if todo.list != event.value),
        without(state.data.lists, event.value),
    )
    return state.with_data(data).popped(2)


def _copy(state: TodoState, event: Event) -> TodoState:
    todo = find(state.data.todos, event.value)
    return state if todo is None else state.emitting(Copy(_shared(todo)), Say("Copied"))


def _share(state: TodoState, event: Event) -> TodoState:
    todo = find(state.data.todos, event.value)
    return state if todo is None else state.emitting(Share(_shared(todo)))


def _shared(todo: Todo) -> str:
    """The text that other apps get."""
    return f"{todo.title}\n{todo.notes}".strip()


def _take(state: TodoState, event: Event) -> TodoState:
    """A shared text becomes a new thing to do: its first line the title, the others its notes."""
    first, _, rest = event.value.strip().partition("\n")
    return state.pushed(Page("new", "", (("title", first), ("notes", rest))))


_HANDLERS: dict[str, Callable[[TodoState, Event], TodoState]] = {
    "edit_todo": _open_edit,
    "save": _save,
    "show": _show,
    "delete": _delete,
    "move": _move,
    "clear_done": _clear_done,
    "rename": _open_rename,
    "save_list": _save_list,
    "delete_list": _delete_list,
    "copy": _copy,
    "share": _share,
    "take": _take,
}

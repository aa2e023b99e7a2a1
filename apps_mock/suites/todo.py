"""Tasks in the todo app: the app's own ones, and those of AndroidWorld about things to do."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps.todo import HIGH, LOW, MEDIUM, NONE, Todo, fixture, title
from apps_mock.apps.todo_view import PRIORITY_LABELS
from apps_mock.catalogue import Term
from apps_mock.entities import CITIES, Draw
from apps_mock.plans import Entry, Fill, GiveAnswer, GiveUp, Press
from apps_mock.records import changed
from apps_mock.suites import todo_links, todo_twins
from apps_mock.suites.todo_plans import (
    HOME,
    Scene,
    choice,
    new_todo,
    scene,
    to_edited,
    to_new,
    to_todo,
)
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Answer, Change, PageGoal
from apps_mock.widgets import Event


def _some(draw: Draw, *, done: bool = False) -> tuple[Scene, Todo]:
    """A scene, and something in it that is done or not."""
    start = scene(draw)
    todo = draw.random.choice(start.data.todos)
    todos = changed(start.data.todos, todo.id, done=done)
    data = replace(start.data, todos=todos)
    return replace(start, data=data), replace(todo, done=done)


def _add(draw: Draw) -> Instance:
    start, name = scene(draw), title(draw)
    priority = draw.random.choice((HIGH, MEDIUM, LOW))
    return Instance(
        words={
            "title": name,
            "day": Term(start.day, "day"),
            "priority": Term(PRIORITY_LABELS[priority]),
        },
        data=start.data,
        plan=to_new(
            choice("priority", priority, NONE),
            Entry("due", start.day, picker="date"),
            Entry("title", name),
        ),
        changes=(new_todo(name, due=start.day, priority=priority),),
        now=start.now,
    )


def _add_to_list(draw: Draw) -> Instance:
    data, name = fixture(draw), title(draw)
    place = draw.random.choice(data.lists[1:])
    return Instance(
        words={"title": name, "list": place.name},
        data=data,
        plan=to_new(Entry("list", place.id, default="l0", picker="choice"), Entry("title", name)),
        changes=(new_todo(name, list_id=place.id),),
    )


def _set_done(draw: Draw, *, done: bool) -> Instance:
    start, todo = _some(draw, done=not done)
    return Instance(
        words={"title": todo.title},
        data=start.data,
        plan={HOME: Press(Event("toggle", todo.id, "done"))},
        changes=(Change("todos", todo.id, (("done", done),)),),
        now=start.now,
    )


def _complete(draw: Draw) -> Instance:
    return _set_done(draw, done=True)


def _reopen(draw: Draw) -> Instance:
    return _set_done(draw, done=False)


def _change_due(draw: Draw) -> Instance:
    start, todo = _some(draw)
    if todo.due == start.day:
        todo = replace(todo, due=start.today)
        todos = changed(start.data.todos, todo.id, due=todo.due)
        start = replace(start, data=replace(start.data, todos=todos))
    return Instance(
        words={"title": todo.title, "day": Term(start.day, "day")},
        data=start.data,
        plan=to_edited(todo, Entry("due", start.day, picker="date")),
        changes=(Change("todos", todo.id, (("due", start.day),)),),
        now=start.now,
    )


def _set_priority(draw: Draw) -> Instance:
    start, todo = _some(draw)
    wanted = draw.random.choice([each for each in (HIGH, MEDIUM, LOW) if each != todo.priority])
    return Instance(
        words={"title": todo.title, "priority": Term(PRIORITY_LABELS[wanted])},
        data=start.data,
        plan=to_edited(todo, choice("priority", wanted, NONE)),
        changes=(Change("todos", todo.id, (("priority", wanted),)),),
        now=start.now,
    )


def _delete(draw: Draw) -> Instance:
    start, todo = _some(draw)
    return Instance(
        words={"title": todo.title},
        data=start.data,
        plan={
            **to_todo(todo),
            ("todo", todo.id): Press(Event("go", "delete", todo.id)),
            ("delete", todo.id): Press(Event("delete", todo.id)),
        },
        changes=(Change("todos", todo.id, removed=True),),
        now=start.now,
    )


def _move(draw: Draw) -> Instance:
    start, todo = _some(draw)
    target = draw.random.choice([each for each in start.data.lists[1:] if each.id != todo.list])
    return Instance(
        words={"title": todo.title, "list": target.name},
        data=start.data,
        plan={
            **to_todo(todo),
            ("todo", todo.id): Press(Event("go", "move", todo.id)),
            ("move", todo.id): Press(Event("move", target.id)),
        },
        changes=(Change("todos", todo.id, (("list", target.id),)),),
        now=start.now,
    )


def _clear_done(draw: Draw) -> Instance:
    """Only what is done in one list goes."""
    data = fixture(draw)
    place = draw.random.choice(data.lists[1:])
    for todo in draw.random.sample(data.todos, 2):
        data = replace(data, todos=changed(data.todos, todo.id, done=True, list=place.id))
    gone = [todo for todo in data.todos if todo.done and todo.list == place.id]
    return Instance(
        words={"list": place.name},
        data=data,
        plan={
            HOME: Press(Event("go", "lists")),
            ("lists", ""): Press(Event("go", "list", place.id)),
            ("list", place.id): Press(Event("go", "clear_done", place.id)),
            ("clear_done", place.id): Press(Event("clear_done", place.id)),
        },
        changes=tuple(Change("todos", todo.id, removed=True) for todo in gone),
    )


def _new_list(draw: Draw) -> Instance:
    data, name = fixture(draw), draw.of(CITIES, pseudo=True)
    return Instance(
        words={"list": name},
        data=data,
        plan={
            HOME: Press(Event("go", "lists")),
            ("lists", ""): Press(Event("go", "new_list")),
            ("new_list", ""): Fill((Entry("name", name),), Event("save_list")),
        },
        changes=(Change("lists", None, (("name", name),)),),
    )


def _find(draw: Draw) -> Instance:
    """The list is longer than the screen: searching is the shortest way."""
    start = scene(draw, draw.random.randrange(14, 18))
    todo = draw.random.choice(start.data.todos)
    return Instance(
        words={"title": todo.title},
        data=start.data,
        plan={HOME: Fill((Entry("search", todo.title),), Event("go", "todo", todo.id))},
        page=PageGoal("todo", todo.id),
        now=start.now,
    )


def _count_open(draw: Draw) -> Instance:
    data = fixture(draw)
    place = draw.random.choice(data.lists[1:])
    for todo in data.todos:
        if draw.random.random() < 0.6:
            data = replace(data, todos=changed(data.todos, todo.id, list=place.id))
    inside = [todo for todo in data.todos if todo.list == place.id]
    return Instance(
        words={"list": place.name},
        data=data,
        plan={
            HOME: Press(Event("go", "lists")),
            ("lists", ""): Press(Event("go", "list", place.id)),
            ("list", place.id): GiveAnswer(),
        },
        answer=Answer("number", str(sum(not todo.done for todo in inside))),
    )


def _complete_missing(draw: Draw) -> Instance:
    """There is no such thing to do: the list shows it."""
    start = scene(draw, 7)
    return Instance(
        words={"title": title(draw)},
        data=start.data,
        plan={HOME: GiveUp()},
        infeasible=True,
        now=start.now,
    )


_OWN: tuple[Template, ...] = (
    Template(
        name="todo_add",
        app="todo",
        oracle_steps=12,
        phrasings=(
            "Add the task {title} with priority {priority} due on {day}",
            "Create a task {title} for {day} and set its priority to {priority}",
            "In tasks add {title} due {day} at priority {priority}",
        ),
        held_out=("I must do {title} by {day} so note it with priority {priority}",),
        set_up=_add,
        tags=("scrolls",),
    ),
    Template(
        name="todo_add_to_list",
        app="todo",
        oracle_steps=10,
        phrasings=(
            "Add the task {title} to the list {list}",
            "In tasks put a new entry {title} on the list {list}",
            "Create a task {title} in my task list {list}",
        ),
        held_out=("The task list {list} lacks {title} so put it there",),
        set_up=_add_to_list,
        tags=("scrolls",),
    ),
    Template(
        name="todo_complete",
        app="todo",
        oracle_steps=4,
        phrasings=(
            "Mark the task {title} as completed",
            "Tick {title} off in tasks",
            "The task {title} is done so complete it",
        ),
        held_out=("I have finished {title} so let my tasks show that",),
        set_up=_complete,
        tags=("scrolls",),
    ),
    Template(
        name="todo_reopen",
        app="todo",
        oracle_steps=4,
        phrasings=(
            "Mark the completed task {title} as not completed",
            "Open the task {title} again",
            "Take the tick off {title} in tasks",
        ),
        held_out=("The task {title} is not done after all so untick it",),
        set_up=_reopen,
        tags=("scrolls",),
    ),
    Template(
        name="todo_change_due",
        app="todo",
        oracle_steps=9,
        phrasings=(
            "Move the due date of the task {title} to {day}",
            "In tasks let {title} be due on {day}",
            "Change the task {title} so that it is due on {day}",
        ),
        held_out=("I can do {title} only by {day} so shift its date in tasks",),
        set_up=_change_due,
        tags=("scrolls",),
    ),
    Template(
        name="todo_set_priority",
        app="todo",
        oracle_steps=7,
        phrasings=(
            "Set the priority of the task {title} to {priority}",
            "Give the task {title} the priority {priority}",
        ),
        held_out=("Let {title} have {priority} as its priority in tasks",),
        set_up=_set_priority,
        tags=("scrolls",),
    ),
    Template(
        name="todo_delete",
        app="todo",
        oracle_steps=7,
        phrasings=(
            "Delete the task {title}",
            "Remove {title} from my tasks",
            "In tasks get rid of {title}",
        ),
        held_out=("Strike the task {title} for good",),
        set_up=_delete,
        tags=("scrolls",),
    ),
    Template(
        name="todo_move",
        app="todo",
        oracle_steps=7,
        phrasings=(
            "Move the task {title} to the list {list}",
            "In tasks put {title} into the list {list}",
        ),
        held_out=("The task {title} belongs on the list {list}",),
        set_up=_move,
        tags=("scrolls",),
    ),
    Template(
        name="todo_clear_done",
        app="todo",
        oracle_steps=9,
        phrasings=(
            "Delete all completed tasks of the list {list}",
            "Clear what is completed from my task list {list}",
        ),
        held_out=("Rid the task list {list} of everything that is done",),
        set_up=_clear_done,
        tags=("scrolls",),
    ),
    Template(
        name="todo_new_list",
        app="todo",
        oracle_steps=9,
        phrasings=(
            "Make a new task list named {list}",
            "In tasks add the list {list}",
        ),
        held_out=("I need one more list {list} for my tasks",),
        set_up=_new_list,
        tags=("scrolls",),
    ),
    Template(
        name="todo_find",
        app="todo",
        oracle_steps=5,
        phrasings=(
            "Search my tasks for {title} and open it",
            "Find the task {title} and show its details",
        ),
        held_out=("Somewhere in tasks is {title} so bring it up",),
        set_up=_find,
    ),
    Template(
        name="todo_count_open",
        app="todo",
        oracle_steps=7,
        phrasings=(
            "How many tasks of the list {list} are not completed",
            "Count the open tasks in my task list {list} and answer the number",
        ),
        held_out=("Tell me how much is left to do on the task list {list}",),
        set_up=_count_open,
        tags=("answer", "scrolls"),
    ),
    Template(
        name="todo_complete_missing",
        app="todo",
        oracle_steps=2,
        phrasings=(
            "Tick off the task with the title {title}",
            "Complete the task titled {title}",
        ),
        held_out=("The task called {title} is done so complete it",),
        set_up=_complete_missing,
        tags=("infeasible",),
    ),
)

TEMPLATES: tuple[Template, ...] = (*_OWN, *todo_twins.TEMPLATES, *todo_links.TEMPLATES)

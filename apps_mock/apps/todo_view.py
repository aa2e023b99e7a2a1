"""What the todo app shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from apps_mock.app import App, AppState
from apps_mock.apps.todo import (
    ANY,
    DONE,
    HIGH,
    INBOX,
    LATER,
    LOW,
    MEDIUM,
    NEXT_WEEK,
    NONE,
    OPEN,
    SPANS,
    THIS_WEEK,
    TODAY,
    Filter,
    Todo,
    TodoData,
    TodoList,
    filtered,
    list_of,
    update,
)
from apps_mock.look import Look, wording
from apps_mock.records import find
from apps_mock.widgets import (
    Button,
    Chip,
    Chips,
    Event,
    Field,
    Option,
    Picker,
    Row,
    Screen,
    Text,
    Widget,
)

SEARCH = wording("Search tasks", "Find a task", held_out=("Look for a task",))
NEW_TASK = wording("New task", "Add task", "Create task", held_out=("Another task",))
LISTS = wording("Lists", "My lists", held_out=("Task lists",))
LIST = wording("List", "In list", held_out=("Task list",))
NEW_LIST = wording("New list", "Add list", held_out=("Another list",))
FILTER = wording("Filter", "Filter tasks", held_out=("Narrow down",))
SHOW = wording("Show tasks", "Apply", "Show", held_out=("See the tasks",))
TITLE = wording("Title", "What is to be done", held_out=("Task title",))
NOTES = wording("Notes", "Remarks", held_out=("Further notes",))
DUE = wording("Due date", "Due", held_out=("Due day",))
ON_DAY = wording("On a day", "Day", held_out=("On one day",))
PRIORITY = wording("Priority", "Task priority", held_out=("Urgency",))
STATUS = wording("Status", "Done or open", held_out=("Progress",))
COMPLETED = wording("Completed", "Is completed", held_out=("Finished",))
UPCOMING = wording("Upcoming", "Coming up", held_out=("Ahead",))
MOVE = wording("Move to list", "Change list", held_out=("Put into a list",))
COPY = wording("Copy text", "Copy", held_out=("Copy all",))
SHARE = wording("Share", "Send", held_out=("Pass on",))
CLEAR_DONE = wording("Clear completed", "Delete completed", held_out=("Tidy up",))

PRIORITY_LABELS = {HIGH: "High", MEDIUM: "Medium", LOW: "Low", NONE: "No priority"}
STATUS_LABELS = {ANY: "Any status", OPEN: "Not completed", DONE: "Completed"}
SPAN_LABELS = {
    ANY: "Any day",
    TODAY: "Today",
    THIS_WEEK: "This week",
    NEXT_WEEK: "Next week",
}
HOME_VIEWS = {ANY: "All", OPEN: "Not completed", DONE: "Completed"}


def view(state: AppState[TodoData], look: Look) -> Screen:
    """What the page on top shows."""
    return _VIEWS[state.page.name](state, look)


def _home(state: AppState[TodoData], look: Look) -> Screen:
    page, data = state.page, state.data
    wanted, status = page.draft("search"), page.draft("status", ANY)
    needle = wanted.strip().casefold()
    found = [
        todo
        for todo in filtered(data.todos, Filter(status=status), state.provided.today)
        if not needle or needle in f"{todo.title}\n{todo.notes}".casefold()
    ]
    body: list[Widget] = [
        Field("search", look.word(SEARCH), wanted, search=True),
        _choice("status", status, HOME_VIEWS, look),
    ]
    body.extend(_rows(data, found, look))
    if not found:
        body.append(Text(look.say("No tasks found")))
    body.extend(Text(line) for line in look.noise("tasks"))
    soon = Filter(when=LATER, status=OPEN).argument
    return Screen(
        look.say("Tasks"),
        tuple(body),
        (Button(look.word(NEW_TASK), Event("go", "new"), primary=True),),
        (
            Button(look.say("Today"), Event("go", "results", Filter(when=TODAY).argument)),
            Button(look.word(UPCOMING), Event("go", "results", soon)),
            Button(look.word(LISTS), Event("go", "lists")),
            Button(look.word(FILTER), Event("go", "filter")),
        ),
        back=False,
        overflow=(Button(look.word(CLEAR_DONE), Event("go", "clear_done")),),
    )


def _choice(field: str, chosen: str, labels: dict[str, str], look: Look) -> Chips:
    return Chips(
        tuple(
            Chip(look.say(label), value == chosen, Event("set", field, value))
            for value, label in labels.items()
        )
    )


def _rows(data: TodoData, todos: Iterable[Todo], look: Look) -> list[Row]:
    return [
        Row(
            todo.title,
            _about(data, todo, look),
            on_tap=Event("go", "todo", todo.id),
            checked=todo.done,
            on_toggle=Event("toggle", todo.id, "done"),
            badge="" if todo.priority == NONE else look.say(PRIORITY_LABELS[todo.priority]),
        )
        for todo in todos
    ]


def _about(data: TodoData, todo: Todo, look: Look) -> str:
    day = look.day(todo.due) if todo.due else look.say("No due date")
    return f"{day} · {_list_name(data, todo.list, look)}"


def _list_name(data: TodoData, list_id: str, look: Look) -> str:
    found = find(data.lists, list_id)
    return _name(found, look) if found else ""


def _name(one: TodoList, look: Look) -> str:
    """A list's name; the one that is always there is the app's own word."""
    return look.say(one.name) if one.id == INBOX else one.name


def _filter(state: AppState[TodoData], look: Look) -> Screen:
    page = state.page
    priorities = {ANY: "Any priority", **PRIORITY_LABELS}
    return Screen(
        look.word(FILTER),
        (
            Text(look.word(DUE), heading=True),
            _choice("span", page.draft("span", ANY), SPAN_LABELS, look),
            Picker("day", look.word(ON_DAY), page.draft("day"), "date"),
            Picker(
                "priority",
                look.word(PRIORITY),
                page.draft("priority", ANY),
                options=tuple(Option(value, look.say(text)) for value, text in priorities.items()),
            ),
            Text(look.word(STATUS), heading=True),
            _choice("status", page.draft("status", ANY), STATUS_LABELS, look),
        ),
        (Button(look.word(SHOW), Event("show"), primary=True),),
    )


def _results(state: AppState[TodoData], look: Look) -> Screen:
    """What passes a filter: how many, their titles in a line, and each of them."""
    wanted = Filter.of(state.page.argument)
    found = filtered(state.data.todos, wanted, state.provided.today)
    body: list[Widget] = [
        Text(look.say("Tasks: {count}").format(count=len(found)), heading=True),
    ]
    if found:
        body.append(Text(titles_in_line(found), copyable=True))
    body.extend(_rows(state.data, found, look))
    if not found:
        body.append(Text(look.say("No tasks found")))
    body.extend(Text(line) for line in look.noise("results"))
    return Screen(_filter_title(wanted, look), tuple(body))


def titles_in_line(todos: Iterable[Todo]) -> str:
    """The titles as one line, to be read or copied."""
    return ", ".join(todo.title for todo in todos)


def _filter_title(wanted: Filter, look: Look) -> str:
    if wanted.when == LATER:
        return look.word(UPCOMING)
    parts = []
    if wanted.when in SPANS[1:]:
        parts.append(look.say(SPAN_LABELS[wanted.when]))
    elif wanted.when != ANY:
        parts.append(look.day(wanted.when))
    if wanted.priority != ANY:
        parts.append(look.say(PRIORITY_LABELS[wanted.priority]))
    if wanted.status != ANY:
        parts.append(look.say(STATUS_LABELS[wanted.status]))
    return " · ".join(parts) or look.say("Tasks")


def _lists(state: AppState[TodoData], look: Look) -> Screen:
    data = state.data
    rows: list[Widget] = [
        Row(
            _name(one, look),
            look.say("Tasks: {count}").format(count=len(_in_list(data, one.id))),
            on_tap=Event("go", "list", one.id),
            icon="list",
        )
        for one in look.ordered(data.lists, lambda one: one.name)
    ]
    rows.extend(Text(line) for line in look.noise("lists"))
    return Screen(
        look.word(LISTS),
        tuple(rows),
        (Button(look.word(NEW_LIST), Event("go", "new_list"), primary=True),),
    )


def _in_list(data: TodoData, list_id: str) -> tuple[Todo, ...]:
    return tuple(todo for todo in data.todos if todo.list == list_id)


def _list(state: AppState[TodoData], look: Look) -> Screen:
    data = state.data
    one = find(data.lists, state.page.argument)
    if one is None:
        return Screen(look.word(LISTS), (Text(look.say("This list is gone")),))
    todos = filtered(_in_list(data, one.id), Filter(), state.provided.today)
    left = sum(not todo.done for todo in todos)
    body: list[Widget] = [
        Text(look.say("Not completed: {count}").format(count=left)),
        *_rows(data, todos, look),
    ]
    if not todos:
        body.append(Text(look.say("Nothing in this list")))
    own = (
        Button(look.say("Rename list"), Event("rename", one.id)),
        Button(look.say("Delete list"), Event("go", "delete_list", one.id)),
    )
    return Screen(
        _name(one, look),
        tuple(body),
        (Button(look.word(NEW_TASK), Event("go", "new", one.id), primary=True),),
        overflow=(
            Button(look.word(CLEAR_DONE), Event("go", "clear_done", one.id)),
            *(() if one.id == INBOX else own),
        ),
    )


def _todo(state: AppState[TodoData], look: Look) -> Screen:
    data = state.data
    todo = find(data.todos, state.page.argument)
    if todo is None:
        return Screen(look.say("Tasks"), (Text(look.say("This task is gone")),))
    body: list[Widget] = [
        Row(
            look.word(COMPLETED),
            checked=todo.done,
            on_toggle=Event("toggle", todo.id, "done"),
        ),
        Row(look.word(DUE), look.day(todo.due) if todo.due else look.say("No due date")),
        Row(look.word(PRIORITY), look.say(PRIORITY_LABELS[todo.priority])),
        Row(look.word(LIST), _list_name(data, todo.list, look)),
    ]
    body.extend(Text(line, copyable=True) for line in todo.notes.splitlines())
    body.extend(Text(line) for line in look.noise("task"))
    return Screen(
        todo.title,
        tuple(body),
        (
            Button(look.word("edit"), Event("edit_todo", todo.id)),
            Button(look.word("delete"), Event("go", "delete", todo.id)),
        ),
        overflow=(
            Button(look.word(MOVE), Event("go", "move", todo.id)),
            Button(look.word(COPY), Event("copy", todo.id)),
            Button(look.word(SHARE), Event("share", todo.id)),
        ),
    )


def _form(state: AppState[TodoData], look: Look) -> Screen:
    page = state.page
    lists = tuple(Option(one.id, _name(one, look)) for one in state.data.lists)
    return Screen(
        look.word(NEW_TASK if page.name == "new" else "edit"),
        (
            Field("title", look.word(TITLE), page.draft("title")),
            Picker("due", look.word(DUE), page.draft("due"), "date"),
            Text(look.word(PRIORITY), heading=True),
            _choice("priority", page.draft("priority", NONE), PRIORITY_LABELS, look),
            Picker("list", look.word(LIST), list_of(page), options=lists),
            Field("notes", look.word(NOTES), page.draft("notes"), lines=3),
        ),
        (Button(look.word("save"), Event("save"), primary=True),),
    )


def _move(state: AppState[TodoData], look: Look) -> Screen:
    data = state.data
    todo = find(data.todos, state.page.argument)
    rows = tuple(
        Row(
            _name(one, look),
            on_tap=Event("move", one.id),
            icon="list",
            selected=todo is not None and todo.list == one.id,
        )
        for one in look.ordered(data.lists, lambda one: one.name)
    )
    return Screen(look.word(MOVE), rows)


def _list_form(state: AppState[TodoData], look: Look) -> Screen:
    page = state.page
    return Screen(
        look.word(NEW_LIST) if page.name == "new_list" else look.say("Rename list"),
        (Field("name", look.word("name"), page.draft("name")),),
        (Button(look.word("save"), Event("save_list"), primary=True),),
    )


def _delete(state: AppState[TodoData], look: Look) -> Screen:
    todo = find(state.data.todos, state.page.argument)
    title = look.say("Delete {name}").format(name=todo.title if todo else "")
    text = look.say("This cannot be undone")
    return _confirmation(title, text, Event("delete", state.page.argument), look)


def _delete_list(state: AppState[TodoData], look: Look) -> Screen:
    name = _list_name(state.data, state.page.argument, look)
    title = look.say("Delete {name}").format(name=name)
    text = look.say("Its tasks are deleted too")
    return _confirmation(title, text, Event("delete_list", state.page.argument), look)


def _clear_done(state: AppState[TodoData], look: Look) -> Screen:
    page = state.page
    todos = [todo for todo in state.data.todos if page.argument in {"", todo.list}]
    count = sum(todo.done for todo in todos)
    text = look.say("Completed tasks to delete: {count}").format(count=count)
    return _confirmation(look.word(CLEAR_DONE), text, Event("clear_done", page.argument), look)


def _confirmation(title: str, text: str, event: Event, look: Look) -> Screen:
    return Screen(
        title,
        (Text(text),),
        (
            Button(look.word("keep"), Event("back")),
            Button(look.word("yes"), event, primary=True),
        ),
        dialog=True,
    )


_VIEWS: dict[str, Callable[[AppState[TodoData], Look], Screen]] = {
    "home": _home,
    "filter": _filter,
    "results": _results,
    "lists": _lists,
    "list": _list,
    "todo": _todo,
    "new": _form,
    "edit": _form,
    "move": _move,
    "new_list": _list_form,
    "rename_list": _list_form,
    "delete": _delete,
    "delete_list": _delete_list,
    "clear_done": _clear_done,
}


APP: App[TodoData] = App(
    name="todo",
    label="Tasks",
    package="org.outrider.clones.todo",
    update=update,
    view=view,
    takes_shares="take",
)

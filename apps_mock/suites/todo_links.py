"""Tasks over several apps that end with something to do."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps import contacts, todo
from apps_mock.apps.notes import sentence
from apps_mock.entities import Draw
from apps_mock.plans import Entry, Press, Stage
from apps_mock.records import changed
from apps_mock.suites.calendar_scenes import Scene, argument_of, day_ahead, way_by_search
from apps_mock.suites.notes_links import copied
from apps_mock.suites.notes_plans import some_text_note, to_note, with_text
from apps_mock.suites.todo_plans import HOME, new_todo, to_new
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Change
from apps_mock.widgets import Event

_TAGS = ("cross_app",)


def _from_note(draw: Draw) -> Instance:
    """A note of one line is shared with tasks: the line becomes the title."""
    data, note = some_text_note(draw)
    text = sentence(draw)
    return Instance(
        words={"note": note.title},
        data=todo.fixture(draw),
        others={"notes": with_text(data, note, text)},
        stages=(
            Stage(
                "notes",
                {**to_note(note), ("note", note.id): Press(Event("share", note.id))},
                page=("new", ""),
                page_app="todo",
            ),
        ),
        plan=to_new(Entry("title", text)),
        changes=(new_todo(text),),
    )


def _paste_note(draw: Draw) -> Instance:
    """A note of one line is copied, and pasted below a task's title."""
    data, note = some_text_note(draw)
    text, name = sentence(draw), todo.title(draw)
    return Instance(
        words={"note": note.title, "title": name},
        data=todo.fixture(draw),
        others={"notes": with_text(data, note, text)},
        stages=(
            Stage(
                "notes",
                {**to_note(note), ("note", note.id): Press(Event("copy", note.id))},
                changes=(copied(text),),
            ),
        ),
        plan=to_new(Entry("notes", text, paste=True), Entry("title", name)),
        changes=(new_todo(name, notes=text), copied(text)),
    )


def _tick_named(draw: Draw) -> Instance:
    """A note says which task is done."""
    tasks = todo.fixture(draw)
    task = draw.random.choice(tasks.todos)
    tasks = replace(tasks, todos=changed(tasks.todos, task.id, done=False))
    data, note = some_text_note(draw)
    return Instance(
        words={"note": note.title},
        data=tasks,
        others={"notes": with_text(data, note, task.title)},
        stages=(Stage("notes", to_note(note), page=("note", note.id)),),
        plan={HOME: Press(Event("toggle", task.id, "done"))},
        changes=(Change("todos", task.id, (("done", True),)),),
    )


def _with_phone(draw: Draw) -> Instance:
    """A task to call somebody bears the number that contacts have."""
    book, name = contacts.fixture(draw), todo.title(draw)
    person = draw.random.choice(book.contacts)
    return Instance(
        words={"name": person.name, "title": name},
        data=todo.fixture(draw),
        others={"contacts": book},
        stages=(
            Stage(
                "contacts",
                {HOME: Press(Event("go", "contact", person.id))},
                page=("contact", person.id),
            ),
        ),
        plan=to_new(Entry("title", name), Entry("notes", person.phone)),
        changes=(new_todo(name, notes=person.phone),),
    )


def _due_at_event(draw: Draw) -> Instance:
    """A task is due on the day of an event."""
    today, day = day_ahead(draw)
    scene = Scene(draw, today)
    event, name = scene.put(scene.new(day)), todo.title(draw)
    return Instance(
        words={"event": event.title, "title": name},
        data=todo.fixture_of(draw, draw.random.randrange(5, 9), today),
        others={"calendar": scene.data},
        stages=(Stage("calendar", way_by_search(event), page=("event", argument_of(event))),),
        plan=to_new(Entry("due", day, picker="date"), Entry("title", name)),
        changes=(new_todo(name, due=day),),
        now=scene.now,
    )


TEMPLATES: tuple[Template, ...] = (
    Template(
        name="todo_from_note",
        app="todo",
        oracle_steps=7,
        phrasings=(
            "Share the note {note} with tasks and save it as a new task",
            "Make a task of the note {note} by sharing it",
        ),
        held_out=("What the note {note} says shall become a task",),
        set_up=_from_note,
        tags=(*_TAGS, "scrolls"),
    ),
    Template(
        name="todo_paste_note",
        app="todo",
        oracle_steps=16,
        phrasings=(
            "Copy the text of the note {note} and paste it as the remark of a new task {title}",
            "Add the task {title} with the text of the note {note} pasted below it",
        ),
        held_out=("A new task {title} shall have what {note} says as its further notes",),
        set_up=_paste_note,
        tags=(*_TAGS, "scrolls"),
    ),
    Template(
        name="todo_tick_named",
        app="todo",
        oracle_steps=8,
        phrasings=(
            "Complete the task that the note {note} names",
            "Read in the note {note} which task is done and tick it off",
        ),
        held_out=("One task is done and {note} in notes says which so tick it",),
        set_up=_tick_named,
        tags=(*_TAGS, "scrolls"),
    ),
    Template(
        name="todo_with_phone",
        app="todo",
        oracle_steps=14,
        phrasings=(
            "Add the task {title} with the phone number of {name} as its remark",
            "Make a task {title} and write the number of {name} from contacts below it",
        ),
        held_out=("For the task {title} I need the number of {name} so note both in tasks",),
        set_up=_with_phone,
        tags=(*_TAGS, "scrolls"),
    ),
    Template(
        name="todo_due_at_event",
        app="todo",
        oracle_steps=17,
        phrasings=(
            "Add the task {title} that is due on the day of {event} in my calendar",
            "Make a task {title} whose due date is when the event {event} takes place",
        ),
        held_out=("The calendar has {event} and on that day the new task {title} is due",),
        set_up=_due_at_event,
        tags=(*_TAGS, "scrolls"),
    ),
)

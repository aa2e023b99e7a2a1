"""Tasks over several apps that end in notes, or lead from a note into a message."""

from __future__ import annotations

from apps_mock.apps import messages, notes, todo
from apps_mock.apps.messages import Message, MessagesData
from apps_mock.apps.notes import sentence
from apps_mock.apps.system import CLIP
from apps_mock.entities import Draw
from apps_mock.plans import Entry, Fill, Plan, Press, Stage
from apps_mock.suites.calendar_scenes import Scene, argument_of, day_ahead, way_by_search
from apps_mock.suites.notes_plans import (
    moment,
    new_note,
    new_words,
    some_text_note,
    to_new_note,
    with_text,
)
from apps_mock.suites.todo_plans import to_todo
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Change
from apps_mock.widgets import Event

_TAGS = ("cross_app",)


def copied(text: str) -> Change:
    """A text that shall be on the clipboard."""
    return Change("clipboard", CLIP, (("text", text),), app="system")


def _to_sent(number: str, text: str) -> Plan:
    """From anywhere in messages to a new message that was sent."""
    entries = (Entry("to", number), Entry("text", text))
    return {
        ("home", ""): Press(Event("go", "compose")),
        ("compose", ""): Fill(entries, Event("send")),
    }


def _sent(number: str, text: str, now: str) -> Change:
    return Change(
        "messages",
        None,
        (("number", number), ("text", text), ("sent", True), ("at", now), ("read", True)),
    )


def _shared_with_messages(note_id: str) -> Stage:
    """A note is shared with messages, whose page for a new message then shows."""
    return Stage(
        "notes",
        {
            ("home", ""): Press(Event("go", "note", note_id)),
            ("note", note_id): Press(Event("share", note_id)),
        },
        page=("compose", ""),
        page_app="messages",
    )


def _create_and_send(draw: Draw) -> Instance:
    data, now = notes.fixture(draw), moment(draw)
    (name, text), number = new_words(draw), draw.phone()
    written = Change("notes", None, new_note(name, text, now).values, app="notes")
    return Instance(
        words={"title": name, "text": text, "phone": number},
        data=messages.fixture(draw),
        others={"notes": data},
        stages=(
            Stage("notes", to_new_note(name, Entry("text", text)), changes=(written,)),
            _shared_with_messages(f"n{len(data.notes)}"),
        ),
        plan=_to_sent(number, text),
        changes=(written, _sent(number, text, now)),
        now=now,
    )


def _send(draw: Draw) -> Instance:
    """The note's text is not in the goal: it reaches the message by sharing."""
    data, note = some_text_note(draw)
    text, number, now = sentence(draw), draw.phone(), moment(draw)
    return Instance(
        words={"title": note.title, "phone": number},
        data=messages.fixture(draw),
        others={"notes": with_text(data, note, text)},
        stages=(_shared_with_messages(note.id),),
        plan=_to_sent(number, text),
        changes=(_sent(number, text, now),),
        now=now,
    )


def _from_task(draw: Draw) -> Instance:
    """A task is shared with notes, and the new note gets a title."""
    tasks, now = todo.fixture(draw), moment(draw)
    task = draw.random.choice([each for each in tasks.todos if not each.notes])
    name = notes.title(draw)
    return Instance(
        words={"task": task.title, "title": name},
        data=notes.fixture(draw),
        others={"todo": tasks},
        stages=(
            Stage(
                "todo",
                {**to_todo(task), ("todo", task.id): Press(Event("share", task.id))},
                page=("new", ""),
                page_app="notes",
            ),
        ),
        plan=to_new_note(name, Entry("text", task.title)),
        changes=(new_note(name, task.title, now),),
        now=now,
    )


def _from_event(draw: Draw) -> Instance:
    """An event is shared with notes: its title, day, time and place."""
    today, day = day_ahead(draw)
    scene = Scene(draw, today)
    event = scene.put(scene.new(day, location=scene.location()))
    text = f"{event.title} {event.day} {event.start} {event.location}"
    name, found = notes.title(draw), argument_of(event)
    return Instance(
        words={"event": event.title, "title": name},
        data=notes.fixture(draw),
        others={"calendar": scene.data},
        stages=(
            Stage(
                "calendar",
                {**way_by_search(event), ("event", found): Press(Event("share", found))},
                page=("new", ""),
                page_app="notes",
            ),
        ),
        plan=to_new_note(name, Entry("text", text)),
        changes=(new_note(name, text, scene.now),),
        now=scene.now,
    )


def _paste_message(draw: Draw) -> Instance:
    """The one message from a number is copied into a new note."""
    now, number = moment(draw), draw.phone()
    name, text = new_words(draw)
    talks = messages.fixture(draw).messages
    message = Message(f"m{len(talks)}", number, text, sent=False, at="2025-01-01T00:00")
    return Instance(
        words={"phone": number, "title": name},
        data=notes.fixture(draw),
        others={"messages": MessagesData((*talks, message))},
        stages=(
            Stage(
                "messages",
                {
                    ("home", ""): Press(Event("go", "thread", number)),
                    ("thread", number): Press(Event("go", "message", message.id)),
                    ("message", message.id): Press(Event("copy", message.id)),
                },
                changes=(copied(text),),
            ),
        ),
        plan=to_new_note(name, Entry("text", text, paste=True)),
        changes=(new_note(name, text, now), copied(text)),
        now=now,
    )


TEMPLATES: tuple[Template, ...] = (
    Template(
        name="MarkorCreateNoteAndSms",
        app="messages",
        oracle_steps=15,
        phrasings=(
            "Write the note {title} that says {text} and share it as a message to {phone}",
            "In notes make {title} with {text} then send its text to {phone} by messages",
        ),
        held_out=("Note {text} under {title} and let {phone} have the same text as a message",),
        set_up=_create_and_send,
        suite="androidworld",
        tags=(*_TAGS, "scrolls"),
    ),
    Template(
        name="notes_send",
        app="messages",
        oracle_steps=9,
        phrasings=(
            "Share the text of the note {title} as a message to {phone}",
            "Send {phone} a message with what the note {title} says",
        ),
        held_out=("The number {phone} shall get the text of my note {title}",),
        set_up=_send,
        tags=(*_TAGS, "scrolls"),
    ),
    Template(
        name="notes_from_task",
        app="notes",
        oracle_steps=11,
        phrasings=(
            "Share the task {task} with notes and save it under the title {title}",
            "Make the note {title} of my task {task} by sharing it",
        ),
        held_out=("I want the task {task} as the text of a new note {title}",),
        set_up=_from_task,
        tags=(*_TAGS, "scrolls"),
    ),
    Template(
        name="notes_from_event",
        app="notes",
        oracle_steps=14,
        phrasings=(
            "Share the event {event} of my calendar with notes under the title {title}",
            "Make the note {title} by sharing {event} from the calendar",
        ),
        held_out=("Let the calendar hand {event} on to a new note {title}",),
        set_up=_from_event,
        tags=(*_TAGS, "scrolls"),
    ),
    Template(
        name="notes_paste_message",
        app="notes",
        oracle_steps=16,
        phrasings=(
            "Copy the message from {phone} and paste it into a new note {title}",
            "Make a note titled {title} and paste the text of the message from {phone}",
        ),
        held_out=("What {phone} wrote me shall be kept as the note {title}",),
        set_up=_paste_message,
        tags=(*_TAGS, "scrolls"),
    ),
)

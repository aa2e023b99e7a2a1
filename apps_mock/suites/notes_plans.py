"""Scenes in the notes app, and the ways through it, for the suites about notes."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

from apps_mock.apps.notes import Note, NotesData, fixture, sentence, title
from apps_mock.entities import TIMES, Draw
from apps_mock.plans import Entry, Fill, Plan, Press
from apps_mock.records import changed
from apps_mock.wanted import Change
from apps_mock.widgets import Event

HOME = ("home", "")


def moment(draw: Draw) -> str:
    """A day and a time for the phone's clock: what is written now bears them."""
    day = date(2025, 1, 1) + timedelta(draw.random.randrange(365))
    return f"{day.isoformat()}T{draw.random.choice(TIMES)}"


def some_text_note(draw: Draw) -> tuple[NotesData, Note]:
    """A furnished app, and one of its texts."""
    data = fixture(draw)
    return data, draw.random.choice([note for note in data.notes if not note.checklist])


def some_checklist(draw: Draw) -> tuple[NotesData, Note]:
    """A furnished app, and one of its check lists."""
    data = fixture(draw)
    return data, draw.random.choice([note for note in data.notes if note.checklist])


def with_text(data: NotesData, note: Note, text: str) -> NotesData:
    """The app with another text in a note."""
    return replace(data, notes=changed(data.notes, note.id, text=text))


def to_note(note: Note) -> Plan:
    """The way to a note."""
    return {HOME: Press(Event("go", "note", note.id))}


def to_form(note: Note, form: str) -> Plan:
    """The way to one of a note's pages: `insert`, `move` or `delete`."""
    return {**to_note(note), ("note", note.id): Press(Event("go", form, note.id))}


def to_new_note(name: str, *entries: Entry) -> Plan:
    """The way to a new note with a title and what `entries` fill in."""
    return {
        HOME: Press(Event("go", "new")),
        ("new", ""): Fill((*entries, Entry("title", name)), Event("save_new")),
    }


def new_note(name: str, text: str, now: str, folder: str = "") -> Change:
    """A text that shall have been written now."""
    return Change(
        "notes",
        None,
        (
            ("title", name),
            ("text", text),
            ("folder", folder),
            ("modified", now),
            ("checklist", False),
        ),
    )


def rewritten(note: Note, text: str, now: str) -> Change:
    """A note that shall have another text, written now."""
    return Change("notes", note.id, (("text", text), ("modified", now)))


def gone(data: NotesData, *notes: Note) -> tuple[Change, ...]:
    """Notes that shall be gone, with their check boxes."""
    ids = {note.id for note in notes}
    return (
        *(Change("notes", note.id, removed=True) for note in notes),
        *(Change("items", item.id, removed=True) for item in data.items if item.note in ids),
    )


def new_words(draw: Draw) -> tuple[str, str]:
    """A title and a line for a note that does not exist yet."""
    return title(draw), sentence(draw)

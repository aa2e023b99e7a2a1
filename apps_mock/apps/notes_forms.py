"""The forms of the notes app: new notes and folders, texts, titles, joining and moving."""

from __future__ import annotations

from apps_mock.app import AppState, Page
from apps_mock.apps.notes import APART, BOTTOM, CLOSE, TOP, Folder, NotesData
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
)

NEW_NOTE = wording("New note", "Create note", "Add note", held_out=("Write a note",))
NEW_FOLDER = wording("New folder", "Create folder", "Add folder", held_out=("Make a folder",))
TITLE = wording("Title", "Note title", held_out=("Heading",))
CONTENT = wording("Text", "Note text", "Content", held_out=("Write here",))
FOLDER = wording("Folder", "In folder", held_out=("Notebook",))
RENAME = wording("Rename", "Change title", held_out=("Give a new title",))
MOVE = wording("Move", "Move to folder", held_out=("Put into folder",))
MERGE = wording("Merge", "Join notes", held_out=("Combine",))
ADD_LINE = wording("Add a line", "Insert a line", held_out=("Put in a line",))
AT_TOP = wording("At the top", "Before the text", held_out=("On top",))
AT_BOTTOM = wording("At the bottom", "After the text", held_out=("Below",))
NO_GAP = wording("Line break", "Next line", held_out=("No blank line",))
GAP = wording("Blank line", "Blank line between", held_out=("Empty line",))

TEXT_LINES = 6
"""Lines that the field for a note's text has room for."""


def new_view(state: AppState[NotesData], look: Look) -> Screen:
    """The form of a new note."""
    page = state.page
    kinds = {"text": look.say("Text note"), "checklist": look.say("Checklist")}
    nowhere = Option("", look.say("No folder"))
    options = tuple(Option(folder.id, folder.name) for folder in state.data.folders)
    return Screen(
        look.word(NEW_NOTE),
        (
            Field("title", look.word(TITLE), page.draft("title")),
            Field("text", look.word(CONTENT), page.draft("text"), lines=TEXT_LINES),
            choice("kind", page.draft("kind", "text"), kinds),
            Picker(
                "folder",
                look.word(FOLDER),
                page.draft("folder", page.argument),
                options=(nowhere, *options),
            ),
        ),
        (Button(look.word("save"), Event("save_new"), primary=True),),
    )


def edit_view(state: AppState[NotesData], look: Look) -> Screen:
    """The form of a note's text."""
    page = state.page
    note = find(state.data.notes, page.argument)
    return Screen(
        note.title if note else look.word("edit"),
        (Field("text", look.word(CONTENT), page.draft("text"), lines=TEXT_LINES),),
        (Button(look.word("save"), Event("save_text"), primary=True),),
    )


def insert_view(state: AppState[NotesData], look: Look) -> Screen:
    """The form of a line that is put before or after a text."""
    page = state.page
    places = {TOP: look.word(AT_TOP), BOTTOM: look.word(AT_BOTTOM)}
    return Screen(
        look.word(ADD_LINE),
        (
            Field("line", look.say("Line"), page.draft("line")),
            choice("place", page.draft("place", TOP), places),
            _gaps(page, look),
        ),
        (Button(look.word("add"), Event("insert"), primary=True),),
    )


def merge_view(state: AppState[NotesData], look: Look) -> Screen:
    """The form of a note that is made of others."""
    page = state.page
    merged = [find(state.data.notes, note_id) for note_id in page.argument.split()]
    return Screen(
        look.word(MERGE),
        (
            *(Text(note.title) for note in merged if note is not None),
            Field("title", look.word(TITLE), page.draft("title")),
            _gaps(page, look),
        ),
        (Button(look.word("save"), Event("merge"), primary=True),),
    )


def name_form_view(state: AppState[NotesData], look: Look) -> Screen:
    """The form of a title or name."""
    page = state.page
    title, event = {
        "rename": (look.word(RENAME), "save_title"),
        "rename_folder": (look.say("Rename folder"), "save_title"),
        "new_folder": (look.word(NEW_FOLDER), "save_folder"),
    }[page.name]
    label = look.word(TITLE if page.name == "rename" else "name")
    return Screen(
        title,
        (Field("title", label, page.draft("title")),),
        (Button(look.word("save"), Event(event), primary=True),),
    )


def move_view(state: AppState[NotesData], look: Look) -> Screen:
    """The folders that a note can go to."""
    data = state.data
    notes = [find(data.notes, note_id) for note_id in state.page.argument.split()]
    now = {note.folder for note in notes if note is not None}
    nowhere = Folder("", look.say("No folder"))
    folders = look.ordered(data.folders, lambda folder: folder.name)
    rows = tuple(
        Row(
            folder.name,
            on_tap=Event("move", folder.id),
            icon="folder",
            selected=now == {folder.id},
        )
        for folder in (nowhere, *folders)
    )
    return Screen(look.word(MOVE), rows)


def choice(field: str, chosen: str, labels: dict[str, str]) -> Chips:
    """Chips of which one is chosen; the labels are what stands on the screen."""
    return Chips(
        tuple(
            Chip(label, value == chosen, Event("set", field, value))
            for value, label in labels.items()
        )
    )


def _gaps(page: Page, look: Look) -> Chips:
    gaps = {CLOSE: look.word(NO_GAP), APART: look.word(GAP)}
    return choice("gap", page.draft("gap", CLOSE), gaps)

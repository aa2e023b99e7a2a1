"""What the notes app shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from apps_mock.app import App, AppState, Page, Provided
from apps_mock.apps.notes import (
    APART,
    BOTTOM,
    CHOSEN,
    CLOSE,
    TOP,
    Folder,
    Note,
    NotesData,
    chosen_notes,
    content,
    in_folder,
    items_of,
    update,
)
from apps_mock.look import Look, wording
from apps_mock.mixing import mixed
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

SEARCH = wording("Search notes", "Find a note", held_out=("Look for a note",))
NEW_NOTE = wording("New note", "Create note", "Add note", held_out=("Write a note",))
NEW_FOLDER = wording("New folder", "Create folder", "Add folder", held_out=("Make a folder",))
FOLDERS = wording("Folders", "My folders", held_out=("Notebooks",))
FOLDER = wording("Folder", "In folder", held_out=("Notebook",))
TITLE = wording("Title", "Note title", held_out=("Heading",))
CONTENT = wording("Text", "Note text", "Content", held_out=("Write here",))
RENAME = wording("Rename", "Change title", held_out=("Give a new title",))
MOVE = wording("Move", "Move to folder", held_out=("Put into folder",))
COPY = wording("Copy text", "Copy", held_out=("Copy all",))
SHARE = wording("Share", "Send", held_out=("Pass on",))
MERGE = wording("Merge", "Join notes", held_out=("Combine",))
ADD_LINE = wording("Add a line", "Insert a line", held_out=("Put in a line",))
AT_TOP = wording("At the top", "Before the text", held_out=("On top",))
AT_BOTTOM = wording("At the bottom", "After the text", held_out=("Below",))
NO_GAP = wording("Line break", "Next line", held_out=("No blank line",))
GAP = wording("Blank line", "Blank line between", held_out=("Empty line",))
SELECT_ALL = wording("Select all", "Choose all", held_out=("Mark all",))
BY_NAME = wording("Sort by name", "By name", held_out=("Order by name",))
BY_DATE = wording("Sort by date", "By date", held_out=("Order by date",))
NEW_ITEM = wording("New item", "Add an item", held_out=("Another item",))

TEXT_LINES = 6
"""Lines that the field for a note's text has room for."""


def view(state: AppState[NotesData], look: Look) -> Screen:
    """What the page on top shows."""
    return _VIEWS[state.page.name](state, look)


def _home(state: AppState[NotesData], look: Look) -> Screen:
    page = state.page
    wanted = page.draft("search")
    needle = wanted.strip().casefold()
    found = [note for note in state.data.notes if _matches(state.data, note, needle)]
    rows: list[Widget] = [Field("search", look.word(SEARCH), wanted, search=True)]
    rows.extend(_note_rows(state, look, found))
    if not found:
        rows.append(Text(look.say("No notes found")))
    rows.extend(Text(line) for line in look.noise("notes"))
    return Screen(
        look.say("Notes"),
        tuple(rows),
        (Button(look.word(NEW_NOTE), Event("go", "new"), primary=True),),
        (Button(look.word(FOLDERS), Event("go", "folders")),),
        back=False,
        overflow=_sorting(look),
    )


def _sorting(look: Look) -> tuple[Button, ...]:
    return (
        Button(look.word(BY_NAME), Event("set", "sort", "name")),
        Button(look.word(BY_DATE), Event("set", "sort", "date")),
    )


def _matches(data: NotesData, note: Note, needle: str) -> bool:
    if not needle or needle in note.title.casefold():
        return True
    return needle in content(data, note).casefold()


def _note_rows(
    state: AppState[NotesData], look: Look, notes: Iterable[Note], folder: str = ""
) -> list[Row]:
    """Rows that open a note, or start a selection when they are held."""
    return [
        Row(
            note.title,
            _about(state.data, state.provided, note, look),
            on_tap=Event("go", "note", note.id),
            icon="checklist" if note.checklist else "note",
            on_hold=Event("select", note.id, folder),
        )
        for note in _sorted(notes, state.page.draft("sort"), look)
    ]


def _sorted(notes: Iterable[Note], by: str, look: Look) -> list[Note]:
    """By what was chosen; where nothing was, the look decides."""
    order = by or ("name", "date")[mixed(f"{look.seed}|notes") % 2]
    if order == "name":
        return sorted(notes, key=lambda note: note.title.casefold())
    return sorted(notes, key=lambda note: note.modified, reverse=True)


def _about(data: NotesData, provided: Provided, note: Note, look: Look) -> str:
    """When it was written, and its folder: a day's words say in which direction the line runs."""
    folder = find(data.folders, note.folder)
    return " · ".join([_when(provided, note, look), *([folder.name] if folder else ())])


def _when(provided: Provided, note: Note, look: Look) -> str:
    day, _, time = note.modified.partition("T")
    year = "" if day[:4] == provided.today[:4] else f" {day[:4]}"
    return f"{look.day(day)}{year} {time}"


def _folders(state: AppState[NotesData], look: Look) -> Screen:
    data = state.data
    rows: list[Widget] = [
        Row(
            folder.name,
            look.say("Notes: {count}").format(count=len(in_folder(data, folder.id))),
            on_tap=Event("go", "folder", folder.id),
            icon="folder",
        )
        for folder in look.ordered(data.folders, lambda folder: folder.name)
    ]
    if not rows:
        rows.append(Text(look.say("No folders yet")))
    rows.extend(Text(line) for line in look.noise("folders"))
    return Screen(
        look.word(FOLDERS),
        tuple(rows),
        (Button(look.word(NEW_FOLDER), Event("go", "new_folder"), primary=True),),
    )


def _folder(state: AppState[NotesData], look: Look) -> Screen:
    data, page = state.data, state.page
    folder = find(data.folders, page.argument)
    if folder is None:
        return Screen(look.word(FOLDERS), (Text(look.say("This folder is gone")),))
    kind = page.draft("kind", "all")
    notes = [note for note in in_folder(data, folder.id) if _is_of_kind(note, kind)]
    kinds = {
        "all": look.say("All"),
        "text": look.say("Texts"),
        "checklist": look.say("Checklists"),
    }
    body: list[Widget] = [
        _choice("kind", kind, kinds),
        Text(look.say("Notes: {count}").format(count=len(notes))),
        Text(look.say("Checklists: {count}").format(count=sum(note.checklist for note in notes))),
    ]
    body.extend(_note_rows(state, look, notes, folder.id))
    if not notes:
        body.append(Text(look.say("Nothing in this folder")))
    return Screen(
        folder.name,
        tuple(body),
        (Button(look.word(NEW_NOTE), Event("go", "new", folder.id), primary=True),),
        overflow=(
            *_sorting(look),
            Button(look.say("Rename folder"), Event("form", "rename_folder", folder.id)),
            Button(look.say("Delete folder"), Event("go", "delete_folder", folder.id)),
        ),
    )


def _is_of_kind(note: Note, kind: str) -> bool:
    return kind == "all" or note.checklist == (kind == "checklist")


def _choice(field: str, chosen: str, labels: dict[str, str]) -> Chips:
    return Chips(
        tuple(
            Chip(label, value == chosen, Event("set", field, value))
            for value, label in labels.items()
        )
    )


def _select(state: AppState[NotesData], look: Look) -> Screen:
    page = state.page
    chosen = chosen_notes(page)
    rows = tuple(
        Row(
            note.title,
            _about(state.data, state.provided, note, look),
            on_tap=Event("set", note.id, "" if note.id in chosen else CHOSEN),
            icon="checklist" if note.checklist else "note",
            selected=note.id in chosen,
        )
        for note in _sorted(in_folder(state.data, page.argument), page.draft("sort"), look)
    )
    return Screen(
        look.say("Selected: {count}").format(count=len(chosen)),
        rows,
        (
            Button(look.word("delete"), Event("act_on_chosen", "delete")),
            Button(look.word(MOVE), Event("act_on_chosen", "move")),
            Button(look.word(MERGE), Event("act_on_chosen", "merge")),
        ),
        overflow=(Button(look.word(SELECT_ALL), Event("pick_all")),),
    )


def _note(state: AppState[NotesData], look: Look) -> Screen:
    data = state.data
    note = find(data.notes, state.page.argument)
    if note is None:
        return Screen(look.say("Notes"), (Text(look.say("This note is gone")),))
    body: list[Widget] = [Text(_about(data, state.provided, note, look))]
    if note.checklist:
        body.append(Text(look.say("Checklist"), heading=True))
        body.extend(_check_rows(state, note, look))
    else:
        body.extend(Text(line, copyable=True) for line in note.text.splitlines() if line.strip())
        if not note.text:
            body.append(Text(look.say("This note is empty")))
    body.extend(Text(line) for line in look.noise("note"))
    return Screen(note.title, tuple(body), _main_actions(note, look), overflow=_others(note, look))


def _check_rows(state: AppState[NotesData], note: Note, look: Look) -> list[Widget]:
    rows: list[Widget] = [
        Row(
            item.text,
            checked=item.done,
            on_toggle=Event("toggle", item.id, "done"),
            on_hold=Event("go", "delete_item", item.id),
        )
        for item in items_of(state.data, note.id)
    ]
    rows.append(Field("item", look.word(NEW_ITEM), state.page.draft("item")))
    rows.append(Button(look.say("Add to the list"), Event("add_item", note.id)))
    return rows


def _main_actions(note: Note, look: Look) -> tuple[Button, ...]:
    share = Button(look.word(SHARE), Event("share", note.id))
    if note.checklist:
        return (share,)
    return (Button(look.word("edit"), Event("form", "edit", note.id)), share)


def _others(note: Note, look: Look) -> tuple[Button, ...]:
    insert = (Button(look.word(ADD_LINE), Event("go", "insert", note.id)),)
    return (
        *(() if note.checklist else insert),
        Button(look.word(COPY), Event("copy", note.id)),
        Button(look.word(RENAME), Event("form", "rename", note.id)),
        Button(look.word(MOVE), Event("go", "move", note.id)),
        Button(look.word("delete"), Event("go", "delete", note.id)),
    )


def _new(state: AppState[NotesData], look: Look) -> Screen:
    page = state.page
    kinds = {"text": look.say("Text note"), "checklist": look.say("Checklist")}
    nowhere = Option("", look.say("No folder"))
    options = tuple(Option(folder.id, folder.name) for folder in state.data.folders)
    return Screen(
        look.word(NEW_NOTE),
        (
            Field("title", look.word(TITLE), page.draft("title")),
            Field("text", look.word(CONTENT), page.draft("text"), lines=TEXT_LINES),
            _choice("kind", page.draft("kind", "text"), kinds),
            Picker(
                "folder",
                look.word(FOLDER),
                page.draft("folder", page.argument),
                options=(nowhere, *options),
            ),
        ),
        (Button(look.word("save"), Event("save_new"), primary=True),),
    )


def _edit(state: AppState[NotesData], look: Look) -> Screen:
    page = state.page
    note = find(state.data.notes, page.argument)
    return Screen(
        note.title if note else look.word("edit"),
        (Field("text", look.word(CONTENT), page.draft("text"), lines=TEXT_LINES),),
        (Button(look.word("save"), Event("save_text"), primary=True),),
    )


def _insert(state: AppState[NotesData], look: Look) -> Screen:
    page = state.page
    places = {TOP: look.word(AT_TOP), BOTTOM: look.word(AT_BOTTOM)}
    return Screen(
        look.word(ADD_LINE),
        (
            Field("line", look.say("Line"), page.draft("line")),
            _choice("place", page.draft("place", TOP), places),
            _gaps(page, look),
        ),
        (Button(look.word("add"), Event("insert"), primary=True),),
    )


def _gaps(page: Page, look: Look) -> Chips:
    gaps = {CLOSE: look.word(NO_GAP), APART: look.word(GAP)}
    return _choice("gap", page.draft("gap", CLOSE), gaps)


def _merge(state: AppState[NotesData], look: Look) -> Screen:
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


def _name_form(state: AppState[NotesData], look: Look) -> Screen:
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


def _move(state: AppState[NotesData], look: Look) -> Screen:
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


def _delete(state: AppState[NotesData], look: Look) -> Screen:
    notes = [find(state.data.notes, note_id) for note_id in state.page.argument.split()]
    names = [note.title for note in notes if note is not None]
    return _confirmation(
        look.say("Delete {name}").format(name=names[0])
        if len(names) == 1
        else look.say("Delete notes: {count}").format(count=len(names)),
        look.say("This cannot be undone"),
        Event("delete", state.page.argument),
        look,
    )


def _delete_folder(state: AppState[NotesData], look: Look) -> Screen:
    folder = find(state.data.folders, state.page.argument)
    return _confirmation(
        look.say("Delete {name}").format(name=folder.name if folder else ""),
        look.say("Its notes are kept"),
        Event("delete_folder", state.page.argument),
        look,
    )


def _delete_item(state: AppState[NotesData], look: Look) -> Screen:
    item = find(state.data.items, state.page.argument)
    return _confirmation(
        look.say("Delete {name}").format(name=item.text if item else ""),
        look.say("This cannot be undone"),
        Event("delete_item", state.page.argument),
        look,
    )


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


_VIEWS: dict[str, Callable[[AppState[NotesData], Look], Screen]] = {
    "home": _home,
    "folders": _folders,
    "folder": _folder,
    "select": _select,
    "note": _note,
    "new": _new,
    "edit": _edit,
    "insert": _insert,
    "merge": _merge,
    "rename": _name_form,
    "rename_folder": _name_form,
    "new_folder": _name_form,
    "move": _move,
    "delete": _delete,
    "delete_folder": _delete_folder,
    "delete_item": _delete_item,
}


APP: App[NotesData] = App(
    name="notes",
    label="Notes",
    package="org.outrider.clones.notes",
    update=update,
    view=view,
    takes_shares="take",
)

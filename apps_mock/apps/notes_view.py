"""What the notes app shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from apps_mock.app import App, AppState, Provided
from apps_mock.apps.notes import (
    CHOSEN,
    Note,
    NotesData,
    chosen_notes,
    content,
    in_folder,
    items_of,
    update,
)
from apps_mock.apps.notes_forms import (
    ADD_LINE,
    MERGE,
    MOVE,
    NEW_FOLDER,
    NEW_NOTE,
    RENAME,
    choice,
    edit_view,
    insert_view,
    merge_view,
    move_view,
    name_form_view,
    new_view,
)
from apps_mock.look import Look, wording
from apps_mock.mixing import mixed
from apps_mock.records import find
from apps_mock.widgets import (
    Button,
    Event,
    Field,
    Row,
    Screen,
    Text,
    Widget,
)

SEARCH = wording("Search notes", "Find a note", held_out=("Look for a note",))
FOLDERS = wording("Folders", "My folders", held_out=("Notebooks",))
COPY = wording("Copy text", "Copy", held_out=("Copy all",))
SHARE = wording("Share", "Send", held_out=("Pass on",))
SELECT_ALL = wording("Select all", "Choose all", held_out=("Mark all",))
BY_NAME = wording("Sort by name", "By name", held_out=("Order by name",))
BY_DATE = wording("Sort by date", "By date", held_out=("Order by date",))
NEW_ITEM = wording("New item", "Add an item", held_out=("Another item",))


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
        choice("kind", kind, kinds),
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
    "new": new_view,
    "edit": edit_view,
    "insert": insert_view,
    "merge": merge_view,
    "rename": name_form_view,
    "rename_folder": name_form_view,
    "new_folder": name_form_view,
    "move": move_view,
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

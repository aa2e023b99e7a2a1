"""What the files app shows."""

from __future__ import annotations

from collections.abc import Callable

from apps_mock.app import App, AppState, Page
from apps_mock.apps.files import FOLDERS, File, FilesData, Folder, files_in, update
from apps_mock.look import Look, wording
from apps_mock.records import find
from apps_mock.widgets import Button, Chip, Chips, Event, Field, Row, Screen, Text, Widget

SEARCH = wording("Search files", "Find a file", held_out=("Look for a file",))
NEW_FOLDER = wording("New folder", "Create folder", held_out=("Make a folder",))
RENAME = wording("Rename", "Change name", held_out=("Give a new name",))
MOVE = wording("Move", "Move to", held_out=("Put elsewhere",))
COPY = wording("Copy", "Copy to", held_out=("Duplicate to",))
MOVE_HERE = wording("Move here", "Move into folder", held_out=("Put here",))
COPY_HERE = wording("Copy here", "Copy into folder", held_out=("Duplicate here",))
SHARE = wording("Share", "Send", held_out=("Pass on",))

SORTS = {"name": "By name", "date": "By date", "size": "By size"}
_KEYS: dict[str, Callable[[File], tuple[str, int]]] = {
    "name": lambda file: (file.name.casefold(), 0),
    "date": lambda file: (file.day, 0),
    "size": lambda file: ("", file.size_kb),
}
_ICONS = {"PDF": "file", "JPG": "image", "MP3": "music", "MP4": "video"}

State = AppState[FilesData]


def view(state: State, look: Look) -> Screen:
    """What the page on top shows."""
    return _VIEWS[state.page.name](state.data, state.page, look)


def _home(data: FilesData, page: Page, look: Look) -> Screen:
    wanted = page.draft("search").strip().casefold()
    rows: list[Widget] = [Field("search", look.word(SEARCH), page.draft("search"), search=True)]
    if wanted:
        found = [file for file in data.files if wanted in file.name.casefold()]
        rows.extend(_file_row(file, look) for file in look.ordered(found, lambda file: file.id))
        if not found:
            rows.append(Text(look.say("No files found")))
    else:
        rows.extend(
            Row(_folder_name(folder, look), on_tap=Event("go", "folder", folder.id), icon="folder")
            for folder in look.ordered(data.folders, lambda folder: folder.id)
        )
        rows.extend(Text(line) for line in look.noise("files"))
    return Screen(
        look.say("Files"),
        tuple(rows),
        (Button(look.word(NEW_FOLDER), Event("go", "new_folder"), primary=True),),
        back=False,
    )


def _file_row(file: File, look: Look) -> Row:
    about = f"{file.kind}, {look.day(file.day)}"
    return Row(file.name, about, on_tap=Event("go", "file", file.id), icon=_ICONS[file.kind])


def _folder_name(folder: Folder | None, look: Look) -> str:
    """What a folder is called: people's own ones are the same in every language."""
    if folder is None:
        return ""
    return look.say(folder.name) if folder.id in FOLDERS else folder.name


def _folder(data: FilesData, page: Page, look: Look) -> Screen:
    chosen = page.draft("sort", "name")
    files = sorted(files_in(data, page.argument), key=_KEYS[chosen])
    count = look.say("Items: {count}").format(count=len(files))
    rows: list[Widget] = [Text(count), _sorts(chosen, look)]
    rows.extend(_file_row(file, look) for file in files)
    if not files:
        rows.append(Text(look.say("This folder is empty")))
    return Screen(_folder_name(find(data.folders, page.argument), look), tuple(rows))


def _sorts(chosen: str, look: Look) -> Chips:
    return Chips(
        tuple(
            Chip(look.say(name), key == chosen, Event("set", "sort", key))
            for key, name in SORTS.items()
        )
    )


def _file(data: FilesData, page: Page, look: Look) -> Screen:
    file = find(data.files, page.argument)
    if file is None:
        return Screen(look.say("Files"), (Text(look.say("This file is gone")),))
    folder = _folder_name(find(data.folders, file.folder), look)
    return Screen(
        file.name,
        (
            Text(look.say("Folder {name}").format(name=folder)),
            Text(f"{file.kind}, {file.size_kb} KB"),
            Text(look.say("Saved on {day}").format(day=look.day(file.day))),
        ),
        (
            Button(look.word(RENAME), Event("rename_file", file.id)),
            Button(look.word("delete"), Event("go", "delete", file.id)),
        ),
        overflow=(
            Button(look.word(MOVE), Event("go", "move", file.id)),
            Button(look.word(COPY), Event("go", "copy", file.id)),
            Button(look.word(SHARE), Event("share", file.id)),
        ),
    )


def _rename(_data: FilesData, page: Page, look: Look) -> Screen:
    return _name_form(look.word(RENAME), page, Event("save_name", page.argument), look)


def _new_folder(_data: FilesData, page: Page, look: Look) -> Screen:
    return _name_form(look.word(NEW_FOLDER), page, Event("save_folder"), look)


def _name_form(title: str, page: Page, event: Event, look: Look) -> Screen:
    return Screen(
        title,
        (Field("name", look.word("name"), page.draft("name")),),
        (Button(look.word("save"), event, primary=True),),
    )


def _move(data: FilesData, page: Page, look: Look) -> Screen:
    return _folder_picker(data, page, look, (look.word(MOVE), look.word(MOVE_HERE), "move"))


def _copy(data: FilesData, page: Page, look: Look) -> Screen:
    return _folder_picker(data, page, look, (look.word(COPY), look.word(COPY_HERE), "copy"))


def _folder_picker(data: FilesData, page: Page, look: Look, words: tuple[str, str, str]) -> Screen:
    title, label, event = words
    chosen = page.draft("folder")
    rows = tuple(
        Row(
            _folder_name(folder, look),
            checked=folder.id == chosen,
            on_toggle=Event("set", "folder", folder.id),
            radio=True,
        )
        for folder in _others(data, page.argument, look)
    )
    return Screen(title, rows, (Button(label, Event(event, page.argument), primary=True),))


def _others(data: FilesData, file_id: str, look: Look) -> list[Folder]:
    """The folders that a file is not in."""
    file = find(data.files, file_id)
    others = [folder for folder in data.folders if file is None or folder.id != file.folder]
    return look.ordered(others, lambda folder: folder.id)


def _delete(data: FilesData, page: Page, look: Look) -> Screen:
    file = find(data.files, page.argument)
    return Screen(
        look.word("delete"),
        (Text(file.name if file else ""), Text(look.say("This cannot be undone"))),
        (
            Button(look.word("keep"), Event("back")),
            Button(look.word("yes"), Event("delete", page.argument), primary=True),
        ),
        dialog=True,
    )


_VIEWS: dict[str, Callable[[FilesData, Page, Look], Screen]] = {
    "home": _home,
    "folder": _folder,
    "file": _file,
    "rename": _rename,
    "new_folder": _new_folder,
    "move": _move,
    "copy": _copy,
    "delete": _delete,
}

APP: App[FilesData] = App(
    name="files",
    label="Files",
    package="org.outrider.clones.files",
    update=update,
    view=view,
)

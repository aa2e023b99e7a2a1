"""The files app: folders with files that are opened, renamed, moved, copied and deleted.

This module holds its data and what happens; `files_view` shows it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta

from apps_mock.app import AppState, Page, Say, Share
from apps_mock.entities import CITIES, FIRST_NAMES, LAST_NAMES, Draw
from apps_mock.records import changed, find, fresh_id, without
from apps_mock.widgets import Event

DOWNLOAD, CAMERA = "Download", "DCIM"
FOLDERS = ("Documents", DOWNLOAD, "Pictures", CAMERA, "Music", "Videos")
"""The folders that every phone has; what is written here stands on the screen in every look."""

KINDS: dict[str, tuple[str, ...]] = {
    "PDF": ("report", "invoice", "ticket", "contract", "letter", "map"),
    "JPG": ("photo", "receipt", "poster", "scan"),
    "MP3": ("song", "lecture", "story"),
    "MP4": ("film", "clip", "speech"),
}
"""What files are about, by their kind."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder; the ones that every phone has are called by their ids."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class File:
    """A file in a folder.

    Attributes:
        folder: the folder's id.
        day: when it was saved, as `2025-03-14`.
    """

    id: str
    folder: str
    name: str
    kind: str
    size_kb: int
    day: str


@dataclass(frozen=True, slots=True)
class FilesData:
    """Everything that is stored."""

    files: tuple[File, ...] = ()
    folders: tuple[Folder, ...] = ()


def fixture(draw: Draw) -> FilesData:
    """Some files in every folder."""
    return fixture_of(draw, draw.random.randrange(8, 12))


def fixture_of(draw: Draw, count: int) -> FilesData:
    """As many files as that, no two with the same name or size."""
    random = draw.random
    sizes = random.sample(range(20, 990), count)
    start = date(2025, 1, 1) + timedelta(days=random.randrange(300))
    files = []
    for index, size in enumerate(sizes):
        kind = random.choice(tuple(KINDS))
        day = start + timedelta(days=index)
        name = file_name(draw, kind)
        folder = random.choice(FOLDERS)
        files.append(File(f"f{index}", folder, name, kind, size, day.isoformat()))
    return FilesData(tuple(files), tuple(Folder(name, name) for name in FOLDERS))


def file_name(draw: Draw, kind: str) -> str:
    """A name such as `Kaldor invoice`."""
    about = draw.random.choice((CITIES, LAST_NAMES, FIRST_NAMES))
    return f"{draw.of(about, pseudo=True)} {draw.random.choice(KINDS[kind])}"


def files_in(data: FilesData, folder: str) -> list[File]:
    """The files of a folder."""
    return [file for file in data.files if file.folder == folder]


def update(state: AppState[FilesData], event: Event) -> AppState[FilesData]:
    """The state after an event."""
    file = find(state.data.files, event.value)
    match event.name:
        case "downloaded":
            return _downloaded(state, event)
        case "save_folder":
            return _folder_added(state)
        case "rename_file" if file is not None:
            return state.pushed(Page("rename", file.id, (("name", file.name),)))
        case "save_name" if file is not None:
            return _renamed(state, file)
        case "move" | "copy" if file is not None:
            return _placed(state, file, keep=event.name == "copy")
        case "delete" if file is not None:
            left = without(state.data.files, file.id)
            return state.with_data(replace(state.data, files=left)).popped(2)
        case "share" if file is not None:
            return state.emitting(Share(file.name))
        case _:
            return state


def _downloaded(state: AppState[FilesData], event: Event) -> AppState[FilesData]:
    """A file that the browser brought: the event has its name and its size in kB."""
    files, today = state.data.files, state.provided.today
    file = File(fresh_id(files, "f"), DOWNLOAD, event.value, "PDF", int(event.extra), today)
    return state.with_data(replace(state.data, files=(*files, file)))


def _folder_added(state: AppState[FilesData]) -> AppState[FilesData]:
    name, folders = state.page.draft("name").strip(), state.data.folders
    if not name:
        return state
    if any(folder.name.casefold() == name.casefold() for folder in folders):
        return state.emitting(Say("This name is taken"))
    added = (*folders, Folder(fresh_id(folders, "d"), name))
    return state.with_data(replace(state.data, folders=added)).popped()


def _is_taken(data: FilesData, folder: str, name: str) -> bool:
    return any(file.name.casefold() == name.casefold() for file in files_in(data, folder))


def _renamed(state: AppState[FilesData], file: File) -> AppState[FilesData]:
    name, data = state.page.draft("name").strip(), state.data
    if not name or name == file.name:
        return state
    if _is_taken(data, file.folder, name):
        return state.emitting(Say("This name is taken"))
    return state.with_data(replace(data, files=changed(data.files, file.id, name=name))).popped()


def _placed(state: AppState[FilesData], file: File, *, keep: bool) -> AppState[FilesData]:
    """A file in the folder that was chosen: moved there, or as a copy."""
    folder, data = state.page.draft("folder"), state.data
    if not folder or folder == file.folder:
        return state
    if _is_taken(data, folder, file.name):
        return state.emitting(Say("This name is taken"))
    if keep:
        files = (*data.files, replace(file, id=fresh_id(data.files, "f"), folder=folder))
    else:
        files = changed(data.files, file.id, folder=folder)
    return state.with_data(replace(data, files=files)).popped()

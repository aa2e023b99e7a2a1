"""Tasks in the files app, AndroidWorld's among them."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps.files import (
    CAMERA,
    DOWNLOAD,
    FOLDERS,
    KINDS,
    File,
    FilesData,
    file_name,
    files_in,
    fixture,
    fixture_of,
)
from apps_mock.catalogue import Term
from apps_mock.entities import CITIES, Draw
from apps_mock.plans import Entry, Fill, GiveAnswer, GiveUp, Plan, Press
from apps_mock.records import changed
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Answer, Change, PageGoal
from apps_mock.widgets import Event


def _some_file(draw: Draw) -> tuple[FilesData, File]:
    data = fixture(draw)
    return data, draw.random.choice(data.files)


def _words(file: File) -> dict[str, str | Term]:
    return {"file": file.name, "folder": Term(file.folder)}


def _to_folder(folder: str) -> Plan:
    return {("home", ""): Press(Event("go", "folder", folder))}


def _to_file(file: File) -> Plan:
    plan = _to_folder(file.folder)
    plan["folder", file.folder] = Press(Event("go", "file", file.id))
    return plan


def _choosing(page: str, file: File, folder: str) -> Plan:
    """The folder picker on which a file is moved or copied."""
    chosen = Entry("folder", folder, Event("set", "folder", folder))
    return {
        ("file", file.id): Press(Event("go", page, file.id)),
        (page, file.id): Fill((chosen,), Event(page, file.id)),
    }


def _delete(draw: Draw) -> Instance:
    data, file = _some_file(draw)
    return Instance(
        words=_words(file),
        data=data,
        plan={
            **_to_file(file),
            ("file", file.id): Press(Event("go", "delete", file.id)),
            ("delete", file.id): Press(Event("delete", file.id)),
        },
        changes=(Change("files", file.id, removed=True),),
    )


def _move(draw: Draw) -> Instance:
    data, file = _some_file(draw)
    target = draw.random.choice([folder for folder in FOLDERS if folder != file.folder])
    return Instance(
        words={**_words(file), "target": Term(target)},
        data=data,
        plan={**_to_file(file), **_choosing("move", file, target)},
        changes=(Change("files", file.id, (("folder", target),)),),
    )


def _copied(data: FilesData, file: File, target: str) -> Instance:
    values = {
        "folder": target,
        "name": file.name,
        "kind": file.kind,
        "size_kb": file.size_kb,
        "day": file.day,
    }
    return Instance(
        words={**_words(file), "target": Term(target)},
        data=data,
        plan={**_to_file(file), **_choosing("copy", file, target)},
        changes=(Change("files", None, tuple(values.items())),),
    )


def _copy(draw: Draw) -> Instance:
    data, file = _some_file(draw)
    target = draw.random.choice([folder for folder in FOLDERS if folder != file.folder])
    return _copied(data, file, target)


def _copy_receipt(draw: Draw) -> Instance:
    """A picture of a receipt lies among the camera's; a copy of it goes to the downloads."""
    data = fixture(draw)
    name = f"{draw.of(CITIES, pseudo=True)} receipt"
    first = data.files[0].id
    files = changed(data.files, first, name=name, kind="JPG", folder=CAMERA)
    receipt = next(file for file in files if file.id == first)
    return _copied(replace(data, files=files), receipt, DOWNLOAD)


def _rename(draw: Draw) -> Instance:
    data, file = _some_file(draw)
    name = file_name(draw, file.kind)
    return Instance(
        words={**_words(file), "name": name},
        data=data,
        plan={
            **_to_file(file),
            ("file", file.id): Press(Event("rename_file", file.id)),
            ("rename", file.id): Fill((Entry("name", name),), Event("save_name", file.id)),
        },
        changes=(Change("files", file.id, (("name", name),)),),
    )


def _new_folder(draw: Draw) -> Instance:
    data, name = fixture(draw), draw.of(CITIES, pseudo=True)
    return Instance(
        words={"name": name},
        data=data,
        plan={
            ("home", ""): Press(Event("go", "new_folder")),
            ("new_folder", ""): Fill((Entry("name", name),), Event("save_folder")),
        },
        changes=(Change("folders", None, (("name", name),)),),
    )


def _search(draw: Draw) -> Instance:
    data, file = _some_file(draw)
    return Instance(
        words=_words(file),
        data=data,
        plan={("home", ""): Fill((Entry("search", file.name),), Event("go", "file", file.id))},
        page=PageGoal("file", file.id),
    )


def _size(draw: Draw) -> Instance:
    data, file = _some_file(draw)
    return Instance(
        words=_words(file),
        data=data,
        plan={**_to_file(file), ("file", file.id): GiveAnswer()},
        answer=Answer("number", str(file.size_kb)),
    )


def _gathered(draw: Draw, count: int) -> tuple[FilesData, File]:
    """Files of which `count` are in one folder; one of those."""
    data = fixture_of(draw, count + 5)
    folder = draw.random.choice(FOLDERS)
    others = [each for each in FOLDERS if each != folder]
    files = tuple(
        replace(file, folder=folder if index < count else draw.random.choice(others))
        for index, file in enumerate(data.files)
    )
    return replace(data, files=files), files[0]


def _count(draw: Draw) -> Instance:
    """How many files lie in the folder of one that the goal names."""
    data, file = _gathered(draw, draw.random.randrange(2, 5))
    return Instance(
        words=_words(file),
        data=data,
        plan={**_to_folder(file.folder), ("folder", file.folder): GiveAnswer()},
        answer=Answer("number", str(len(files_in(data, file.folder)))),
    )


def _newest(draw: Draw) -> Instance:
    """Which file was saved after one that the goal names: the last of three."""
    data, file = _gathered(draw, 3)
    newest = max(files_in(data, file.folder), key=lambda each: each.day)
    return Instance(
        words=_words(file),
        data=data,
        plan={**_to_folder(file.folder), ("folder", file.folder): GiveAnswer()},
        answer=Answer("name", newest.name),
    )


def _delete_missing(draw: Draw) -> Instance:
    """Delete a file that is not in its folder."""
    data = fixture(draw)
    name = file_name(draw, draw.random.choice(tuple(KINDS)))
    folder = draw.random.choice(FOLDERS)
    return Instance(
        words={"file": name, "folder": Term(folder)},
        data=data,
        plan={**_to_folder(folder), ("folder", folder): GiveUp()},
        infeasible=True,
    )


TEMPLATES: tuple[Template, ...] = (
    Template(
        name="FilesDeleteFile",
        app="files",
        oracle_steps=6,
        phrasings=(
            "Delete the file {file} in the folder {folder}",
            "In files open {folder} and remove {file}",
        ),
        held_out=("I no longer need {file} in {folder} so throw it away",),
        set_up=_delete,
        suite="androidworld",
    ),
    Template(
        name="FilesMoveFile",
        app="files",
        oracle_steps=8,
        phrasings=(
            "Move the file {file} out of {folder} into the folder {target}",
            "The file {file} of the folder {folder} should be moved to {target}",
        ),
        held_out=("Put {file} into {target} because {folder} is the wrong folder",),
        set_up=_move,
        suite="androidworld",
    ),
    Template(
        name="SaveCopyOfReceiptTaskEval",
        app="files",
        oracle_steps=8,
        phrasings=(
            "Save a copy of {file} from {folder} in {target} under the same name",
            "The file {file} in {folder} should be in {target} as well so copy it",
        ),
        held_out=("Let {target} have the same {file} that {folder} has",),
        set_up=_copy_receipt,
        suite="androidworld",
    ),
    Template(
        name="files_copy",
        app="files",
        oracle_steps=8,
        phrasings=(
            "Copy the file {file} of the folder {folder} to {target}",
            "In files open {folder} and copy {file} into {target}",
        ),
        held_out=("Both {folder} and {target} should have {file}",),
        set_up=_copy,
    ),
    Template(
        name="files_rename",
        app="files",
        oracle_steps=8,
        phrasings=(
            "Rename the file {file} in {folder} to {name}",
            "In the folder {folder} give {file} the new name {name}",
        ),
        held_out=("The name of {file} in {folder} is wrong so make it {name}",),
        set_up=_rename,
    ),
    Template(
        name="files_new_folder",
        app="files",
        oracle_steps=6,
        phrasings=(
            "Make a new folder called {name} in files",
            "In files create the folder {name}",
        ),
        held_out=("My files need a place called {name}",),
        set_up=_new_folder,
    ),
    Template(
        name="files_search",
        app="files",
        oracle_steps=5,
        phrasings=(
            "Search the files for {file} and open it",
            "Find {file} with the search of files and show its details",
        ),
        held_out=("I forgot the folder of {file} so look for it and open it",),
        set_up=_search,
    ),
    Template(
        name="files_size",
        app="files",
        oracle_steps=4,
        phrasings=(
            "How many KB does the file {file} in {folder} have",
            "Open {file} in the folder {folder} and tell me its size in KB",
        ),
        held_out=("Tell me how large {file} of {folder} is in KB",),
        set_up=_size,
        tags=("answer",),
    ),
    Template(
        name="files_count",
        app="files",
        oracle_steps=3,
        phrasings=(
            "How many files are in the folder {folder} that has {file}",
            "The file {file} is in {folder} so tell me how many files this folder has",
        ),
        held_out=("Count the files beside {file} in {folder} and itself too",),
        set_up=_count,
        tags=("answer",),
    ),
    Template(
        name="files_newest",
        app="files",
        oracle_steps=3,
        phrasings=(
            "Which file in {folder} was saved last if you compare {file} and the others",
            "Tell me the name of the newest file in {folder} where {file} is too",
        ),
        held_out=("What is the latest file beside {file} in {folder}",),
        set_up=_newest,
        tags=("answer",),
    ),
    Template(
        name="files_delete_missing",
        app="files",
        oracle_steps=3,
        phrasings=(
            "Delete the file {file} in the folder {folder}",
            "In files open {folder} and remove {file}",
        ),
        held_out=("Throw away {file} that should be in {folder}",),
        set_up=_delete_missing,
        tags=("infeasible",),
    ),
)

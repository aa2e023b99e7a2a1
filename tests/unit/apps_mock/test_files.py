"""What the files app does, beyond the paths that tasks take."""

from __future__ import annotations

import pytest

from apps_mock.apps.files import FOLDERS, files_in
from apps_mock.records import find
from apps_mock.widgets import Event


def data_of(phone):
    return phone.state.app_state("files").data


def texts(phone):
    return {element.text for element in phone.observe().elements}


@pytest.fixture
def phone(phone_with, send):
    """A phone with the files app in front."""
    made = phone_with("FilesMoveFile")
    send(made, Event("launch", "files"))
    return made


@pytest.fixture
def at_file(phone, send):
    """A phone on a file's page, and the file."""
    file = data_of(phone).files[0]
    send(phone, Event("go", "folder", file.folder), Event("go", "file", file.id))
    return phone, file


def test_search_finds_files_of_all_folders_in_any_case(phone, fill):
    file = data_of(phone).files[-1]

    fill(phone, "search", file.name.upper())

    assert file.name in texts(phone)
    assert not set(FOLDERS) & texts(phone)
    phone.type_text("zzz")
    assert "No files found" in texts(phone)


@pytest.mark.parametrize("page", ["move", "copy"])
def test_a_file_goes_to_the_folder_that_was_chosen(at_file, send, page):
    phone, file = at_file
    other = next(folder for folder in FOLDERS if folder != file.folder)
    send(phone, Event("open", "menu"), Event("go", page, file.id), Event(page, file.id))
    assert data_of(phone).files[0] is file

    send(phone, Event("set", "folder", other), Event(page, file.id))

    names = [each.name for each in files_in(data_of(phone), other)]
    assert file.name in names
    assert (file in data_of(phone).files) == (page == "copy")


def test_the_folder_picker_leaves_out_where_the_file_is(at_file, send):
    phone, file = at_file
    send(phone, Event("open", "menu"), Event("go", "move", file.id))

    offered = {target.event.extra for target in phone.laid_out.targets if target.event}
    assert file.folder not in offered


def test_a_second_copy_is_refused_because_its_name_is_taken(at_file, send):
    phone, file = at_file
    other = next(folder for folder in FOLDERS if folder != file.folder)
    for _ in range(2):
        send(phone, Event("open", "menu"), Event("go", "copy", file.id))
        send(phone, Event("set", "folder", other), Event("copy", file.id))

    copies = [each for each in data_of(phone).files if each.name == file.name]
    assert len(copies) == 2
    assert phone.state.notice == "This name is taken"


def test_renaming_keeps_everything_else(at_file, send, fill):
    phone, file = at_file
    send(phone, Event("rename_file", file.id))
    fill(phone, "name", " copy")

    send(phone, Event("save_name", file.id))

    renamed = find(data_of(phone).files, file.id)
    assert renamed.name == f"{file.name} copy"
    assert (renamed.kind, renamed.size_kb, renamed.day) == (file.kind, file.size_kb, file.day)


def test_a_folder_needs_a_name_of_its_own(phone, send, fill):
    send(phone, Event("go", "new_folder"))
    fill(phone, "name", "music")
    send(phone, Event("save_folder"))
    assert len(data_of(phone).folders) == len(FOLDERS)

    phone.type_text(" of mine")
    send(phone, Event("save_folder"))

    assert data_of(phone).folders[-1].name == "music of mine"
    assert "music of mine" in texts(phone)


def test_files_are_sorted_as_chosen(phone_with, send):
    phone = phone_with("files_newest")
    folder = next(folder for folder in FOLDERS if len(files_in(data_of(phone), folder)) == 3)
    files = files_in(data_of(phone), folder)
    send(phone, Event("launch", "files"), Event("go", "folder", folder))

    def shown():
        names = {file.name for file in files}
        return [each.text for each in phone.observe().elements if each.text in names]

    assert shown() == sorted(file.name for file in files)
    send(phone, Event("set", "sort", "size"))
    assert shown() == [file.name for file in sorted(files, key=lambda each: each.size_kb)]
    send(phone, Event("set", "sort", "date"))
    assert shown() == [file.name for file in sorted(files, key=lambda each: each.day)]


def test_deleting_a_file_asks_first(at_file, send):
    phone, file = at_file
    send(phone, Event("go", "delete", file.id), Event("back"))
    assert file in data_of(phone).files

    send(phone, Event("go", "delete", file.id), Event("delete", file.id))

    assert file not in data_of(phone).files
    assert phone.state.front.page.name == "folder"

"""What the notes app does, beyond the paths that tasks take."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from apps_mock.app import AppState, Copy, Page, Provided, Say, Share
from apps_mock.apps.notes import (
    CheckItem,
    Folder,
    Note,
    NotesData,
    chosen_notes,
    fixture,
)
from apps_mock.apps.notes_view import APP
from apps_mock.entities import Draw
from apps_mock.look import draw_look, look_number
from apps_mock.widgets import Button, Event, Field, Row, Screen, Text
from sync.vocabulary import Split

LOOK = draw_look(Split.TEST, 3)
NOW = Provided(today="2025-03-14", time="09:41")
DATA = NotesData(
    notes=(
        Note("n0", "Berg plan", "one\ntwo", "f0", "2024-01-01T10:00"),
        Note("n1", "Adler list", "", "", "2024-03-01T10:00", checklist=True),
        Note("n2", "Cramer ideas", "three", "f0", "2024-02-01T10:00"),
    ),
    folders=(Folder("f0", "Weimar"), Folder("f1", "Thun")),
    items=(CheckItem("i0", "n1", "Tea"), CheckItem("i1", "n1", "Soup", done=True)),
)


def state_at(*pages: Page, data: NotesData = DATA) -> AppState[NotesData]:
    return AppState(data, (Page("home"), *pages), provided=NOW)


def after(state: AppState[NotesData], *events: Event) -> AppState[NotesData]:
    for event in events:
        state = replace(APP.step(state, event), provided=NOW)
    return state


def shown(state: AppState[NotesData], look=LOOK) -> Screen:
    return APP.view(state, look)


def rows_of(screen: Screen) -> list[Row]:
    return [widget for widget in screen.body if isinstance(widget, Row)]


def texts_of(screen: Screen) -> list[str]:
    return [widget.text for widget in screen.body if isinstance(widget, Text)]


def events_of(screen: Screen) -> set[Event]:
    buttons = [widget for widget in screen.body if isinstance(widget, Button)]
    return {button.on_tap for button in (*screen.actions, *screen.overflow, *buttons)}


def test_a_new_note_bears_the_time_and_opens():
    state = after(
        state_at(),
        Event("go", "new"),
        Event("edit", "title", " Dorn trip "),
        Event("edit", "text", "four\nfive\n"),
        Event("set", "folder", "f1"),
        Event("save_new"),
    )

    assert state.data.notes[-1] == Note("n3", "Dorn trip", "four\nfive", "f1", "2025-03-14T09:41")
    assert state.stack == (Page("home"), Page("note", "n3"))


def test_a_note_made_in_a_folder_lies_in_it():
    state = after(
        state_at(Page("folder", "f1")),
        Event("go", "new", "f1"),
        Event("edit", "title", "Dorn trip"),
        Event("save_new"),
    )

    assert state.data.notes[-1].folder == "f1"


def test_a_new_checklist_has_a_box_for_each_line():
    state = after(
        state_at(Page("new")),
        Event("edit", "title", "Dorn trip"),
        Event("edit", "text", "Tea\n\n Milk "),
        Event("set", "kind", "checklist"),
        Event("save_new"),
    )

    note = state.data.notes[-1]
    assert (note.checklist, note.text) == (True, "")
    assert [item.text for item in state.data.items if item.note == note.id] == ["Tea", "Milk"]


@pytest.mark.parametrize(
    ("page", "save"),
    [
        (Page("new"), "save_new"),
        (Page("rename", "n0"), "save_title"),
        (Page("rename_folder", "f0"), "save_title"),
        (Page("new_folder"), "save_folder"),
        (Page("merge", "n0 n2"), "merge"),
    ],
)
def test_nothing_is_saved_without_a_name(page, save):
    state = state_at(page)

    assert after(state, Event("edit", "title", "  "), Event(save)).data is DATA


def test_two_folders_cannot_have_one_name():
    state = state_at(Page("new_folder"))

    assert after(state, Event("edit", "title", "Thun"), Event("save_folder")).data is DATA


def test_editing_starts_from_the_text_and_sets_the_time():
    state = after(state_at(Page("note", "n0")), Event("form", "edit", "n0"))
    assert state.page.draft("text") == "one\ntwo"

    state = after(state, Event("edit", "text", "six"), Event("save_text"))

    assert (state.data.notes[0].text, state.data.notes[0].modified) == ("six", "2025-03-14T09:41")
    assert state.page == Page("note", "n0")


def test_saving_an_unchanged_text_keeps_its_time():
    state = after(state_at(Page("note", "n0")), Event("form", "edit", "n0"), Event("save_text"))

    assert state.data is DATA


@pytest.mark.parametrize(
    ("place", "gap", "text"),
    [
        ("top", "close", "new\none\ntwo"),
        ("top", "apart", "new\n\none\ntwo"),
        ("bottom", "close", "one\ntwo\nnew"),
        ("bottom", "apart", "one\ntwo\n\nnew"),
    ],
)
def test_a_line_goes_where_it_was_asked_for(place, gap, text):
    state = after(
        state_at(Page("note", "n0"), Page("insert", "n0")),
        Event("edit", "line", "new"),
        Event("set", "place", place),
        Event("set", "gap", gap),
        Event("insert"),
    )

    assert state.data.notes[0].text == text


def test_renaming_and_moving_keep_the_time():
    state = after(
        state_at(Page("note", "n0")),
        Event("form", "rename", "n0"),
        Event("edit", "title", "Eder plan"),
        Event("save_title"),
        Event("go", "move", "n0"),
        Event("move", "f1"),
    )

    assert state.data.notes[0] == replace(DATA.notes[0], title="Eder plan", folder="f1")
    assert state.page.name == "note"


def test_holding_a_row_starts_a_selection_that_touches_extend():
    row = rows_of(shown(state_at()))[0]
    assert row.on_hold is not None

    state = after(state_at(), row.on_hold, Event("set", "n2", "yes"))

    assert chosen_notes(state.page) == (row.on_hold.value, "n2")
    assert [row.selected for row in rows_of(shown(state))].count(True) == 2
    assert after(state, Event("back")).page.name == "home"


def test_merging_keeps_the_order_of_choosing_and_the_notes():
    state = after(
        state_at(),
        Event("select", "n2"),
        Event("set", "n0", "yes"),
        Event("set", "n1", "yes"),
        Event("act_on_chosen", "merge"),
        Event("set", "gap", "apart"),
        Event("edit", "title", "All"),
        Event("merge"),
    )

    assert state.data.notes[-1].text == "three\n\none\ntwo\n\nTea\nSoup"
    assert state.data.notes[:3] == DATA.notes
    assert state.stack == (Page("home"), Page("note", "n3"))


def test_one_note_cannot_be_merged():
    state = after(state_at(), Event("select", "n2"), Event("act_on_chosen", "merge"))

    assert state.page.name == "select"


def test_selecting_all_within_a_folder_spares_the_others():
    state = after(
        state_at(Page("folder", "f0")),
        Event("select", "n2", "f0"),
        Event("pick_all"),
        Event("act_on_chosen", "delete"),
    )
    assert state.page == Page("delete", "n0 n2")

    state = after(state, Event("delete", "n0 n2"))

    assert [note.id for note in state.data.notes] == ["n1"]
    assert state.page == Page("folder", "f0")


def test_a_deleted_checklist_takes_its_boxes_along():
    state = after(state_at(Page("note", "n1"), Page("delete", "n1")), Event("delete", "n1"))

    assert state.data.items == ()
    assert state.page.name == "home"


def test_deleting_asks_first():
    screen = shown(state_at(Page("note", "n0"), Page("delete", "n0")))

    assert screen.dialog
    assert "Berg plan" in screen.title
    assert events_of(screen) == {Event("back"), Event("delete", "n0")}


def test_notes_outlive_their_folder():
    state = after(
        state_at(Page("folders"), Page("folder", "f0"), Page("delete_folder", "f0")),
        Event("delete_folder", "f0"),
    )

    assert [folder.id for folder in state.data.folders] == ["f1"]
    assert [note.folder for note in state.data.notes] == ["", "", ""]
    assert state.page.name == "folders"


def test_boxes_are_added_and_removed():
    state = after(
        state_at(Page("note", "n1")), Event("edit", "item", "Milk"), Event("add_item", "n1")
    )
    assert state.data.items[-1] == CheckItem("i2", "n1", "Milk")
    assert state.page.draft("item") == ""

    state = after(state, Event("go", "delete_item", "i0"), Event("delete_item", "i0"))

    assert [item.text for item in state.data.items] == ["Soup", "Milk"]
    assert state.page.name == "note"


def test_an_empty_box_is_not_added():
    assert after(state_at(Page("note", "n1")), Event("add_item", "n1")).data is DATA


@pytest.mark.parametrize(("note", "text"), [("n0", "one\ntwo"), ("n1", "Tea\nSoup")])
def test_other_apps_get_the_text_or_the_boxes(note, text):
    state = state_at(Page("note", note))

    assert APP.step(state, Event("share", note)).effects == (Share(text),)
    assert APP.step(state, Event("copy", note)).effects == (Copy(text), Say("Copied"))


def test_a_shared_text_becomes_a_new_note():
    state = after(state_at(), Event(APP.takes_shares, "hello"))

    fields = [widget for widget in shown(state).body if isinstance(widget, Field)]
    assert [field.text for field in fields] == ["", "hello"]


@pytest.mark.parametrize("wanted", ["ADLER", "soup"])
def test_search_looks_at_titles_and_texts_without_regard_to_case(wanted):
    state = after(state_at(), Event("edit", "search", wanted))

    assert [row.title for row in rows_of(shown(state))] == ["Adler list"]


def test_a_search_without_result_says_so():
    screen = shown(after(state_at(), Event("edit", "search", "zzz")))

    assert rows_of(screen) == []
    assert "No notes found" in texts_of(screen)


def test_the_list_is_sorted_as_chosen():
    by_name = shown(after(state_at(), Event("set", "sort", "name")))
    by_date = shown(after(state_at(), Event("set", "sort", "date")))

    assert [row.title for row in rows_of(by_name)] == ["Adler list", "Berg plan", "Cramer ideas"]
    assert [row.title for row in rows_of(by_date)] == ["Adler list", "Cramer ideas", "Berg plan"]


def test_the_year_shows_only_where_it_is_another():
    newer = replace(DATA, notes=(Note("n9", "Zoller", modified="2025-01-02T10:00"),))

    assert rows_of(shown(state_at(data=newer)))[0].subtitle == "2 January 10:00"
    assert "1 March 2024 10:00" in {row.subtitle for row in rows_of(shown(state_at()))}


def test_a_folder_counts_and_filters_what_is_in_it():
    data = replace(DATA, notes=(*DATA.notes, Note("n3", "Dorn trip", folder="f0", checklist=True)))
    state = state_at(Page("folder", "f0"), data=data)
    screen = shown(state)
    only = shown(after(state, Event("set", "kind", "checklist")))

    assert {"Notes: 3", "Checklists: 1"} <= set(texts_of(screen))
    assert [row.title for row in rows_of(only)] == ["Dorn trip"]


@pytest.mark.parametrize(
    "page",
    [
        Page("note", "n9"),
        Page("folder", "f9"),
        Page("edit", "n9"),
        Page("delete", "n9"),
        Page("delete_folder", "f9"),
        Page("delete_item", "i9"),
        Page("merge", "n9"),
        Page("move", "n9"),
    ],
)
def test_pages_about_what_is_gone_still_show(page):
    assert shown(state_at(page)).title


@pytest.mark.parametrize("split", list(Split))
def test_fixtures_have_notes_of_both_kinds_whose_parts_belong_together(split):
    for number in range(50):
        data = fixture(Draw(Random(number), split))
        folders = {folder.id for folder in data.folders} | {""}
        kinds = {note.id: note.checklist for note in data.notes}

        assert {True, False} == set(kinds.values())
        assert len({note.title for note in data.notes}) == len(data.notes)
        assert all(note.folder in folders for note in data.notes)
        assert all(kinds[item.note] for item in data.items)
        assert len({item.id for item in data.items}) == len(data.items)


@pytest.mark.parametrize(
    ("locale", "titles"),
    [
        ("en", ["Notes", "Selected: 1"]),
        ("de", ["Notizen", "Ausgewählt: 1"]),
        ("ja", ["メモ", "選択中: 1"]),
        ("ar", ["الملاحظات", "المحدد: 1"]),
    ],
)
def test_the_app_speaks_the_locale_of_the_look(locale, titles):
    look = draw_look(Split.TRAIN, look_number(locale, 7))
    pages = [state_at(), state_at(Page("select", "", (("n0", "yes"),)))]

    assert [shown(state, look).title for state in pages] == titles

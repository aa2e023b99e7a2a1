"""Tasks in the notes app: the app's own ones, and those of AndroidWorld about notes."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps.notes import (
    BOTTOM,
    CHOSEN,
    CLOSE,
    TOP,
    fixture,
    fixture_of,
    items_of,
    sentence,
    title,
)
from apps_mock.entities import CITIES, Draw
from apps_mock.plans import Entry, Fill, GiveUp, Hold, Press
from apps_mock.records import changed
from apps_mock.suites import notes_answers, notes_links, notes_twins
from apps_mock.suites.notes_plans import (
    HOME,
    moment,
    new_note,
    new_words,
    rewritten,
    some_checklist,
    some_text_note,
    to_form,
    to_new_note,
    to_note,
)
from apps_mock.suites.notes_twins import choice
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Change, PageGoal
from apps_mock.widgets import Event


def _find(draw: Draw) -> Instance:
    """The list is longer than the screen: searching is the shortest way."""
    data = fixture_of(draw, draw.random.randrange(14, 18))
    note = draw.random.choice(data.notes)
    return Instance(
        words={"title": note.title},
        data=data,
        plan={HOME: Fill((Entry("search", note.title),), Event("go", "note", note.id))},
        page=PageGoal("note", note.id),
    )


def _rename(draw: Draw) -> Instance:
    data, note = some_text_note(draw)
    name = title(draw)
    return Instance(
        words={"title": note.title, "new": name},
        data=data,
        plan={
            **to_note(note),
            ("note", note.id): Press(Event("form", "rename", note.id)),
            ("rename", note.id): Fill((Entry("title", name),), Event("save_title")),
        },
        changes=(Change("notes", note.id, (("title", name),)),),
    )


def _append(draw: Draw) -> Instance:
    data, note = some_text_note(draw)
    line, now = sentence(draw), moment(draw)
    entries = (choice("place", BOTTOM, TOP), choice("gap", CLOSE, CLOSE), Entry("line", line))
    return Instance(
        words={"title": note.title, "line": line},
        data=data,
        plan={**to_form(note, "insert"), ("insert", note.id): Fill(entries, Event("insert"))},
        changes=(rewritten(note, f"{note.text}\n{line}", now),),
        now=now,
    )


def _tick(draw: Draw) -> Instance:
    data, note = some_checklist(draw)
    item = draw.random.choice(items_of(data, note.id))
    data = replace(data, items=changed(data.items, item.id, done=False))
    return Instance(
        words={"title": note.title, "item": item.text},
        data=data,
        plan={
            **to_note(note),
            ("note", note.id): Press(Event("toggle", item.id, "done")),
        },
        changes=(Change("items", item.id, (("done", True),)),),
    )


def _add_item(draw: Draw) -> Instance:
    data, note = some_checklist(draw)
    item = sentence(draw)
    return Instance(
        words={"title": note.title, "item": item},
        data=data,
        plan={
            **to_note(note),
            ("note", note.id): Fill((Entry("item", item),), Event("add_item", note.id)),
        },
        changes=(Change("items", None, (("note", note.id), ("text", item), ("done", False))),),
    )


def _create_in_folder(draw: Draw) -> Instance:
    data, now = fixture(draw), moment(draw)
    folder = draw.random.choice(data.folders)
    name, text = new_words(draw)
    return Instance(
        words={"title": name, "text": text, "folder": folder.name},
        data=data,
        plan=to_new_note(name, Entry("folder", folder.id, picker="choice"), Entry("text", text)),
        changes=(new_note(name, text, now, folder.id),),
        now=now,
    )


def _move_two(draw: Draw) -> Instance:
    data = fixture(draw)
    target, *others = draw.random.sample(data.folders, len(data.folders))
    moved = draw.random.sample(data.notes, 2)
    for note in moved:
        data = replace(data, notes=changed(data.notes, note.id, folder=others[0].id))
    ids = " ".join(note.id for note in data.notes if note.id in {each.id for each in moved})
    entries = tuple(choice(note.id, CHOSEN, "") for note in moved)
    return Instance(
        words={"one": moved[0].title, "two": moved[1].title, "folder": target.name},
        data=data,
        plan={
            HOME: Hold(Event("select", moved[0].id)),
            ("select", ""): Fill(entries, Event("act_on_chosen", "move")),
            ("move", ids): Press(Event("move", target.id)),
        },
        changes=tuple(Change("notes", note.id, (("folder", target.id),)) for note in moved),
    )


def _delete_folder(draw: Draw) -> Instance:
    """The notes of the folder stay, in no folder."""
    data = fixture(draw)
    folder = draw.random.choice(data.folders)
    inside = [note for note in data.notes if note.folder == folder.id]
    return Instance(
        words={"folder": folder.name},
        data=data,
        plan={
            HOME: Press(Event("go", "folders")),
            ("folders", ""): Press(Event("go", "folder", folder.id)),
            ("folder", folder.id): Press(Event("go", "delete_folder", folder.id)),
            ("delete_folder", folder.id): Press(Event("delete_folder", folder.id)),
        },
        changes=(
            Change("folders", folder.id, removed=True),
            *(Change("notes", note.id, (("folder", ""),)) for note in inside),
        ),
    )


def _delete_missing(draw: Draw) -> Instance:
    """There is no such note: the list shows it."""
    return Instance(
        words={"title": title(draw)},
        data=fixture(draw),
        plan={HOME: GiveUp()},
        infeasible=True,
    )


def _move_nowhere(draw: Draw) -> Instance:
    """There is no such folder: the list to move to shows it."""
    data, note = some_text_note(draw)
    return Instance(
        words={"title": note.title, "folder": draw.of(CITIES, pseudo=True)},
        data=data,
        plan={**to_form(note, "move"), ("move", note.id): GiveUp()},
        infeasible=True,
    )


_OWN: tuple[Template, ...] = (
    Template(
        name="notes_find",
        app="notes",
        oracle_steps=5,
        phrasings=(
            "Search my notes for {title} and open it",
            "Find the note {title} and show it",
            "Look {title} up in notes",
        ),
        held_out=("Somewhere in notes is {title} so bring it up",),
        set_up=_find,
    ),
    Template(
        name="notes_rename",
        app="notes",
        oracle_steps=9,
        phrasings=(
            "Rename the note {title} to {new}",
            "In notes change the title {title} into {new}",
            "Give the note {title} the title {new}",
        ),
        held_out=("The note {title} shall be called {new} from now on",),
        set_up=_rename,
        tags=("scrolls",),
    ),
    Template(
        name="notes_append",
        app="notes",
        oracle_steps=10,
        phrasings=(
            "Add the line {line} at the end of the note {title}",
            "In notes write {line} below the text of {title}",
        ),
        held_out=("Let the note {title} end with {line} after what it says now",),
        set_up=_append,
        tags=("scrolls",),
    ),
    Template(
        name="notes_tick",
        app="notes",
        oracle_steps=5,
        phrasings=(
            "Tick {item} in the checklist {title} of my notes",
            "In notes mark {item} as done in {title}",
            "Check the box {item} in the note {title}",
        ),
        held_out=("We have done {item} so tick it in the checklist {title}",),
        set_up=_tick,
        tags=("scrolls",),
    ),
    Template(
        name="notes_add_item",
        app="notes",
        oracle_steps=8,
        phrasings=(
            "Add {item} to the checklist {title} of my notes",
            "In notes put {item} on the list {title}",
            "The checklist {title} needs the item {item}",
        ),
        held_out=("Do not let me forget {item} so put it on the checklist {title}",),
        set_up=_add_item,
        tags=("scrolls",),
    ),
    Template(
        name="notes_create_in_folder",
        app="notes",
        oracle_steps=12,
        phrasings=(
            "Write the note {title} that says {text} into the folder {folder}",
            "In the notes folder {folder} make a note {title} with the text {text}",
        ),
        held_out=("File a note {title} under {folder} which reads {text}",),
        set_up=_create_in_folder,
        tags=("scrolls",),
    ),
    Template(
        name="notes_move_two",
        app="notes",
        oracle_steps=8,
        phrasings=(
            "Move the notes {one} and {two} to the folder {folder}",
            "Put {one} and {two} into the notes folder {folder}",
        ),
        held_out=("Both {one} and {two} belong in the notes folder {folder}",),
        set_up=_move_two,
        tags=("scrolls",),
    ),
    Template(
        name="notes_delete_folder",
        app="notes",
        oracle_steps=8,
        phrasings=(
            "Delete the notes folder {folder} but keep what is in it",
            "Remove the folder {folder} from my notes",
        ),
        held_out=("I do not need the notes folder {folder} any more",),
        set_up=_delete_folder,
        tags=("scrolls",),
    ),
    Template(
        name="notes_delete_missing",
        app="notes",
        oracle_steps=2,
        phrasings=(
            "Delete the note with the title {title}",
            "Remove the note titled {title}",
        ),
        held_out=("Get the note called {title} out of my way",),
        set_up=_delete_missing,
        tags=("infeasible",),
    ),
    Template(
        name="notes_move_to_missing",
        app="notes",
        oracle_steps=6,
        phrasings=(
            "Move the note {title} to the folder {folder}",
            "Put the note {title} into the folder {folder} of my notes",
        ),
        held_out=("The note {title} belongs in the folder {folder}",),
        set_up=_move_nowhere,
        tags=("infeasible", "scrolls"),
    ),
)

TEMPLATES: tuple[Template, ...] = (
    *_OWN,
    *notes_twins.TEMPLATES,
    *notes_answers.TEMPLATES,
    *notes_links.TEMPLATES,
)

"""AndroidWorld's tasks about Markor's notes, in the notes app."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps.notes import APART, CHOSEN, CLOSE, GAPS, TOP, fixture, fixture_of, sentence
from apps_mock.apps.system import CLIP, Clip, SystemData
from apps_mock.entities import CITIES, Draw
from apps_mock.plans import Entry, Fill, Hold, Press
from apps_mock.records import changed
from apps_mock.suites.notes_plans import (
    HOME,
    gone,
    moment,
    new_note,
    new_words,
    rewritten,
    some_text_note,
    to_form,
    to_new_note,
    to_note,
)
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Change
from apps_mock.widgets import Event

SUITE = "androidworld"


def choice(field: str, value: str, default: str) -> Entry:
    """A chip that shall be chosen."""
    return Entry(field, value, Event("set", field, value), default=default)


def _put_on_top(draw: Draw, gap: str) -> Instance:
    data, note = some_text_note(draw)
    line, now = sentence(draw), moment(draw)
    entries = (choice("place", TOP, TOP), choice("gap", gap, CLOSE), Entry("line", line))
    return Instance(
        words={"title": note.title, "line": line},
        data=data,
        plan={**to_form(note, "insert"), ("insert", note.id): Fill(entries, Event("insert"))},
        changes=(rewritten(note, f"{line}{GAPS[gap]}{note.text}", now),),
        now=now,
    )


def _add_header(draw: Draw) -> Instance:
    return _put_on_top(draw, APART)


def _add_first_line(draw: Draw) -> Instance:
    return _put_on_top(draw, CLOSE)


def _change_content(draw: Draw) -> Instance:
    data, note = some_text_note(draw)
    text, now = sentence(draw), moment(draw)
    return Instance(
        words={"title": note.title, "text": text},
        data=data,
        plan={
            **to_note(note),
            ("note", note.id): Press(Event("form", "edit", note.id)),
            ("edit", note.id): Fill((Entry("text", text),), Event("save_text")),
        },
        changes=(rewritten(note, text, now),),
        now=now,
    )


def _create_folder(draw: Draw) -> Instance:
    data, name = fixture(draw), draw.of(CITIES, pseudo=True)
    return Instance(
        words={"folder": name},
        data=data,
        plan={
            HOME: Press(Event("go", "folders")),
            ("folders", ""): Press(Event("go", "new_folder")),
            ("new_folder", ""): Fill((Entry("title", name),), Event("save_folder")),
        },
        changes=(Change("folders", None, (("name", name),)),),
    )


def _create(draw: Draw) -> Instance:
    data, now = fixture(draw), moment(draw)
    name, text = new_words(draw)
    return Instance(
        words={"title": name, "text": text},
        data=data,
        plan=to_new_note(name, Entry("text", text)),
        changes=(new_note(name, text, now),),
        now=now,
    )


def _create_from_clipboard(draw: Draw) -> Instance:
    data, now = fixture(draw), moment(draw)
    name, text = new_words(draw)
    return Instance(
        words={"title": name},
        data=data,
        others={"system": SystemData(clipboard=(Clip(CLIP, text),))},
        plan=to_new_note(name, Entry("text", text, paste=True)),
        changes=(new_note(name, text, now),),
        now=now,
    )


def _delete(draw: Draw) -> Instance:
    data, note = some_text_note(draw)
    return Instance(
        words={"title": note.title},
        data=data,
        plan={**to_form(note, "delete"), ("delete", note.id): Press(Event("delete", note.id))},
        changes=gone(data, note),
    )


def _delete_newest(draw: Draw) -> Instance:
    data = fixture(draw)
    note = max(data.notes, key=lambda note: note.modified)
    return Instance(
        words={},
        data=data,
        plan={**to_form(note, "delete"), ("delete", note.id): Press(Event("delete", note.id))},
        changes=gone(data, note),
        now=moment(draw),
    )


def _delete_all(draw: Draw) -> Instance:
    data = fixture_of(draw, draw.random.randrange(4, 7))
    everything = " ".join(note.id for note in data.notes)
    entries = tuple(Entry(note.id, CHOSEN, Event("pick_all")) for note in data.notes)
    return Instance(
        words={},
        data=data,
        plan={
            HOME: Hold(Event("select", data.notes[0].id)),
            ("select", ""): Fill(entries, Event("act_on_chosen", "delete")),
            ("delete", everything): Press(Event("delete", everything)),
        },
        changes=gone(data, *data.notes),
    )


def _merge(draw: Draw) -> Instance:
    data = fixture(draw)
    data = replace(data, notes=tuple(replace(note, checklist=False) for note in data.notes))
    for note in data.notes:
        text = note.text or sentence(draw)
        data = replace(data, notes=changed(data.notes, note.id, text=text), items=())
    merged = draw.random.sample(data.notes, 3)
    now, (name, _) = moment(draw), new_words(draw)
    ids = " ".join(note.id for note in merged)
    entries = tuple(choice(note.id, CHOSEN, "") for note in merged)
    return Instance(
        words={
            "title": name,
            **{f"part{number}": note.title for number, note in enumerate(merged, start=1)},
        },
        data=data,
        plan={
            HOME: Hold(Event("select", merged[0].id)),
            ("select", ""): Fill(entries, Event("act_on_chosen", "merge")),
            ("merge", ids): Fill(
                (choice("gap", APART, CLOSE), Entry("title", name)), Event("merge")
            ),
        },
        changes=(new_note(name, GAPS[APART].join(note.text for note in merged), now),),
        now=now,
    )


def _move(draw: Draw) -> Instance:
    data, note = some_text_note(draw)
    source, target = draw.random.sample(data.folders, 2)
    data = replace(data, notes=changed(data.notes, note.id, folder=source.id))
    return Instance(
        words={"title": note.title, "source": source.name, "target": target.name},
        data=data,
        plan={**to_form(note, "move"), ("move", note.id): Press(Event("move", target.id))},
        changes=(Change("notes", note.id, (("folder", target.id),)),),
    )


TEMPLATES: tuple[Template, ...] = (
    Template(
        name="MarkorAddNoteHeader",
        app="notes",
        oracle_steps=10,
        phrasings=(
            "Put {line} on top of the note {title} with a blank line below it",
            "In notes start {title} with the header {line} and then a blank line",
        ),
        held_out=("Give the note {title} the first line {line} followed by a blank line",),
        set_up=_add_header,
        suite=SUITE,
        tags=("scrolls",),
    ),
    Template(
        name="MarkorChangeNoteContent",
        app="notes",
        oracle_steps=8,
        phrasings=(
            "Replace the text of the note {title} by {text}",
            "Open notes and let {title} say only {text}",
            "Rewrite the note {title} so that its whole text is {text}",
        ),
        held_out=("The note {title} shall say {text} and nothing else",),
        set_up=_change_content,
        suite=SUITE,
        tags=("scrolls",),
    ),
    Template(
        name="MarkorCreateFolder",
        app="notes",
        oracle_steps=9,
        phrasings=(
            "Make a folder named {folder} in notes",
            "In the notes app add the folder {folder}",
            "I want a new folder {folder} for my notes",
        ),
        held_out=("Notes needs one more folder with the name {folder}",),
        set_up=_create_folder,
        suite=SUITE,
        tags=("scrolls",),
    ),
    Template(
        name="MarkorCreateNote",
        app="notes",
        oracle_steps=10,
        phrasings=(
            "Write a note titled {title} that says {text}",
            "Make the note {title} with the text {text}",
            "In notes create {title} and write {text} in it",
        ),
        held_out=("Note down {text} under the title {title}",),
        set_up=_create,
        suite=SUITE,
        tags=("scrolls",),
    ),
    Template(
        name="MarkorCreateNoteFromClipboard",
        app="notes",
        oracle_steps=10,
        phrasings=(
            "Make a note titled {title} and paste the clipboard into it",
            "Paste what I copied into a new note named {title}",
        ),
        held_out=("Put the clipboard into a fresh note with the title {title}",),
        set_up=_create_from_clipboard,
        suite=SUITE,
        tags=("scrolls",),
    ),
    Template(
        name="MarkorDeleteAllNotes",
        app="notes",
        oracle_steps=7,
        phrasings=("Remove all of my notes", "Delete everything that is in notes but its folders"),
        held_out=("Leave no note in the notes app",),
        set_up=_delete_all,
        suite=SUITE,
        tags=("no_parameters",),
    ),
    Template(
        name="MarkorDeleteNewestNote",
        app="notes",
        oracle_steps=7,
        phrasings=(
            "Delete the note that was written last",
            "Remove the latest of my notes",
        ),
        held_out=("Throw away the note with the latest date",),
        set_up=_delete_newest,
        suite=SUITE,
        tags=("no_parameters", "scrolls"),
    ),
    Template(
        name="MarkorDeleteNote",
        app="notes",
        oracle_steps=7,
        phrasings=(
            "Delete the note {title}",
            "Remove {title} from my notes",
            "In notes get rid of {title}",
        ),
        held_out=("Throw the note {title} away",),
        set_up=_delete,
        suite=SUITE,
        tags=("scrolls",),
    ),
    Template(
        name="MarkorEditNote",
        app="notes",
        oracle_steps=9,
        phrasings=(
            "Add the line {line} at the top of the note {title}",
            "In notes let {title} begin with {line} before its other lines",
        ),
        held_out=("The first line of the note {title} shall be {line}",),
        set_up=_add_first_line,
        suite=SUITE,
        tags=("scrolls",),
    ),
    Template(
        name="MarkorMergeNotes",
        app="notes",
        oracle_steps=12,
        phrasings=(
            "Join the notes {part1} and {part2} and {part3} into {title} with blank lines between",
            "Merge {part1} then {part2} then {part3} into the note {title} with blank lines",
        ),
        held_out=("Make the note {title} of {part1} {part2} {part3} apart by blank lines",),
        set_up=_merge,
        suite=SUITE,
        tags=("scrolls",),
    ),
    Template(
        name="MarkorMoveNote",
        app="notes",
        oracle_steps=7,
        phrasings=(
            "Move the note {title} from the folder {source} to {target}",
            "In notes take {title} out of {source} and put it into {target}",
        ),
        held_out=("The note {title} belongs in the folder {target} instead of {source}",),
        set_up=_move,
        suite=SUITE,
        tags=("scrolls",),
    ),
)

"""The notes app: text notes and check lists, in folders.

This module holds its records and what happens; `notes_view` shows it. A note's time is set when its
text is written, as a file system does; moving and renaming leave it alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from apps_mock.app import AppState, Copy, Page, Say, Share
from apps_mock.entities import (
    ALARM_LABELS,
    CITIES,
    FIRST_NAMES,
    LAST_NAMES,
    TIMES,
    Draw,
    members,
)
from apps_mock.records import changed, find, fresh_id, without
from apps_mock.widgets import Event

CHOSEN = "yes"
"""What the draft of a note holds that was chosen on the selection page."""

TOP, BOTTOM = "top", "bottom"
CLOSE, APART = "close", "apart"
GAPS = {CLOSE: "\n", APART: "\n\n"}
"""What stands between two parts of a text: a line break, or a blank line as well."""


@dataclass(frozen=True, slots=True)
class Note:
    """A text with a title.

    Attributes:
        folder: id of the folder that it lies in; empty for none.
        modified: when its text was written last, as `2025-03-14T09:41`.
        checklist: it holds check boxes (`CheckItem`) instead of a text.
    """

    id: str
    title: str
    text: str = ""
    folder: str = ""
    modified: str = "2024-01-01T09:00"
    checklist: bool = False


@dataclass(frozen=True, slots=True)
class Folder:
    """A place for notes."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class CheckItem:
    """A line with a check box in a check list."""

    id: str
    note: str
    text: str
    done: bool = False


@dataclass(frozen=True, slots=True)
class NotesData:
    """Everything in the app."""

    notes: tuple[Note, ...] = ()
    folders: tuple[Folder, ...] = ()
    items: tuple[CheckItem, ...] = ()


NotesState = AppState[NotesData]


def fixture(draw: Draw) -> NotesData:
    """A few folders, and notes of both kinds in them."""
    return fixture_of(draw, draw.random.randrange(6, 9))


def fixture_of(draw: Draw, count: int) -> NotesData:
    """As many notes as that; the first one is a text, the second one a check list."""
    random = draw.random
    folders = tuple(
        Folder(f"f{index}", draw.of(CITIES, pseudo=True)) for index in range(random.randrange(3, 5))
    )
    places = ("", *(folder.id for folder in folders))
    minutes = random.sample(range(28 * 24 * 60), count)
    notes: list[Note] = []
    items: list[CheckItem] = []
    for index, minute in enumerate(minutes):
        checklist = index == 1 or (index > 1 and random.random() < 0.25)
        note = Note(
            id=f"n{index}",
            title=title(draw),
            text="" if checklist else text_of(draw, random.randrange(1, 6)),
            folder=random.choice(places),
            modified=_stamp(random.randrange(9, 13), minute),
            checklist=checklist,
        )
        notes.append(note)
        if checklist:
            items += check_items(draw, note.id, len(items), random.randrange(2, 6))
    return NotesData(tuple(notes), folders, tuple(items))


def title(draw: Draw) -> str:
    """A title that no other note of the task has."""
    return f"{draw.of(LAST_NAMES, pseudo=True)} {_any(draw, ALARM_LABELS)}"


def sentence(draw: Draw) -> str:
    """A short line to write down, about somebody and a place that are new to the task."""
    return f"{_any(draw, ALARM_LABELS)} {draw.first_name()} {draw.city()}"


def text_of(draw: Draw, count: int) -> str:
    """A text of so many lines, about anything."""
    return "\n".join(_any_line(draw) for _ in range(count))


def _any_line(draw: Draw) -> str:
    matter, somebody = _any(draw, ALARM_LABELS), _any(draw, FIRST_NAMES)
    match draw.random.randrange(3):
        case 0:
            return f"{matter} {somebody} {_any(draw, TIMES)}"
        case 1:
            return f"{matter} {somebody} {_any(draw, CITIES)}"
        case _:
            return f"{matter} {_any(draw, CITIES)} {draw.random.randrange(2, 100)}"


def _any(draw: Draw, pool: tuple[str, ...]) -> str:
    """An entity of the split, which may be in the task already."""
    return draw.random.choice(members(pool, draw.split))


def check_items(draw: Draw, note: str, first: int, count: int) -> tuple[CheckItem, ...]:
    """Check boxes for a check list; the first one's id is made of `first`."""
    names = draw.random.sample(members(FIRST_NAMES, draw.split), count)
    return tuple(
        CheckItem(
            id=f"i{first + index}",
            note=note,
            text=f"{_any(draw, ALARM_LABELS)} {name}",
            done=draw.random.random() < 0.4,
        )
        for index, name in enumerate(names)
    )


def _stamp(month: int, minute: int) -> str:
    day, minute = divmod(minute, 24 * 60)
    return f"2024-{month:02}-{day + 1:02}T{minute // 60:02}:{minute % 60:02}"


def items_of(data: NotesData, note_id: str) -> tuple[CheckItem, ...]:
    """The check boxes of a note."""
    return tuple(item for item in data.items if item.note == note_id)


def content(data: NotesData, note: Note) -> str:
    """A note's text as other apps get it: of a check list its lines."""
    if not note.checklist:
        return note.text
    return "\n".join(item.text for item in items_of(data, note.id))


def chosen_notes(page: Page) -> tuple[str, ...]:
    """Ids of the notes that are chosen on a selection page, in the order of choosing."""
    return tuple(name for name, text in page.drafts if text == CHOSEN)


def in_folder(data: NotesData, folder: str) -> tuple[Note, ...]:
    """The notes of a folder; all notes where none is named."""
    return tuple(note for note in data.notes if not folder or note.folder == folder)


def update(state: NotesState, event: Event) -> NotesState:
    """The state after an event."""
    handler = _HANDLERS.get(event.name)
    return handler(state, event) if handler else state


def _now(state: NotesState) -> str:
    return f"{state.provided.today}T{state.provided.time}"


def _select(state: NotesState, event: Event) -> NotesState:
    return state.pushed(Page("select", event.extra, ((event.value, CHOSEN),)))


def _pick_all(state: NotesState, _event: Event) -> NotesState:
    page = state.page
    for note in in_folder(state.data, page.argument):
        if page.draft(note.id) != CHOSEN:
            page = page.with_draft(note.id, CHOSEN)
    return state.with_page(page)


def _act_on_chosen(state: NotesState, event: Event) -> NotesState:
    """Go to a page about the chosen notes; only merging cares for the order of choosing."""
    chosen = chosen_notes(state.page)
    if event.value != "merge":
        chosen = tuple(note.id for note in state.data.notes if note.id in chosen)
    if len(chosen) < (2 if event.value == "merge" else 1):
        return state
    return state.pushed(Page(event.value, " ".join(chosen)))


def _save_new(state: NotesState, _event: Event) -> NotesState:
    page, data = state.page, state.data
    name = page.draft("title").strip()
    if not name:
        return state
    checklist = page.draft("kind") == "checklist"
    text = page.draft("text").strip()
    note = Note(
        id=fresh_id(data.notes, "n"),
        title=name,
        text="" if checklist else text,
        folder=page.draft("folder", page.argument),
        modified=_now(state),
        checklist=checklist,
    )
    data = replace(data, notes=(*data.notes, note))
    for line in text.splitlines() if checklist else ():
        data = _with_item(data, note.id, line)
    return state.with_data(data).popped().pushed(Page("note", note.id))


def _with_item(data: NotesData, note: str, line: str) -> NotesData:
    if not line.strip():
        return data
    item = CheckItem(fresh_id(data.items, "i"), note, line.strip())
    return replace(data, items=(*data.items, item))


def _add_item(state: NotesState, event: Event) -> NotesState:
    data = _with_item(state.data, event.value, state.page.draft("item"))
    if data is state.data:
        return state
    return state.with_data(data).with_page(state.page.with_draft("item", ""))


def _delete_item(state: NotesState, event: Event) -> NotesState:
    items = without(state.data.items, event.value)
    return state.with_data(replace(state.data, items=items)).popped()


def _open_form(state: NotesState, event: Event) -> NotesState:
    """Open a form about a note or folder, with what it holds now."""
    data = state.data
    note, folder = find(data.notes, event.extra), find(data.folders, event.extra)
    if event.value == "edit" and note is not None:
        return state.pushed(Page("edit", note.id, (("text", note.text),)))
    if event.value == "rename" and note is not None:
        return state.pushed(Page("rename", note.id, (("title", note.title),)))
    if event.value == "rename_folder" and folder is not None:
        return state.pushed(Page("rename_folder", folder.id, (("title", folder.name),)))
    return state


def _save_text(state: NotesState, _event: Event) -> NotesState:
    return _rewritten(state, state.page.draft("text").strip())


def _rewritten(state: NotesState, text: str) -> NotesState:
    note = find(state.data.notes, state.page.argument)
    if note is None or note.text == text:
        return state.popped()
    notes = changed(state.data.notes, note.id, text=text, modified=_now(state))
    return state.with_data(replace(state.data, notes=notes)).popped()


def _insert(state: NotesState, _event: Event) -> NotesState:
    page = state.page
    note, line = find(state.data.notes, page.argument), page.draft("line").strip()
    if note is None or not line:
        return state
    parts = [line, note.text] if page.draft("place", TOP) == TOP else [note.text, line]
    return _rewritten(state, GAPS[page.draft("gap", CLOSE)].join(filter(None, parts)))


def _save_title(state: NotesState, _event: Event) -> NotesState:
    page, data = state.page, state.data
    name = page.draft("title").strip()
    if not name:
        return state
    if page.name == "rename_folder":
        renamed = replace(data, folders=changed(data.folders, page.argument, name=name))
    else:
        renamed = replace(data, notes=changed(data.notes, page.argument, title=name))
    return state.with_data(renamed).popped()


def _save_folder(state: NotesState, _event: Event) -> NotesState:
    name = state.page.draft("title").strip()
    if not name or name in {folder.name for folder in state.data.folders}:
        return state
    folder = Folder(fresh_id(state.data.folders, "f"), name)
    return state.with_data(replace(state.data, folders=(*state.data.folders, folder))).popped()


def _delete_folder(state: NotesState, event: Event) -> NotesState:
    """The folder goes, its notes stay."""
    data = state.data
    notes = tuple(
        replace(note, folder="") if note.folder == event.value else note for note in data.notes
    )
    folders = without(data.folders, event.value)
    return state.with_data(replace(data, notes=notes, folders=folders)).popped(2)


def _delete(state: NotesState, event: Event) -> NotesState:
    gone = set(event.value.split())
    data = replace(
        state.data,
        notes=tuple(note for note in state.data.notes if note.id not in gone),
        items=tuple(item for item in state.data.items if item.note not in gone),
    )
    return state.with_data(data).popped(2)


def _move(state: NotesState, event: Event) -> NotesState:
    notes = state.data.notes
    for note_id in state.page.argument.split():
        notes = changed(notes, note_id, folder=event.value)
    below = state.with_data(replace(state.data, notes=notes)).popped()
    return below.popped() if below.page.name == "select" else below


def _merge(state: NotesState, _event: Event) -> NotesState:
    page, data = state.page, state.data
    name = page.draft("title").strip()
    merged = [find(data.notes, note_id) for note_id in page.argument.split()]
    texts = [content(data, note) for note in merged if note is not None]
    if not name:
        return state
    note = Note(
        id=fresh_id(data.notes, "n"),
        title=name,
        text=GAPS[page.draft("gap", CLOSE)].join(texts),
        modified=_now(state),
    )
    data = replace(data, notes=(*data.notes, note))
    return state.with_data(data).popped(2).pushed(Page("note", note.id))


def _copy(state: NotesState, event: Event) -> NotesState:
    note = find(state.data.notes, event.value)
    if note is None:
        return state
    return state.emitting(Copy(content(state.data, note)), Say("Copied"))


def _share(state: NotesState, event: Event) -> NotesState:
    note = find(state.data.notes, event.value)
    return state if note is None else state.emitting(Share(content(state.data, note)))


def _take(state: NotesState, event: Event) -> NotesState:
    return state.pushed(Page("new", "", (("text", event.value),)))


_HANDLERS: dict[str, Callable[[NotesState, Event], NotesState]] = {
    "select": _select,
    "pick_all": _pick_all,
    "act_on_chosen": _act_on_chosen,
    "save_new": _save_new,
    "add_item": _add_item,
    "delete_item": _delete_item,
    "form": _open_form,
    "save_text": _save_text,
    "insert": _insert,
    "save_title": _save_title,
    "save_folder": _save_folder,
    "delete_folder": _delete_folder,
    "delete": _delete,
    "move": _move,
    "merge": _merge,
    "copy": _copy,
    "share": _share,
    "take": _take,
}

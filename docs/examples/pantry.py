"""A pantry: what lies on which shelf, and until when it is good.

It shows what `outrider clones new` leaves out: a drop-down and a date picker, a question, a goal
that cannot be reached, and a task that leads through another app first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from apps_mock.app import App, AppState, Page, Say
from apps_mock.apps import notes
from apps_mock.catalogue import Term
from apps_mock.entities import Draw
from apps_mock.look import Look, wording
from apps_mock.plans import Entry, Fill, GiveAnswer, GiveUp, Plan, Press, Stage
from apps_mock.records import changed, find, fresh_id, without
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Answer, Change
from apps_mock.widgets import Button, Event, Field, Option, Picker, Row, Screen, Text, Widget

SHELVES = {"cupboard": "Cupboard", "fridge": "Fridge", "freezer": "Freezer"}
"""What a record keeps, and how the app writes it."""

FOODS = tuple(
    f"{kind} {food}"
    for kind in "Smoked Dried Pickled Sweet Salted Roasted Grated Stuffed Spicy Mild".split()
    for food in "Tomatoes Olives Beans Plums Herring Peppers Walnuts Cheese Ham Figs".split()
)
"""Entities of one's own: `draw.of` keeps those of the splits apart."""

SHELF = wording("Shelf", "Place", held_out=("Where it lies",))
BEST_BEFORE = wording("Best before", "Good until", held_out=("Keeps until",))


@dataclass(frozen=True, slots=True)
class Item:
    """Some food; `best_before` is a day such as `2025-03-14`."""

    id: str
    name: str
    shelf: str
    best_before: str


@dataclass(frozen=True, slots=True)
class PantryData:
    """One table."""

    items: tuple[Item, ...]


def fixture(draw: Draw) -> PantryData:
    """A few items before a task is set up."""
    random = draw.random
    return PantryData(
        tuple(
            Item(f"i{index}", draw.of(FOODS), random.choice([*SHELVES]), draw.day())
            for index in range(random.randrange(4, 6))
        )
    )


def update(state: AppState[PantryData], event: Event) -> AppState[PantryData]:
    """Save a form, or delete an item; pages, typing and pickers need nothing here."""
    match event.name:
        case "save":
            return _saved(state)
        case "delete":
            kept = without(state.data.items, event.value)
            return state.with_data(PantryData(kept)).popped(2)
        case _:
            return state


def _saved(state: AppState[PantryData]) -> AppState[PantryData]:
    items, page = state.data.items, state.page
    name, shelf = page.draft("name").strip(), page.draft("shelf")
    best_before = page.draft("best_before")
    if not (name and shelf and best_before):
        return state.emitting(Say("Something is missing"))
    item = Item(fresh_id(items, "i"), name, shelf, best_before)
    return state.with_data(replace(state.data, items=(*items, item))).popped()


def view(state: AppState[PantryData], look: Look) -> Screen:
    """What the page on top shows."""
    page = state.page
    match page.name:
        case "home":
            return _home(state.data, look)
        case "add":
            return _form(page, look)
        case "delete":
            return _question(state.data, page, look)
        case _:
            return _item(state.data, page, look)


def _home(data: PantryData, look: Look) -> Screen:
    rows: list[Widget] = [
        Row(item.name, look.say(SHELVES[item.shelf]), on_tap=Event("go", "item", item.id))
        for item in look.ordered(data.items, lambda item: item.id)
    ]
    body = rows or [Text(look.say("The pantry is empty"))]
    add = Button(look.word("add"), Event("go", "add"), primary=True)
    return Screen(look.say("Pantry"), tuple(body), (add,), back=False)


def _form(page: Page, look: Look) -> Screen:
    options = tuple(Option(value, look.say(label)) for value, label in SHELVES.items())
    best_before = page.draft("best_before")
    fields = (
        Field("name", look.word("name"), page.draft("name")),
        Picker("shelf", look.word(SHELF), page.draft("shelf"), options=options),
        Picker("best_before", look.word(BEST_BEFORE), best_before, kind="date"),
    )
    save = Button(look.word("save"), Event("save"), primary=True)
    return Screen(look.word("add"), fields, (save,))


def _item(data: PantryData, page: Page, look: Look) -> Screen:
    item = find(data.items, page.argument)
    if item is None:
        return Screen(look.say("Pantry"), (Text(look.say("The pantry is empty")),))
    rows = (
        Row(look.word(SHELF), look.say(SHELVES[item.shelf])),
        Row(look.word(BEST_BEFORE), look.day(item.best_before)),
    )
    delete = Button(look.word("delete"), Event("go", "delete", item.id))
    return Screen(item.name, rows, (delete,))


def _question(data: PantryData, page: Page, look: Look) -> Screen:
    item = find(data.items, page.argument)
    actions = (
        Button(look.word("keep"), Event("back")),
        Button(look.word("yes"), Event("delete", page.argument), primary=True),
    )
    body = (Text(item.name if item else ""),)
    return Screen(look.word("delete"), body, actions, dialog=True)


APP: App[PantryData] = App(
    name="pantry",
    label="Pantry",
    package="org.outrider.clones.pantry",
    update=update,
    view=view,
)

HOME = ("home", "")


def _to_new(name: str, shelf: str, day: str) -> Plan:
    entries = (
        Entry("name", name),
        Entry("shelf", shelf, picker="choice"),
        Entry("best_before", day, picker="date"),
    )
    return {HOME: Press(Event("go", "add")), ("add", ""): Fill(entries, Event("save"))}


def _new(name: str, shelf: str, day: str) -> Change:
    return Change("items", None, (("name", name), ("shelf", shelf), ("best_before", day)))


def _add(draw: Draw) -> Instance:
    """Picked, not typed: the goal names shelf and day in the look's language."""
    data = fixture(draw)
    name, shelf, day = draw.of(FOODS), draw.random.choice([*SHELVES]), draw.day()
    return Instance(
        words={"name": name, "shelf": Term(SHELVES[shelf]), "day": Term(day, "day")},
        data=data,
        plan=_to_new(name, shelf, day),
        changes=(_new(name, shelf, day),),
        now=f"{day[:7]}-01T09:00",  # the picker opens at the phone's month
    )


def _when(draw: Draw) -> Instance:
    """A question: nothing changes, and the answer is compared as a date."""
    data = fixture(draw)
    item = draw.random.choice(data.items)
    return Instance(
        words={"name": item.name},
        data=data,
        plan={HOME: Press(Event("go", "item", item.id)), ("item", item.id): GiveAnswer()},
        answer=Answer("date", item.best_before),
    )


def _delete_missing(draw: Draw) -> Instance:
    """Nothing of that name is there: success is to say so."""
    data = fixture(draw)
    return Instance(
        words={"name": draw.of(FOODS)}, data=data, plan={HOME: GiveUp()}, infeasible=True
    )


def _add_noted(draw: Draw) -> Instance:
    """First to the notes app, which tells the name, then to the pantry."""
    book = notes.fixture(draw)
    note = next(each for each in book.notes if not each.checklist)
    name, shelf, day = draw.of(FOODS), draw.random.choice([*SHELVES]), draw.day()
    book = replace(book, notes=changed(book.notes, note.id, text=name))
    to_note: Plan = {HOME: Press(Event("go", "note", note.id))}
    return Instance(
        words={"note": note.title, "shelf": Term(SHELVES[shelf]), "day": Term(day, "day")},
        data=fixture(draw),
        others={"notes": book},
        stages=(Stage("notes", to_note, page=("note", note.id)),),
        plan=_to_new(name, shelf, day),
        changes=(_new(name, shelf, day),),
        now=f"{day[:7]}-01T09:00",
    )


TEMPLATES: tuple[Template, ...] = (
    Template(
        name="pantry_add",
        app="pantry",
        oracle_steps=11,
        phrasings=(
            "Add {name} to Pantry with the shelf {shelf} and the day {day}",
            "In Pantry put {name} into {shelf} as good until {day}",
        ),
        held_out=("Note in Pantry that {name} in {shelf} keeps until {day}",),
        set_up=_add,
        tags=("scrolls",),
    ),
    Template(
        name="pantry_when",
        app="pantry",
        oracle_steps=3,
        phrasings=(
            "Until which day is {name} in Pantry good",
            "Look up in Pantry the day until which {name} keeps",
        ),
        held_out=("Tell me from Pantry which day {name} lasts to",),
        set_up=_when,
        tags=("answer",),
    ),
    Template(
        name="pantry_delete_missing",
        app="pantry",
        oracle_steps=2,
        phrasings=("Delete {name} from Pantry", "Remove {name} in Pantry"),
        held_out=("Take {name} out of Pantry",),
        set_up=_delete_missing,
        tags=("infeasible",),
    ),
    Template(
        name="pantry_add_noted",
        app="pantry",
        oracle_steps=15,
        phrasings=(
            "Add what the note {note} names to Pantry with the shelf {shelf} and the day {day}",
            "Read the note {note} and put that food into {shelf} in Pantry as good until {day}",
        ),
        held_out=("Pantry lacks what {note} in notes names so add it in {shelf} until {day}",),
        set_up=_add_noted,
        tags=("cross_app", "scrolls"),
    ),
)

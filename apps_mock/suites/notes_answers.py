"""AndroidWorld's questions about Joplin's notes, in the notes app."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps.notes import fixture, sentence
from apps_mock.entities import TIMES, Draw
from apps_mock.plans import GiveAnswer, Press
from apps_mock.records import changed
from apps_mock.suites.notes_plans import HOME, some_text_note, to_note, with_text
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Answer
from apps_mock.widgets import Event

SUITE = "androidworld"

INGREDIENTS = tuple(
    (
        "Flour Sugar Butter Salt Pepper Rice Lentils Beans Oats Honey Milk Cream Yoghurt Cheese "
        "Bacon Onions Leeks Carrots Potatoes Spinach Cabbage Tomatoes Mushrooms Apples Pears "
        "Plums Cherries Raisins Almonds Walnuts Cocoa Vanilla Cinnamon Ginger Basil Parsley "
        "Thyme Paprika Mustard Vinegar Yeast Noodles Tofu Salmon Shrimps Chicken Beef Pork "
        "Lemons Oranges Garlic Fennel Dill Chives Mint Sage Rosemary Oregano Nutmeg Cloves Cumin "
        "Turmeric Saffron Sesame Poppy Barley Rye Spelt Millet Quinoa Couscous Semolina Cornmeal "
        "Starch Gelatine Marzipan Nougat Chocolate Syrup Jam Peanuts Hazelnuts Pistachios Dates "
        "Figs Apricots Peaches Grapes Melons Mangoes Bananas Kiwis Currants Berries Rhubarb "
        "Pumpkin Courgettes Aubergines Cucumbers Radishes Beetroot Turnips Celery Asparagus "
        "Broccoli Peas Sprouts Kale Chard Lettuce Rocket Artichokes Olives Capers Anchovies Tuna "
        "Trout Cod Mussels Ham Veal Lamb Turkey Duck Eggs Buttermilk Curd Ricotta Feta Parmesan"
    ).split()
)
UNITS = ("g", "kg", "ml", "l")


def _is_checklist(draw: Draw) -> Instance:
    data = fixture(draw)
    wanted = draw.random.random() < 0.5
    note = draw.random.choice([note for note in data.notes if note.checklist == wanted])
    return Instance(
        words={"title": note.title},
        data=data,
        plan={**to_note(note), ("note", note.id): GiveAnswer()},
        answer=Answer("name", "True" if wanted else "False"),
    )


def _attendees(draw: Draw) -> Instance:
    """The minutes of a meeting number those who were there."""
    data, note = some_text_note(draw)
    count = draw.random.randrange(3, 7)
    lines = [
        sentence(draw),
        *(f"{number} {draw.first_name()}" for number in range(1, count + 1)),
    ]
    data = with_text(data, note, "\n".join(lines))
    return Instance(
        words={"title": note.title},
        data=data,
        plan={**to_note(note), ("note", note.id): GiveAnswer()},
        answer=Answer("number", str(count)),
    )


def _ingredient(draw: Draw) -> Instance:
    data, note = some_text_note(draw)
    random = draw.random
    amounts = {
        draw.of(INGREDIENTS, pseudo=True): f"{random.randrange(2, 90) * 5} {random.choice(UNITS)}"
        for _ in range(random.randrange(4, 8))
    }
    ingredient = random.choice(list(amounts))
    lines = [f"{name} {amount}" for name, amount in amounts.items()]
    data = with_text(data, note, "\n".join([*lines, random.choice(TIMES)]))
    return Instance(
        words={"title": note.title, "ingredient": ingredient},
        data=data,
        plan={**to_note(note), ("note", note.id): GiveAnswer()},
        answer=Answer("name", amounts[ingredient], forms=(amounts[ingredient].replace(" ", ""),)),
    )


def _count_checklists(draw: Draw) -> Instance:
    """A folder that holds check lists and texts."""
    data = fixture(draw)
    folder = draw.random.choice(data.folders)
    others = [other.id for other in data.folders if other is not folder]
    for note in data.notes:
        place = folder.id if draw.random.random() < 0.6 else draw.random.choice(others)
        data = replace(data, notes=changed(data.notes, note.id, folder=place))
    data = replace(data, notes=changed(data.notes, "n1", folder=folder.id))
    inside = [note for note in data.notes if note.folder == folder.id]
    return Instance(
        words={"folder": folder.name},
        data=data,
        plan={
            HOME: Press(Event("go", "folders")),
            ("folders", ""): Press(Event("go", "folder", folder.id)),
            ("folder", folder.id): GiveAnswer(),
        },
        answer=Answer("number", str(sum(note.checklist for note in inside))),
    )


TEMPLATES: tuple[Template, ...] = (
    Template(
        name="NotesIsTodo",
        app="notes",
        oracle_steps=5,
        phrasings=(
            "Answer True if the note {title} is a checklist and False if it is not",
            "Is it True or False that {title} in notes is a checklist",
        ),
        held_out=("Say True or False on whether my note {title} has check boxes",),
        set_up=_is_checklist,
        suite=SUITE,
        tags=("answer", "scrolls"),
    ),
    Template(
        name="NotesMeetingAttendeeCount",
        app="notes",
        oracle_steps=3,
        phrasings=(
            "How many people came to the meeting in the note {title}",
            "Count the people in the minutes {title} in notes and answer the number",
        ),
        held_out=("The note {title} numbers who was there so how many were they",),
        set_up=_attendees,
        suite=SUITE,
        tags=("answer",),
    ),
    Template(
        name="NotesRecipeIngredientCount",
        app="notes",
        oracle_steps=4,
        phrasings=(
            "What amount of {ingredient} does the recipe {title} in notes need",
            "Answer how much {ingredient} goes into the recipe in the note {title}",
        ),
        held_out=("I cook from the note {title} so how much {ingredient} must I buy",),
        set_up=_ingredient,
        suite=SUITE,
        tags=("answer", "scrolls"),
    ),
    Template(
        name="NotesTodoItemCount",
        app="notes",
        oracle_steps=6,
        phrasings=(
            "How many checklists are in the folder {folder} of my notes",
            "Count the checklists in the notes folder {folder} and answer the number",
        ),
        held_out=("Tell me the number of checklists that the folder {folder} holds",),
        set_up=_count_checklists,
        suite=SUITE,
        tags=("answer", "scrolls"),
    ),
)

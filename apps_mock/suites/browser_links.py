"""Tasks over the browser and other apps: what the web says is needed elsewhere, or the reverse."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps import browser, clock, files, notes
from apps_mock.apps.browser_web import address_of, title_of
from apps_mock.entities import Draw
from apps_mock.plans import Entry, Fill, Hold, Plan, Press, Stage
from apps_mock.records import fresh_id
from apps_mock.suites.browser_paths import (
    VISITS,
    downloading,
    from_site,
    saved,
    search,
    search_page,
)
from apps_mock.suites.messages_scenes import scene, to_thread
from apps_mock.suites.messages_twins import composing
from apps_mock.suites.notes_links import copied
from apps_mock.suites.notes_plans import moment, new_note, to_new_note
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Change, PageGoal
from apps_mock.widgets import Event

_TAGS = ("cross_app", "scrolls")
_LEFT_BEHIND = (*VISITS, ("system", "clipboard"))


def _alarm(draw: Draw) -> Instance:
    """The time of a train is copied and becomes an alarm."""
    data = browser.fixture(draw)
    train = draw.random.choice(data.departures)
    own = tuple(
        each
        for each in data.departures
        if each is train or (each.station, each.destination) != (train.station, train.destination)
    )
    path = f"trains/{train.station}"
    plan: Plan = {
        ("home", ""): Press(Event("go", "add")),
        ("add", ""): Fill((Entry("time", train.time, paste=True),), Event("save")),
    }
    first = from_site(path)
    first["web", path] = Press(Event("visit", f"trains/{train.id}"))
    first["web", f"trains/{train.id}"] = Hold(Event("copy_text", train.time))
    return Instance(
        words={"station": train.station, "destination": train.destination},
        data=clock.fixture(draw),
        others={"browser": replace(data, departures=own)},
        stages=(Stage("browser", first, changes=(copied(train.time),)),),
        plan=plan,
        changes=(Change("alarms", None, (("time", train.time), ("label", ""), ("on", True))),),
        free=_LEFT_BEHIND,
    )


def _note(draw: Draw) -> Instance:
    """The address of a page is copied and pasted into a new note."""
    data, now, title = browser.fixture(draw), moment(draw), notes.title(draw)
    recipe = draw.random.choice(data.recipes)
    path = f"recipes/{recipe.id}"
    address = address_of(data, path)
    first = search_page(recipe.dish, path)
    first["web", path] = Press(Event("copy_address", address))
    return Instance(
        words={"dish": recipe.dish, "title": title},
        data=notes.fixture(draw),
        others={"browser": data},
        stages=(Stage("browser", first, changes=(copied(address),)),),
        plan=to_new_note(title, Entry("text", address, paste=True)),
        changes=(new_note(title, address, now), copied(address)),
        free=VISITS,
        now=now,
    )


def _ingredient(draw: Draw) -> Instance:
    """What a recipe needs is copied and pasted into a note."""
    data, now, title = browser.fixture(draw), moment(draw), notes.title(draw)
    recipe = draw.random.choice(data.recipes)
    path, text = f"recipes/{recipe.id}", ", ".join(recipe.ingredients)
    first = search_page(recipe.dish, path)
    first["web", path] = Hold(Event("copy_text", text))
    return Instance(
        words={"dish": recipe.dish, "title": title},
        data=notes.fixture(draw),
        others={"browser": data},
        stages=(Stage("browser", first, changes=(copied(text),)),),
        plan=to_new_note(title, Entry("text", text, paste=True)),
        changes=(new_note(title, text, now),),
        free=_LEFT_BEHIND,
        now=now,
    )


def _temperature(draw: Draw) -> Instance:
    now, data, number = scene(draw), browser.fixture(draw), draw.phone()
    shown = draw.random.choice(data.forecasts)
    path, text = f"weather/{shown.id}", f"{shown.now} °C"
    first = from_site(path)
    first["web", path] = Hold(Event("copy_text", text))
    return Instance(
        words={"city": shown.city, "number": number},
        data=now.data,
        others={"contacts": now.book, "browser": data},
        stages=(Stage("browser", first, changes=(copied(text),)),),
        plan=composing(Entry("to", number), Entry("text", text, paste=True)),
        changes=(now.new_message(number, text),),
        free=_LEFT_BEHIND,
        now=now.now,
    )


def _search_named(draw: Draw) -> Instance:
    """A message says what to look for."""
    now, data = scene(draw), browser.fixture(draw)
    friend, query = draw.random.choice(now.friends), draw.random.choice(data.recipes).dish
    now = now.with_message(friend.phone, query)
    return Instance(
        words={"name": friend.name},
        data=data,
        others={"contacts": now.book, "messages": now.data},
        stages=(Stage("messages", to_thread(friend.phone), page=("thread", friend.phone)),),
        plan=search(query),
        page=PageGoal("results", query),
        free=_LEFT_BEHIND,
        now=now.now,
    )


def _file(draw: Draw) -> Instance:
    """What was downloaded gets another name."""
    data, kept, now = browser.fixture(draw), files.fixture_of(draw, 5), moment(draw)
    paper, name = draw.random.choice(data.documents), files.file_name(draw, "PDF")
    first, downloaded = downloading(paper)
    file_id = fresh_id(kept.files, "f")
    return Instance(
        words={"file": paper.name, "site": title_of(data, "papers"), "name": name},
        data=kept,
        others={"browser": data},
        stages=(Stage("browser", first, changes=(downloaded,)),),
        plan={
            ("home", ""): Press(Event("go", "folder", files.DOWNLOAD)),
            ("folder", files.DOWNLOAD): Press(Event("go", "file", file_id)),
            ("file", file_id): Press(Event("rename_file", file_id)),
            ("rename", file_id): Fill((Entry("name", name),), Event("save_name", file_id)),
        },
        changes=(downloaded, saved(paper, name, now)),
        free=_LEFT_BEHIND,
        now=now,
    )


BROWSER_LINKS = (
    Template(
        name="cross_browser_file",
        app="files",
        oracle_steps=16,
        phrasings=(
            "Download {file} from the web site {site} and rename it to {name} in the files",
            "Get {file} from {site} in the browser and call the file {name} afterwards",
        ),
        set_up=_file,
        tags=_TAGS,
        held_out=("On {site} there is {file} so keep it among my files as {name}",),
        suite="cross_app",
    ),
    Template(
        name="cross_browser_alarm",
        app="clock",
        oracle_steps=15,
        phrasings=(
            (
                "Set an alarm for when the train from {station} to {destination} leaves in the web "
                "timetable"
            ),
            (
                "Look up on the web when the train from {station} to {destination} leaves and set "
                "an alarm then"
            ),
        ),
        set_up=_alarm,
        tags=_TAGS,
        held_out=("Wake me when the train from {station} to {destination} leaves says the web",),
        suite="cross_app",
    ),
    Template(
        name="cross_browser_note",
        app="notes",
        oracle_steps=19,
        phrasings=(
            "Copy the web address of the recipe for {dish} into a new note titled {title}",
            "Create a note titled {title} with the address of the web page about {dish}",
        ),
        set_up=_note,
        tags=_TAGS,
        held_out=("Where the web explains {dish} belongs into a new note called {title}",),
        suite="cross_app",
    ),
    Template(
        name="cross_browser_ingredients",
        app="notes",
        oracle_steps=17,
        phrasings=(
            "Write the ingredients of {dish} from the web in one line into a note titled {title}",
            "Create a note titled {title} that lists the ingredients of {dish} in their order",
        ),
        set_up=_ingredient,
        tags=_TAGS,
        held_out=("Note as {title} in one line what the web recipe for {dish} needs",),
        suite="cross_app",
    ),
    Template(
        name="cross_browser_temperature",
        app="messages",
        oracle_steps=15,
        phrasings=(
            "Send {number} a message with the present temperature in {city} as the web shows it",
            "Look up the temperature in {city} on the web and send it as shown to {number}",
        ),
        set_up=_temperature,
        tags=_TAGS,
        held_out=("Tell {number} by message how warm the web says it is in {city}",),
        suite="cross_app",
    ),
    Template(
        name="cross_browser_search_named",
        app="browser",
        oracle_steps=11,
        phrasings=(
            "Search the web for what {name} wrote me last in a message",
            "Read the last message of {name} and search the web for it",
        ),
        set_up=_search_named,
        tags=_TAGS,
        held_out=("What does the web know about the thing that {name} wrote me",),
        suite="cross_app",
    ),
)

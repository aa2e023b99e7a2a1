"""Tasks about the browser itself: its bookmarks, tabs, history and settings."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps.browser import ENGINE, HOME_PAGE, Bookmark, Tab, fixture
from apps_mock.entities import Draw
from apps_mock.plans import Hold, Plan, Press
from apps_mock.suites.browser_forms import FORM_TEMPLATES
from apps_mock.suites.browser_general import GENERAL_TEMPLATES
from apps_mock.suites.browser_links import BROWSER_LINKS
from apps_mock.suites.browser_paths import VISITS, search_page
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Change
from apps_mock.widgets import Event


def _bookmark(draw: Draw) -> Instance:
    data = fixture(draw)
    recipe = draw.random.choice(data.recipes)
    path = f"recipes/{recipe.id}"
    kept = tuple(mark for mark in data.bookmarks if mark.path != path)
    plan = search_page(recipe.dish, path)
    plan["web", path] = Press(Event("add_bookmark", path))
    change = Change("bookmarks", None, (("path", path),))
    data = replace(data, bookmarks=kept)
    return Instance({"dish": recipe.dish}, data, plan, (change,), free=VISITS)


def _drop_bookmark(draw: Draw) -> Instance:
    data = fixture(draw)
    shown = draw.random.choice(data.forecasts)
    mark = Bookmark("b9", f"weather/{shown.id}")
    others = tuple(each for each in data.bookmarks if each.path != mark.path)
    plan: Plan = {
        ("home", ""): Press(Event("go", "bookmarks")),
        ("bookmarks", ""): Hold(Event("go", "drop_bookmark", mark.id)),
        ("drop_bookmark", mark.id): Press(Event("remove_bookmark", mark.id)),
    }
    change = Change("bookmarks", mark.id, removed=True)
    data = replace(data, bookmarks=(*others, mark))
    return Instance({"city": shown.city}, data, plan, (change,), free=VISITS)


def _close_tab(draw: Draw) -> Instance:
    data = fixture(draw)
    recipe = draw.random.choice(data.recipes)
    tab = Tab("k9", f"recipes/{recipe.id}")
    others = tuple(each for each in data.tabs if each.path != tab.path)
    plan: Plan = {
        ("home", ""): Press(Event("go", "tabs")),
        ("tabs", ""): Press(Event("close_tab", tab.id)),
    }
    change = Change("tabs", tab.id, removed=True)
    data = replace(data, tabs=(*others, tab))
    return Instance({"dish": recipe.dish}, data, plan, (change,), free=VISITS)


def _home_page(draw: Draw) -> Instance:
    data = fixture(draw)
    site = draw.random.choice(data.sites)
    change = Change("preferences", HOME_PAGE, (("value", site.id),))
    plan = _preferring(HOME_PAGE, site.id)
    return Instance({"site": site.name}, data, plan, (change,), free=VISITS)


def _preferring(key: str, value: str) -> Plan:
    return {
        ("home", ""): Press(Event("go", "settings")),
        ("settings", ""): Press(Event("go", key)),
        (key, ""): Press(Event("prefer", key, value)),
    }


def _engine(draw: Draw) -> Instance:
    data = fixture(draw)
    engine = draw.random.choice(data.engines[1:])
    change = Change("preferences", ENGINE, (("value", engine),))
    plan = _preferring(ENGINE, engine)
    return Instance({"engine": engine}, data, plan, (change,), free=VISITS)


def _clear_history(draw: Draw) -> Instance:
    data = fixture(draw)
    plan: Plan = {
        ("home", ""): Press(Event("go", "history")),
        ("history", ""): Press(Event("go", "clear")),
        ("clear", ""): Press(Event("clear_history")),
    }
    changes = tuple(Change("history", visit.id, removed=True) for visit in data.history)
    return Instance({}, data, plan, changes)


TEMPLATES = (
    *GENERAL_TEMPLATES,
    Template(
        name="browser_bookmark",
        app="browser",
        oracle_steps=10,
        phrasings=(
            "Bookmark the recipe for {dish} in the browser",
            "Search the web for {dish} and save the page as a bookmark",
        ),
        set_up=_bookmark,
        tags=("scrolls",),
        held_out=("Keep the page about {dish} among my bookmarks",),
    ),
    Template(
        name="browser_drop_bookmark",
        app="browser",
        oracle_steps=8,
        phrasings=(
            "Remove the bookmark of the weather in {city} from the browser",
            "Delete the browser bookmark for the weather in {city}",
        ),
        set_up=_drop_bookmark,
        tags=("scrolls",),
        held_out=("My bookmarks shall no longer have the weather in {city}",),
    ),
    Template(
        name="browser_close_tab",
        app="browser",
        oracle_steps=7,
        phrasings=(
            "Close the browser tab with the recipe for {dish}",
            "In the browser close the tab about {dish}",
        ),
        set_up=_close_tab,
        tags=("scrolls",),
        held_out=("The tab that shows how to cook {dish} is not needed any more",),
    ),
    Template(
        name="browser_home_page",
        app="browser",
        oracle_steps=8,
        phrasings=(
            "Make {site} the home page of the browser",
            "Set the home page to {site} in the settings of the browser",
        ),
        set_up=_home_page,
        tags=("scrolls",),
        held_out=("The browser shall have {site} as its home page",),
    ),
    Template(
        name="browser_engine",
        app="browser",
        oracle_steps=7,
        phrasings=(
            "Make {engine} the search engine of the browser",
            "Set the search engine to {engine} in the settings of the browser",
        ),
        set_up=_engine,
        tags=("scrolls",),
        held_out=("From now on the browser shall search with {engine}",),
    ),
    Template(
        name="browser_clear_history",
        app="browser",
        oracle_steps=6,
        phrasings=("Clear the history of the browser", "Delete all visited pages in the browser"),
        set_up=_clear_history,
        tags=("no_parameters",),
        held_out=("Nobody shall see which pages I visited",),
    ),
    *FORM_TEMPLATES,
    *BROWSER_LINKS,
)

"""What the app store shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from apps_mock.app import App, AppState, Page
from apps_mock.apps.store import CATEGORIES, StoreApp, StoreData, found, update
from apps_mock.look import Look, wording
from apps_mock.records import find
from apps_mock.widgets import (
    Button,
    Card,
    Chip,
    Chips,
    Event,
    Field,
    Image,
    Row,
    Screen,
    Text,
    Widget,
)

SEARCH_APPS = wording("Search apps", "Search Bazaar", held_out=("Which app do you need",))
INSTALL = wording("Install", "Get app", held_out=("Put on this phone",))
UNINSTALL = wording("Uninstall", "Remove app", held_out=("Take off this phone",))
OPEN = wording("Open", "Open app", held_out=("Start app",))
UPDATE = wording("Update", "Update app", held_out=("Get the new version",))
UPDATE_ALL = wording("Update all", "Update all apps", held_out=("Renew all apps",))
MY_APPS = wording("My apps", "Installed apps", held_out=("What I have",))
CATEGORY = wording("Categories", "Browse categories", held_out=("Kinds of apps",))
RATE = wording("Write a rating", "Rate this app", held_out=("Say how you like it",))
SEND_RATING = wording("Send rating", "Submit", held_out=("Hand in",))
STORE_SETTINGS = wording("Store settings", "Bazaar settings", held_out=("Adjust Bazaar",))


def view(state: AppState[StoreData], look: Look) -> Screen:
    """What the page on top shows."""
    return _VIEWS[state.page.name](state.data, state.page, look)


def _home(data: StoreData, page: Page, look: Look) -> Screen:
    text, label = page.draft("query"), look.word(SEARCH_APPS)
    body: list[Widget] = [
        Field("query", label, text, search=True, on_enter=Event("search")),
        Button(look.say("Search"), Event("search")),
        Text(look.say("Recommended for you"), heading=True),
        *(_card(app, look) for app in look.ordered(data.apps[:5], _id)),
    ]
    body.extend(Text(line) for line in look.noise("store"))
    return Screen(
        look.say("Bazaar"),
        tuple(body),
        places=(
            Button(look.word(MY_APPS), Event("go", "mine")),
            Button(look.word(CATEGORY), Event("go", "categories")),
        ),
        overflow=(Button(look.word(STORE_SETTINGS), Event("go", "settings")),),
        back=False,
    )


def _id(app: StoreApp) -> str:
    return app.id


def _card(app: StoreApp, look: Look) -> Card:
    return Card(
        app.label,
        (look.say(app.category), f"★ {app.rating / 10:.1f}"),
        on_tap=Event("go", "app", app.id),
        image="App",
        badge=look.say("Installed") if app.installed else "",
    )


def _listed(title: str, apps: Sequence[StoreApp], look: Look) -> Screen:
    rows: tuple[Widget, ...] = tuple(_card(app, look) for app in apps)
    return Screen(title, rows or (Text(look.say("No apps found")),))


def _results(data: StoreData, page: Page, look: Look) -> Screen:
    return _listed(page.argument, found(data, page.argument), look)


def _categories(_data: StoreData, _page: Page, look: Look) -> Screen:
    rows = tuple(
        Row(look.say(name), on_tap=Event("go", "category", name))
        for name in look.ordered(CATEGORIES, str)
    )
    return Screen(look.word(CATEGORY), rows)


def _category(data: StoreData, page: Page, look: Look) -> Screen:
    own = [app for app in data.apps if app.category == page.argument]
    return _listed(look.say(page.argument), look.ordered(own, _id), look)


def _mine(data: StoreData, _page: Page, look: Look) -> Screen:
    own = look.ordered([app for app in data.apps if app.installed], _id)
    rows: list[Widget] = [
        Row(
            app.label,
            look.say("Version {version}").format(version=app.version),
            on_tap=Event("go", "app", app.id),
            badge=look.say("Update available") if app.is_outdated else "",
        )
        for app in own
    ]
    if not rows:
        rows.append(Text(look.say("No apps are installed")))
    actions: tuple[Button, ...] = ()
    if any(app.is_outdated for app in own):
        actions = (Button(look.word(UPDATE_ALL), Event("update_all"), primary=True),)
    return Screen(look.word(MY_APPS), tuple(rows), actions)


def _app(data: StoreData, page: Page, look: Look) -> Screen:
    app = find(data.apps, page.argument)
    if app is None:
        return Screen(look.say("Bazaar"), (Text(look.say("This app is gone")),))
    facts = (
        ("Rating", f"★ {app.rating / 10:.1f}"),
        ("Download size", f"{app.size_mb} MB"),
        ("Version", app.version),
        ("Category", look.say(app.category)),
    )
    body: list[Widget] = [Image("App", app.label)]
    if app.is_outdated:
        body.append(Text(look.say("Update available"), heading=True))
    body.extend(Row(look.say(label), text) for label, text in facts)
    body.append(Row(look.word(RATE), on_tap=Event("go", "rate", app.id)))
    body.extend(
        Row(f"★ {opinion.stars}", opinion.text)
        for opinion in data.opinions
        if opinion.app == app.id
    )
    body.append(Text(look.say("This app needs no account and shows no advertisements")))
    return Screen(app.label, tuple(body), _actions(app, look))


def _actions(app: StoreApp, look: Look) -> tuple[Button, ...]:
    if not app.installed:
        return (Button(look.word(INSTALL), Event("install", app.id), primary=True),)
    remove = Button(look.word(UNINSTALL), Event("go", "uninstall", app.id))
    run = Button(look.word(OPEN), Event("open_app", app.id), primary=not app.is_outdated)
    if not app.is_outdated:
        return (remove, run)
    return (remove, run, Button(look.word(UPDATE), Event("update_app", app.id), primary=True))


def _uninstall(data: StoreData, page: Page, look: Look) -> Screen:
    app = find(data.apps, page.argument)
    return Screen(
        look.word(UNINSTALL),
        (Text(app.label if app else page.argument),),
        (
            Button(look.word("keep"), Event("back")),
            Button(look.word("yes"), Event("uninstall", page.argument), primary=True),
        ),
        dialog=True,
    )


def _rate(data: StoreData, page: Page, look: Look) -> Screen:
    app = find(data.apps, page.argument)
    stars = page.draft("stars")
    chips = tuple(
        Chip(f"{number} ★", str(number) == stars, Event("set", "stars", str(number)))
        for number in range(1, 6)
    )
    return Screen(
        app.label if app else page.argument,
        (Chips(chips), Field("text", look.say("Your opinion"), page.draft("text"), lines=2)),
        (Button(look.word(SEND_RATING), Event("rate", page.argument), primary=True),),
    )


def _settings(data: StoreData, _page: Page, look: Look) -> Screen:
    rows = tuple(
        Row(look.say(each.id), checked=each.on, on_toggle=Event("toggle", each.id, "on"))
        for each in data.switches
    )
    return Screen(look.word(STORE_SETTINGS), rows)


_VIEWS: dict[str, Callable[[StoreData, Page, Look], Screen]] = {
    "home": _home,
    "results": _results,
    "categories": _categories,
    "category": _category,
    "mine": _mine,
    "app": _app,
    "uninstall": _uninstall,
    "rate": _rate,
    "settings": _settings,
}

APP: App[StoreData] = App(
    name="store",
    label="Bazaar",
    package="org.outrider.clones.store",
    update=update,
    view=view,
    takes_shares="shared",
)

"""Tasks in the app store: installing, opening, updating, removing and rating apps."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps.store import LABELS, fixture
from apps_mock.catalogue import Term
from apps_mock.entities import ALARM_LABELS, Draw
from apps_mock.plans import Entry, Fill, GiveAnswer, GiveUp, Plan, Press, Stage
from apps_mock.records import changed
from apps_mock.suites.store_paths import (
    having,
    installing,
    search,
    store_with,
    to_app,
    uninstalling,
)
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Answer, Change, PageGoal
from apps_mock.widgets import Event


def _install(draw: Draw) -> Instance:
    data, app = store_with(draw, installed=False)
    plan, change = installing(app)
    return Instance({"label": app.label}, data, plan, (change,))


def _uninstall(draw: Draw) -> Instance:
    data, app = store_with(draw, installed=True)
    plan, change = uninstalling(app)
    return Instance({"label": app.label}, data, plan, (change,))


def _open(draw: Draw) -> Instance:
    """The app is missing in half of the cases."""
    data, app = store_with(draw, installed=draw.random.random() < 0.5)
    plan = to_app(app)
    plan["app", app.id] = Press(Event("open_app", app.id))
    page = PageGoal("home", app=app.id)
    if app.installed:
        return Instance({"label": app.label}, data, plan, page=page)
    first, change = installing(app)
    stage = Stage("store", first, changes=(change,))
    return Instance({"label": app.label}, data, plan, (change,), page=page, stages=(stage,))


def _update(draw: Draw) -> Instance:
    data, app = store_with(draw, installed=True)
    data = replace(data, apps=changed(data.apps, app.id, version="0.9"))
    plan: Plan = {
        ("home", ""): Press(Event("go", "mine")),
        ("mine", ""): Press(Event("go", "app", app.id)),
        ("app", app.id): Press(Event("update_app", app.id)),
    }
    change = Change("apps", app.id, (("version", app.latest),))
    return Instance({"label": app.label}, data, plan, (change,))


def _update_all(draw: Draw) -> Instance:
    data, app = store_with(draw, installed=True)
    data = replace(data, apps=changed(data.apps, app.id, version="0.9"))
    plan: Plan = {
        ("home", ""): Press(Event("go", "mine")),
        ("mine", ""): Press(Event("update_all")),
    }
    changes = tuple(
        Change("apps", each.id, (("version", each.latest),))
        for each in data.apps
        if each.is_outdated
    )
    return Instance({}, data, plan, changes)


def _rate(draw: Draw) -> Instance:
    data, app = store_with(draw, installed=True)
    text, stars = draw.of(ALARM_LABELS, pseudo=True), str(draw.random.randrange(1, 6))
    plan = to_app(app)
    plan["app", app.id] = Press(Event("go", "rate", app.id))
    plan["rate", app.id] = Fill(
        (Entry("stars", stars, Event("set", "stars", stars)), Entry("text", text)),
        Event("rate", app.id),
    )
    values = (("app", app.id), ("stars", int(stars)), ("text", text))
    words = {"label": app.label, "stars": stars, "text": text}
    return Instance(words, data, plan, (Change("opinions", None, values),))


def _browse(draw: Draw) -> Instance:
    data, app = store_with(draw, installed=False)
    plan: Plan = {
        ("home", ""): Press(Event("go", "categories")),
        ("categories", ""): Press(Event("go", "category", app.category)),
        ("category", app.category): Press(Event("go", "app", app.id)),
    }
    words: dict[str, str | Term] = {"label": app.label, "category": Term(app.category)}
    return Instance(words, data, plan, page=PageGoal("app", app.id))


def _size(draw: Draw) -> Instance:
    data, app = store_with(draw, installed=False)
    plan = to_app(app)
    plan["app", app.id] = GiveAnswer()
    answer = Answer("number", str(app.size_mb))
    return Instance({"label": app.label}, data, plan, answer=answer)


def _rating(draw: Draw) -> Instance:
    data, app = store_with(draw, installed=False)
    plan = to_app(app)
    plan["app", app.id] = GiveAnswer()
    answer = Answer("number", f"{app.rating / 10:.1f}")
    return Instance({"label": app.label}, data, plan, answer=answer)


def _missing(draw: Draw) -> Instance:
    data = fixture(draw)
    label = draw.of(LABELS)
    plan = search(label)
    plan["results", label] = GiveUp()
    return Instance({"label": label}, data, plan, infeasible=True)


def _exchange(draw: Draw) -> Instance:
    data = fixture(draw)
    old, new = draw.random.sample(data.apps, 2)
    data, old = having(data, old, installed=True)
    data, new = having(data, new, installed=False)
    first, removed = uninstalling(old)
    plan, added = installing(new)
    words = {"old": old.label, "new": new.label}
    stage = Stage("store", first, changes=(removed,))
    return Instance(words, data, plan, (removed, added), stages=(stage,))


TEMPLATES = (
    Template(
        name="install_app",
        app="store",
        oracle_steps=8,
        phrasings=("Install the app {label} from Bazaar", "Get {label} from Bazaar"),
        set_up=_install,
        tags=("scrolls",),
        held_out=("I want to have {label} on this phone so take it from Bazaar",),
        suite="install",
    ),
    Template(
        name="install_open",
        app="store",
        oracle_steps=10,
        phrasings=(
            "Open the app {label} and install it from Bazaar if it is missing",
            "Start {label} and if it is not installed get it from Bazaar first",
        ),
        set_up=_open,
        tags=("scrolls",),
        held_out=("Use {label} and take it from Bazaar when this phone does not have it",),
        suite="install",
    ),
    Template(
        name="install_uninstall",
        app="store",
        oracle_steps=10,
        phrasings=("Uninstall the app {label} in Bazaar", "Remove {label} from this phone"),
        set_up=_uninstall,
        tags=("scrolls",),
        held_out=("I do not want {label} on this phone any more",),
        suite="install",
    ),
    Template(
        name="install_update",
        app="store",
        oracle_steps=8,
        phrasings=("Update the app {label} in Bazaar", "Bring {label} to its latest version"),
        set_up=_update,
        tags=("scrolls",),
        held_out=("There is a newer {label} in Bazaar so get it",),
        suite="install",
    ),
    Template(
        name="install_update_all",
        app="store",
        oracle_steps=6,
        phrasings=("Update all apps in Bazaar", "Bring every app to its latest version"),
        set_up=_update_all,
        tags=("no_parameters", "scrolls"),
        held_out=("No app shall be out of date",),
        suite="install",
    ),
    Template(
        name="install_rate",
        app="store",
        oracle_steps=14,
        phrasings=(
            "Rate {label} in Bazaar with {stars} stars and the text {text}",
            "Give {label} {stars} stars in Bazaar and write {text} as opinion",
        ),
        set_up=_rate,
        tags=("scrolls",),
        held_out=("Tell Bazaar that {label} is worth {stars} stars and say {text}",),
        suite="install",
    ),
    Template(
        name="install_browse",
        app="store",
        oracle_steps=7,
        phrasings=(
            "Find {label} in the category {category} of Bazaar and open its page",
            "Browse {category} in Bazaar and look at {label}",
        ),
        set_up=_browse,
        tags=("scrolls",),
        held_out=("Show the page of {label} which Bazaar keeps among {category}",),
        suite="install",
    ),
    Template(
        name="install_size",
        app="store",
        oracle_steps=9,
        phrasings=(
            "How many megabytes does {label} need according to Bazaar",
            "What is the size of {label} in Bazaar in megabytes",
        ),
        set_up=_size,
        tags=("answer", "scrolls"),
        held_out=("How big is {label} in Bazaar",),
        suite="install",
    ),
    Template(
        name="install_rating",
        app="store",
        oracle_steps=8,
        phrasings=(
            "How many stars does {label} have in Bazaar on average",
            "What is the rating of {label} in Bazaar",
        ),
        set_up=_rating,
        tags=("answer", "scrolls"),
        held_out=("With how many stars do people in Bazaar rate {label}",),
        suite="install",
    ),
    Template(
        name="install_missing",
        app="store",
        oracle_steps=5,
        phrasings=("Install {label} which Bazaar should have", "Look for {label} and install it"),
        set_up=_missing,
        tags=("infeasible", "scrolls"),
        held_out=("Put {label} from Bazaar on this phone",),
        suite="install",
    ),
    Template(
        name="install_exchange",
        app="store",
        oracle_steps=18,
        phrasings=(
            "Uninstall {old} and install {new} from Bazaar instead",
            "Replace the app {old} by {new} from Bazaar",
        ),
        set_up=_exchange,
        tags=("scrolls",),
        held_out=("I no longer like {old} so have {new} from Bazaar in its place",),
        suite="install",
    ),
)

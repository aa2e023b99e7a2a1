"""Ways through the app store that several tasks take."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps.store import StoreApp, StoreData, fixture
from apps_mock.entities import Draw
from apps_mock.plans import Entry, Fill, Plan, Press
from apps_mock.records import changed
from apps_mock.wanted import Change
from apps_mock.widgets import Event


def search(label: str) -> Plan:
    """The way to what a search finds."""
    return {("home", ""): Fill((Entry("query", label),), Event("search"))}


def to_app(app: StoreApp) -> Plan:
    """The way to an app's page, by a search."""
    plan = search(app.label)
    plan["results", app.label] = Press(Event("go", "app", app.id))
    return plan


def store_with(draw: Draw, *, installed: bool) -> tuple[StoreData, StoreApp]:
    """A store, and one of its apps, which is up to date and installed or not."""
    data = fixture(draw)
    app = draw.random.choice(data.apps)
    return having(data, app, installed=installed)


def having(data: StoreData, app: StoreApp, *, installed: bool) -> tuple[StoreData, StoreApp]:
    """The store with one of its apps up to date, and installed or not."""
    apps = changed(data.apps, app.id, installed=installed, version=app.latest)
    return replace(data, apps=apps), replace(app, installed=installed, version=app.latest)


def installing(app: StoreApp) -> tuple[Plan, Change]:
    """The way to install an app, and what it changes."""
    plan = to_app(app)
    plan["app", app.id] = Press(Event("install", app.id))
    return plan, Change("apps", app.id, (("installed", True),))


def uninstalling(app: StoreApp) -> tuple[Plan, Change]:
    """The way to remove an app, and what it changes."""
    plan = to_app(app)
    plan["app", app.id] = Press(Event("go", "uninstall", app.id))
    plan["uninstall", app.id] = Press(Event("uninstall", app.id))
    return plan, Change("apps", app.id, (("installed", False),))

"""The launcher, the list of recent apps, and apps that only stand in the way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from apps_mock.app import AnyApp, App, AppState
from apps_mock.look import Look
from apps_mock.widgets import Button, Card, Event, Screen, Text, Tile, Tiles

LAUNCHER = ""
RECENTS = "recents"
PACKAGE = "org.outrider.clones.launcher"
SYSTEM_UI = "org.outrider.clones.systemui"

OTHER_LABELS = (
    "Podcasts",
    "Camera",
    "Gallery",
    "Music",
    "Weather",
    "Maps",
    "Calculator",
    "Compass",
    "Mail",
    "Radio",
    "Recorder",
    "News",
)
"""Apps that are installed on some phones and that no task needs."""


DOCK_SIZE: Final = 4
PAGE_SIZE: Final = 16
"""Icons on a page of the launcher, beside those in the dock."""


def page_count(apps: Sequence[AnyApp]) -> int:
    """How many pages the launcher has."""
    return max(1, math.ceil((len(apps) - DOCK_SIZE) / PAGE_SIZE))


def launcher_view(apps: Sequence[AnyApp], look: Look, page: int = 0) -> Screen:
    """Icons of the installed apps: a page of them, and the dock that is on every page."""
    ordered = look.ordered(apps, lambda app: app.name)
    tiles = tuple(Tile(look.say(app.label), Event("launch", app.name)) for app in ordered)
    dock, others = tiles[:DOCK_SIZE], tiles[DOCK_SIZE:]
    shown = others[page * PAGE_SIZE : (page + 1) * PAGE_SIZE]
    return Screen("", (Tiles(shown), Tiles(dock)), back=False)


def recents_view(apps: Sequence[AnyApp], look: Look) -> Screen:
    """Apps that were used, the latest first."""
    if not apps:
        return Screen(look.say("Recent apps"), (Text(look.say("No recent apps")),), back=False)
    cards = tuple(Card(look.say(app.label), on_tap=Event("launch", app.name)) for app in apps)
    clear = Button(look.say("Clear all"), Event("clear_recents"))
    return Screen(look.say("Recent apps"), (*cards, clear), back=False)


def leaflet(label: str) -> App[None]:
    """An app with one page that only says something."""

    def update(state: AppState[None], _event: Event) -> AppState[None]:
        return state

    def view(_state: AppState[None], look: Look) -> Screen:
        lines = (look.say("Nothing new today"), *look.noise(label))
        return Screen(look.say(label), tuple(Text(line) for line in lines), back=False)

    name = label.lower()
    return App(
        name=name, label=label, package=f"org.outrider.clones.{name}", update=update, view=view
    )

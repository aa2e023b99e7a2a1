"""The launcher, the list of recent apps, and apps that only stand in the way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from apps_mock.app import AnyApp, App, AppState
from apps_mock.look import Look
from apps_mock.places import sizes_of
from apps_mock.plain_layout import grid_of
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


def page_count(apps: Sequence[AnyApp], look: Look) -> int:
    """How many pages the launcher has."""
    columns, on_page = _grid(look, _labels(apps, look))
    return max(1, math.ceil((len(apps) - columns) / on_page))


def launcher_view(apps: Sequence[AnyApp], look: Look, page: int = 0) -> Screen:
    """Icons of the installed apps: a page of them, and the dock that is on every page."""
    ordered = look.ordered(apps, lambda app: app.name)
    tiles = tuple(Tile(look.say(app.label), Event("launch", app.name)) for app in ordered)
    columns, on_page = _grid(look, _labels(apps, look))
    dock, others = tiles[:columns], tiles[columns:]
    shown = others[page * on_page : (page + 1) * on_page]
    body = (Tiles(shown),) if shown else ()
    return Screen("", body, back=False, dock=dock, swipes=len(others) > on_page)


def _labels(apps: Sequence[AnyApp], look: Look) -> tuple[str, ...]:
    return tuple(look.say(app.label) for app in apps)


@lru_cache(maxsize=1024)
def _grid(look: Look, labels: tuple[str, ...]) -> tuple[int, int]:
    """How many icons stand in a line, and on a page above the dock."""
    tiles = Tiles(tuple(Tile(label, Event("launch")) for label in labels))
    columns, _, height = grid_of(tiles, look.width_px, look)
    lines = (look.height_px - sizes_of(look).status) // height
    return columns, columns * max(1, lines - 1)


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

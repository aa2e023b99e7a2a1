"""The launcher, the list of recent apps, and apps that only stand in the way."""

from __future__ import annotations

from collections.abc import Sequence

from apps_mock.app import App, AppState
from apps_mock.look import Look
from apps_mock.widgets import Event, Row, Screen, Text, Tile, Tiles

LAUNCHER = ""
RECENTS = "recents"
PACKAGE = "org.outrider.clones.launcher"

OTHER_LABELS = (
    "Notes",
    "Camera",
    "Gallery",
    "Music",
    "Weather",
    "Maps",
    "Calculator",
    "Files",
    "Mail",
    "Radio",
    "Shop",
    "News",
)
"""Apps that are installed on some phones and that no task needs."""


def launcher_view(apps: Sequence[App[object]], look: Look) -> Screen:
    """Icons of the installed apps."""
    ordered = look.ordered(apps, lambda app: app.name)
    tiles = tuple(Tile(app.label, Event("launch", app.name)) for app in ordered)
    return Screen("", (Tiles(tiles),), back=False)


def recents_view(apps: Sequence[App[object]]) -> Screen:
    """Apps that were used, the latest first."""
    rows = tuple(Row(app.label, on_tap=Event("launch", app.name)) for app in apps)
    return Screen("Recent apps", rows or (Text("No recent apps"),), back=False)


def leaflet(label: str) -> App[None]:
    """An app with one page that only says something."""

    def update(state: AppState[None], _event: Event) -> AppState[None]:
        return state

    def view(_state: AppState[None], look: Look) -> Screen:
        lines = ("Nothing new today", *look.noise(label))
        return Screen(label, tuple(Text(line) for line in lines), back=False)

    name = label.lower()
    return App(
        name=name, label=label, package=f"org.outrider.clones.{name}", update=update, view=view
    )

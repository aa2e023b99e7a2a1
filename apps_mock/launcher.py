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


def launcher_view(apps: Sequence[App[object]], look: Look) -> Screen:
    """Icons of the installed apps."""
    shown = [app for app in apps if app.name != "system"]
    ordered = look.ordered(shown, lambda app: app.name)
    tiles = tuple(Tile(look.say(app.label), Event("launch", app.name)) for app in ordered)
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

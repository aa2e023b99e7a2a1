"""The browser app: a small web of pages."""

from __future__ import annotations

from dataclasses import dataclass

from apps_mock.app import App, AppState
from apps_mock.entities import Draw
from apps_mock.look import Look
from apps_mock.widgets import Event, Screen, Text


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A page to come back to."""

    id: str


@dataclass(frozen=True, slots=True)
class BrowserData:
    """Everything in the app."""

    bookmarks: tuple[Bookmark, ...] = ()


def fixture(_draw: Draw) -> BrowserData:
    """What is in the app before a task is set up."""
    return BrowserData()


def update(state: AppState[BrowserData], _event: Event) -> AppState[BrowserData]:
    """The state after an event."""
    return state


def view(_state: AppState[BrowserData], look: Look) -> Screen:
    """What the page on top shows."""
    return Screen(look.say("Browser"), (Text(look.say("Nothing new today")),), back=False)


APP: App[BrowserData] = App(
    name="browser",
    label="Browser",
    package="org.outrider.clones.browser",
    update=update,
    view=view,
)

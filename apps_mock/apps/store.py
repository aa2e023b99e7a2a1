"""The store app: apps that can be installed."""

from __future__ import annotations

from dataclasses import dataclass

from apps_mock.app import App, AppState
from apps_mock.entities import Draw
from apps_mock.look import Look
from apps_mock.widgets import Event, Screen, Text


@dataclass(frozen=True, slots=True)
class StoreApp:
    """An app that can be installed."""

    id: str


@dataclass(frozen=True, slots=True)
class StoreData:
    """Everything in the app."""

    apps: tuple[StoreApp, ...] = ()


def fixture(_draw: Draw) -> StoreData:
    """What is in the app before a task is set up."""
    return StoreData()


def update(state: AppState[StoreData], _event: Event) -> AppState[StoreData]:
    """The state after an event."""
    return state


def view(_state: AppState[StoreData], look: Look) -> Screen:
    """What the page on top shows."""
    return Screen(look.say("Bazaar"), (Text(look.say("Nothing new today")),), back=False)


APP: App[StoreData] = App(
    name="store",
    label="Bazaar",
    package="org.outrider.clones.store",
    update=update,
    view=view,
)

"""The notes app: notes in folders."""

from __future__ import annotations

from dataclasses import dataclass

from apps_mock.app import App, AppState
from apps_mock.entities import Draw
from apps_mock.look import Look
from apps_mock.widgets import Event, Screen, Text


@dataclass(frozen=True, slots=True)
class Note:
    """A text with a title."""

    id: str


@dataclass(frozen=True, slots=True)
class NotesData:
    """Everything in the app."""

    notes: tuple[Note, ...] = ()


def fixture(_draw: Draw) -> NotesData:
    """What is in the app before a task is set up."""
    return NotesData()


def update(state: AppState[NotesData], _event: Event) -> AppState[NotesData]:
    """The state after an event."""
    return state


def view(_state: AppState[NotesData], look: Look) -> Screen:
    """What the page on top shows."""
    return Screen(look.say("Notes"), (Text(look.say("Nothing new today")),), back=False)


APP: App[NotesData] = App(
    name="notes",
    label="Notes",
    package="org.outrider.clones.notes",
    update=update,
    view=view,
)

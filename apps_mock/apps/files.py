"""The files app: folders with files."""

from __future__ import annotations

from dataclasses import dataclass

from apps_mock.app import App, AppState
from apps_mock.entities import Draw
from apps_mock.look import Look
from apps_mock.widgets import Event, Screen, Text


@dataclass(frozen=True, slots=True)
class File:
    """A file in a folder."""

    id: str


@dataclass(frozen=True, slots=True)
class FilesData:
    """Everything in the app."""

    files: tuple[File, ...] = ()


def fixture(_draw: Draw) -> FilesData:
    """What is in the app before a task is set up."""
    return FilesData()


def update(state: AppState[FilesData], _event: Event) -> AppState[FilesData]:
    """The state after an event."""
    return state


def view(_state: AppState[FilesData], look: Look) -> Screen:
    """What the page on top shows."""
    return Screen(look.say("Files"), (Text(look.say("Nothing new today")),), back=False)


APP: App[FilesData] = App(
    name="files",
    label="Files",
    package="org.outrider.clones.files",
    update=update,
    view=view,
)

"""The todo app: things to do with their dates."""

from __future__ import annotations

from dataclasses import dataclass

from apps_mock.app import App, AppState
from apps_mock.entities import Draw
from apps_mock.look import Look
from apps_mock.widgets import Event, Screen, Text


@dataclass(frozen=True, slots=True)
class Todo:
    """A thing to do."""

    id: str


@dataclass(frozen=True, slots=True)
class TodoData:
    """Everything in the app."""

    todos: tuple[Todo, ...] = ()


def fixture(_draw: Draw) -> TodoData:
    """What is in the app before a task is set up."""
    return TodoData()


def update(state: AppState[TodoData], _event: Event) -> AppState[TodoData]:
    """The state after an event."""
    return state


def view(_state: AppState[TodoData], look: Look) -> Screen:
    """What the page on top shows."""
    return Screen(look.say("Tasks"), (Text(look.say("Nothing new today")),), back=False)


APP: App[TodoData] = App(
    name="todo",
    label="Tasks",
    package="org.outrider.clones.todo",
    update=update,
    view=view,
)

"""The calendar app: days with their events."""

from __future__ import annotations

from dataclasses import dataclass

from apps_mock.app import App, AppState
from apps_mock.entities import Draw
from apps_mock.look import Look
from apps_mock.widgets import Event, Screen, Text


@dataclass(frozen=True, slots=True)
class CalendarEvent:
    """Something that happens at a time."""

    id: str


@dataclass(frozen=True, slots=True)
class CalendarData:
    """Everything in the app."""

    events: tuple[CalendarEvent, ...] = ()


def fixture(_draw: Draw) -> CalendarData:
    """What is in the app before a task is set up."""
    return CalendarData()


def update(state: AppState[CalendarData], _event: Event) -> AppState[CalendarData]:
    """The state after an event."""
    return state


def view(_state: AppState[CalendarData], look: Look) -> Screen:
    """What the page on top shows."""
    return Screen(look.say("Calendar"), (Text(look.say("Nothing new today")),), back=False)


APP: App[CalendarData] = App(
    name="calendar",
    label="Calendar",
    package="org.outrider.clones.calendar",
    update=update,
    view=view,
)

"""The messages app: people to write to and the conversations with them."""

from __future__ import annotations

from dataclasses import dataclass

from apps_mock.app import App, AppState
from apps_mock.entities import Draw
from apps_mock.look import Look
from apps_mock.widgets import Event, Screen, Text


@dataclass(frozen=True, slots=True)
class Message:
    """A text that was sent or received."""

    id: str


@dataclass(frozen=True, slots=True)
class MessagesData:
    """Everything in the app."""

    messages: tuple[Message, ...] = ()


def fixture(_draw: Draw) -> MessagesData:
    """What is in the app before a task is set up."""
    return MessagesData()


def update(state: AppState[MessagesData], _event: Event) -> AppState[MessagesData]:
    """The state after an event."""
    return state


def view(_state: AppState[MessagesData], look: Look) -> Screen:
    """What the page on top shows."""
    return Screen(look.say("Messages"), (Text(look.say("Nothing new today")),), back=False)


APP: App[MessagesData] = App(
    name="messages",
    label="Messages",
    package="org.outrider.clones.messages",
    update=update,
    view=view,
)

"""What belongs to the whole phone and to no app that shows: clipboard and notifications."""

from __future__ import annotations

from dataclasses import dataclass

from apps_mock.app import App, AppState
from apps_mock.entities import Draw
from apps_mock.look import Look
from apps_mock.widgets import Event, Screen

CLIP = "clip"
"""Id of the one record on the clipboard."""


@dataclass(frozen=True, slots=True)
class Clip:
    """What was copied last."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Notification:
    """An entry of the notification shade; touching it opens the app at the page."""

    id: str
    app: str
    title: str
    text: str = ""
    page: str = ""
    argument: str = ""


@dataclass(frozen=True, slots=True)
class Permission:
    """What the owner said when an app asked; `id` is app and permission with a slash between."""

    id: str
    allowed: bool


@dataclass(frozen=True, slots=True)
class SystemData:
    """What the phone itself remembers."""

    clipboard: tuple[Clip, ...] = (Clip(CLIP, ""),)
    notifications: tuple[Notification, ...] = ()
    permissions: tuple[Permission, ...] = ()


NOISE = (
    ("Backup complete", "All your photos are safe"),
    ("Charging", "Full in about an hour"),
    ("System update available", "Touch to see more"),
    ("Weekly report", "You used this phone less than last week"),
    ("Storage is nearly full", "Free some space"),
)
"""Notifications that mean nothing for any task; touching one opens the settings."""


def fixture(draw: Draw) -> SystemData:
    """An empty clipboard, and notifications that stand in the way."""
    chosen = draw.random.sample(NOISE, draw.random.randrange(3))
    return SystemData(
        notifications=tuple(
            Notification(f"n{number}", "settings", title, text)
            for number, (title, text) in enumerate(chosen)
        )
    )


def _update(state: AppState[SystemData], _event: Event) -> AppState[SystemData]:
    return state


def _view(_state: AppState[SystemData], _look: Look) -> Screen:
    return Screen("", back=False)


APP: App[SystemData] = App(
    name="system",
    label="System",
    package="org.outrider.clones.system",
    update=_update,
    view=_view,
)

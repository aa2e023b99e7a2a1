"""The apps that a mock phone can have, and what is in each before a task is set up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apps_mock.app import AnyApp
from apps_mock.apps import (
    browser,
    browser_view,
    calendar,
    clock,
    contacts,
    files,
    files_view,
    messages,
    messages_view,
    notes,
    notes_view,
    settings,
    settings_view,
    shop,
    shop_view,
    store,
    store_view,
    system,
    tickets,
    tickets_view,
    todo,
    todo_view,
)
from apps_mock.entities import Draw
from apps_mock.launcher import OTHER_LABELS, leaflet

SYSTEM = system.APP.name
"""The one app that has no icon."""

TASK_APPS: tuple[AnyApp, ...] = (
    settings_view.APP,
    contacts.APP,
    clock.APP,
    tickets_view.APP,
    messages_view.APP,
    calendar.APP,
    notes_view.APP,
    files_view.APP,
    todo_view.APP,
    shop_view.APP,
    browser_view.APP,
    store_view.APP,
)
"""Apps that tasks are about."""

APPS: dict[str, AnyApp] = {
    **{app.name: app for app in (system.APP, *TASK_APPS)},
    **{label.lower(): leaflet(label) for label in (*OTHER_LABELS, *store.LABELS)},
}
"""All apps by name."""

FIXTURES: dict[str, Callable[[Draw], Any]] = {
    "system": system.fixture,
    "settings": settings.fixture,
    "contacts": contacts.fixture,
    "clock": clock.fixture,
    "tickets": tickets.fixture,
    "messages": messages.fixture,
    "calendar": calendar.fixture,
    "notes": notes.fixture,
    "files": files.fixture,
    "todo": todo.fixture,
    "shop": shop.fixture,
    "browser": browser.fixture,
    "store": store.fixture,
}
"""What is in each app before a task is set up. Any: every app has its own type of data."""

"""The apps that a mock phone can have."""

from __future__ import annotations

from apps_mock.app import AnyApp
from apps_mock.apps import clock, contacts, settings, tickets_view
from apps_mock.launcher import OTHER_LABELS, leaflet

TASK_APPS: tuple[AnyApp, ...] = (settings.APP, contacts.APP, clock.APP, tickets_view.APP)
"""Apps that tasks are about; every phone has them."""

APPS: dict[str, AnyApp] = {
    **{app.name: app for app in TASK_APPS},
    **{label.lower(): leaflet(label) for label in OTHER_LABELS},
}
"""All apps by name."""

"""Suites of task templates, one module per app."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apps_mock.tasks import Template


def all_templates() -> tuple[Template, ...]:
    """The templates of all suites."""
    from apps_mock.suites import clock, contacts, settings, tickets  # noqa: PLC0415 - they need tasks

    return (
        *settings.TEMPLATES,
        *contacts.TEMPLATES,
        *clock.TEMPLATES,
        *tickets.TEMPLATES,
    )

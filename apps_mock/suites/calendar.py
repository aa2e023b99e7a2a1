"""Tasks in the calendar app."""

from __future__ import annotations

from apps_mock.templates import Template

TEMPLATES: tuple[Template, ...] = ()

"""What apps are called: their labels in every locale, as people and policies say them."""

from __future__ import annotations

from functools import lru_cache

from apps_mock.catalogue import LOCALES, say
from apps_mock.registry import APPS, SYSTEM


@lru_cache(maxsize=1)
def packages_by_label() -> dict[str, str]:
    """Each app's package by its labels, in lower case."""
    apps = [app for app in APPS.values() if app.name != SYSTEM]
    return {say(app.label, locale).casefold(): app.package for locale in LOCALES for app in apps}

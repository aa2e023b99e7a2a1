from __future__ import annotations

import pytest

from apps_mock.app_names import packages_by_label
from apps_mock.catalogue import LOCALES, say
from apps_mock.look import look_number
from apps_mock.phone import MockPhone
from apps_mock.registry import APPS, SYSTEM
from sync.vocabulary import Split, open_app


@pytest.mark.parametrize("locale", LOCALES)
def test_no_two_apps_have_the_same_name_in_any_locale(locale):
    for app in APPS.values():
        if app.name != SYSTEM:
            assert packages_by_label()[say(app.label, locale).casefold()] == app.package


@pytest.mark.parametrize(
    "name", ["Settings", "einstellungen", "設定", "org.outrider.clones.settings"]
)
def test_an_app_is_opened_by_its_name_in_any_locale(name):
    phone = MockPhone()
    phone.load("contacts_open", 1, Split.TRAIN, look_number("de", 1))

    assert phone.act(open_app(name)).valid
    assert phone.state.foreground == "settings"

"""What the app store does, and what it does to the phone."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from apps_mock.app import AppState, Open, Page, Say
from apps_mock.apps.store import LABELS, StoreData, fixture, found
from apps_mock.apps.store_view import APP
from apps_mock.entities import Draw
from apps_mock.look import draw_look
from apps_mock.phone_state import installed
from apps_mock.registry import APPS
from apps_mock.widgets import Event
from sync.vocabulary import Split

LOOK = draw_look(Split.TEST, 1)


@pytest.fixture
def data() -> StoreData:
    return fixture(Draw(Random(2), Split.TEST))


def at(data: StoreData, *pages: Page) -> AppState[StoreData]:
    return AppState(data, (Page("home"), *pages))


def names(phone) -> set[str]:
    return {app.name for app in installed(phone.state)}


def test_every_app_that_stores_sell_is_an_app_of_the_phone():
    assert {label.lower() for label in LABELS} <= set(APPS)
    assert len(set(LABELS)) == len(LABELS)


def test_an_app_shows_on_the_phone_once_it_is_installed(phone_with, solve):
    phone = phone_with("install_app")
    (change,) = phone.task.wanted.changes
    assert change.record not in names(phone)

    solve(phone)

    assert change.record in names(phone)


def test_an_app_leaves_the_phone_once_it_is_uninstalled(phone_with, solve):
    phone = phone_with("install_uninstall")
    (change,) = phone.task.wanted.changes
    assert change.record in names(phone)

    solve(phone)

    assert change.record not in names(phone)


def test_installing_brings_the_latest_version(data):
    app = replace(data.apps[0], installed=False, version="0.1")
    state = at(replace(data, apps=(app,)), Page("app", app.id))

    after = APP.step(state, Event("install", app.id))

    assert after.data.apps[0] == replace(app, installed=True, version=app.latest)
    assert after.effects == (Say("Done"),)


def test_an_app_offers_what_can_be_done_with_it(data):
    app = data.apps[0]
    offered = {}
    for name, state in {
        "missing": replace(app, installed=False),
        "current": replace(app, installed=True, version=app.latest),
        "outdated": replace(app, installed=True, version="0.1"),
    }.items():
        screen = APP.view(at(replace(data, apps=(state,)), Page("app", app.id)), LOOK)
        offered[name] = {button.on_tap.name for button in screen.actions}

    assert offered == {
        "missing": {"install"},
        "current": {"go", "open_app"},
        "outdated": {"go", "open_app", "update_app"},
    }


def test_updating_all_leaves_missing_apps_alone(data):
    old = tuple(replace(app, version="0.1") for app in data.apps)

    after = APP.step(at(replace(data, apps=old), Page("mine")), Event("update_all"))

    for before, now in zip(old, after.data.apps, strict=True):
        assert now.version == (before.latest if before.installed else "0.1")
    assert APP.view(after, LOOK).actions == ()


def test_opening_an_app_brings_it_to_the_front(data):
    app = data.apps[0]

    assert APP.step(at(data), Event("open_app", app.id)).effects == (Open(app.id),)


def test_a_rating_needs_stars_and_may_go_without_words(data):
    app = data.apps[0]
    state = at(data, Page("app", app.id), Page("rate", app.id))
    assert APP.step(state, Event("rate", app.id)).data is data

    starred = APP.step(state, Event("set", "stars", "5"))
    opinion = APP.step(starred, Event("rate", app.id)).data.opinions[-1]
    assert (opinion.app, opinion.stars, opinion.text) == (app.id, 5, "")


def test_a_search_finds_apps_by_the_beginning_of_their_names(data):
    app = data.apps[0]

    assert found(data, app.label[:6].upper())
    assert app in found(data, app.label)
    assert found(data, "zzz") == ()


def test_an_app_that_the_store_does_not_know_changes_nothing(data):
    assert APP.step(at(data), Event("install", "nothing")).data is data
    assert APP.view(at(data, Page("app", "nothing")), LOOK).actions == ()

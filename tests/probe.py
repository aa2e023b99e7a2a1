"""A small app that wants anything of the phone, for tests of the phone itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from apps_mock.app import App, AppState, Page
from apps_mock.apps.settings import fixture as settings_fixture
from apps_mock.apps.system import SystemData
from apps_mock.entities import Draw
from apps_mock.phone_state import PhoneState, new_app_state
from apps_mock.widgets import Event, Field, Row, Screen, Text
from sync.vocabulary import Split


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that the app heard."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class ProbeData:
    """Everything that the app heard."""

    heard: tuple[Entry, ...] = ()


def probe(name, effects=(), *, answers=(), shares="taken", breaks=""):
    """An app that emits `effects` on "want" and `answers` on any other event but a few."""

    def update(state, event):
        if breaks == "update":
            raise ZeroDivisionError("a defect of this app")
        if event.name == "want":
            return state.emitting(*effects)
        heard = Entry(f"e{len(state.data.heard)}", "|".join(event))
        return state.with_data(ProbeData((*state.data.heard, heard))).emitting(*answers)

    def view(state: AppState[ProbeData], look):
        if breaks == "view":
            raise ValueError("a defect of this view")
        body = (
            Text("Words to copy", copyable=True),
            Row("Want", on_tap=Event("want"), on_hold=Event("held")),
            Field("note", "Note", state.page.draft("note", "before")),
            Field("secret", "Secret", state.page.draft("secret"), password=True),
        )
        return Screen(name.title(), body, back=False)

    return App(
        name=name,
        label=name.title(),
        package=f"org.probe.{name}",
        update=update,
        view=view,
        home=Page("home"),
        takes_shares=shares,
    )


def phone_of(*names, now="2025-03-14T09:41", **parts):
    """The state of a phone with settings and these apps."""
    settings = settings_fixture(Draw(Random(1), Split.TRAIN))
    apps = (
        ("system", new_app_state("system", SystemData())),
        ("settings", new_app_state("settings", settings)),
        *((name, new_app_state(name, ProbeData())) for name in names),
    )
    return replace(PhoneState(apps, now=now), **parts)


def heard(state, name):
    """What a probe heard so far."""
    return [entry.text for entry in state.app_state(name).data.heard]

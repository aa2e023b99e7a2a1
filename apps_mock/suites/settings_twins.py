"""AndroidWorld's tasks about the system: wireless, brightness, clipboard, opening apps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from apps_mock.apps.settings import (
    BLUETOOTH,
    BRIGHTNESS,
    WIFI,
    Level,
    SettingsData,
    fixture,
    page_of,
)
from apps_mock.apps.system import CLIP, SystemData
from apps_mock.catalogue import Term
from apps_mock.entities import ALARM_LABELS, CITIES, Draw
from apps_mock.mixing import mixed
from apps_mock.plans import Entry, Fill, Plan, Press, Stage
from apps_mock.records import changed
from apps_mock.registry import APPS, FIXTURES, TASK_APPS
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Change, PageGoal
from apps_mock.widgets import Event
from sync.vocabulary import Split

_SetUp = Callable[[Draw], Instance]


def switch_plan(name: str) -> Plan:
    """The way to a switch, and turning it."""
    page = page_of(name)
    return {
        ("home", ""): Press(Event("go", page)),
        (page, ""): Press(Event("toggle", name, "on")),
    }


def with_switch(data: SettingsData, name: str, *, on: bool) -> SettingsData:
    """The settings with a switch turned on or off."""
    return replace(data, switches=changed(data.switches, name, on=on))


def _turned(name: str, *, on: bool, starts: bool) -> _SetUp:
    def set_up(draw: Draw) -> Instance:
        return Instance(
            words={"name": Term(name), "way": Term("on" if on else "off")},
            data=with_switch(fixture(draw), name, on=starts),
            plan=switch_plan(name),
            changes=(Change("switches", name, (("on", on),)),),
        )

    return set_up


def _bright(value: int, *, starts: int) -> _SetUp:
    def set_up(draw: Draw) -> Instance:
        data = replace(fixture(draw), levels=(Level(BRIGHTNESS, starts),))
        return Instance(
            words={
                "name": Term(BRIGHTNESS),
                "end": Term("highest" if value else "lowest"),
            },
            data=data,
            plan={
                ("home", ""): Press(Event("go", "Display")),
                ("Display", ""): Press(Event("slide", BRIGHTNESS, str(value))),
            },
            changes=(Change("levels", BRIGHTNESS, (("value", value),)),),
        )

    return set_up


def _copy(draw: Draw) -> Instance:
    words = (draw.of(ALARM_LABELS, pseudo=True), draw.of(CITIES, pseudo=True))
    text = " ".join(words)
    return Instance(
        words={"text": text},
        data=fixture(draw),
        others={"system": SystemData()},
        plan={
            ("home", ""): Press(Event("go", "System")),
            ("System", ""): Press(Event("go", "clipboard")),
            ("clipboard", ""): Fill((Entry("text", text),), Event("copy_draft")),
        },
        changes=(Change("clipboard", CLIP, (("text", text),), app="system"),),
    )


def _wifi_off_bluetooth_on(draw: Draw) -> Instance:
    data = with_switch(fixture(draw), WIFI, on=True)
    return Instance(
        words={"first": Term(WIFI), "second": Term(BLUETOOTH)},
        data=with_switch(data, BLUETOOTH, on=False),
        stages=(
            Stage(
                "settings",
                switch_plan(WIFI),
                changes=(Change("switches", WIFI, (("on", False),)),),
            ),
        ),
        plan=switch_plan(BLUETOOTH),
        changes=(
            Change("switches", WIFI, (("on", False),)),
            Change("switches", BLUETOOTH, (("on", True),)),
        ),
    )


_OPENED = sorted(app.name for app in TASK_APPS if app.name != "settings")
_HELD_BACK: dict[Split, slice] = {
    Split.TRAIN: slice(4, None),
    Split.VALIDATION: slice(0, 2),
    Split.TEST: slice(2, 4),
}
"""Which apps, in an order without meaning, the tasks of a split want opened."""


def _open(draw: Draw) -> Instance:
    names = sorted(_OPENED, key=lambda name: mixed(f"open|{name}"))[_HELD_BACK[draw.split]]
    app = APPS[draw.random.choice(names)]
    random = Random(f"open|{app.name}|{draw.random.randrange(64)}")
    inside = Draw(random, draw.split, pseudo_words=draw.pseudo_words)
    return Instance(
        words={"app": Term(app.label)},
        data=fixture(draw),
        others={app.name: FIXTURES[app.name](inside)},
        plan={},
        page=PageGoal(app.home.name, app=app.name),
    )


def _wifi_on_and_open(draw: Draw) -> Instance:
    change = Change("switches", WIFI, (("on", True),))
    opened = _open(draw)
    return replace(
        opened,
        words={**opened.words, "name": Term(WIFI)},
        data=with_switch(opened.data, WIFI, on=False),
        stages=(Stage("settings", switch_plan(WIFI), changes=(change,)),),
        changes=(change,),
    )


def _twin(name: str, steps: int, phrasings: tuple[str, ...], set_up: _SetUp) -> Template:
    tags = ("no_parameters", "starts_satisfied") if name.endswith("Verify") else ("no_parameters",)
    return Template(
        name=name,
        app="settings",
        oracle_steps=1 if name.endswith("Verify") else steps,
        phrasings=phrasings[:-1],
        held_out=phrasings[-1:],
        set_up=set_up,
        tags=tags,
        suite="androidworld",
    )


_TURN = ("Turn {way} {name}", "On this phone switch {name} {way}", "I want {name} to be {way}")
_LEVEL = (
    "Set the {name} of the screen to its {end} level",
    "Let the {name} be at the {end} level",
    "Move {name} to the {end} level",
)
"""Phrasings; the last one is held out."""


def _switch_twins() -> list[Template]:
    twins = []
    for name, short in ((BLUETOOTH, "Bluetooth"), (WIFI, "Wifi")):
        for way in ("On", "Off"):
            on = way == "On"
            base = f"System{short}Turn{way}"
            twins += [
                _twin(base, 4, _TURN, _turned(name, on=on, starts=not on)),
                _twin(f"{base}Verify", 1, _TURN, _turned(name, on=on, starts=on)),
            ]
    return twins


def _brightness_twins() -> list[Template]:
    twins = []
    for way, value in (("Max", 100), ("Min", 0)):
        base = f"SystemBrightness{way}"
        twins += [
            _twin(base, 5, _LEVEL, _bright(value, starts=50)),
            _twin(f"{base}Verify", 1, _LEVEL, _bright(value, starts=value)),
        ]
    return twins


TEMPLATES: tuple[Template, ...] = (
    *_switch_twins(),
    *_brightness_twins(),
    Template(
        name="SystemCopyToClipboard",
        app="settings",
        oracle_steps=7,
        phrasings=(
            "Put {text} on the clipboard in the System settings",
            "Open settings then System and copy the text {text} to the clipboard",
        ),
        held_out=("I want the clipboard to hold {text}",),
        set_up=_copy,
        suite="androidworld",
    ),
    Template(
        name="TurnOffWifiAndTurnOnBluetooth",
        app="settings",
        oracle_steps=7,
        phrasings=(
            "Turn off {first} and after that turn on {second}",
            "Switch {first} off and {second} on",
        ),
        held_out=("I want {second} instead of {first}",),
        set_up=_wifi_off_bluetooth_on,
        tags=("no_parameters",),
        suite="androidworld",
    ),
    Template(
        name="TurnOnWifiAndOpenApp",
        app="settings",
        oracle_steps=6,
        phrasings=(
            "Turn on {name} and then go to the app {app}",
            "Switch {name} on and open the app {app}",
        ),
        held_out=("With {name} turned on show me the app {app}",),
        set_up=_wifi_on_and_open,
        suite="androidworld",
    ),
    Template(
        name="OpenAppTaskEval",
        app="settings",
        oracle_steps=2,
        phrasings=("Open the app {app}", "Start the app {app}", "Go to the app {app}"),
        held_out=("Bring the app {app} to the front",),
        set_up=_open,
        tags=("guessable",),
        suite="androidworld",
    ),
)

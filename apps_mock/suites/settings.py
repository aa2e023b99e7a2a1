"""Tasks in the settings app."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps.settings import (
    APPS_PAGE,
    CHOICES,
    DEVICE_NAME,
    PERMISSIONS,
    SWITCHES,
    SettingsData,
    fixture,
    page_of,
)
from apps_mock.entities import DEVICE_NAMES, Draw, members
from apps_mock.plans import Entry, Fill, Press
from apps_mock.records import changed
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Change
from apps_mock.widgets import Event

_SWITCH_PAIRS = tuple(
    f"{name}|{way}" for names in SWITCHES.values() for name in names for way in ("on", "off")
)
_CHOICE_PAIRS = tuple(
    f"{name}|{option}"
    for page in CHOICES.values()
    for name, options in page.items()
    for option in options
)


def _switch(draw: Draw) -> Instance:
    name, way = draw.random.choice(members(_SWITCH_PAIRS, draw.split)).split("|")
    page, turn_on = page_of(name), way == "on"
    data = fixture(draw)
    data = replace(data, switches=changed(data.switches, name, on=not turn_on))
    return Instance(
        words={"name": name, "way": way, "page": page},
        data=data,
        plan={
            ("home", ""): Press(Event("go", page)),
            (page, ""): Press(Event("toggle", name, "on")),
        },
        changes=(Change("switches", name, (("on", turn_on),)),),
    )


def _other_than(draw: Draw, data: SettingsData, name: str, option: str) -> SettingsData:
    """The data with any other option than the one that is to be chosen."""
    options = next(page[name] for page in CHOICES.values() if name in page)
    other = draw.random.choice([each for each in options if each != option])
    return replace(data, choices=changed(data.choices, name, value=other))


def _choice(draw: Draw) -> Instance:
    name, option = draw.random.choice(members(_CHOICE_PAIRS, draw.split)).split("|")
    page = page_of(name)
    return Instance(
        words={"name": name, "option": option, "page": page},
        data=_other_than(draw, fixture(draw), name, option),
        plan={
            ("home", ""): Press(Event("go", page)),
            (page, ""): Press(Event("go", "choice", name)),
            ("choice", name): Press(Event("choose", name, option)),
        },
        changes=(Change("choices", name, (("value", option),)),),
    )


def _permission(draw: Draw) -> Instance:
    data = fixture(draw)
    app = draw.random.choice(data.permissions).id
    permission = draw.random.choice(PERMISSIONS)
    field, way = permission.lower(), draw.random.choice(("on", "off"))
    allow = way == "on"
    data = replace(data, permissions=changed(data.permissions, app, **{field: not allow}))
    return Instance(
        words={"permission": permission, "way": way, "app": app},
        data=data,
        plan={
            ("home", ""): Press(Event("go", APPS_PAGE)),
            (APPS_PAGE, ""): Press(Event("go", "app", app)),
            ("app", app): Press(Event("toggle", app, field)),
        },
        changes=(Change("permissions", app, ((field, allow),)),),
    )


def _rename(draw: Draw) -> Instance:
    data = fixture(draw)
    name = draw.of(DEVICE_NAMES, pseudo=True)
    return Instance(
        words={"name": name},
        data=data,
        plan={
            ("home", ""): Press(Event("go", "System")),
            ("System", ""): Press(Event("go", "rename", DEVICE_NAME)),
            ("rename", DEVICE_NAME): Fill((Entry("name", name),), Event("save_name")),
        },
        changes=(Change("choices", DEVICE_NAME, (("value", name),)),),
    )


TEMPLATES = (
    Template(
        name="settings_switch",
        app="settings",
        oracle_steps=4,
        phrasings=(
            "In the {page} settings turn {way} {name}",
            "Turn {name} {way} in the {page} settings",
            "Open settings then {page} and switch {name} {way}",
        ),
        set_up=_switch,
    ),
    Template(
        name="settings_choice",
        app="settings",
        oracle_steps=5,
        phrasings=(
            "In the {page} settings set {name} to {option}",
            "Set {name} to {option} in the {page} settings",
            "Open settings then {page} and choose {option} as {name}",
        ),
        set_up=_choice,
    ),
    Template(
        name="settings_permission",
        app="settings",
        oracle_steps=5,
        phrasings=(
            "In settings under Apps turn {way} {permission} for {app}",
            "Turn {way} the {permission} permission of {app} in the Apps settings",
            "Go to the Apps settings and switch {permission} {way} for {app}",
        ),
        set_up=_permission,
    ),
    Template(
        name="settings_rename",
        app="settings",
        oracle_steps=7,
        phrasings=(
            "In the System settings change the Device name to {name}",
            "Set the Device name to {name} in the System settings",
            "Open settings then System and make {name} the Device name",
        ),
        set_up=_rename,
    ),
)

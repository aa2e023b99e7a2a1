"""Tasks in the settings app."""

from __future__ import annotations

from dataclasses import replace

from apps_mock.apps.settings import (
    APPS_PAGE,
    CHOICES,
    DEVICE_NAME,
    PERMISSIONS,
    SWITCHES,
    WIFI,
    Network,
    SettingsData,
    fixture,
    page_of,
)
from apps_mock.catalogue import Term
from apps_mock.entities import DEVICE_NAMES, Draw, members
from apps_mock.plans import Entry, Fill, GiveAnswer, GiveUp, Plan, Press
from apps_mock.records import changed
from apps_mock.suites import settings_twins
from apps_mock.suites.settings_twins import with_switch
from apps_mock.templates import Instance, Template
from apps_mock.wanted import Answer, Change
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
        words={"name": Term(name), "way": Term(way), "page": Term(page)},
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
        words={"name": Term(name), "option": Term(option), "page": Term(page)},
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
        words={"permission": Term(permission), "way": Term(way), "app": app},
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


def _to_network(name: str) -> Plan:
    return {
        ("home", ""): Press(Event("go", "Network")),
        ("Network", ""): Press(Event("go", "networks")),
        ("networks", ""): Press(Event("go", "network", name)),
    }


def _networks(draw: Draw) -> tuple[SettingsData, Network, Network, Network]:
    """Settings with Wi-Fi on: the network that the phone is in, one it knows, a strange one."""
    data = with_switch(fixture(draw), WIFI, on=True)
    home, known, *strange = data.networks
    return data, home, known, draw.random.choice(strange)


_KEY_LETTERS = "abcdefghkmnprstuvwxyz23456789"


def _join(draw: Draw) -> Instance:
    data, home, _, strange = _networks(draw)
    password = draw.code(_KEY_LETTERS, 8)
    joined = (("saved", True), ("connected", True), ("password", password))
    return Instance(
        words={"name": strange.id, "password": password},
        data=data,
        plan={
            **_to_network(strange.id),
            ("network", strange.id): Fill(
                (Entry("password", password),), Event("join", strange.id)
            ),
        },
        changes=(
            Change("networks", strange.id, joined),
            Change("networks", home.id, (("connected", False),)),
        ),
    )


def _forget(draw: Draw) -> Instance:
    data, home, known, _ = _networks(draw)
    name = draw.random.choice((home.id, known.id))
    forgotten = (("saved", False), ("connected", False), ("password", ""))
    return Instance(
        words={"name": name},
        data=data,
        plan={**_to_network(name), ("network", name): Press(Event("forget", name))},
        changes=(Change("networks", name, forgotten),),
    )


def _to_app(app: str) -> Plan:
    return {
        ("home", ""): Press(Event("go", APPS_PAGE)),
        (APPS_PAGE, ""): Press(Event("go", "app", app)),
    }


def _uninstall(draw: Draw) -> Instance:
    data = fixture(draw)
    app = draw.random.choice(data.permissions).id
    return Instance(
        words={"app": app},
        data=data,
        plan={
            **_to_app(app),
            ("app", app): Press(Event("go", "uninstall", app)),
            ("uninstall", app): Press(Event("uninstall", app)),
        },
        changes=(Change("permissions", app, removed=True),),
    )


def _app_size(draw: Draw) -> Instance:
    data = fixture(draw)
    app = draw.random.choice(data.permissions)
    return Instance(
        words={"app": app.id},
        data=data,
        plan={**_to_app(app.id), ("app", app.id): GiveAnswer()},
        answer=Answer("number", str(app.size_mb)),
    )


_MISSING = {
    "Network": ("Satellite calls", "Radio tuner", "Walkie-talkie"),
    "Display": ("Projector", "Desktop mode", "Pen input"),
    "Privacy": ("Face unlock", "Voice unlock", "Guest mode"),
    "System": ("Thermometer", "Lie detector", "Pulse sensor"),
}
"""Features, by the page on which they would stand, that this phone does not have."""
_MISSING_PAIRS = tuple(
    f"{page}|{name}|{way}"
    for page, names in _MISSING.items()
    for name in names
    for way in ("on", "off")
)


def _missing(draw: Draw) -> Instance:
    pair = draw.random.choice(members(_MISSING_PAIRS, draw.split))
    page, name, way = pair.split("|")
    return Instance(
        words={"page": Term(page), "name": Term(name), "way": Term(way)},
        data=fixture(draw),
        plan={("home", ""): Press(Event("go", page)), (page, ""): GiveUp()},
        infeasible=True,
    )


TEMPLATES: tuple[Template, ...] = (
    Template(
        name="settings_switch",
        app="settings",
        oracle_steps=4,
        phrasings=(
            "In the {page} settings turn {way} {name}",
            "Turn {name} {way} in the {page} settings",
            "Open settings then {page} and switch {name} {way}",
        ),
        held_out=("Under {page} in the settings {name} should be {way}",),
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
        held_out=("Under {page} in the settings make {option} the {name}",),
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
        held_out=("Look under Apps in the settings and make {permission} {way} for {app}",),
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
        held_out=("I want the Device name in the System settings to be {name}",),
        set_up=_rename,
    ),
    Template(
        name="settings_wifi_join",
        app="settings",
        oracle_steps=8,
        phrasings=(
            "Connect to the Wi-Fi network {name} with the password {password}",
            "In the Network settings join {name} using the password {password}",
            "The password is {password} so connect the phone to the network {name}",
        ),
        held_out=("Get this phone into the network {name} with {password} as its password",),
        set_up=_join,
    ),
    Template(
        name="settings_wifi_forget",
        app="settings",
        oracle_steps=6,
        phrasings=(
            "Forget the Wi-Fi network {name}",
            "In the Network settings make the phone forget the network {name}",
        ),
        held_out=("The phone should no longer know the network {name}",),
        set_up=_forget,
    ),
    Template(
        name="settings_uninstall",
        app="settings",
        oracle_steps=6,
        phrasings=(
            "Uninstall the app {app} in the settings",
            "In the Apps settings uninstall {app}",
            "Remove the app {app} from this phone under Apps in the settings",
        ),
        held_out=("I no longer need the app {app} so uninstall it in the settings",),
        set_up=_uninstall,
    ),
    Template(
        name="settings_app_size",
        app="settings",
        oracle_steps=4,
        phrasings=(
            "How many MB does the app {app} use",
            "Look into the Apps settings and tell me how many MB {app} uses",
        ),
        held_out=("Tell me the number of MB that {app} takes on this phone",),
        set_up=_app_size,
        tags=("answer",),
    ),
    Template(
        name="settings_missing",
        app="settings",
        oracle_steps=3,
        phrasings=(
            "In the {page} settings turn {way} {name}",
            "Turn {name} {way} in the {page} settings",
        ),
        held_out=("Switch {way} the setting {name} that is under {page}",),
        set_up=_missing,
        tags=("infeasible",),
    ),
    *settings_twins.TEMPLATES,
)

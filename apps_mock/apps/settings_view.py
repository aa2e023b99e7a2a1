"""What the settings app shows."""

from __future__ import annotations

from collections.abc import Callable

from apps_mock.app import App, AppState, Page
from apps_mock.apps.settings import (
    APPS_PAGE,
    BRIGHTNESS,
    CHOICES,
    DEVICE_NAME,
    PAGES,
    PASSWORD_LENGTH,
    PERMISSIONS,
    SWITCHES,
    WIFI,
    Network,
    SettingsData,
    options_of,
    update,
)
from apps_mock.look import Look
from apps_mock.records import find
from apps_mock.widgets import Button, Event, Field, Row, Screen, Slider, Text, Widget

State = AppState[SettingsData]


def view(state: State, look: Look) -> Screen:
    """What the page on top shows."""
    return _VIEWS.get(state.page.name, _page)(state, state.page, look)


def _home(_state: State, _page: Page, look: Look) -> Screen:
    rows = [Row(look.say(name), on_tap=Event("go", name)) for name in look.ordered(PAGES, str)]
    noise = tuple(Text(line) for line in look.noise("settings"))
    return Screen(look.say("Settings"), (*rows, *noise), back=False)


def _page(state: State, page: Page, look: Look) -> Screen:
    data, name = state.data, page.name
    top: list[Widget] = []
    if name == "Display":
        level = find(data.levels, BRIGHTNESS)
        top.append(Slider(BRIGHTNESS, look.say(BRIGHTNESS), level.value if level else 0))
    rows = look.ordered([*_switch_rows(data, name, look), *_choice_rows(data, name, look)], _key)
    return Screen(
        look.say(name),
        (*top, *(row for _, row in rows), *(Text(line) for line in look.noise(name))),
    )


def _key(entry: tuple[str, Row]) -> str:
    return entry[0]


def _switch_rows(data: SettingsData, page: str, look: Look) -> list[tuple[str, Row]]:
    return [
        (
            name,
            Row(look.say(name), checked=switch.on, on_toggle=Event("toggle", name, "on")),
        )
        for name in SWITCHES.get(page, ())
        if (switch := find(data.switches, name)) is not None
    ]


def _choice_rows(data: SettingsData, page: str, look: Look) -> list[tuple[str, Row]]:
    names = [*CHOICES.get(page, ()), *((DEVICE_NAME,) if page == "System" else ())]
    rows = []
    for name in names:
        choice = find(data.choices, name)
        if choice is not None:
            named = name == DEVICE_NAME
            value = choice.value if named else look.say(choice.value)
            event = Event("go", "rename" if named else "choice", name)
            rows.append((name, Row(look.say(name), value, on_tap=event)))
    rows += [
        (name, Row(look.say(name), on_tap=Event("go", leads_to)))
        for on, name, leads_to in _FURTHER
        if on == page
    ]
    return rows


_FURTHER = (
    ("Network", "Wi-Fi networks", "networks"),
    ("System", "Clipboard", "clipboard"),
)
"""Rows that lead to further pages: page, name, where to."""


def _choice(state: State, page: Page, look: Look) -> Screen:
    name = page.argument
    choice = find(state.data.choices, name)
    value = choice.value if choice else ""
    rows = [
        Row(
            look.say(option),
            checked=option == value,
            on_toggle=Event("choose", name, option),
            radio=True,
        )
        for option in look.ordered(options_of(name), str)
    ]
    return Screen(look.say(name), tuple(rows))


def _rename(_state: State, page: Page, look: Look) -> Screen:
    return Screen(
        look.say(DEVICE_NAME),
        (Field("name", look.word("name"), page.draft("name")),),
        (Button(look.word("save"), Event("save_name"), primary=True),),
    )


def _networks(state: State, _page: Page, look: Look) -> Screen:
    wifi = find(state.data.switches, WIFI)
    if wifi is None or not wifi.on:
        return Screen(look.say("Wi-Fi networks"), (Text(look.say("Wi-Fi is off")),))
    rows = tuple(
        Row(network.id, _network_state(network, look), on_tap=Event("go", "network", network.id))
        for network in look.ordered(state.data.networks, lambda network: network.id)
    )
    return Screen(look.say("Wi-Fi networks"), rows)


def _network_state(network: Network, look: Look) -> str:
    if network.connected:
        return look.say("Connected")
    return look.say("Saved" if network.saved else "Secured")


def _network(state: State, page: Page, look: Look) -> Screen:
    network = find(state.data.networks, page.argument)
    if network is None:
        return Screen(look.say("Wi-Fi networks"), (Text(look.say("This network is gone")),))
    if not network.saved:
        rule = look.say("At least {count} characters").format(count=PASSWORD_LENGTH)
        return Screen(
            network.id,
            (Field("password", look.say("Password"), page.draft("password")), Text(rule)),
            (Button(look.say("Connect"), Event("join", network.id), primary=True),),
        )
    actions = [Button(look.say("Forget"), Event("forget", network.id))]
    if not network.connected:
        actions.append(Button(look.say("Connect"), Event("connect", network.id), primary=True))
    return Screen(network.id, (Text(_network_state(network, look)),), tuple(actions))


def _clipboard(state: State, page: Page, look: Look) -> Screen:
    return Screen(
        look.say("Clipboard"),
        (
            Text(state.provided.clipboard or look.say("The clipboard is empty")),
            Field("text", look.say("New text"), page.draft("text")),
        ),
        (Button(look.say("Copy"), Event("copy_draft"), primary=True),),
    )


def _apps(state: State, _page: Page, look: Look) -> Screen:
    apps = look.ordered(state.data.permissions, lambda entry: entry.id)
    rows = tuple(Row(app.id, on_tap=Event("go", "app", app.id)) for app in apps)
    return Screen(look.say(APPS_PAGE), rows)


def _app(state: State, page: Page, look: Look) -> Screen:
    app = find(state.data.permissions, page.argument)
    if app is None:
        return Screen(look.say(APPS_PAGE), (Text(look.say("This app is gone")),))
    rows = tuple(
        Row(
            look.say(name),
            checked=bool(getattr(app, name.lower())),
            on_toggle=Event("toggle", app.id, name.lower()),
        )
        for name in PERMISSIONS
    )
    size = look.say("{size} MB used").format(size=app.size_mb)
    return Screen(
        app.id,
        (*rows, Text(size)),
        (Button(look.say("Uninstall"), Event("go", "uninstall", app.id)),),
    )


def _uninstall(_state: State, page: Page, look: Look) -> Screen:
    return Screen(
        look.say("Uninstall"),
        (Text(page.argument), Text(look.say("The app and its data go away"))),
        (
            Button(look.word("keep"), Event("back")),
            Button(look.word("yes"), Event("uninstall", page.argument), primary=True),
        ),
        dialog=True,
    )


_VIEWS: dict[str, Callable[[State, Page, Look], Screen]] = {
    "home": _home,
    "choice": _choice,
    "rename": _rename,
    "networks": _networks,
    "network": _network,
    "clipboard": _clipboard,
    APPS_PAGE: _apps,
    "app": _app,
    "uninstall": _uninstall,
}

APP: App[SettingsData] = App(
    name="settings",
    label="Settings",
    package="org.outrider.clones.settings",
    update=update,
    view=view,
)

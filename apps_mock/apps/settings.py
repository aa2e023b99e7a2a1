"""The settings app: pages of switches and choices, permissions per app, the phone's name."""

from __future__ import annotations

from dataclasses import dataclass, replace

from apps_mock.app import App, AppState, Page
from apps_mock.entities import APP_NAMES, DEVICE_NAMES, Draw
from apps_mock.look import Look
from apps_mock.records import changed, find
from apps_mock.widgets import Button, Event, Field, Row, Screen, Text

SWITCHES: dict[str, tuple[str, ...]] = {
    "Network": ("Wi-Fi", "Mobile data", "Airplane mode", "Data roaming", "Hotspot"),
    "Bluetooth": ("Bluetooth", "Nearby sharing", "Fast pairing"),
    "Display": (
        "Dark theme",
        "Auto-rotate",
        "Adaptive brightness",
        "Night light",
        "Always-on clock",
    ),
    "Sound": ("Vibration", "Touch sounds", "Dial tones", "Charging sound", "Live captions"),
    "Battery": ("Battery saver", "Battery percentage", "Adaptive charging"),
    "Privacy": ("Screen lock", "Location access", "Usage reports", "Show passwords"),
    "System": ("Automatic updates", "Developer mode", "Backup", "Gestures"),
}
"""Switches by page; what is written here stands on the screen in every look."""

CHOICES: dict[str, dict[str, tuple[str, ...]]] = {
    "Network": {
        "Preferred network": ("5G", "4G", "3G"),
        "Hotspot band": ("2 GHz", "5 GHz", "6 GHz"),
    },
    "Bluetooth": {"Audio codec": ("Standard", "Clear", "Studio", "Lossless")},
    "Display": {
        "Screen timeout": ("30 seconds", "1 minute", "2 minutes", "5 minutes", "10 minutes"),
        "Font size": ("Small", "Medium", "Large", "Huge"),
        "Wallpaper": ("Forest", "Desert", "Ocean", "Mountain", "Meadow", "Glacier"),
        "Refresh rate": ("60 Hz", "90 Hz", "120 Hz"),
    },
    "Sound": {
        "Ringtone": ("Aurora", "Bamboo", "Cascade", "Dewdrop", "Ember", "Fanfare"),
        "Alarm sound": ("Bells", "Birdsong", "Drums", "Harp", "Waves"),
        "Message sound": ("Chime", "Marble", "Pebble", "Spark", "Whistle"),
    },
    "Battery": {"Charging limit": ("80 percent", "90 percent", "100 percent")},
    "Privacy": {"Lock after": ("10 seconds", "40 seconds", "3 minutes", "15 minutes")},
    "System": {
        "Language": ("English", "Deutsch", "Polski", "Suomi", "Svenska", "Italiano"),
        "Temperature unit": ("Celsius", "Fahrenheit", "Kelvin"),
        "Key layout": ("Qwerty", "Qwertz", "Azerty", "Dvorak"),
    },
}
"""Choices by page, each with its options."""

PERMISSIONS = ("Notifications", "Camera", "Location", "Microphone")
APPS_PAGE = "Apps"
PAGES = (*SWITCHES, APPS_PAGE)


@dataclass(frozen=True, slots=True)
class Switch:
    """Something that is on or off."""

    id: str
    on: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """Something of which one option holds."""

    id: str
    value: str


@dataclass(frozen=True, slots=True)
class Permissions:
    """What an installed app may do; `id` is the app's name."""

    id: str
    notifications: bool
    camera: bool
    location: bool
    microphone: bool


@dataclass(frozen=True, slots=True)
class SettingsData:
    """Everything that can be set."""

    switches: tuple[Switch, ...]
    choices: tuple[Choice, ...]
    permissions: tuple[Permissions, ...]


DEVICE_NAME = "Device name"
"""The one choice that is typed."""


def fixture(draw: Draw) -> SettingsData:
    """Settings as somebody left them."""
    random = draw.random
    bits = random.getrandbits(128)
    names = (name for page in SWITCHES.values() for name in page)
    switches = tuple(Switch(name, bool(bits >> index & 1)) for index, name in enumerate(names))
    choices = [
        Choice(name, random.choice(options))
        for page in CHOICES.values()
        for name, options in page.items()
    ]
    choices.append(Choice(DEVICE_NAME, draw.of(DEVICE_NAMES, pseudo=True)))
    permissions = tuple(
        Permissions(draw.of(APP_NAMES, pseudo=True), *(random.random() < 0.5 for _ in PERMISSIONS))
        for _ in range(4)
    )
    return SettingsData(switches, tuple(choices), permissions)


def page_of(name: str) -> str:
    """The page on which a switch or choice stands."""
    for page, names in (*SWITCHES.items(), *CHOICES.items()):
        if name in names:
            return page
    return "System"


def options_of(name: str) -> tuple[str, ...]:
    """The options of a choice."""
    return next((options[name] for options in CHOICES.values() if name in options), ())


def update(state: AppState[SettingsData], event: Event) -> AppState[SettingsData]:
    """The state after an event."""
    match event.name:
        case "choose":
            return _chosen(state, event.value, event.extra)
        case "save_name":
            name = state.page.draft("name").strip()
            return _chosen(state, DEVICE_NAME, name) if name else state
        case _:
            return state


def _chosen(state: AppState[SettingsData], name: str, value: str) -> AppState[SettingsData]:
    data = replace(state.data, choices=changed(state.data.choices, name, value=value))
    return state.with_data(data).popped()


def view(state: AppState[SettingsData], look: Look) -> Screen:
    """What the page on top shows."""
    page = state.page
    match page.name:
        case "home":
            rows = [Row(name, on_tap=Event("go", name)) for name in look.ordered(PAGES, str)]
            noise = tuple(Text(line) for line in look.noise("settings"))
            return Screen("Settings", (*rows, *noise), back=False)
        case "choice":
            return _choice_view(state, page, look)
        case "rename":
            return Screen(
                DEVICE_NAME,
                (Field("name", look.word("name"), page.draft("name")),),
                (Button(look.word("save"), Event("save_name"), primary=True),),
            )
        case "Apps":
            apps = look.ordered(state.data.permissions, lambda entry: entry.id)
            return Screen(
                APPS_PAGE, tuple(Row(app.id, on_tap=Event("go", "app", app.id)) for app in apps)
            )
        case "app":
            return _app_view(state.data, page)
        case _:
            return _page_view(state.data, page.name, look)


def _title(row: Row) -> str:
    return row.title


def _page_view(data: SettingsData, page: str, look: Look) -> Screen:
    rows: list[Row] = []
    for name in SWITCHES[page]:
        switch = find(data.switches, name)
        if switch is not None:
            rows.append(Row(name, checked=switch.on, on_toggle=Event("toggle", name, "on")))
    names = [*CHOICES.get(page, ()), *((DEVICE_NAME,) if page == "System" else ())]
    for name in names:
        choice = find(data.choices, name)
        if choice is not None:
            leads_to = "rename" if name == DEVICE_NAME else "choice"
            rows.append(Row(name, choice.value, on_tap=Event("go", leads_to, name)))
    ordered = look.ordered(rows, _title)
    return Screen(page, (*ordered, *(Text(line) for line in look.noise(page))))


def _choice_view(state: AppState[SettingsData], page: Page, look: Look) -> Screen:
    name = page.argument
    choice = find(state.data.choices, name)
    value = choice.value if choice else ""
    rows = [
        Row(
            option,
            checked=option == value,
            on_toggle=Event("choose", name, option),
            radio=True,
        )
        for option in look.ordered(options_of(name), str)
    ]
    return Screen(name, tuple(rows))


def _app_view(data: SettingsData, page: Page) -> Screen:
    app = find(data.permissions, page.argument)
    rows = tuple(
        Row(
            name,
            checked=bool(getattr(app, name.lower(), False)),
            on_toggle=Event("toggle", page.argument, name.lower()),
        )
        for name in PERMISSIONS
    )
    return Screen(page.argument, rows)


APP: App[SettingsData] = App(
    name="settings",
    label="Settings",
    package="org.outrider.clones.settings",
    update=update,
    view=view,
)
